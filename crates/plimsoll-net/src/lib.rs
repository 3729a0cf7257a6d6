//! Turns bytes into messages and drives client sockets on one thread.
//!
//! The codecs (`h1`, and `h2` but for its connection) know no sockets; the connections know no schedule.

pub mod connection;
pub mod exchange;
mod failure;
pub mod h1;
pub mod h2;
mod opening;
pub mod target;
pub mod tls;
mod transport;

pub use connection::{Connection, Progress};
pub use failure::Failure;
pub use opening::{Opened, Opening};
pub use target::{Endpoint, Target, TargetError};
pub use transport::{SCRATCH_BYTES, Setup};
