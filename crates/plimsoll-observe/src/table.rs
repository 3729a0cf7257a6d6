//! All TCP sockets at one instant, and what they say about who talks to whom.

use std::collections::{BTreeMap, BTreeSet};

use crate::parse::unix_line;
use crate::procfs::ProcFs;
use crate::socket::{ESTABLISHED, LISTEN, Socket, passing, sockets};

/// Read once per sample and shared by all tiers.
#[derive(Debug, Default)]
pub(crate) struct Sockets {
    listening: Vec<Socket>,
    established: Vec<Socket>,
    /// Unix sockets that are connected to one that listens, by inode.
    unix_out: BTreeSet<u64>,
    /// Inodes of all TCP and Unix sockets, in order; `None` where a table could not be read.
    known: Option<Vec<u64>>,
    /// The network namespace that all of this is of.
    namespace: Option<String>,
}

impl Sockets {
    pub(crate) fn read(proc: &ProcFs) -> Self {
        let listening = sockets(proc, LISTEN, 0);
        let established = sockets(proc, ESTABLISHED, 0);
        let unix = proc.read("net/unix").unwrap_or_default();
        let unix = || unix.lines().filter_map(unix_line);
        let known = match (&listening, &established, passing(proc)) {
            (Ok(listening), Ok(established), Ok(passing)) if unix().next().is_some() => {
                let tcp = listening.iter().chain(established).chain(&passing);
                let tcp = tcp.map(|socket| socket.inode);
                let mut known: Vec<u64> = tcp.chain(unix().map(|line| line.inode)).collect();
                known.sort_unstable();
                Some(known)
            }
            _ => None,
        };
        Self {
            unix_out: unix()
                .filter(|line| line.is_out)
                .map(|line| line.inode)
                .collect(),
            known,
            namespace: proc.link("self", "ns/net"),
            listening: listening.unwrap_or_default(),
            established: established.unwrap_or_default(),
        }
    }

    /// Its sockets are in the tables of another network namespace: nothing can be said of whom it calls.
    pub(crate) fn are_not_of(&self, namespace: Option<&str>) -> bool {
        let own = self.namespace.as_deref();
        own.zip(namespace).is_some_and(|(own, its)| own != its)
    }

    /// Connections of these descriptors to somebody whom no port names: over Unix sockets, and sockets of another namespace
    /// that were handed over (a container's port is forwarded so). Of the latter those that `earlier` had, too: what was
    /// opened after the tables were read is in none of them.
    pub(crate) fn unnamed_of(
        &self,
        inodes: &BTreeSet<u64>,
        earlier: Option<&BTreeSet<u64>>,
    ) -> u32 {
        let is_foreign = |inode: &u64| {
            let known = self.known.as_ref();
            let is_unknown = known.is_some_and(|known| known.binary_search(inode).is_err());
            is_unknown && earlier.is_some_and(|earlier| earlier.contains(inode))
        };
        let unnamed = inodes.iter();
        let unnamed = unnamed.filter(|inode| self.unix_out.contains(inode) || is_foreign(inode));
        unnamed.count() as u32
    }

    pub(crate) fn listening_on(&self, port: u16) -> impl Iterator<Item = &Socket> {
        let listening = self.listening.iter();
        listening.filter(move |socket| socket.local_port == port)
    }

    pub(crate) fn accepted_on(&self, port: u16) -> impl Iterator<Item = &Socket> {
        let established = self.established.iter();
        established.filter(move |socket| socket.local_port == port && socket.inode != 0)
    }

