//! Promises of one virtual user that were rejected and whose exception nobody has asked for.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use rquickjs::{Persistent, Promise};

/// A promise, and how many were rejected before it.
type Rejected = (u64, Persistent<Promise<'static>>);

/// By where the engine keeps them: each stays there as long as it is kept here.
#[derive(Default)]
pub(crate) struct Rejections {
    by_place: RefCell<BTreeMap<usize, Rejected>>,
    count: Cell<u64>,
}

impl Rejections {
    pub(crate) fn add(&self, place: usize, promise: Persistent<Promise<'static>>) {
        let number = self.count.get();
        self.count.set(number + 1);
        self.by_place.borrow_mut().insert(place, (number, promise));
    }

    /// Somebody has asked, if late.
    pub(crate) fn remove(&self, place: usize) {
        let handled = self.by_place.borrow_mut().remove(&place);
        drop(handled);
    }

    /// The first one, other than the promise at that place.
    pub(crate) fn first_but(&self, place: usize) -> Option<Persistent<Promise<'static>>> {
        let rejected = self.by_place.borrow();
        let others = rejected.iter().filter(|(known, _)| **known != place);
        let first = others.map(|(_, rejected)| rejected);
        let first = first.min_by_key(|(number, _)| *number);
        first.map(|(_, promise)| promise.clone())
    }

    pub(crate) fn clear(&self) {
        let all = std::mem::take(&mut *self.by_place.borrow_mut());
        drop(all);
    }
}
