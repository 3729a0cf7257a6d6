//! Where requests go: a URL taken apart, its name resolved once.

use std::fmt;

use http::Uri;
use plimsoll_core::secrets::masked_user;
use thiserror::Error;

/// A URL that requests can be sent to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    pub tls: bool,
    pub host: String,
    pub port: u16,
    /// Path and query as sent, at least `/`; the whole URL where a proxy is asked.
    pub path: String,
    /// The value of `Proxy-Authorization` that goes with each request.
    pub(crate) proxy_authorization: Option<String>,
    is_absolute: bool,
}

/// Why a variable names no proxy that can be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ProxyError {
    #[error(
        "{variable} is `{value}`: a proxy spoken to by {scheme} is not supported here; use http://HOST:PORT"
    )]
    Scheme {
        variable: &'static str,
        value: String,
        scheme: String,
    },
    #[error("{variable} is `{value}`, which is no http://HOST:PORT")]
    Syntax {
        variable: &'static str,
        value: String,
    },
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
    #[error("`{0}`: user and password in a URL are not sent; use --user NAME:PASSWORD")]
    UserInfo(String),
    #[error(transparent)]
    Proxy(#[from] ProxyError),
    #[error("name `{host}` does not resolve: {reason}")]
    Dns { host: String, reason: String },
}

impl Target {
    pub fn parse(url: &str) -> Result<Self, TargetError> {
        let text = url.trim();
        // A password may stand before the host, and errors are read by others.
        let shown = || masked_user(text);
        if !text.contains("://") {
            return Err(TargetError::NoScheme(shown()));
        }
        // Fragments are never sent; everything else must be a valid URI as typed.
        let without_fragment = text.split('#').next().unwrap_or(text);
        let uri: Uri = without_templates(without_fragment)
            .parse()
            .map_err(|error| TargetError::Syntax(shown(), format!("{error}")))?;
        let tls = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            other => {
                let scheme = other.unwrap_or_default().to_owned();
                return Err(TargetError::Scheme(shown(), scheme));
            }
        };
        let authority = uri
            .authority()
            .ok_or_else(|| TargetError::NoHost(shown()))?;
        if authority.as_str().contains('@') {
            return Err(TargetError::UserInfo(shown()));
        }
        let host = authority
            .host()
            .trim_start_matches('[')
            .trim_end_matches(']')
            .to_owned();
        if host.is_empty() {
            return Err(TargetError::NoHost(shown()));
        }
        // `http` forgets a port that it cannot parse, so what follows the host is read here.
        let port = match authority.as_str().strip_prefix(authority.host()) {
            None | Some("") => default_port(tls),
            Some(text) => match text.trim_start_matches(':').parse() {
                Ok(port) if port > 0 => port,
                _ => {
                    let reason = "the port is not between 1 and 65535".to_owned();
                    return Err(TargetError::Syntax(shown(), reason));
                }
            },
        };
        Ok(Self {
            tls,
            host,
            port,
            path: path_of(without_fragment),
            proxy_authorization: None,
            is_absolute: false,
        })
    }

    /// The `Host` header: brackets for IPv6, no default port.
    pub fn host_header(&self) -> String {
        let host = self.bracketed();
        if self.port == default_port(self.tls) {
            host
        } else {
            format!("{host}:{}", self.port)
        }
    }

    /// Host and port, as CONNECT names them.
    pub fn authority(&self) -> String {
        let host = self.bracketed();
        format!("{host}:{}", self.port)
    }

    fn bracketed(&self) -> String {
        if self.host.contains(':') {
            format!("[{}]", self.host)
        } else {
            self.host.clone()
        }
    }

    /// Asked of a proxy, which needs the whole URL (RFC 9112, section 3.2.2).
    pub(crate) fn through_proxy(mut self, authorization: Option<&str>) -> Self {
        self.path = self.to_string();
        self.proxy_authorization = authorization.map(str::to_owned);
        self.is_absolute = true;
        self
    }

    /// The same place with the path of another URL of it.
    pub fn set_path_of(&mut self, url: &str) {
        let url = url.split('#').next().unwrap_or(url);
        self.path = if self.is_absolute {
            url.to_owned()
        } else {
            path_of(url)
        };
    }

    /// The same place, asked for the path of another target of it.
    #[must_use]
    pub fn with_path_of(&self, other: &Self) -> Self {
        let mut target = self.clone();
        target.path = if self.is_absolute {
            other.to_string()
        } else {
            other.path.clone()
        };
        target
    }

    /// Where an answer's `Location` leads from here (RFC 3986, section 5.2); nothing if it is no address that requests can
    /// be sent to.
    pub fn follow(&self, location: &str) -> Option<Self> {
        let location = location.trim();
        let reference = location.split('#').next().unwrap_or(location);
        if location.is_empty() {
            return None;
        }
        let scheme = self.scheme();
        let text = if has_scheme(reference) {
            reference.to_owned()
        } else if let Some(rest) = reference.strip_prefix("//") {
            format!("{scheme}://{rest}")
        } else {
            let path = self.path_from_here(reference);
            format!("{scheme}://{}{path}", self.host_header())
        };
        let mut target = Self::parse(&text).ok()?;
        target.path = without_dots(&target.path);
        Some(target)
    }

    /// Path and query of a reference that names no host.
    fn path_from_here(&self, reference: &str) -> String {
        let here = if self.is_absolute {
            &path_of(&self.path)
        } else {
            &self.path
        };
        let path = here.split('?').next().unwrap_or_default();
        match reference.chars().next() {
            None => here.clone(),
            Some('/') => reference.to_owned(),
            Some('?') => format!("{path}{reference}"),
            Some(_) => {
                let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
                format!("{folder}/{reference}")
            }
        }
    }

    fn scheme(&self) -> &'static str {
        if self.tls { "https" } else { "http" }
    }

    /// The same scheme, host and port: connections may be shared.
    pub fn is_same_origin(&self, other: &Self) -> bool {
        self.host.eq_ignore_ascii_case(&other.host)
            && (self.tls, self.port) == (other.tls, other.port)
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_absolute {
            return f.write_str(&self.path);
        }
        write!(f, "{}://{}{}", self.scheme(), self.host_header(), self.path)
    }
}

