//! Turns bytes into messages and drives client sockets on one thread.
//!
//! The codecs (`h1`, and `h2` but for its connection) know no sockets; the connections know no schedule. [`clock`] is the
//! only place in the workspace that reads the monotonic clock.

pub mod clock;
pub mod connection;
pub mod h1;
pub mod h2;
mod opening;
pub mod poll;
pub mod slab;
pub mod target;
pub mod tls;
mod transport;

pub use connection::{Connection, Failure, Progress};
pub use opening::{Opened, Opening};
pub use target::{Target, TargetError};
