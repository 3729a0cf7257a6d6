//! What a driver's connections show, counted where the driver itself says that one is taken and given back.
//!
//! A connection of MongoDB that is checked out of a pool carries one command at a time, so connections in use are commands on
//! the wire; of CQL each request is counted by itself (`cql/watch.rs`). All connections of a worker live on its thread: its counters do, too, and nothing is locked.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;

use plimsoll_base::clock::Clock;
use plimsoll_core::Nanos;
use plimsoll_core::window::Effects;
use plimsoll_engine::sessions::Traffic;

thread_local! {
    static WIRE: RefCell<Option<Wire>> = const { RefCell::new(None) };
    static CURRENT: RefCell<Option<Rc<Slot>>> = const { RefCell::new(None) };
}

/// What the operation of one session has sent.
#[derive(Debug, Default)]
pub(crate) struct Slot {
    first: Cell<Option<Nanos>>,
    commands: Cell<u32>,
}

impl Slot {
    /// When the first command was sent.
    pub(crate) fn sent(&self) -> Option<Nanos> {
        self.first.get()
    }

    pub(crate) fn commands(&self) -> u32 {
        self.commands.get()
    }

    /// For the further tries of an operation whose last one is left to itself: whatever that one sends from now on is
    /// something that was sent again.
    pub(crate) fn followed_by(&self, now: Nanos) -> Self {
        let next = Self {
            first: self.first.clone(),
            commands: self.commands.clone(),
        };
        if self.first.get().is_none() {
            self.first.set(Some(now));
        }
        next
    }

    pub(crate) fn clear(&self) {
        self.first.set(None);
        self.commands.set(0);
    }
}

/// Of the connections of one worker.
#[derive(Debug)]
struct Wire {
    clock: Clock,
    lanes: Vec<Lane>,
    busy: u64,
    busy_max: u64,
    open: u32,
    connects: u64,
    sent: u64,
    resent: u64,
}

#[derive(Debug, Default)]
struct Lane {
    busy: u64,
    busy_max: u64,
    /// Until when time was counted.
    since: Nanos,
    busy_ns: u128,
    commands: u64,
}

impl Lane {
    fn advance(&mut self, now: Nanos) {
        let passed = now.saturating_sub(self.since);
        self.busy_ns += u128::from(passed.0) * u128::from(self.busy);
        self.since = self.since.max(now);
    }
}

/// Begins to count on this thread.
pub(crate) fn begin(clock: Clock, lanes: usize) {
    let now = clock.now();
    let lane = || Lane {
        since: now,
        ..Lane::default()
    };
    let wire = Wire {
        clock,
        lanes: (0..lanes).map(|_| lane()).collect(),
        busy: 0,
        busy_max: 0,
        open: 0,
        connects: 0,
        sent: 0,
        resent: 0,
    };
    WIRE.with(|cell| *cell.borrow_mut() = Some(wire));
}

fn with(count: impl FnOnce(&mut Wire)) {
    // A connection that is closed while its thread ends has nobody to tell.
    let _ended = WIRE.try_with(|cell| {
        if let Some(wire) = cell.borrow_mut().as_mut() {
            count(wire);
        }
    });
}

/// A command goes out on a connection of that lane.
pub(crate) fn taken(lane: usize) {
    with(|wire| {
        let now = wire.clock.now();
        if let Some(lane) = wire.lanes.get_mut(lane) {
            lane.advance(now);
            lane.busy += 1;
            lane.busy_max = lane.busy_max.max(lane.busy);
            lane.commands += 1;
        }
        wire.busy += 1;
        wire.busy_max = wire.busy_max.max(wire.busy);
        let current = CURRENT.with(|current| current.borrow().clone());
        if let Some(slot) = current {
            if slot.first.get().is_none() {
                slot.first.set(Some(now));
                wire.sent += 1;
            } else {
                wire.resent += 1;
            }
            slot.commands.set(slot.commands.get() + 1);
        }
    });
}

/// Its answer was read, or will never be.
pub(crate) fn given_back(lane: usize) {
    with(|wire| {
        let now = wire.clock.now();
        if let Some(lane) = wire.lanes.get_mut(lane) {
            lane.advance(now);
            lane.busy = lane.busy.saturating_sub(1);
        }
        wire.busy = wire.busy.saturating_sub(1);
    });
}

/// Commands of the operation that is being polled.
pub(crate) fn commands() -> u32 {
    CURRENT.with(|current| current.borrow().as_ref().map_or(0, |slot| slot.commands()))
}

pub(crate) fn connected() {
    with(|wire| {
        wire.open += 1;
        wire.connects += 1;
    });
}

pub(crate) fn closed() {
    with(|wire| wire.open = wire.open.saturating_sub(1));
}

/// Connections that are open now.
pub(crate) fn open() -> u32 {
    let mut open = 0;
    with(|wire| open = wire.open);
    open
}

/// What was counted since the last time.
pub(crate) fn take(now: Nanos) -> Traffic {
    let mut traffic = Traffic::default();
    with(|wire| {
        let lanes = wire.lanes.iter_mut().map(|lane| {
            lane.advance(now);
            let effects = Effects {
                wire_seconds: lane.busy_ns as f64 / 1e9,
                wire_max: lane.busy_max,
                commands_count: lane.commands,
                ..Effects::default()
            };
            (lane.busy_ns, lane.commands, lane.busy_max) = (0, 0, lane.busy);
            effects
        });
        traffic = Traffic {
            lanes: lanes.collect(),
            connections_open: wire.open,
            connects: std::mem::take(&mut wire.connects),
            sent: std::mem::take(&mut wire.sent),
            resent: std::mem::take(&mut wire.resent),
            wire_max: std::mem::replace(&mut wire.busy_max, wire.busy),
        };
    });
    traffic
}

/// Has whatever the operation sends counted for that slot.
pub(crate) async fn tracked<T>(slot: &Rc<Slot>, operation: impl Future<Output = T>) -> T {
    let mut operation = pin!(operation);
    poll_fn(|task| {
        let before = CURRENT.with(|current| current.borrow_mut().replace(Rc::clone(slot)));
        let polled = operation.as_mut().poll(task);
        CURRENT.with(|current| *current.borrow_mut() = before);
        polled
    })
    .await
}