/// A reference with a scheme is a whole URL; a colon further on belongs to a path or a query.
fn has_scheme(reference: &str) -> bool {
    let first = reference.split(['/', '?']).next().unwrap_or_default();
    first.split_once(':').is_some_and(|(scheme, _)| {
        scheme.starts_with(|first: char| first.is_ascii_alphabetic())
            && scheme
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
    })
}

/// A path and its query, where `.` and `..` are gone from the path (RFC 3986, section 5.2.4).
fn without_dots(path: &str) -> String {
    let end = path.find('?').unwrap_or(path.len());
    let (path, query) = path.split_at(end);
    let mut kept: Vec<&str> = Vec::new();
    let mut segments = path.split('/').skip(1).peekable();
    while let Some(segment) = segments.next() {
        match segment {
            "." => {}
            ".." => drop(kept.pop()),
            segment => kept.push(segment),
        }
        if matches!(segment, "." | "..") && segments.peek().is_none() {
            kept.push("");
        }
    }
    format!("/{}{query}", kept.join("/"))
}

/// Path and query of a URL, at least `/`.
fn path_of(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    match rest.find(['/', '?']).map(|begin| rest.split_at(begin).1) {
        None => "/".to_owned(),
        Some(query) if query.starts_with('?') => format!("/{query}"),
        Some(path) => path.to_owned(),
    }
}

