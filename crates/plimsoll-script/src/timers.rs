//! The timers that a virtual user has set.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use plimsoll_core::Nanos;
use rquickjs::{Function, Persistent, Value};

pub(crate) struct Timer {
    pub(crate) function: Persistent<Function<'static>>,
    pub(crate) args: Vec<Persistent<Value<'static>>>,
    pub(crate) interval: Option<Nanos>,
}

/// The timers of one virtual user, by due time and number.
#[derive(Default)]
pub(crate) struct Timers {
    due: RefCell<BTreeMap<(Nanos, u32), Timer>>,
    last: Cell<u32>,
}

impl Timers {
    /// Sets a new one; its number.
    pub(crate) fn add(&self, due: Nanos, timer: Timer) -> u32 {
        let number = self.last.get() + 1;
        self.last.set(number);
        self.put(due, number, timer);
        number
    }

    pub(crate) fn put(&self, due: Nanos, number: u32, timer: Timer) {
        self.due.borrow_mut().insert((due, number), timer);
    }

    /// Time and number of the one that is due first.
    pub(crate) fn first(&self) -> Option<(Nanos, u32)> {
        self.due.borrow().keys().next().copied()
    }

    pub(crate) fn take(&self, due: Nanos, number: u32) -> Option<Timer> {
        self.due.borrow_mut().remove(&(due, number))
    }

    pub(crate) fn clear(&self) {
        self.due.borrow_mut().clear();
    }

    pub(crate) fn remove(&self, number: u32) {
        self.due
            .borrow_mut()
            .retain(|(_, known), _| *known != number);
    }
}
