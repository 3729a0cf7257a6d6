//! Which proxy leads to a host, by the variables that every HTTP client reads: `HTTP_PROXY`, `HTTPS_PROXY`, `NO_PROXY`.
//!
//! The rules are those of Go's standard library, and so of k6: lower case counts too, and this host is never reached through
//! a proxy.

use std::net::IpAddr;

use crate::target::{ProxyError, Target};

/// A proxy, and how to log in there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proxy {
    pub host: String,
    pub port: u16,
    /// The value of `Proxy-Authorization`.
    pub authorization: Option<String>,
}

/// Proxies by the scheme of the target, and who is reached without.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Proxies {
    http: Option<Result<Proxy, ProxyError>>,
    https: Option<Result<Proxy, ProxyError>>,
    without: Vec<Exception>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Exception {
    Everything,
    Network(IpAddr, u8),
    /// A name with all below it, or only those below it, and a port if one was said.
    Name {
        name: String,
        only_below: bool,
        port: Option<u16>,
    },
}

impl Proxies {
    /// `variable` looks a variable of the environment up. One that cannot be used is an error for targets that need it.
    pub fn from_environment(variable: impl Fn(&str) -> Option<String>) -> Self {
        let either = |upper: &str| {
            let lower = upper.to_ascii_lowercase();
            let found = variable(upper).filter(|value| !value.is_empty());
            found.or_else(|| variable(&lower).filter(|value| !value.is_empty()))
        };
        let proxy = |name| either(name).map(|value| parse(name, &value));
        let without = either("NO_PROXY").unwrap_or_default();
        Self {
            http: proxy("HTTP_PROXY"),
            https: proxy("HTTPS_PROXY"),
            without: without.split(',').filter_map(exception).collect(),
        }
    }

    /// The proxy on the way to a host.
    pub fn of(&self, tls: bool, host: &str, port: u16) -> Result<Option<&Proxy>, ProxyError> {
        let proxy = if tls { &self.https } else { &self.http };
        match proxy {
            Some(_) if self.is_excepted(host, port) => Ok(None),
            None => Ok(None),
            Some(Ok(proxy)) => Ok(Some(proxy)),
            Some(Err(error)) => Err(error.clone()),
        }
    }

    fn is_excepted(&self, host: &str, port: u16) -> bool {
        let host = host.to_ascii_lowercase();
        let ip: Option<IpAddr> = host.parse().ok();
        if host == "localhost" || ip.is_some_and(|ip| ip.is_loopback()) {
            return true;
        }
        self.without.iter().any(|exception| match exception {
            Exception::Everything => true,
            Exception::Network(network, bits) => ip.is_some_and(|ip| holds(*network, *bits, ip)),
            Exception::Name {
                name,
                only_below,
                port: of_port,
            } => {
                let is_below = host
                    .strip_suffix(name.as_str())
                    .is_some_and(|front| front.ends_with('.'));
                of_port.is_none_or(|of_port| of_port == port)
                    && (is_below || !only_below && host == *name)
            }
        })
    }
}

/// `HOST:PORT` or a URL; without a scheme it is http.
fn parse(variable: &'static str, value: &str) -> Result<Proxy, ProxyError> {
    let wrong = || ProxyError::Syntax {
        variable,
        value: masked(value),
    };
    let (scheme, rest) = value
        .trim()
        .split_once("://")
        .unwrap_or(("http", value.trim()));
    if scheme != "http" {
        return Err(ProxyError::Scheme {
            variable,
            value: masked(value),
            scheme: scheme.to_owned(),
        });
    }
    let rest = rest.split('/').next().unwrap_or_default();
    let (user, place) = match rest.rsplit_once('@') {
        Some((user, place)) => (Some(user), place),
        None => (None, rest),
    };
    let target = Target::parse(&format!("http://{place}/")).map_err(|_| wrong())?;
    Ok(Proxy {
        host: target.host,
        port: target.port,
        authorization: user.map(basic_of_url),
    })
}

/// Without what stands before the host, which may be a password.
fn masked(value: &str) -> String {
    match value.rsplit_once('@') {
        Some((_, place)) => format!("…@{place}"),
        None => value.to_owned(),
    }
}

/// A colon that is encoded belongs to the name; without a bare one there is no password, and the colon that ends the name is
/// sent all the same (RFC 7617, section 2).
fn basic_of_url(user: &str) -> String {
    let end = if user.contains(':') { "" } else { ":" };
    let decoded = percent_encoding::percent_decode_str(user).chain(end.bytes());
    basic(&decoded.collect::<Vec<u8>>())
}

