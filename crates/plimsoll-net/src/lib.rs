//! Turns bytes into messages and drives client sockets on one thread.
//!
//! The codec (`h1`) knows no sockets; the connection knows no schedule. [`clock`] is the only place
//! in the workspace that reads the monotonic clock.

pub mod clock;
pub mod connection;
pub mod h1;
pub mod poll;
pub mod slab;
pub mod target;
pub mod tls;

pub use connection::{Connection, Failure, Progress};
pub use target::{Target, TargetError};
