//! From a target to the addresses that are connected to: names looked up once before a run, ways around them obeyed.

use std::fmt;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::Path;
use std::sync::Arc;

use plimsoll_base::clock::Clock;
use plimsoll_base::poll::Poll;
use plimsoll_core::Nanos;

use crate::address::Address;
use crate::proxy::Proxies;
use crate::target::{Target, TargetError};
use crate::tunnel::Tunnel;

/// Longest wait for the addresses of a name that has several.
const PATIENCE: Nanos = Nanos::from_secs(2);
/// Once one of them is connected, the others have this long (RFC 8305 waits as long between attempts).
const GRACE: Nanos = Nanos::from_millis(250);

/// A target with where its connections lead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    pub target: Target,
    /// At least one. Connections lead to each of them in turn.
    pub addresses: Vec<Address>,
    /// What asks a proxy for a way to the server.
    pub tunnel: Option<Tunnel>,
    /// The proxy that stands at these addresses, as `HOST:PORT`.
    pub proxy: Option<String>,
}

impl Endpoint {
    /// Everything is on this host.
    pub fn is_here(&self) -> bool {
        self.proxy.is_none() && self.addresses.iter().all(Address::is_here)
    }

    /// The first port of a host that connections lead to, unless a proxy stands there.
    pub fn tcp(&self) -> Option<SocketAddr> {
        let mut addresses = self.addresses.iter();
        addresses
            .find_map(Address::tcp)
            .filter(|_| self.proxy.is_none())
    }
}

/// `127.0.0.1:80, [::1]:80`, with the proxy if one is on the way.
impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, address) in self.addresses.iter().enumerate() {
            let comma = if index > 0 { ", " } else { "" };
            write!(f, "{comma}{address}")?;
        }
        match &self.proxy {
            Some(proxy) => write!(f, ", the proxy {proxy}"),
            None => Ok(()),
        }
    }
}

/// Which addresses of a name are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    V4,
    V6,
}

/// `HOST1:PORT1:HOST2:PORT2`: connections for the first lead to the second; what is empty fits anything, or stays (curl's
/// `--connect-to`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectTo {
    host: String,
    port: Option<u16>,
    to_host: String,
    to_port: Option<u16>,
}

impl ConnectTo {
    pub fn parse(text: &str) -> Option<Self> {
        let parts = split(text);
        let [host, port, to_host, to_port] = parts.as_slice() else {
            return None;
        };
        let number = |text: &str| match text {
            "" => Some(None),
            text => text.parse().ok().filter(|port| *port > 0).map(Some),
        };
        Some(Self {
            host: host.to_ascii_lowercase(),
            port: number(port)?,
            to_host: to_host.clone(),
            to_port: number(to_port)?,
        })
    }

    fn leads(&self, host: &str, port: u16) -> Option<(String, u16)> {
        let fits = (self.host.is_empty() || self.host == host.to_ascii_lowercase())
            && self.port.is_none_or(|own| own == port);
        let to_host = if self.to_host.is_empty() {
            host
        } else {
            &self.to_host
        };
        fits.then(|| (to_host.to_owned(), self.to_port.unwrap_or(port)))
    }
}

/// At colons outside of brackets, which are dropped.
fn split(text: &str) -> Vec<String> {
    let (mut parts, mut is_inside) = (vec![String::new()], false);
    for letter in text.chars() {
        match letter {
            '[' => is_inside = true,
            ']' => is_inside = false,
            ':' if !is_inside => parts.push(String::new()),
            letter => {
                if let Some(last) = parts.last_mut() {
                    last.push(letter);
                }
            }
        }
    }
    parts
}

/// What was said about the way to targets.
#[derive(Debug, Clone, Default)]
pub struct Ways {
    pub connect_to: Vec<ConnectTo>,
    pub family: Option<Family>,
    /// A socket of this host that everything goes to.
    pub unix: Option<Arc<Path>>,
    pub proxies: Proxies,
}

impl Ways {
    /// Where connections for this target lead. Blocks: names are looked up, and of several addresses those are kept that
    /// accept a connection, if any does.
    pub fn resolve(&self, mut target: Target) -> Result<Endpoint, TargetError> {
        if let Some(path) = &self.unix {
            return Ok(Endpoint {
                target,
                addresses: vec![Address::Unix(Arc::clone(path))],
                tunnel: None,
                proxy: None,
            });
        }
        let (mut host, mut port) = (target.host.clone(), target.port);
        let leads = |rule: &ConnectTo| rule.leads(&host, port);
        let led = self.connect_to.iter().find_map(leads);
        let proxy = match led {
            Some(_) => None,
            None => self.proxies.of(target.tls, &host, port)?,
        };
        if let Some(led) = led {
            (host, port) = led;
        }
        let mut tunnel = None;
        if let Some(proxy) = proxy {
            let authorization = proxy.authorization.as_deref();
            if target.tls {
                tunnel = Some(Tunnel::to(&target.authority(), authorization));
            } else {
                target = target.through_proxy(authorization);
            }
            (host, port) = (proxy.host.clone(), proxy.port);
        }
        let addresses = addresses(&host, port, self.family)?;
        Ok(Endpoint {
            target,
            addresses: reachable(addresses).into_iter().map(Address::Tcp).collect(),
            tunnel,
            proxy: proxy.map(|proxy| format!("{}:{}", proxy.host, proxy.port)),
        })
    }
}

