//! Looks names up on threads of their own: a resolver may take seconds, and a worker carries thousands of
//! virtual users who wait for something else.

use std::collections::{BTreeSet, VecDeque};
use std::fmt;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs as _};

use plimsoll_base::mailbox::{Receiver, Sender, mailbox};
use plimsoll_base::poll::Waker;

/// Names looked up at once. A script may make up ever new ones; the others wait.
const THREADS_MAX: usize = 8;

/// A name and a port.
pub(super) type HostPort = (Box<str>, u16);
pub(super) type Addresses = io::Result<Vec<SocketAddr>>;

/// What looks a name up; it may take its time.
#[derive(Clone, Copy)]
pub struct Lookup(pub fn(&str, u16) -> io::Result<Vec<SocketAddr>>);

impl Default for Lookup {
    fn default() -> Self {
        Self(|host, port| Ok((host, port).to_socket_addrs()?.collect()))
    }
}

impl fmt::Debug for Lookup {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Lookup")
    }
}

/// The names that one worker waits for.
#[derive(Debug)]
pub(super) struct Resolver {
    lookup: Lookup,
    waker: Waker,
    pending: BTreeSet<HostPort>,
    queued: VecDeque<HostPort>,
    running: usize,
    results: Sender<(HostPort, Addresses)>,
    answers: Receiver<(HostPort, Addresses)>,
}

impl Resolver {
    pub(super) fn new(lookup: Lookup, waker: Waker) -> Self {
        let (results, answers) = mailbox();
        Self {
            lookup,
            waker,
            pending: BTreeSet::new(),
            queued: VecDeque::new(),
            running: 0,
            results,
            answers,
        }
    }

    /// The answer comes later, once for everyone who asks until then.
    pub(super) fn ask(&mut self, place: HostPort) {
        if self.pending.insert(place.clone()) {
            self.queued.push_back(place);
            self.look_up_next();
        }
    }

    pub(super) fn answer(&mut self) -> Option<(HostPort, Addresses)> {
        let (place, addresses) = self.answers.try_recv().ok()?;
        self.running -= 1;
        self.pending.remove(&place);
        self.look_up_next();
        Some((place, addresses))
    }

    fn look_up_next(&mut self) {
        if self.running >= THREADS_MAX {
            return;
        }
        let Some(place) = self.queued.pop_front() else {
            return;
        };
        self.running += 1;
        let (lookup, waker, results) = (self.lookup, self.waker.clone(), self.results.clone());
        let unstarted = place.clone();
        let thread = std::thread::Builder::new().name("names".to_owned());
        let started = thread.spawn(move || {
            let addresses = lookup.0(&place.0, place.1);
            // Nobody hears it when the test is over.
            results.send((place, addresses));
            waker.wake();
        });
        if let Err(error) = started {
            self.results.send((unstarted, Err(error)));
            self.waker.wake();
        }
    }
}