    /// Local ports that these descriptors are connected to, other than their own.
    pub(crate) fn local_ports_of(&self, inodes: &BTreeSet<u64>) -> BTreeSet<u16> {
        let mine: Vec<&Socket> = self
            .established
            .iter()
            .filter(|socket| inodes.contains(&socket.inode))
            .collect();
        let pairs: BTreeSet<(u16, u16)> = mine
            .iter()
            .map(|socket| (socket.remote_port, socket.local_port))
            .collect();
        let theirs = |socket: &&Socket| {
            !inodes.contains(&socket.inode)
                && pairs.contains(&(socket.local_port, socket.remote_port))
        };
        let listening = |port: &u16| {
            self.listening_on(*port)
                .any(|socket| !inodes.contains(&socket.inode))
        };
        let ends = self.established.iter().filter(theirs);
        ends.map(|socket| socket.local_port)
            .filter(listening)
            .collect()
    }

    /// Listening ports that these descriptors hold.
    pub(crate) fn held_ports(&self, inodes: &BTreeSet<u64>) -> BTreeSet<u16> {
        let held = self.listening.iter().filter(|s| inodes.contains(&s.inode));
        held.map(|socket| socket.local_port).collect()
    }

    /// Connections of these descriptors that were not accepted on a listening port, by remote port.
    pub(crate) fn out_of(&self, inodes: &BTreeSet<u64>) -> BTreeMap<u16, u32> {
        let listening: BTreeSet<u16> = self.listening.iter().map(|s| s.local_port).collect();
        let mut out = BTreeMap::new();
        for socket in &self.established {
            if inodes.contains(&socket.inode) && !listening.contains(&socket.local_port) {
                *out.entry(socket.remote_port).or_default() += 1;
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn socket(state: u8, local_port: u16, remote_port: u16, inode: u64) -> Socket {
        Socket {
            state,
            local_port,
            remote_port,
            queue: 0,
            queue_max: 0,
            user: 0,
            inode,
        }
    }

    /// A service on 80 calls a database on 5432 of this host and something remote on 443.
    fn table() -> Sockets {
        Sockets {
            listening: vec![socket(LISTEN, 80, 0, 1), socket(LISTEN, 5432, 0, 2)],
            established: vec![
                socket(ESTABLISHED, 80, 40_000, 10),
                socket(ESTABLISHED, 80, 40_001, 0),
                socket(ESTABLISHED, 41_000, 5432, 11),
                socket(ESTABLISHED, 5432, 41_000, 20),
                socket(ESTABLISHED, 42_000, 443, 12),
            ],
            unix_out: BTreeSet::from([30]),
            known: Some(vec![0, 1, 2, 10, 11, 12, 20, 30, 31]),
            namespace: Some("net:[1]".to_owned()),
        }
    }

    #[test]
    fn who_talks_to_whom() {
        let service = BTreeSet::from([1, 10, 11, 12]);
        let table = table();
        assert_eq!(table.local_ports_of(&service), BTreeSet::from([5432]));
        assert_eq!(
            table.out_of(&service),
            BTreeMap::from([(5432, 1), (443, 1)])
        );
        assert_eq!(table.held_ports(&service), BTreeSet::from([80]));
        assert_eq!(table.accepted_on(80).count(), 1, "one waits to be accepted");
        let database = BTreeSet::from([2, 20]);
        assert_eq!(table.local_ports_of(&database), BTreeSet::new());
    }

    #[test]
    fn a_process_that_calls_itself_has_no_tier_behind_it() {
        let both = BTreeSet::from([1, 2, 10, 11, 20]);
        assert_eq!(table().local_ports_of(&both), BTreeSet::new());
    }

    #[test]
    fn connections_that_no_port_names() {
        let table = table();
        let held = BTreeSet::from([1, 10, 11, 30, 31, 99]);
        assert_eq!(table.unnamed_of(&held, None), 1, "the Unix socket");
        assert_eq!(
            table.unnamed_of(&held, Some(&held)),
            2,
            "and one of nobody here"
        );
        let unread = Sockets {
            known: None,
            ..self::table()
        };
        assert_eq!(unread.unnamed_of(&held, Some(&held)), 1);
        assert!(table.are_not_of(Some("net:[2]")));
        assert!(!table.are_not_of(Some("net:[1]")) && !table.are_not_of(None));
    }
}
