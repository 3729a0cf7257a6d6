//! Where calls go: names resolved once and kept, `hosts` overrides, blocked names and addresses.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use plimsoll_base::poll::Waker;
use plimsoll_core::Nanos;
use plimsoll_net::proxy::{Proxies, Proxy, holds};
use plimsoll_net::target::ProxyError;
use plimsoll_net::tls::{self, ClientConfig, Identity, TlsChoice, TlsError};
use plimsoll_net::{Setup, Tunnel};
use plimsoll_script::http::{HttpError, RequestUrl};

use super::resolver::{HostPort, Lookup, Resolver};

/// TLS configurations with the hosts that they are for.
type Configs = Vec<(Vec<String>, Arc<ClientConfig>)>;

/// What the options say about addresses.
#[derive(Debug, Clone, Default)]
pub struct Naming {
    /// `name`, `name:port` or `*.suffix` to an address, with a port of its own or the one asked for.
    pub hosts: Vec<(String, IpAddr, Option<u16>)>,
    /// Names that must not be called; a leading `*` stands for anything.
    pub blocked_names: Vec<String>,
    /// Networks that must not be called, as address and prefix length.
    pub blocked_networks: Vec<(IpAddr, u8)>,
    /// How long an answer of the resolver is believed.
    pub keep: Nanos,
    pub tls: TlsChoice,
    /// Client certificates for hosts of these names or patterns; without any, for all.
    pub identities: Vec<(Vec<String>, Identity)>,
    /// Addresses to connect from, in turn; empty leaves it to the system.
    pub local: Vec<IpAddr>,
    pub lookup: Lookup,
    pub proxies: Proxies,
}

impl Naming {
    /// The proxy on the way to a URL.
    fn proxy(&self, url: &RequestUrl) -> Result<Option<&Proxy>, ProxyError> {
        self.proxies.of(url.is_tls, &url.host, url.port)
    }

    /// Every TLS configuration that connections may take: the general one first.
    fn configs(&self) -> Result<Configs, TlsError> {
        let general = (Vec::new(), self.tls.clone());
        let own = self.identities.iter().map(|(hosts, identity)| {
            let identity = Some(identity.clone());
            let choice = TlsChoice {
                identity,
                ..self.tls.clone()
            };
            (hosts.clone(), choice)
        });
        std::iter::once(general)
            .chain(own)
            .map(|(hosts, choice)| Ok((hosts, tls::client_config_of(&choice)?)))
            .collect()
    }

    /// Whether TLS can be set up as it was chosen.
    pub fn check_tls(&self) -> Result<(), TlsError> {
        self.configs().map(drop)
    }
}

/// Host, port and whether TLS is spoken.
type Origin = (Box<str>, u16, bool);

/// Everything needed to open connections; one per worker.
#[derive(Debug)]
pub(super) struct Names {
    naming: Arc<Naming>,
    /// Configurations with the hosts that they are for: the general one first, or why there is none.
    tls: Result<Configs, String>,
    /// The place is the number by which connections are told apart.
    origins: Vec<Origin>,
    known: BTreeMap<Origin, Known>,
    /// What the resolver said, and until when that is believed.
    addresses: BTreeMap<HostPort, (SocketAddr, Nanos)>,
    resolver: Resolver,
}

/// The origin's number, how to connect to it, and until when that is believed.
type Known = (usize, Setup, Nanos);

impl Names {
    pub(super) fn new(naming: Arc<Naming>, waker: Waker) -> Self {
        let tls = naming.configs().map_err(|error| error.to_string());
        Self {
            resolver: Resolver::new(naming.lookup, waker),
            naming,
            tls,
            origins: Vec::new(),
            known: BTreeMap::new(),
            addresses: BTreeMap::new(),
        }
    }

    /// The origin's number and how to connect to it; nothing yet if its name must be looked up first.
    pub(super) fn find(
        &mut self,
        url: &RequestUrl,
        now: Nanos,
    ) -> Result<Option<(usize, &Setup)>, HttpError> {
        let key = (url.host.clone(), url.port, url.is_tls);
        let is_fresh = self
            .known
            .get(&key)
            .is_some_and(|(_, _, until)| now <= *until);
        if !is_fresh {
            let Some((setup, until)) = self.look_up(url, now)? else {
                return Ok(None);
            };
            let known = self.origins.iter().position(|origin| *origin == key);
            let number = known.unwrap_or_else(|| {
                self.origins.push(key.clone());
                self.origins.len() - 1
            });
            self.known.insert(key.clone(), (number, setup, until));
        }
        let (number, setup, _) = self.known.get(&key).expect("it was just made");
        Ok(Some((*number, setup)))
    }

    /// A name that was asked for: its place, and why it has no address if it has none. What it says is
    /// believed at `now`, however short the time for which it is kept.
    pub(super) fn answer(&mut self, now: Nanos) -> Option<(HostPort, Option<HttpError>)> {
        let (place, found) = self.resolver.answer()?;
        let failed = |words: String| Some(error(1101, format!("lookup {}: {words}", place.0)));
        let problem = match found {
            Err(problem) => failed(problem.to_string()),
            Ok(found) => {
                let v4 = found.iter().find(|address| address.is_ipv4());
                match v4.or(found.first()) {
                    None => failed("no address".to_owned()),
                    Some(address) => {
                        let until = now + self.naming.keep;
                        self.addresses.insert(place.clone(), (*address, until));
                        None
                    }
                }
            }
        };
        Some((place, problem))
    }

