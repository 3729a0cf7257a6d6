//! The server over real sockets, spoken to byte by byte.

#![expect(
    clippy::unwrap_used,
    clippy::float_cmp,
    clippy::cast_possible_wrap,
    reason = "tests: a panic is the report, and what is compared was written as it is"
)]

mod client;
mod docs;
#[path = "../../src/folder.rs"]
mod folder;
mod hostile;
mod schedulers;
mod security;
mod service;
mod tls;
