//! Finds the processes of a tier: who listens on a port, who has a name, and all their descendants.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use crate::parse::{socket_inode, stat};
use crate::procfs::ProcFs;
use crate::socket::{LISTEN, sockets};

/// Descriptors looked at per process: a listener is opened early and has a low number.
const LINKS_MAX: usize = 4096;
/// `comm` is cut to this length by the kernel.
const NAME_BYTES_MAX: usize = 15;

/// Who listens on a port.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Listeners {
    pub(crate) pids: BTreeSet<u32>,
    /// Listening sockets, whether or not their process could be found.
    pub(crate) sockets: usize,
    /// The user of a socket whose process could not be found.
    pub(crate) hidden_user: Option<u32>,
}

/// A master that shares its listener with workers, and siblings with a socket each, are all found.
pub(crate) fn listeners(proc: &ProcFs, port: u16) -> io::Result<Listeners> {
    let listening = sockets(proc, LISTEN, port)?;
    let inodes: BTreeSet<u64> = listening.iter().map(|socket| socket.inode).collect();
    let mut found = Listeners {
        sockets: listening.len(),
        ..Listeners::default()
    };
    if inodes.is_empty() {
        return Ok(found);
    }
    let mut held = BTreeSet::new();
    for pid in proc.numbers("")? {
        // Another user's descriptors are denied; a process may also be gone by now.
        let Ok((links, _)) = proc.links(pid, LINKS_MAX) else {
            continue;
        };
        let mine: Vec<u64> = links
            .iter()
            .filter_map(|link| socket_inode(link))
            .filter(|inode| inodes.contains(inode))
            .collect();
        if !mine.is_empty() {
            found.pids.insert(pid);
            held.extend(mine);
        }
    }
    found.hidden_user = listening
        .iter()
        .find(|socket| !held.contains(&socket.inode))
        .map(|socket| socket.user);
    Ok(found)
}

/// Processes whose command name is `name` (as the kernel cuts it), this one aside: who watches `plimsoll` means a server.
pub(crate) fn named(proc: &ProcFs, name: &str) -> BTreeSet<u32> {
    let mut end = name.len().min(NAME_BYTES_MAX);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    let wanted = name.get(..end).unwrap_or(name);
    let all = proc.numbers("").unwrap_or_default();
    all.into_iter()
        .filter(|pid| {
            if *pid == std::process::id() {
                return false;
            }
            let text = proc.process_file(*pid, "comm").unwrap_or_default();
            text.trim_end_matches('\n') == wanted
        })
        .collect()
}

/// `roots` and every process below them. This one is no part of them unless it is a root itself: a test that serves and
/// starts the generator is its parent.
pub(crate) fn with_descendants(proc: &ProcFs, roots: &BTreeSet<u32>) -> BTreeSet<u32> {
    let mut children: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for pid in proc.numbers("").unwrap_or_default() {
        let parent = proc
            .process_file(pid, "stat")
            .ok()
            .and_then(|text| stat(&text));
        if let Some(read) = parent {
            children.entry(read.parent).or_default().push(pid);
        }
    }
    let own = std::process::id();
    let mut family = BTreeSet::new();
    let mut open: Vec<u32> = roots.iter().copied().collect();
    while let Some(pid) = open.pop() {
        let is_generator = pid == own && !roots.contains(&own);
        if !is_generator && family.insert(pid) {
            open.extend(children.get(&pid).into_iter().flatten());
        }
    }
    family
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;
    use crate::tree::Tree;

    #[test]
    fn the_process_behind_a_port_is_found_by_its_socket() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let found = listeners(&ProcFs::at("/proc"), port).unwrap();
        assert_eq!(found.sockets, 1);
        assert!(found.pids.contains(&std::process::id()));
        assert_eq!(found.hidden_user, None);
    }

    #[test]
    fn a_port_without_a_listener_is_empty_and_not_an_error() {
        // A client's own port: it is held as long as the connection is, so nobody else can listen there meanwhile.
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let port = client.local_addr().unwrap().port();
        let found = listeners(&ProcFs::at("/proc"), port).unwrap();
        assert_eq!(found, Listeners::default());
    }

    #[test]
    fn a_child_belongs_to_its_parents_tier() {
        let mut child = std::process::Command::new("sleep")
            .arg("30")
            .spawn()
            .unwrap();
        let proc = ProcFs::at("/proc");
        let family = with_descendants(&proc, &BTreeSet::from([std::process::id()]));
        let by_name = named(&proc, "sleep");
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(family.contains(&child.id()));
        assert!(by_name.contains(&child.id()));
        assert!(named(&proc, "no such process").is_empty());
        assert!(
            named(&proc, "äöüäöüäöüäöü").is_empty(),
            "cut inside a letter"
        );
    }

    /// A service starts the generator: that is no worker of it, nor is what the generator starts.
    #[test]
    fn the_generator_is_no_part_of_the_tier_that_started_it() {
        let own = std::process::id();
        let tree = Tree::new("generator", &[]);
        for (pid, parent) in [(5_000_001, 1), (own, 5_000_001), (5_000_002, own)] {
            tree.put_process(pid, parent, 0);
            tree.put(&format!("{pid}/comm"), "app\n");
        }
        let proc = tree.proc();
        let family = |root| with_descendants(&proc, &BTreeSet::from([root]));
        assert_eq!(family(5_000_001), BTreeSet::from([5_000_001]));
        assert_eq!(
            family(own),
            BTreeSet::from([own, 5_000_002]),
            "a service itself"
        );
        assert_eq!(named(&proc, "app"), BTreeSet::from([5_000_001, 5_000_002]));
    }
}
