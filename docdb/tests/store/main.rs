//! The store as a whole, table files included: killed, cut off at system calls, on a full disk.
#![expect(
    unsafe_code,
    reason = "system calls are replaced by ones that count, fail and remember what is durable"
)]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod cut;
#[path = "../../src/folder.rs"]
mod folder;
mod full;
mod hooks;
mod kill;
mod workload;
