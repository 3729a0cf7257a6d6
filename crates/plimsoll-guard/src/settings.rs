//! What the guard is told by a file and by flags, understood: every value with where it comes from.

mod file;
mod places;
mod reader;
mod resolve;
mod routes;
#[cfg(test)]
mod tests;

use std::net::{SocketAddr, ToSocketAddrs as _, UdpSocket};
use std::path::PathBuf;
use std::time::Duration;

use plimsoll_control::admission::Rule;
use plimsoll_core::keys::{Known, Misplaced, Place};

use crate::config::LogTo;
use crate::config::{Config, Origin, Scheme};
use crate::dial;

/// What flags say; they go before the file.
#[derive(Debug, Clone, Default)]
pub struct Flags {
    pub listen: Option<dial::Place>,
    pub tls_cert: Vec<PathBuf>,
    /// One for each certificate, or none.
    pub tls_key: Vec<PathBuf>,
    pub no_http2: bool,
    pub upstream_ca: Option<PathBuf>,
    pub stream_idle: Option<Duration>,
    pub access_log: Option<LogTo>,
    /// Hides what may be secret in a target that is logged; without one its query is left out.
    pub mask: Option<fn(&str) -> String>,
    /// As they are written, such as `http://127.0.0.1:3000`.
    pub upstreams: Vec<String>,
    pub admin: Option<SocketAddr>,
    pub rule: Option<Rule>,
    pub class_header: Option<String>,
    pub tenant_header: Option<String>,
    pub shadow: bool,
    pub drain: Option<Duration>,
    /// The service that a record measured, for where nobody names one; and that record.
    pub measured: Option<(String, String)>,
    /// Requests in flight at the load line of a record, and that record.
    pub start: Option<(f64, String)>,
    /// Connections that this process has descriptors for.
    pub connections_most: usize,
}

/// All that is in force.
#[derive(Debug, Clone)]
pub struct Settings {
    pub config: Config,
    pub shown: Vec<Shown>,
}

/// A value and who says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    pub key: String,
    pub value: String,
    /// `guard.toml:12`, `--limit` or `default`.
    pub origin: String,
}

/// Reads the text of a file, which messages name so, if there is one; and checks all of it together with the flags.
pub fn read(file: Option<(&str, &str)>, flags: &Flags) -> Result<Settings, Misplaced> {
    let (name, text) = file.unwrap_or(("guard", ""));
    let place = Place::new(name, text);
    let top = place.parsed()?;
    let known = Known {
        all: &file::SECTIONS,
        inside: file::inside,
    };
    known.check(&place, &top)?;
    let place = place.with_keys(&top);
    let written = place.read(top)?;
    resolve::resolve(&place, &written, flags)
}

/// Where to listen; `:8080` is every address of this host. The error is a sentence.
pub fn address(text: &str) -> Result<SocketAddr, String> {
    let every = text
        .starts_with(':')
        .then(|| format!("{}{text}", any_address()));
    let whole = every.as_deref().unwrap_or(text);
    let mut found = whole.to_socket_addrs().map_err(|_| {
        format!("`{text}`: write HOST:PORT, such as 127.0.0.1:8080, or :8080 for every address")
    })?;
    found
        .next()
        .ok_or_else(|| format!("`{text}`: the name has no address"))
}

/// The address that stands for every one of this host: of both families where the kernel gives one socket both.
fn any_address() -> &'static str {
    let v6_alone = std::fs::read_to_string("/proc/sys/net/ipv6/bindv6only");
    let has_both = v6_alone.is_ok_and(|text| text.trim() == "0");
    if has_both && UdpSocket::bind("[::]:0").is_ok() {
        "[::]"
    } else {
        "0.0.0.0"
    }
}

/// The path in `unix:/path`, where there is one.
fn unix(text: &str) -> Result<Option<&str>, String> {
    match text.strip_prefix("unix:") {
        Some(path) if path.starts_with('/') => Ok(Some(path)),
        Some(_) => Err(format!(
            "`{text}`: write the whole path, such as unix:/run/guard.sock"
        )),
        None => Ok(None),
    }
}

/// Where clients come in: an address, or `unix:/path`. The error is a sentence.
pub fn place(text: &str) -> Result<dial::Place, String> {
    match unix(text)? {
        Some(path) => Ok(dial::Place::Unix(path.into())),
        None => address(text).map(dial::Place::Tcp),
    }
}

/// A service, as it is written. The error is a sentence.
pub fn origin(text: &str) -> Result<Origin, String> {
    let shape = "write http://HOST:PORT, such as http://127.0.0.1:3000, or https:// or unix:/path";
    if let Some(path) = unix(text)? {
        return Ok(Origin {
            host: path.to_owned(),
            port: 0,
            scheme: Scheme::Unix,
        });
    }
    let (scheme, usual, rest) = match text.split_once("://") {
        Some(("http", rest)) => (Scheme::Http, 80, rest),
        Some(("https", rest)) => (Scheme::Https, 443, rest),
        _ => return Err(format!("`{text}`: {shape}")),
    };
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    if !path.is_empty() || authority.contains(['?', '#']) {
        return Err(format!(
            "`{text}`: leave out the path, requests bring their own"
        ));
    }
    if authority.contains('@') {
        return Err(format!("`{text}`: leave out the user, {shape}"));
    }
    let (host, port) = match authority.rsplit_once(':') {
        // The colons of an address in brackets are its own.
        Some((host, port)) if !port.ends_with(']') => {
            let number = port.parse().ok().filter(|number: &u16| *number > 0);
            let number = number.ok_or_else(|| format!("`{text}`: `{port}` is no port; {shape}"))?;
            (host, number)
        }
        _ => (authority, usual),
    };
    let inside = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'));
    let is_fine = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
    let is_host = inside.map_or_else(
        || !host.is_empty() && host.bytes().all(is_fine),
        |address| address.parse::<std::net::Ipv6Addr>().is_ok(),
    );
    if !is_host {
        return Err(format!("`{text}`: `{host}` is no host; {shape}"));
    }
    Ok(Origin {
        host: host.to_owned(),
        port,
        scheme,
    })
}

/// Compares a part of `docs/guard.md` with what it is made of; with `UPDATE_DOCS=1` writes it anew.
#[cfg(test)]
pub(crate) fn page(part: &str, made: &str) {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guard.md");
    let page = std::fs::read_to_string(path).unwrap();
    let (begin, end) = (
        format!("<!-- {part}: begin -->\n"),
        format!("<!-- {part}: end -->"),
    );
    let (before, rest) = page.split_once(&begin).expect("the page marks its tables");
    let (_, after) = rest.split_once(&end).expect("the page marks their end");
    let made = format!("{before}{begin}{made}{end}{after}");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(path, &made).unwrap();
    }
    let committed = std::fs::read_to_string(path).unwrap();
    assert!(
        committed == made,
        "docs/guard.md is not made of the tables; UPDATE_DOCS=1 cargo test -p plimsoll-guard writes it"
    );
}
