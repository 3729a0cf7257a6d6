//! Sessions that wait for something to be due: each once in their list, whatever else wakes it meanwhile. Who stood there twice
//! would be called for two operations, and come for one of them.

use std::cell::Cell;
use std::rc::Rc;
use std::task::Waker;

#[derive(Debug)]
pub(super) struct Idle {
    waker: Waker,
    is_listed: Rc<Cell<bool>>,
}

impl Idle {
    /// It has been taken from the list.
    pub(super) fn call(self) {
        self.is_listed.set(false);
        self.waker.wake();
    }
}

/// Of one session in the list of its lane, if it is there.
#[derive(Debug, Default)]
pub(super) struct Place(Option<Rc<Cell<bool>>>);

impl Place {
    pub(super) fn join(&mut self, list: &mut Vec<Idle>, waker: &Waker) {
        let is_listed = self.0.get_or_insert_default();
        if !is_listed.replace(true) {
            list.push(Idle {
                waker: waker.clone(),
                is_listed: Rc::clone(is_listed),
            });
        }
    }

    /// Something was due without its being called.
    pub(super) fn leave(&mut self, list: &mut Vec<Idle>) {
        if let Some(own) = self.0.take_if(|own| own.get()) {
            list.retain(|idle| !Rc::ptr_eq(&idle.is_listed, &own));
        }
    }
}
