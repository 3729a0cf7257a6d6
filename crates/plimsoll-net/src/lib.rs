//! Turns bytes into messages and drives client sockets on one thread.
//!
//! The codecs (`h1`, and `h2` but for its connection) know no sockets; the connections know no schedule.

mod address;
pub mod connection;
pub mod exchange;
mod failure;
pub mod h1;
pub mod h2;
mod opening;
pub mod proxy;
pub mod resolve;
mod socket;
pub mod target;
pub mod tls;
mod transport;
mod tunnel;

pub use address::Address;
pub use connection::{Connection, Progress};
pub use failure::{Culprit, Failure, Reached};
pub use opening::{Opened, Opening};
pub use resolve::Endpoint;
pub use target::{Target, TargetError};
pub use transport::{SCRATCH_BYTES, Setup};
pub use tunnel::Tunnel;