/// Every address of a name that is of that family, at least one.
pub(crate) fn addresses(
    host: &str,
    port: u16,
    family: Option<Family>,
) -> Result<Vec<SocketAddr>, TargetError> {
    let dns = |reason: String| TargetError::Dns {
        host: host.to_owned(),
        reason,
    };
    let found = (host, port).to_socket_addrs();
    let found = found.map_err(|error| dns(error.to_string()))?;
    let mut addresses: Vec<SocketAddr> = Vec::new();
    for address in found {
        let fits = match family {
            None => true,
            Some(Family::V4) => address.is_ipv4(),
            Some(Family::V6) => address.is_ipv6(),
        };
        if fits && !addresses.contains(&address) {
            addresses.push(address);
        }
    }
    if addresses.is_empty() {
        let reason = match family {
            None => "no address",
            Some(Family::V4) => "no address of IPv4, which -4 asks for",
            Some(Family::V6) => "no address of IPv6, which -6 asks for",
        };
        return Err(dns(reason.to_owned()));
    }
    // `localhost` often has `::1` first while the service listens on 127.0.0.1 only: IPv4 first.
    addresses.sort_by_key(SocketAddr::is_ipv6);
    Ok(addresses)
}

/// Those of several that accept a connection, both families tried at once as a browser does (RFC 8305); all where none does,
/// so that the failure is seen as it is.
fn reachable(addresses: Vec<SocketAddr>) -> Vec<SocketAddr> {
    if addresses.len() < 2 {
        return addresses;
    }
    let accepted = try_all(&addresses).unwrap_or_default();
    let mut kept = addresses.clone();
    kept.retain(|address| accepted.contains(address));
    if kept.is_empty() { addresses } else { kept }
}

fn try_all(addresses: &[SocketAddr]) -> std::io::Result<Vec<SocketAddr>> {
    let (poll, clock) = (Poll::new()?, Clock::start());
    let (mut sockets, mut accepted) = (Vec::new(), Vec::new());
    for (token, address) in addresses.iter().enumerate() {
        if let Ok(socket) = Address::Tcp(*address).connect(None) {
            poll.add(&socket, token as u64)?;
            sockets.push((token as u64, socket));
        }
    }
    let (mut until, mut ready) = (PATIENCE, Vec::new());
    while !sockets.is_empty() && clock.now() < until {
        poll.wait(until.saturating_sub(clock.now()), &mut ready)?;
        for event in ready.drain(..) {
            let known = sockets.iter().position(|(token, _)| *token == event.token);
            let Some(place) = known else { continue };
            let (token, socket) = sockets.swap_remove(place);
            if rustix::net::getpeername(&socket).is_ok()
                && let Some(address) = addresses.get(token as usize)
            {
                accepted.push(*address);
                until = until.min(clock.now() + GRACE);
            }
        }
    }
    Ok(accepted)
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};
    use std::time::Duration;

    use super::*;

    #[test]
    fn connections_lead_elsewhere_as_with_curl() {
        let rule = ConnectTo::parse("shop.test:80:[::1]:8080").unwrap();
        assert_eq!(rule.leads("Shop.test", 80), Some(("::1".to_owned(), 8080)));
        assert_eq!(rule.leads("shop.test", 81), None);
        let any = ConnectTo::parse("::127.0.0.1:9").unwrap();
        assert_eq!(any.leads("x", 1), Some(("127.0.0.1".to_owned(), 9)));
        let same = ConnectTo::parse("a:1::").unwrap();
        assert_eq!(same.leads("a", 1), Some(("a".to_owned(), 1)));
        for wrong in ["", "a", "a:1:b", "a:x:b:2", "a:1:b:99999", "a:1:b:0"] {
            assert_eq!(ConnectTo::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn of_several_addresses_those_that_accept_are_kept() {
        let here = TcpListener::bind("127.0.0.2:0").unwrap();
        let there = here.local_addr().unwrap();
        let nobody = SocketAddr::new("127.0.0.3".parse().unwrap(), there.port());
        assert_eq!(reachable(vec![nobody, there]), [there]);
        let all = vec![nobody, SocketAddr::new(nobody.ip(), 1)];
        assert_eq!(reachable(all.clone()), all, "the failure is seen as it is");
    }

    /// Its queue is full, so it does not even refuse.
    #[test]
    fn an_address_that_says_nothing_is_left_out() {
        let full = TcpListener::bind("127.0.0.4:0").unwrap();
        rustix::net::listen(&full, 0).unwrap();
        let silent = full.local_addr().unwrap();
        let patience = Duration::from_millis(300);
        let connect = |_| TcpStream::connect_timeout(&silent, patience).ok();
        let waiting: Vec<TcpStream> = (0..64).map_while(connect).collect();
        assert!(waiting.len() < 64, "its queue is never full");
        let here = TcpListener::bind("127.0.0.2:0").unwrap();
        let there = here.local_addr().unwrap();
        assert_eq!(reachable(vec![silent, there]), [there]);
    }
}
