//! Time, randomness, epoll and tokens: what the load tool and the database share.
//!
//! [`clock`] is the only place in the workspace that reads the system's clocks.

pub mod calendar;
pub mod clock;
pub mod heap;
pub mod inherited;
pub mod mailbox;
pub mod nanos;
pub mod page;
pub mod poll;
pub mod priority;
pub mod random;
pub mod slab;

pub use nanos::Nanos;
