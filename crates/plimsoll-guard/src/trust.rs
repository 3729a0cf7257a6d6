//! How a request came here: proxies before the guard are believed about it, if their addresses are among those that are
//! trusted; nobody else is.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

use plimsoll_net::h1::serving::RequestHead;

use crate::digits::Digits;

/// Addresses that begin with the same bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    bits: u32,
}

impl Network {
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                let differ = u128::from(own.to_bits() ^ other.to_bits());
                differ >> (32 - self.bits) == 0
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => {
                let differ = own.to_bits() ^ other.to_bits();
                differ.checked_shr(128 - self.bits).unwrap_or_default() == 0
            }
            _ => false,
        }
    }

    /// Without the bits that say nothing.
    fn bare(self) -> Self {
        let address = match self.address {
            IpAddr::V4(own) => {
                let mask = u32::MAX.checked_shl(32 - self.bits).unwrap_or_default();
                Ipv4Addr::from_bits(own.to_bits() & mask).into()
            }
            IpAddr::V6(own) => {
                let mask = u128::MAX.checked_shl(128 - self.bits).unwrap_or_default();
                Ipv6Addr::from_bits(own.to_bits() & mask).into()
            }
        };
        Self { address, ..self }
    }
}

impl fmt::Display for Network {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}/{}", self.address, self.bits)
    }
}

impl FromStr for Network {
    /// A sentence.
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let shape = || {
            format!(
                "`{text}`: write an address or a network, such as 10.0.0.1, 10.0.0.0/8 or fd00::/8"
            )
        };
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| shape())?;
        if address != address.to_canonical() {
            // Clients of IPv4 are known by that address on every socket: such a network would hold none of them.
            return Err(format!("`{text}`: write that network as one of IPv4"));
        }
        let most: u32 = if address.is_ipv4() { 32 } else { 128 };
        let bits = match bits {
            None => most,
            Some(bits) => {
                let bits = bits.parse::<u32>().ok().filter(|bits| *bits <= most);
                bits.ok_or_else(|| format!("{}, with at most {most} behind the slash", shape()))?
            }
        };
        let network = Self { address, bits };
        let bare = network.bare();
        if bare != network {
            return Err(format!(
                "`{text}`: that network begins at {bare}: write {bare}"
            ));
        }
        Ok(network)
    }
}

/// How one request came.
#[derive(Debug)]
pub(crate) struct Way<'b> {
    /// Whose request it is: the nearest that is not trusted.
    pub(crate) client: IpAddr,
    /// Whoever is connected.
    peer: IpAddr,
    /// What trusted proxies say of those before them, each beginning with the farthest.
    chain: Vec<&'b [u8]>,
    scheme: &'static [u8],
    host: Option<&'b [u8]>,
    port: Option<&'b [u8]>,
}

impl<'b> Way<'b> {
    /// `is_secure`: it came through TLS.
    pub(crate) fn of(
        read: &RequestHead<'b>,
        peer: IpAddr,
        is_secure: bool,
        trusted: &[Network],
    ) -> Self {
        let own: &[u8] = if is_secure { b"https" } else { b"http" };
        let mut way = Self {
            client: peer,
            peer,
            chain: Vec::new(),
            scheme: own,
            host: None,
            port: None,
        };
        let is_trusted = |address: IpAddr| trusted.iter().any(|one| one.contains(address));
        if !is_trusted(peer) {
            return way;
        }
        for (name, value) in &read.fields {
            let is = |known: &str| name.eq_ignore_ascii_case(known);
            let value = value.trim_ascii();
            if value.is_empty() {
                continue;
            }
            // Of what is said twice the last word is that of the nearest proxy.
            if is("x-forwarded-for") {
                way.chain.push(value);
            } else if is("x-forwarded-host") {
                way.host = Some(value);
            } else if is("x-forwarded-port") && value.iter().all(u8::is_ascii_digit) {
                way.port = Some(value);
            } else if is("x-forwarded-proto") {
                way.scheme = scheme(value).unwrap_or(own);
            }
        }
        let said = way.chain.iter().rev();
        for said in said.flat_map(|value| value.rsplit(|byte| *byte == b',')) {
            // Whatever stands before a word that is no address was said by somebody whom nobody knows.
            let Some(address) = address(said).filter(|_| is_trusted(way.client)) else {
                break;
            };
            way.client = address;
        }
        way
    }

