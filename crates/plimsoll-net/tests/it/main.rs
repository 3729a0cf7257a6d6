//! Clients against servers of other hands, over real sockets.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod connection;
mod h2;
mod h2_server;