/// The value of `Authorization` for `user:password` (RFC 7617).
pub fn basic(user: &[u8]) -> String {
    use base64::Engine as _;
    format!(
        "Basic {}",
        base64::engine::general_purpose::STANDARD.encode(user)
    )
}

fn exception(text: &str) -> Option<Exception> {
    let text = text.trim().to_ascii_lowercase();
    if text.is_empty() {
        return None;
    }
    if text == "*" {
        return Some(Exception::Everything);
    }
    let (network, bits) = match text.split_once('/') {
        Some((network, bits)) => (network, bits.parse().ok()),
        None => (text.as_str(), Some(128)),
    };
    if let (Ok(ip), Some(bits)) = (network.trim_matches(['[', ']']).parse(), bits) {
        return Some(Exception::Network(ip, bits));
    }
    let (name, port) = match text.rsplit_once(':') {
        Some((name, port)) => (name, Some(port.parse().ok()?)),
        None => (text.as_str(), None),
    };
    let bare = name.strip_prefix("*.").or(name.strip_prefix('.'));
    Some(Exception::Name {
        name: bare.unwrap_or(name).to_owned(),
        only_below: bare.is_some(),
        port,
    })
}

/// Whether an address is of a network, given by its first bits.
pub fn holds(network: IpAddr, bits: u8, address: IpAddr) -> bool {
    let same = |a: u128, b: u128, width: u32| {
        let shift = width.saturating_sub(u32::from(bits));
        shift >= 128 || a >> shift == b >> shift
    };
    match (network, address) {
        (IpAddr::V4(a), IpAddr::V4(b)) => same(a.to_bits().into(), b.to_bits().into(), 32),
        (IpAddr::V6(a), IpAddr::V6(b)) => same(a.to_bits(), b.to_bits(), 128),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxies(variables: &[(&str, &str)]) -> Proxies {
        Proxies::from_environment(|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn the_scheme_of_the_target_chooses() {
        let proxies = proxies(&[
            ("http_proxy", "http://u:p%40ss@10.0.0.1:3128/"),
            ("HTTPS_PROXY", "proxy.test:8080"),
        ]);
        let plain = proxies.of(false, "shop.test", 80).unwrap().unwrap();
        assert_eq!((&*plain.host, plain.port), ("10.0.0.1", 3128));
        assert_eq!(plain.authorization.as_deref(), Some("Basic dTpwQHNz"));
        let tls = proxies.of(true, "shop.test", 443).unwrap().unwrap();
        assert_eq!(tls.port, 8080);
        for here in ["localhost", "127.0.0.1", "::1", "127.8.0.1"] {
            assert_eq!(proxies.of(false, here, 80), Ok(None), "{here}");
        }
    }

    #[test]
    fn a_user_without_a_password_has_an_empty_one() {
        for (user, authorization) in [
            ("token", "Basic dG9rZW46"),
            ("token:", "Basic dG9rZW46"),
            ("to%3Aken", "Basic dG86a2VuOg=="),
        ] {
            let proxies = proxies(&[("HTTP_PROXY", &format!("http://{user}@p:1"))]);
            let proxy = proxies.of(false, "shop.test", 80).unwrap().unwrap();
            assert_eq!(
                proxy.authorization.as_deref(),
                Some(authorization),
                "{user}"
            );
        }
    }

    #[test]
    fn exceptions_are_names_networks_and_ports() {
        let proxies = proxies(&[
            ("HTTP_PROXY", "http://p:1"),
            ("NO_PROXY", "a.test, .b.test,10.0.0.0/8,c.test:81,192.0.2.7"),
        ]);
        let direct = |host, port| proxies.of(false, host, port) == Ok(None);
        assert!(direct("a.test", 80) && direct("x.A.test", 80) && !direct("xa.test", 80));
        assert!(!direct("b.test", 80) && direct("y.b.test", 80));
        assert!(direct("10.9.9.9", 80) && !direct("11.9.9.9", 80) && direct("192.0.2.7", 1));
        assert!(direct("c.test", 81) && !direct("c.test", 80));
    }

    #[test]
    fn what_cannot_be_used_is_named_without_its_password() {
        for (value, fragment) in [
            ("socks5://u:secret@p:1", "socks5 is not supported"),
            ("https://p:1", "https is not supported"),
            ("http://:1", "no http://HOST:PORT"),
        ] {
            let proxies = proxies(&[("HTTP_PROXY", value)]);
            assert_eq!(
                proxies.of(false, "localhost", 80),
                Ok(None),
                "nobody needs it"
            );
            let error = proxies.of(false, "a.test", 80).unwrap_err().to_string();
            assert!(error.contains(fragment), "{error}");
            assert!(!error.contains("secret"), "{error}");
        }
    }
}
