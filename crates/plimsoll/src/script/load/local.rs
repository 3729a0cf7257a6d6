//! `localIPs`: addresses of this host to connect from, as single ones, ranges and networks.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener};

use anyhow::Result;

use super::invalid;

/// More addresses than this are a slip of the pen.
const MOST: u128 = 65_536;

/// Every address, in the order of the option; each must be one of this host.
pub(super) fn addresses(texts: &[String]) -> Result<Vec<IpAddr>> {
    let mut all = Vec::new();
    for text in texts {
        let span = span(text).filter(|span| span.last - span.first < MOST);
        let Some(span) = span else {
            return Err(invalid(format!(
                "localIPs: `{text}` is no address, range or network; write 10.0.0.1, 10.0.0.1-10.0.0.9 or 10.0.0.0/24"
            )));
        };
        all.extend((span.first..=span.last).map(|number| span.address(number)));
    }
    for address in &all {
        if TcpListener::bind((*address, 0)).is_err() {
            return Err(invalid(format!(
                "localIPs: {address} is no address of this host"
            )));
        }
    }
    Ok(all)
}

/// Addresses in a row, as numbers.
#[derive(Debug, PartialEq, Eq)]
struct Span {
    is_v4: bool,
    first: u128,
    last: u128,
}

impl Span {
    fn address(&self, number: u128) -> IpAddr {
        if self.is_v4 {
            Ipv4Addr::from(number as u32).into()
        } else {
            Ipv6Addr::from(number).into()
        }
    }
}

fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u32::from(address).into(),
        IpAddr::V6(address) => address.into(),
    }
}

fn span(text: &str) -> Option<Span> {
    if let Some((address, bits)) = text.split_once('/') {
        let (address, bits): (IpAddr, u32) =
            (address.trim().parse().ok()?, bits.trim().parse().ok()?);
        let free = (if address.is_ipv4() { 32_u32 } else { 128 }).checked_sub(bits)?;
        let size = 1_u128.checked_shl(free)?;
        let base = number(address) & !(size - 1);
        // The first and the last address of a network of IPv4 are no host's.
        let edge = u128::from(address.is_ipv4() && size > 2);
        return Some(Span {
            is_v4: address.is_ipv4(),
            first: base + edge,
            last: base + size - 1 - edge,
        });
    }
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let (first, last): (IpAddr, IpAddr) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
    let is_row = first.is_ipv4() == last.is_ipv4() && number(first) <= number(last);
    is_row.then(|| Span {
        is_v4: first.is_ipv4(),
        first: number(first),
        last: number(last),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_and_networks_become_addresses() {
        let of = |text: &str| {
            let span = span(text)?;
            Some((
                span.address(span.first).to_string(),
                span.address(span.last).to_string(),
            ))
        };
        let pair = |first: &str, last: &str| Some((first.to_owned(), last.to_owned()));
        assert_eq!(of("10.0.0.7"), pair("10.0.0.7", "10.0.0.7"));
        assert_eq!(of("10.0.0.7-10.0.1.2"), pair("10.0.0.7", "10.0.1.2"));
        assert_eq!(of("10.0.0.77/24"), pair("10.0.0.1", "10.0.0.254"));
        assert_eq!(of("10.0.0.4/31"), pair("10.0.0.4", "10.0.0.5"));
        assert_eq!(of("fd00::10/124"), pair("fd00::10", "fd00::1f"));
        for wrong in [
            "",
            "10.0.0.9-10.0.0.1",
            "10.0.0.1-fd00::1",
            "10.0.0.0/33",
            "host",
            "::/0",
        ] {
            assert_eq!(of(wrong), None, "{wrong}");
        }
    }
}
