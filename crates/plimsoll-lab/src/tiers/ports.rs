//! Ports that never clash: reserved by a bound socket for as long as the lab runs.
//!
//! A socket that is bound and does not listen keeps the kernel from giving its port to anybody who asks
//! for a free one, an outgoing connection included. A server that sets `SO_REUSEADDR`, as servers do, may
//! bind and listen beside it as soon as the reserving socket allows that, too.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::net::{AddressFamily, SocketFlags, SocketType, sockopt};

use crate::LabError;
use crate::experiment::{Experiment, Filler, Peer, Tier, Variant};

/// A port for every instance of every tier, the same in all runs.
#[derive(Debug)]
pub struct Ports {
    reserved: BTreeMap<String, (u16, OwnedFd)>,
}

impl Ports {
    /// Reserves what the experiment needs. A fixed port that is in use is an error that names the tier.
    pub fn reserve(experiment: &Experiment) -> Result<Self, LabError> {
        let mut reserved: BTreeMap<String, (u16, OwnedFd)> = BTreeMap::new();
        for tier in experiment
            .variants
            .iter()
            .flat_map(|variant| &variant.tiers)
        {
            for index in 0..tier.instances {
                let name = key(tier, index);
                if let Entry::Vacant(free) = reserved.entry(name) {
                    free.insert(reserve(tier, index)?);
                }
            }
        }
        Ok(Self { reserved })
    }

    /// Fills placeholders of a run in `place`, where every instance has a folder; the folders are not made.
    pub fn filler(
        &self,
        experiment: &Experiment,
        variant: &Variant,
        place: &Path,
    ) -> Result<Filler, LabError> {
        let place = std::path::absolute(place).map_err(LabError::io("find the working folder"))?;
        let mut peers: BTreeMap<String, Vec<Peer>> = BTreeMap::new();
        for tier in &variant.tiers {
            let limits = tier.limits.iter();
            let limits = limits.map(|(name, value)| (name.clone(), value.to_string()));
            let limits: BTreeMap<String, String> = limits.collect();
            let peer = |index| {
                Ok(Peer {
                    port: self.of(tier, index)?,
                    folder: place.join(tier.instance_name(index)),
                    limits: limits.clone(),
                })
            };
            let instances: Result<_, LabError> = (0..tier.instances).map(peer).collect();
            peers.insert(tier.name.clone(), instances?);
        }
        Ok(Filler::new(peers, experiment.folder.clone()))
    }

    fn of(&self, tier: &Tier, index: u32) -> Result<u16, LabError> {
        let found = self.reserved.get(&key(tier, index));
        found
            .map(|(port, _)| *port)
            .ok_or_else(|| LabError::tier(&tier.name, "has no reserved port"))
    }
}

/// Variants may fix another port for the same tier.
fn key(tier: &Tier, index: u32) -> String {
    format!("{}/{index}/{:?}", tier.name, tier.port)
}

fn reserve(tier: &Tier, index: u32) -> Result<(u16, OwnedFd), LabError> {
    let wanted = match tier.port {
        None => 0,
        Some(first) => u16::try_from(u32::from(first) + index).map_err(|_| {
            LabError::tier(
                &format!("{}.port", tier.name),
                "the ports of its instances end above 65535",
            )
        })?,
    };
    let bound = bind(wanted);
    bound.map_err(|source| LabError::Port {
        tier: tier.name.clone(),
        port: wanted,
        source,
    })
}

fn bind(port: u16) -> std::io::Result<(u16, OwnedFd)> {
    let socket = rustix::net::socket_with(
        AddressFamily::INET,
        SocketType::STREAM,
        SocketFlags::CLOEXEC,
        None,
    )?;
    // A free port must be nobody's. A fixed one may rest after earlier connections; a listener still refuses.
    sockopt::set_socket_reuseaddr(&socket, port != 0)?;
    let address = SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::LOCALHOST, port));
    rustix::net::bind(&socket, &address)?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    let bound = SocketAddr::try_from(rustix::net::getsockname(&socket)?)?;
    Ok((bound.port(), socket))
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn a_reserved_port_is_free_for_a_server_and_for_nobody_else() {
        let (port, _socket) = bind(0).unwrap();
        for _ in 0..50 {
            assert_ne!(bind(0).unwrap().0, port, "given away twice");
        }
        let server = TcpListener::bind(("127.0.0.1", port)).expect("a server may listen");
        assert!(bind(port).is_err(), "a listener holds it now");
        drop(server);
        TcpListener::bind(("127.0.0.1", port)).expect("and again in the next run");
    }
}
