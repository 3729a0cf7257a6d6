//! Starts a guard before an upstream of the test's own and looks at both from outside, on real sockets.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod framing;
mod groups;
mod halves;
mod http2;
mod log;
mod overload;
mod reload;
mod sockets;
mod streams;
mod support;
mod troubles;
