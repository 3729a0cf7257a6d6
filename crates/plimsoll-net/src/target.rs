//! Where requests go: a URL taken apart, its name resolved once.

use std::fmt;
use std::net::{SocketAddr, ToSocketAddrs};

use http::Uri;
use thiserror::Error;

/// A URL that requests can be sent to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    pub tls: bool,
    pub host: String,
    pub port: u16,
    /// Path and query as sent, at least `/`.
    pub path: String,
}

/// A target with the one address that its name resolved to: everything of a run goes there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    pub target: Target,
    pub address: SocketAddr,
}

/// Why a URL is not a target.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TargetError {
    #[error("`{0}` has no scheme; did you mean http://{0} ?")]
    NoScheme(String),
    #[error("`{0}`: scheme `{1}` is not supported; use http:// or https://")]
    Scheme(String, String),
    #[error("`{0}` is not a URL: {1}")]
    Syntax(String, String),
    #[error("`{0}` has no host")]
    NoHost(String),
    #[error("`{0}`: user and password in a URL are not sent; use -H 'Authorization: …'")]
    UserInfo(String),
    #[error("name `{host}` does not resolve: {reason}")]
    Dns { host: String, reason: String },
}

impl Target {
    pub fn parse(url: &str) -> Result<Self, TargetError> {
        let text = url.trim();
        if !text.contains("://") {
            return Err(TargetError::NoScheme(text.to_owned()));
        }
        // Fragments are never sent; everything else must be a valid URI as typed.
        let without_fragment = text.split('#').next().unwrap_or(text);
        let uri: Uri = without_fragment
            .parse()
            .map_err(|error| TargetError::Syntax(text.to_owned(), format!("{error}")))?;
        let tls = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            other => {
                let scheme = other.unwrap_or_default().to_owned();
                return Err(TargetError::Scheme(text.to_owned(), scheme));
            }
        };
        let authority = uri
            .authority()
            .ok_or_else(|| TargetError::NoHost(text.to_owned()))?;
        if authority.as_str().contains('@') {
            return Err(TargetError::UserInfo(text.to_owned()));
        }
        let host = authority
            .host()
            .trim_start_matches('[')
            .trim_end_matches(']')
            .to_owned();
        if host.is_empty() {
            return Err(TargetError::NoHost(text.to_owned()));
        }
        // `http` forgets a port that it cannot parse, so what follows the host is read here.
        let port = match authority.as_str().strip_prefix(authority.host()) {
            None | Some("") => default_port(tls),
            Some(text) => match text.trim_start_matches(':').parse() {
                Ok(port) if port > 0 => port,
                _ => {
                    let reason = "the port is not between 1 and 65535".to_owned();
                    return Err(TargetError::Syntax(url.to_owned(), reason));
                }
            },
        };
        let path = uri.path_and_query().map_or("/", |path| path.as_str());
        let path = if path.starts_with('/') {
            path.to_owned()
        } else {
            format!("/{path}")
        };
        Ok(Self {
            tls,
            host,
            port,
            path,
        })
    }

    /// The `Host` header: brackets for IPv6, no default port.
    pub fn host_header(&self) -> String {
        let host = if self.host.contains(':') {
            format!("[{}]", self.host)
        } else {
            self.host.clone()
        };
        if self.port == default_port(self.tls) {
            host
        } else {
            format!("{host}:{}", self.port)
        }
    }

    /// Resolves the name, and says where a run goes. Blocks; called once before a run.
    pub fn resolve(self) -> Result<Endpoint, TargetError> {
        let addresses = self.addresses()?;
        // `localhost` often resolves to `::1` first while the service listens on 127.0.0.1 only: IPv4 first.
        let v4 = addresses.iter().find(|address| address.is_ipv4());
        let address = *v4.unwrap_or(&addresses[0]);
        Ok(Endpoint {
            target: self,
            address,
        })
    }

    /// Every address of the name, at least one.
    pub(crate) fn addresses(&self) -> Result<Vec<SocketAddr>, TargetError> {
        let dns = |reason: String| TargetError::Dns {
            host: self.host.clone(),
            reason,
        };
        let addresses: Vec<_> = (self.host.as_str(), self.port)
            .to_socket_addrs()
            .map_err(|error| dns(error.to_string()))?
            .collect();
        if addresses.is_empty() {
            Err(dns("no address".to_owned()))
        } else {
            Ok(addresses)
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.tls { "https" } else { "http" };
        write!(f, "{scheme}://{}{}", self.host_header(), self.path)
    }
}

fn default_port(tls: bool) -> u16 {
    if tls { 443 } else { 80 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_taken_apart() {
        let target = Target::parse("http://127.0.0.1:8080/cart?id=1#top").unwrap();
        assert_eq!(target.path, "/cart?id=1");
        assert_eq!((target.port, target.tls), (8080, false));
        assert_eq!(target.host_header(), "127.0.0.1:8080");
        assert_eq!(
            Target::parse("https://shop.test").unwrap().host_header(),
            "shop.test"
        );
        assert_eq!(
            Target::parse("http://[::1]:90/").unwrap().host_header(),
            "[::1]:90"
        );
        assert_eq!(Target::parse("http://a.test?x=1").unwrap().path, "/?x=1");
    }

    #[test]
    fn what_is_refused_says_the_fix() {
        for (url, fragment) in [
            ("localhost:3000", "did you mean http://localhost:3000"),
            ("", "no scheme"),
            ("ftp://a/", "scheme `ftp`"),
            ("http://", "not a URL"),
            ("http://a b/", "not a URL"),
            ("http://a:0/", "port"),
            ("http://a:99999/", "port"),
            ("http://a:/", "port"),
            ("http://u:p@a/", "Authorization"),
        ] {
            let error = Target::parse(url).unwrap_err().to_string();
            assert!(error.contains(fragment), "{url}: {error}");
        }
    }
}
