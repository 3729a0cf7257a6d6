//! Where calls go: names resolved once and kept, `hosts` overrides, blocked names and addresses.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use plimsoll_base::poll::Waker;
use plimsoll_base::random::Rng;
use plimsoll_core::Nanos;
use plimsoll_net::proxy::{Proxies, Proxy, holds};
use plimsoll_net::target::ProxyError;
use plimsoll_net::tls::{self, ClientConfig, Identity, TlsChoice, TlsError};
use plimsoll_net::{Setup, Tunnel};
use plimsoll_script::http::{HttpError, RequestUrl};

use super::resolver::{HostPort, Lookup, Resolver};

/// TLS configurations with the hosts that they are for.
type Configs = Vec<(Vec<String>, Arc<ClientConfig>)>;

/// Which addresses of a name may be connected to (option `dns.policy`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Family {
    #[default]
    PreferV4,
    PreferV6,
    OnlyV4,
    OnlyV6,
    Any,
}

impl Family {
    /// Those of a name's addresses that this allows.
    fn of(self, found: Vec<SocketAddr>) -> Vec<SocketAddr> {
        let all = found.iter().copied();
        let (v4, v6): (Vec<_>, Vec<_>) = all.partition(SocketAddr::is_ipv4);
        match self {
            Self::PreferV4 if v4.is_empty() => v6,
            Self::PreferV6 if v6.is_empty() => v4,
            Self::PreferV4 | Self::OnlyV4 => v4,
            Self::PreferV6 | Self::OnlyV6 => v6,
            Self::Any => found,
        }
    }
}

/// Which of them a connection goes to (option `dns.select`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Select {
    First,
    #[default]
    Random,
    RoundRobin,
}

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
    pub family: Family,
    pub select: Select,
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

    /// The network that must not be called and has this address.
    fn blocking(&self, address: SocketAddr) -> Option<&(IpAddr, u8)> {
        let mut blocked = self.blocked_networks.iter();
        blocked.find(|(network, bits)| holds(*network, *bits, address.ip()))
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
    addresses: BTreeMap<HostPort, (Vec<SocketAddr>, Nanos)>,
    resolver: Resolver,
    rng: Rng,
}

/// An origin that was connected to before.
#[derive(Debug)]
struct Known {
    number: usize,
    /// How to connect to it, at one of its addresses.
    setup: Setup,
    addresses: Vec<SocketAddr>,
    /// Connections that were opened to it.
    opened: usize,
    /// Until when that is believed.
    until: Nanos,
}

impl Names {
    pub(super) fn new(naming: Arc<Naming>, waker: Waker, rng: Rng) -> Self {
        let tls = naming.configs().map_err(|error| error.to_string());
        Self {
            resolver: Resolver::new(naming.lookup, waker),
            naming,
            tls,
            origins: Vec::new(),
            known: BTreeMap::new(),
            addresses: BTreeMap::new(),
            rng,
        }
    }

    /// The origin's number; nothing yet if its name must be looked up first.
    pub(super) fn find(
        &mut self,
        url: &RequestUrl,
        now: Nanos,
    ) -> Result<Option<usize>, HttpError> {
        let key = (url.host.clone(), url.port, url.is_tls);
        let known = self.known.get(&key);
        if let Some(known) = known.filter(|known| now <= known.until) {
            return Ok(Some(known.number));
        }
        let opened = known.map_or(0, |known| known.opened);
        let Some((setup, addresses, until)) = self.look_up(url, now)? else {
            return Ok(None);
        };
        let known = self.origins.iter().position(|origin| *origin == key);
        let number = known.unwrap_or_else(|| {
            self.origins.push(key.clone());
            self.origins.len() - 1
        });
        let known = Known {
            number,
            setup,
            addresses,
            opened,
            until,
        };
        self.known.insert(key, known);
        Ok(Some(number))
    }

    /// How to open one more connection to an origin that was found.
    pub(super) fn way(&mut self, number: usize) -> Result<&Setup, HttpError> {
        let known = self.origins.get(number);
        let known = known.and_then(|origin| self.known.get_mut(origin));
        let Some(known) = known else {
            return Err(error(1000, "internal: no such origin".to_owned()));
        };
        let count = known.addresses.len();
        let place = match self.naming.select {
            Select::First => 0,
            Select::RoundRobin => known.opened % count.max(1),
            Select::Random => self.rng.below(count as u64) as usize,
        };
        known.opened += 1;
        let Some(address) = known.addresses.get(place) else {
            return Err(error(1101, "no address".to_owned()));
        };
        if let Some((network, bits)) = self.naming.blocking(*address) {
            return Err(error(
                1110,
                format!("{address} is blocked by {network}/{bits}"),
            ));
        }
        known.setup.address = (*address).into();
        Ok(&known.setup)
    }