/// A template stands for what a URL may hold.
fn without_templates(url: &str) -> String {
    let mut parts = url.split("{{");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        if let Some((_, rest)) = part.split_once("}}") {
            out.push('0');
            out.push_str(rest);
        } else {
            out.push_str("{{");
            out.push_str(part);
        }
    }
    out
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
        let template = Target::parse("http://a.test/u/{{row.user}}?n={{ counter }}").unwrap();
        assert_eq!(template.path, "/u/{{row.user}}?n={{ counter }}");
    }

    #[test]
    fn a_location_leads_on() {
        let target = Target::parse("http://a.test:81/shop/cart?x=1").unwrap();
        for (location, leads) in [
            ("/login", "http://a.test:81/login"),
            ("next", "http://a.test:81/shop/next"),
            ("https://b.test/x", "https://b.test/x"),
            ("//c.test/y", "http://c.test/y"),
            (
                "/login?next=https://b.test/x",
                "http://a.test:81/login?next=https://b.test/x",
            ),
            (
                "login?next=a/../b",
                "http://a.test:81/shop/login?next=a/../b",
            ),
            ("?page=2", "http://a.test:81/shop/cart?page=2"),
            ("#top", "http://a.test:81/shop/cart?x=1"),
            ("../x", "http://a.test:81/x"),
            ("https://b.test/a/./../b", "https://b.test/b"),
            ("HTTP://b.test", "http://b.test/"),
        ] {
            let next = target.follow(location).unwrap();
            assert_eq!(next.to_string(), leads, "{location}");
        }
        for nowhere in ["ftp://a/", "mailto:a@b", "", "http://b c/"] {
            assert_eq!(target.follow(nowhere), None, "{nowhere}");
        }
        let proxied = target.through_proxy(Some("Basic x"));
        assert_eq!(proxied.path, "http://a.test:81/shop/cart?x=1");
        assert_eq!(proxied.to_string(), "http://a.test:81/shop/cart?x=1");
        for (location, leads) in [
            ("next", "http://a.test:81/shop/next"),
            ("?page=2", "http://a.test:81/shop/cart?page=2"),
        ] {
            let next = proxied.follow(location).unwrap();
            assert_eq!(next.to_string(), leads, "{location}");
        }
    }

    /// The examples of RFC 3986, section 5.4, which begin at `/b/c/d;p?q`.
    #[test]
    fn references_are_resolved_as_the_rfc_says() {
        let target = Target::parse("http://a/b/c/d;p?q").unwrap();
        for (reference, path) in [
            ("g", "/b/c/g"),
            ("./g", "/b/c/g"),
            ("g/", "/b/c/g/"),
            ("/g", "/g"),
            ("?y", "/b/c/d;p?y"),
            ("g?y", "/b/c/g?y"),
            (";x", "/b/c/;x"),
            (".", "/b/c/"),
            ("./", "/b/c/"),
            ("..", "/b/"),
            ("../g", "/b/g"),
            ("../..", "/"),
            ("../../g", "/g"),
            ("../../../g", "/g"),
            ("/./g", "/g"),
            ("/../g", "/g"),
            ("g.", "/b/c/g."),
            ("..g", "/b/c/..g"),
            ("./g/.", "/b/c/g/"),
            ("g/../h", "/b/c/h"),
            ("g;x=1/../y", "/b/c/y"),
            ("g?y/../x", "/b/c/g?y/../x"),
        ] {
            assert_eq!(target.follow(reference).unwrap().path, path, "{reference}");
        }
    }

    #[test]
    fn the_case_of_a_host_makes_no_other_origin() {
        let [one, same, other] = [
            "http://Shop.test/a",
            "http://shop.TEST:80/",
            "https://shop.test/",
        ]
        .map(|url| Target::parse(url).unwrap());
        assert!(one.is_same_origin(&same));
        assert!(!one.is_same_origin(&other));
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
            ("http://u:p@a/", "--user"),
        ] {
            let error = Target::parse(url).unwrap_err().to_string();
            assert!(error.contains(fragment), "{url}: {error}");
        }
    }
}
