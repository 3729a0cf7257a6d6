//! What the guard is told. Everything else is learned.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use plimsoll_control::admission::{Class, Rule};
use plimsoll_control::balance::Balance;

use crate::dial::Place;
use crate::trust::Network;

#[derive(Debug, Clone)]
pub struct Config {
    pub listeners: Vec<Listener>,
    /// Proxies before the guard that are believed about whom a request is from and how it came.
    pub trusted: Vec<Network>,
    /// Metrics, readiness and `explain`.
    pub admin: Option<SocketAddr>,
    /// At least one.
    pub groups: Vec<Group>,
    /// The first that matches says where a request goes. What none matches goes to the only group, if there is one alone.
    pub routes: Vec<Route>,
    /// The first that matches says how important a request is, unless its route or the class header does.
    pub classes: Vec<ClassRule>,
    /// Header that says how important a request is, set by somebody who may be trusted.
    pub class_header: Option<String>,
    pub tenant: TenantKey,
    pub timeouts: Timeouts,
    pub retries: Retries,
    /// Nobody is refused: what would have been is only counted.
    pub shadow: bool,
    /// More connections than this are refused.
    pub connections_max: usize,
    /// How long requests under way may take after the signal to stop.
    pub drain: Duration,
    /// Certificates (PEM) that vouch for upstreams in TLS, in place of this host's.
    pub upstream_ca: Option<PathBuf>,
    pub access_log: Option<AccessLogConfig>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listener {
    pub place: Place,
    /// Of TLS, for one name each; none: it speaks plainly.
    pub certificates: Vec<Certificate>,
    /// Clients may speak HTTP/2: by ALPN in TLS, by prior knowledge without.
    pub http2: bool,
}

impl Listener {
    pub fn plain(place: Place) -> Self {
        Self {
            place,
            certificates: Vec::new(),
            http2: true,
        }
    }
}

/// A certificate and its key, as files that are read again when the guard is told to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Certificate {
    /// PEM: the server's own certificate first, then those that signed it.
    pub chain: PathBuf,
    /// PEM; without it, the key is in the first file.
    pub key: Option<PathBuf>,
}

/// Where lines of the access log go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogTo {
    Stdout,
    File(PathBuf),
}

#[derive(Debug, Clone)]
pub struct AccessLogConfig {
    pub to: LogTo,
    /// Hides the values in a target's query: they may be secret.
    pub mask: fn(&str) -> String,
}

/// Upstreams that do the same.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    pub name: String,
    /// At least one.
    pub upstreams: Vec<Origin>,
    pub rule: Rule,
    /// Where the limit of each upstream begins.
    pub start: Option<Start>,
    pub balance: Balance,
    /// At most so much of the group is left out for bad answers.
    pub out_most_ratio: f64,
    /// An upstream that comes back has its whole share again after this.
    pub slow_start: Duration,
    pub check: Option<Check>,
}

/// A limit that somebody measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Start {
    Each(f64),
    /// Of all upstreams together.
    Shared(f64),
}

/// Where a service is, as it was written; its name may have several addresses.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Origin {
    /// The path of a Unix socket.
    pub host: String,
    pub port: u16,
    pub scheme: Scheme,
}

/// How an upstream is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scheme {
    Http,
    Https,
    /// HTTP over a Unix socket; there is no port.
    Unix,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.scheme {
            Scheme::Http => write!(f, "{}:{}", self.host, self.port),
            Scheme::Https => write!(f, "https://{}:{}", self.host, self.port),
            Scheme::Unix => write!(f, "unix:{}", self.host),
        }
    }
}

impl From<SocketAddr> for Origin {
    fn from(address: SocketAddr) -> Self {
        let host = address.ip();
        Self {
            host: if host.is_ipv6() {
                format!("[{host}]")
            } else {
                host.to_string()
            },
            port: address.port(),
            scheme: Scheme::Http,
        }
    }
}

/// A request that an upstream must answer with 200 to 399, again and again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    pub path: String,
    pub every: Duration,
    pub timeout: Duration,
}

/// Which requests are meant: all that is said must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Match {
    /// The path is this, or begins with it and goes on with a `/`.
    pub path: Option<String>,
    /// Without a port; `*.example.com` for whatever stands before that.
    pub host: Option<String>,
    /// Any unless given.
    pub methods: Vec<String>,
    /// Headers with the values that they must have.
    pub headers: Vec<(String, String)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    pub matches: Match,
    /// Place in [`Config::groups`].
    pub group: usize,
    pub class: Option<Class>,
    /// Instead of those of all.
    pub timeouts: Option<Timeouts>,
    /// Its requests wait for something to happen, and are no work for the service meanwhile: they need no permit.
    pub waits: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClassRule {
    pub matches: Match,
    pub class: Class,
}

/// Whose request it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum TenantKey {
    /// The client's address.
    #[default]
    Address,
    /// What a header says, or the address where it says nothing.
    Header(String),
    /// What a cookie says, or the address.
    Cookie(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    pub connect: Duration,
    /// From the request to the head of its answer.
    pub head: Duration,
    /// From the permit to the end of the answer.
    pub whole: Option<Duration>,
    /// Without a byte in either direction.
    pub idle: Duration,
    /// The same for streams of events and tunnels.
    pub stream: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            head: Duration::from_secs(60),
            whole: None,
            idle: Duration::from_secs(60),
            stream: Duration::from_secs(3600),
        }
    }
}

/// Requests that the guard itself sends again.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Retries {
    /// For one request.
    pub attempts: u32,
    /// Of all that were answered.
    pub ratio: f64,
}

impl Default for Retries {
    fn default() -> Self {
        Self {
            attempts: 1,
            ratio: 0.1,
        }
    }
}

impl Config {
    /// A guard before one service, as it is without any settings.
    pub fn simple(listen: Place, upstreams: Vec<Origin>) -> Self {
        Self {
            listeners: vec![Listener::plain(listen)],
            trusted: Vec::new(),
            admin: None,
            groups: vec![Group::simple(upstreams)],
            routes: Vec::new(),
            classes: Vec::new(),
            class_header: None,
            tenant: TenantKey::Address,
            timeouts: Timeouts::default(),
            retries: Retries::default(),
            shadow: false,
            connections_max: 10_000,
            drain: Duration::from_secs(30),
            upstream_ca: None,
            access_log: None,
        }
    }
}

impl Group {
    pub fn simple(upstreams: Vec<Origin>) -> Self {
        Self {
            name: "default".to_owned(),
            upstreams,
            rule: Rule::HalfLoad,
            start: None,
            balance: Balance::Least,
            out_most_ratio: 0.5,
            slow_start: Duration::from_secs(10),
            check: None,
        }
    }
}
