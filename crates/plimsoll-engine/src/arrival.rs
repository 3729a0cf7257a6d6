//! An attempt, before and after it is on the wire.

use plimsoll_core::Nanos;

/// An attempt that is due, not yet on a connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arrival {
    pub(crate) intended: Nanos,
    pub(crate) level: u32,
    /// Started by a closed loop, which owes another when this one ends.
    pub(crate) closed: bool,
}

/// An attempt on the wire.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Attempt {
    pub(crate) arrival: Arrival,
    pub(crate) sent: Nanos,
}