    /// Writes the fields for the upstream; `host` is the one that the request names.
    pub(crate) fn put(&self, host: &[u8], head: &mut Vec<u8>) {
        let mut put = |parts: &[&[u8]]| parts.iter().for_each(|part| head.extend_from_slice(part));
        put(&[b"X-Forwarded-For: "]);
        for said in &self.chain {
            put(&[said, b", "]);
        }
        put_address(self.peer, head);
        let mut put = |parts: &[&[u8]]| parts.iter().for_each(|part| head.extend_from_slice(part));
        put(&[b"\r\nX-Forwarded-Host: "]);
        put(&[self.host.unwrap_or(host), b"\r\nX-Forwarded-Proto: "]);
        put(&[self.scheme, b"\r\n"]);
        if let Some(port) = self.port {
            put(&[b"X-Forwarded-Port: ", port, b"\r\n"]);
        }
    }
}

/// Every request of every client has one: that of IPv4 without the machinery of formatting.
fn put_address(address: IpAddr, head: &mut Vec<u8>) {
    let IpAddr::V4(address) = address else {
        return head.extend_from_slice(address.to_string().as_bytes());
    };
    for (place, octet) in address.octets().into_iter().enumerate() {
        if place > 0 {
            head.push(b'.');
        }
        head.extend_from_slice(Digits::of(octet.into()).text().as_bytes());
    }
}

fn scheme(word: &[u8]) -> Option<&'static [u8]> {
    let known: [&[u8]; 2] = [b"https", b"http"];
    known
        .into_iter()
        .find(|known| word.eq_ignore_ascii_case(known))
}

/// An address as proxies write it, some with the port, some in brackets.
fn address(word: &[u8]) -> Option<IpAddr> {
    let text = std::str::from_utf8(word.trim_ascii()).ok()?;
    let bare = text
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    let address = bare.unwrap_or(text).parse().ok();
    let address = address.or_else(|| {
        text.parse()
            .ok()
            .map(|with_port: SocketAddr| with_port.ip())
    });
    address.map(|address| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_have_the_addresses_that_begin_as_they_do() {
        for (network, inside, outside) in [
            ("10.0.0.0/8", "10.255.0.1", "11.0.0.1"),
            ("10.0.0.7", "10.0.0.7", "10.0.0.6"),
            ("0.0.0.0/0", "203.0.113.9", "::1"),
            ("fd00::/8", "fd12::1", "fe80::1"),
            ("::1", "::1", "::2"),
            ("::/0", "2001:db8::1", "10.0.0.1"),
            ("10.0.0.0/31", "::ffff:10.0.0.1", "::ffff:10.0.0.2"),
        ] {
            let network: Network = network.parse().unwrap();
            assert!(network.contains(inside.parse().unwrap()), "{network}");
            assert!(!network.contains(outside.parse().unwrap()), "{network}");
        }
    }

    #[test]
    fn a_network_that_would_hold_other_addresses_than_it_says_is_refused() {
        for (text, says) in [
            ("10.0.0.1/8", "write 10.0.0.0/8"),
            ("fd00::1/8", "write fd00::/8"),
            ("10.0.0.0/33", "at most 32"),
            ("::ffff:10.0.0.0/104", "as one of IPv4"),
            ("10.0.0.0/", "10.0.0.0/8"),
            ("example.com", "write an address or a network"),
        ] {
            let problem = text.parse::<Network>().unwrap_err();
            assert!(problem.contains(says), "{text}: {problem}");
        }
    }

    #[test]
    fn the_client_is_the_nearest_that_is_not_trusted() {
        let trusted = ["10.0.0.0/8".parse().unwrap(), "fd00::/8".parse().unwrap()];
        for (peer, chain, client) in [
            ("10.0.0.1", "203.0.113.9", "203.0.113.9"),
            // What it says of itself is nobody's word.
            ("10.0.0.1", "1.1.1.1, 203.0.113.9, 10.0.0.2", "203.0.113.9"),
            (
                "10.0.0.1",
                "203.0.113.9\r\nX-Forwarded-For: 10.0.0.3,fd00::1",
                "203.0.113.9",
            ),
            ("10.0.0.1", "[2001:db8::1]:443, 10.0.0.2:80", "2001:db8::1"),
            ("10.0.0.1", "[2001:db8::1]", "2001:db8::1"),
            ("10.0.0.1", "1.1.1.1, unknown, 10.0.0.2", "10.0.0.2"),
            ("10.0.0.1", "10.0.0.3, 10.0.0.2", "10.0.0.3"),
            ("10.0.0.1", "", "10.0.0.1"),
            ("203.0.113.9", "1.1.1.1", "203.0.113.9"),
        ] {
            let text = format!("GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: {chain}\r\n\r\n");
            let read = RequestHead::read(text.as_bytes()).unwrap().unwrap();
            let way = Way::of(&read, peer.parse().unwrap(), false, &trusted);
            assert_eq!(way.client, client.parse::<IpAddr>().unwrap(), "{chain}");
        }
    }
}
