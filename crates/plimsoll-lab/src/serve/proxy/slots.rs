//! The proxy's connection slots: a fixed number, shared by clients and upstreams.
//!
//! When few are free, connections that wait for a request are closed, longest waiting first, to
//! make room. That is what turns a shortage of slots into failures without any answer.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// Waiting connections are closed when at most one in this many slots is free (as nginx does).
const FEW: usize = 16;

/// At most one in this many waiting connections is closed at a time, and never more than 32.
const CLOSED_SHARE: usize = 8;
const CLOSED_MAX: usize = 32;

#[derive(Debug)]
pub(super) struct Slots {
    state: Arc<Mutex<SlotTable>>,
}

#[derive(Debug)]
struct SlotTable {
    max: usize,
    in_use: usize,
    /// Position in the order of waiting.
    next: u64,
    waiting: BTreeMap<u64, Arc<Guest>>,
}

/// A client's connection.
#[derive(Debug)]
pub(super) struct Guest {
    seat: Mutex<Seat>,
    close: Notify,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Seat {
    /// Between requests: may be closed.
    Waiting(u64),
    /// With so many requests under way: HTTP/2 has several, and so has a client that does not wait for answers.
    Busy(usize),
    /// The slot went to someone else, or the connection has ended.
    Lost,
}

/// A slot for a connection to the upstream, free again when dropped.
#[derive(Debug)]
pub(super) struct UpstreamSlot {
    state: Arc<Mutex<SlotTable>>,
}

impl Slots {
    pub(super) fn new(max: usize) -> Self {
        let state = SlotTable {
            max,
            in_use: 0,
            next: 0,
            waiting: BTreeMap::new(),
        };
        Self {
            state: Arc::new(Mutex::new(state)),
        }
    }

    /// A slot for a new client, or none.
    pub(super) fn enter(&self) -> Option<Arc<Guest>> {
        let mut state = lock(&self.state);
        state.take().then(|| {
            let guest = Arc::new(Guest {
                seat: Mutex::new(Seat::Busy(0)),
                close: Notify::new(),
            });
            state.wait(&guest);
            guest
        })
    }

    /// A request has arrived: false if the slot of its connection is gone.
    pub(super) fn begin(&self, guest: &Guest) -> bool {
        let mut state = lock(&self.state);
        let mut seat = lock(&guest.seat);
        match *seat {
            Seat::Waiting(position) => {
                state.waiting.remove(&position);
                *seat = Seat::Busy(1);
                true
            }
            Seat::Busy(requests) => {
                *seat = Seat::Busy(requests + 1);
                true
            }
            Seat::Lost => false,
        }
    }

    /// The request is answered.
    pub(super) fn rest(&self, guest: &Arc<Guest>) {
        let mut state = lock(&self.state);
        let mut seat = lock(&guest.seat);
        let Seat::Busy(requests) = *seat else { return };
        *seat = Seat::Busy(requests.saturating_sub(1));
        drop(seat);
        if requests <= 1 {
            state.wait(guest);
        }
    }

    /// The connection has ended.
    pub(super) fn leave(&self, guest: &Guest) {
        let mut state = lock(&self.state);
        let seat = std::mem::replace(&mut *lock(&guest.seat), Seat::Lost);
        if let Seat::Waiting(position) = seat {
            state.waiting.remove(&position);
        }
        if seat != Seat::Lost {
            state.in_use -= 1;
        }
    }

    /// A slot for a connection to the upstream, or none.
    pub(super) fn upstream(&self) -> Option<UpstreamSlot> {
        lock(&self.state).take().then(|| UpstreamSlot {
            state: Arc::clone(&self.state),
        })
    }
}

impl Drop for UpstreamSlot {
    fn drop(&mut self) {
        lock(&self.state).in_use -= 1;
    }
}

impl Guest {
    /// Resolves when the slot went to someone else.
    pub(super) async fn told_to_close(&self) {
        self.close.notified().await;
    }
}

impl SlotTable {
    fn take(&mut self) -> bool {
        if self.max - self.in_use <= self.max / FEW {
            self.make_room();
        }
        let free = self.in_use < self.max;
        self.in_use += usize::from(free);
        free
    }

    fn make_room(&mut self) {
        let count = (self.waiting.len() / CLOSED_SHARE).clamp(1, CLOSED_MAX);
        for _ in 0..count {
            let Some((_, guest)) = self.waiting.pop_first() else {
                return;
            };
            *lock(&guest.seat) = Seat::Lost;
            self.in_use -= 1;
            guest.close.notify_one();
        }
    }

    fn wait(&mut self, guest: &Arc<Guest>) {
        *lock(&guest.seat) = Seat::Waiting(self.next);
        self.waiting.insert(self.next, Arc::clone(guest));
        self.next += 1;
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_use(slots: &Slots) -> usize {
        lock(&slots.state).in_use
    }

    #[test]
    fn busy_connections_keep_their_slots_and_the_next_gets_none() {
        let slots = Slots::new(4);
        let guests: Vec<_> = (0..2).map(|_| slots.enter().unwrap()).collect();
        assert!(guests.iter().all(|guest| slots.begin(guest)));
        let upstreams: Vec<_> = (0..2).map(|_| slots.upstream().unwrap()).collect();
        assert!(slots.enter().is_none());
        assert!(slots.upstream().is_none());
        drop(upstreams);
        assert_eq!(in_use(&slots), 2);
        slots.leave(&guests[0]);
        slots.leave(&guests[0]);
        assert_eq!(in_use(&slots), 1);
    }

    #[test]
    fn the_longest_waiting_connection_makes_room_when_few_slots_are_free() {
        let slots = Slots::new(4);
        let guests: Vec<_> = (0..4).map(|_| slots.enter().unwrap()).collect();
        assert!(slots.begin(&guests[0]));
        // No slot is free, 4 / 16 = 0: the second is closed, the first is busy.
        assert!(slots.upstream().is_some());
        assert!(!slots.begin(&guests[1]));
        assert!(slots.begin(&guests[2]));
        // An answered request puts its connection at the end of the row.
        slots.rest(&guests[0]);
        assert!(slots.enter().is_some());
        assert!(slots.begin(&guests[0]) && slots.begin(&guests[3]));
    }

    #[test]
    fn a_connection_waits_only_when_the_last_of_its_requests_is_answered() {
        let slots = Slots::new(1);
        let guest = slots.enter().unwrap();
        assert!(slots.begin(&guest) && slots.begin(&guest));
        slots.rest(&guest);
        assert!(slots.enter().is_none(), "one request is still under way");
        slots.rest(&guest);
        assert!(slots.enter().is_some(), "it waited, and made room");
    }

    #[test]
    fn a_connection_that_lost_its_slot_gives_none_back() {
        let slots = Slots::new(1);
        let guest = slots.enter().unwrap();
        let _second = slots.enter().unwrap();
        assert!(!slots.begin(&guest));
        slots.rest(&guest);
        slots.leave(&guest);
        assert_eq!(in_use(&slots), 1);
    }
}