    /// A name that was asked for: its place, and why it has no address if it has none. What it says is
    /// believed at `now`, however short the time for which it is kept.
    pub(super) fn answer(&mut self, now: Nanos) -> Option<(HostPort, Option<HttpError>)> {
        let (place, found) = self.resolver.answer()?;
        let failed = |words: String| Some(error(1101, format!("lookup {}: {words}", place.0)));
        let problem = match found {
            Err(problem) => failed(problem.to_string()),
            Ok(found) => {
                let allowed = self.naming.family.of(found);
                if allowed.is_empty() {
                    failed("no address".to_owned())
                } else {
                    let until = now + self.naming.keep;
                    self.addresses.insert(place.clone(), (allowed, until));
                    None
                }
            }
        };
        Some((place, problem))
    }

    fn look_up(
        &mut self,
        url: &RequestUrl,
        now: Nanos,
    ) -> Result<Option<(Setup, Vec<SocketAddr>, Nanos)>, HttpError> {
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
        let Some((addresses, until)) = self.addresses(url, now) else {
            return Ok(None);
        };
        let Some(first) = addresses.first() else {
            return Err(error(1101, format!("lookup {}: no address", url.host)));
        };
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
            address: (*first).into(),
            tunnel,
            tls,
            head_request: false,
        };
        Ok(Some((setup, addresses, until)))
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

    /// Where one may connect to, and until when that is believed; nothing while the resolver is asked.
    fn addresses(&mut self, url: &RequestUrl, now: Nanos) -> Option<(Vec<SocketAddr>, Nanos)> {
        let place = self.place(url);
        let literal = || Some(SocketAddr::new(place.0.parse().ok()?, place.1));
        if let Some(address) = self.overridden(&place).or_else(literal) {
            return Some((vec![address], Nanos::MAX));
        }
        let known = self.addresses.get(&place);
        if let Some(known) = known.filter(|(_, until)| now <= *until) {
            return Some(known.clone());
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
    #[expect(clippy::unnecessary_wraps, reason = "a lookup may fail")]
    fn looked_up(_: &str, port: u16) -> std::io::Result<Vec<SocketAddr>> {
        let found = ["::1", "127.0.0.1", "127.0.0.2", "127.0.0.3"];
        let found = found.map(|ip| SocketAddr::new(ip.parse().unwrap(), port));
        Ok(found.to_vec())
    }

    /// The addresses that six connections in a row go to, by their last letter.
    fn dialled(family: Family, select: Select) -> String {
        let naming = Naming {
            family,
            select,
            keep: Nanos::from_secs(9),
            lookup: Lookup(looked_up),
            ..Naming::default()
        };
        let poll = plimsoll_base::poll::Poll::new().unwrap();
        let mut names = Names::new(Arc::new(naming), poll.waker(), Rng::new(1, 1));
        let url = RequestUrl {
            text: "http://h.test/".into(),
            is_tls: false,
            host: "h.test".into(),
            port: 80,
            authority: "h.test".into(),
            target: "/".into(),
        };
        assert_eq!(names.find(&url, Nanos::ZERO), Ok(None));
        while names.answer(Nanos::ZERO).is_none() {
            std::thread::yield_now();
        }
        let number = names.find(&url, Nanos::ZERO).unwrap().unwrap();
        let dial = |_| {
            let address = names.way(number).unwrap().address.tcp().unwrap();
            address.ip().to_string().pop().unwrap()
        };
        (0..6).map(dial).collect()
    }

    /// Every connection of five minutes went to the first address, whatever was said.
    #[test]
    fn a_name_with_several_addresses_is_used_as_the_options_say() {
        assert_eq!(dialled(Family::PreferV4, Select::First), "111111");
        assert_eq!(dialled(Family::PreferV4, Select::RoundRobin), "123123");
        let random = dialled(Family::OnlyV4, Select::Random);
        assert!("123".chars().all(|one| random.contains(one)), "{random}");
        let all = looked_up("h.test", 80).unwrap();
        let families = |family: Family| family.of(all.clone()).len();
        assert_eq!(
            [families(Family::OnlyV6), families(Family::PreferV6)],
            [1, 1]
        );
        assert_eq!([families(Family::OnlyV4), families(Family::Any)], [3, 4]);
        assert_eq!(Family::PreferV4.of(all[..1].to_vec()), all[..1]);
        assert_eq!(Family::OnlyV4.of(all[..1].to_vec()), []);
    }
}