    fn look_up(
        &mut self,
        url: &RequestUrl,
        now: Nanos,
    ) -> Result<Option<(Setup, Nanos)>, HttpError> {
        if let Some(pattern) = self
            .naming
            .blocked_names
            .iter()
            .find(|p| fits(p, &url.host))
        {
            return Err(error(
                1111,
                format!("{} is blocked by {pattern:?}", url.host),
            ));
        }
        let Some((address, until)) = self.address(url, now) else {
            return Ok(None);
        };
        let blocked = self.naming.blocked_networks.iter();
        if let Some((network, bits)) = blocked
            .into_iter()
            .find(|(network, bits)| holds(*network, *bits, address.ip()))
        {
            return Err(error(
                1110,
                format!("{address} is blocked by {network}/{bits}"),
            ));
        }
        let proxy = self.naming.proxy(url);
        let proxy = proxy.map_err(|problem| error(1000, problem.to_string()))?;
        let tunnel = proxy.filter(|_| url.is_tls).map(|proxy| {
            let authority = format!("{}:{}", bracketed(&url.host), url.port);
            Tunnel::to(&authority, proxy.authorization.as_deref())
        });
        let tls = if url.is_tls {
            let config = self.config_of(&url.host)?;
            let name = tls::server_name(&url.host).map_err(|e| error(1300, e.to_string()))?;
            Some((config, name))
        } else {
            None
        };
        let setup = Setup {
            address: address.into(),
            tunnel,
            tls,
            head_request: false,
        };
        Ok(Some((setup, until)))
    }

    /// The configuration with the first client certificate for that host, or the general one.
    fn config_of(&self, host: &str) -> Result<Arc<ClientConfig>, HttpError> {
        let configs = match &self.tls {
            Ok(configs) => configs,
            Err(problem) => return Err(error(1300, problem.clone())),
        };
        let is_for = |hosts: &[String]| hosts.is_empty() || hosts.iter().any(|p| fits(p, host));
        let own = configs.iter().skip(1).find(|(hosts, _)| is_for(hosts));
        let found = own.or(configs.first());
        found
            .map(|(_, config)| Arc::clone(config))
            .ok_or_else(|| error(1300, "no TLS configuration".to_owned()))
    }

    /// What must stand in a plain request because a proxy is asked for it.
    pub(super) fn plain_proxy(&self, url: &RequestUrl) -> Option<&Proxy> {
        self.naming.proxy(url).ok()?.filter(|_| !url.is_tls)
    }

    /// The host that is connected to for a URL: its own, or that of a proxy.
    pub(super) fn place(&self, url: &RequestUrl) -> HostPort {
        match self.naming.proxy(url) {
            Ok(Some(proxy)) => (proxy.host.as_str().into(), proxy.port),
            _ => (url.host.clone(), url.port),
        }
    }

    /// The address that a virtual user connects from.
    pub(super) fn local(&self, vu: usize) -> Option<IpAddr> {
        let local = &self.naming.local;
        (!local.is_empty()).then(|| local[vu % local.len()])
    }

    /// Where to connect to, and until when that is believed; nothing while the resolver is asked.
    fn address(&mut self, url: &RequestUrl, now: Nanos) -> Option<(SocketAddr, Nanos)> {
        let place = self.place(url);
        let literal = || Some(SocketAddr::new(place.0.parse().ok()?, place.1));
        if let Some(address) = self.overridden(&place).or_else(literal) {
            return Some((address, Nanos::MAX));
        }
        let known = self.addresses.get(&place);
        if let Some(known) = known.filter(|(_, until)| now <= *until) {
            return Some(*known);
        }
        self.resolver.ask(place);
        None
    }

    /// What the option `hosts` says.
    fn overridden(&self, (host, port): &HostPort) -> Option<SocketAddr> {
        let with_port = format!("{host}:{port}");
        let exact = |(name, ..): &&(String, IpAddr, Option<u16>)| *name == with_port;
        let named = |(name, ..): &&(String, IpAddr, Option<u16>)| *name == **host;
        let wild = |(name, ..): &&(String, IpAddr, Option<u16>)| fits(name, host);
        let hosts = &self.naming.hosts;
        let named = hosts.iter().find(exact).or(hosts.iter().find(named));
        let (_, ip, own_port) = named.or(hosts.iter().find(wild))?;
        Some(SocketAddr::new(*ip, own_port.unwrap_or(*port)))
    }
}

fn error(code: u16, message: String) -> HttpError {
    HttpError {
        code,
        message: message.into(),
    }
}

/// A name, or `*` and a suffix.
fn fits(pattern: &str, host: &str) -> bool {
    match pattern.strip_prefix('*') {
        Some(suffix) => host.len() >= suffix.len() && host.ends_with(suffix),
        None => pattern.eq_ignore_ascii_case(host),
    }
}

/// As a URL writes an address of IPv6.
fn bracketed(host: &str) -> String {
    if host.contains(':') {
        format!("[{host}]")
    } else {
        host.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_and_networks() {
        assert!(fits("*.shop.test", "a.shop.test") && !fits("*.shop.test", "shop.test"));
        assert!(fits("Shop.test", "shop.test") && fits("*", "anything"));
        let network: IpAddr = "10.1.0.0".parse().unwrap();
        assert!(holds(network, 16, "10.1.200.3".parse().unwrap()));
        assert!(!holds(network, 16, "10.2.0.1".parse().unwrap()));
        assert!(holds(network, 0, "192.0.2.1".parse().unwrap()));
        assert!(!holds(network, 0, "::1".parse().unwrap()));
    }
}
