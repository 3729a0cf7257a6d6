//! Who is told what becomes of a ticket.

use std::cell::Cell;
use std::rc::Rc;

use plimsoll_control::admission::Refusal;
use tokio::sync::oneshot;

pub(super) type Outcome = Result<(), Refusal>;

#[derive(Debug)]
pub(super) enum Waiter {
    Asks(oneshot::Sender<Outcome>),
    /// Of a trial: it went on at once.
    Passed(Rc<Cell<Standing>>),
}

/// What would have become by now of a request that a trial let through at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    Waiting,
    Admitted,
    Refused(Refusal),
}
