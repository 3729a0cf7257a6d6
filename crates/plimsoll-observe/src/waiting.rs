//! Where the requests of a port's connections are: inside the service, unread in its sockets, or not even accepted.
//!
//! Told from times and counters that the kernel keeps of every connection, looked at some times a second. "Received later than
//! sent" is not enough: clocks go in ticks of some milliseconds, and the next request comes in the tick of the answer (measured
//! in closed loops: 0.6 of 7.95 requests counted). What one look leaves open, the next change of the counters tells.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_core::record::WaitSample;

use crate::socket::{Socket, Traffic};

/// Looks after which a connection that nothing happened on is idle or held open, and not in the tick of its answer.
const FORGOTTEN_AFTER: u32 = 200;

/// What one look tells of a connection of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    Idle,
    Inside,
    Unread,
    NotAccepted,
    /// The answer is written, and waits for the client's acknowledgement to be sent (Nagle's rule, or a slow reader).
    Held,
    /// Request and answer are of one tick: the next change tells which came last.
    Open,
}

fn found(socket: &Socket, traffic: &Traffic) -> Found {
    if socket.queue > 0 {
        return if socket.inode == 0 {
            Found::NotAccepted
        } else {
            Found::Unread
        };
    }
    if traffic.received_bytes == 0 {
        return Found::Idle;
    }
    // Nothing was ever answered on it; the kernel counts its opening as sent.
    if traffic.segments_out == 0 {
        return Found::Inside;
    }
    if traffic.unsent > 0 && traffic.sent_ago <= traffic.received_ago {
        return Found::Held;
    }
    if traffic.received_ago != traffic.sent_ago {
        return if traffic.received_ago < traffic.sent_ago {
            Found::Inside
        } else {
            Found::Idle
        };
    }
    // Acknowledged without a new request.
    if traffic.unacknowledged > 0 || traffic.acknowledged_ago < traffic.received_ago {
        return Found::Idle;
    }
    Found::Open
}

/// Looks that left a connection open, and its counters at the first of them.
#[derive(Debug)]
struct Open {
    segments_in: u32,
    segments_out: u32,
    looks: u32,
    since: u32,
}

/// Counts over the looks of one interval.
#[derive(Debug, Default)]
struct Counts {
    inside: u32,
    unread: u32,
    not_accepted: u32,
    held: u32,
    answers_unread: u32,
}

/// The connections of some ports, look by look.
#[derive(Debug, Default)]
pub(crate) struct Waits {
    ports: BTreeMap<u16, Counts>,
    open: BTreeMap<(u16, u16), Open>,
    looks: u32,
    /// Looks ever.
    now: u32,
}

impl Waits {
    /// The ports that are counted from now on.
    pub(crate) fn follow(&mut self, ports: BTreeSet<u16>) {
        self.ports.retain(|port, _| ports.contains(port));
        for port in ports {
            self.ports.entry(port).or_default();
        }
    }

    pub(crate) fn is_needed(&self) -> bool {
        !self.ports.is_empty()
    }

    pub(crate) fn look(&mut self, connections: &[(Socket, Traffic)]) {
        self.looks += 1;
        self.now = self.now.wrapping_add(1);
        for (socket, traffic) in connections {
            if let Some(counts) = self.ports.get_mut(&socket.remote_port) {
                counts.answers_unread += u32::from(socket.queue > 0);
            }
            if self.ports.contains_key(&socket.local_port) {
                self.look_at(socket, traffic);
            }
        }
        let now = self.now;
        self.open
            .retain(|_, open| now.wrapping_sub(open.since) < FORGOTTEN_AFTER);
    }

    fn look_at(&mut self, socket: &Socket, traffic: &Traffic) {
        let Some(counts) = self.ports.get_mut(&socket.local_port) else {
            return;
        };
        let key = (socket.local_port, socket.remote_port);
        if let Some(open) = self.open.get(&key) {
            let has_received = traffic.segments_in != open.segments_in;
            let has_sent = traffic.segments_out != open.segments_out;
            if has_sent {
                // It was answered after the look: a request was inside.
                counts.inside += open.looks;
            }
            if has_sent || has_received {
                self.open.remove(&key);
            }
        }
        match found(socket, traffic) {
            Found::Idle => {}
            Found::Inside => counts.inside += 1,
            Found::Unread => counts.unread += 1,
            Found::NotAccepted => counts.not_accepted += 1,
            Found::Held => counts.held += 1,
            Found::Open => {
                let open = self.open.entry(key).or_insert(Open {
                    segments_in: traffic.segments_in,
                    segments_out: traffic.segments_out,
                    looks: 0,
                    since: self.now,
                });
                open.looks += 1;
            }
        }
    }

    /// Means of a port over the looks since the last [`Self::restart`]; `None` where there was no look.
    pub(crate) fn of(&self, port: u16) -> Option<WaitSample> {
        let counts = self.ports.get(&port).filter(|_| self.looks > 0)?;
        let mean = |count: u32| f64::from(count) / f64::from(self.looks);
        Some(WaitSample {
            looks: self.looks,
            inside: mean(counts.inside),
            unread: mean(counts.unread),
            not_accepted: mean(counts.not_accepted),
            held: mean(counts.held),
            answers_unread: mean(counts.answers_unread),
        })
    }

    /// Begins a new interval. What was left open counts in the interval in which it is told.
    pub(crate) fn restart(&mut self) {
        self.looks = 0;
        for counts in self.ports.values_mut() {
            *counts = Counts::default();
        }
    }
}

#[cfg(test)]
mod tests;
