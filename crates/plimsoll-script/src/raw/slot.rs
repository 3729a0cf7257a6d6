//! What a virtual user needs to suspend.

use std::cell::{Cell, RefCell};

use corosensei::Yielder;
use rquickjs::{Function, Persistent};

use crate::turn::{Resumption, Suspension};

pub(super) type Switch = Yielder<Resumption, Suspension>;

/// Filled while its fiber lives.
#[derive(Default)]
pub(crate) struct Slot {
    pub(super) switch: Cell<*const Switch>,
    pub(super) stack_end: Cell<usize>,
    pub(super) suspension: RefCell<Option<Suspension>>,
    pub(super) resumption: RefCell<Option<Resumption>>,
    /// The C function inside which the switch happens; see the text of [`super`].
    pub(super) nested: RefCell<Option<Persistent<Function<'static>>>>,
}

impl Slot {
    /// Gives up the nested function; call before the context goes.
    pub(crate) fn release(&self) {
        self.nested.borrow_mut().take();
    }
}
