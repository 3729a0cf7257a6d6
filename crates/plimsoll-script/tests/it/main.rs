//! Scripts against a fake network: no socket, a clock that only moves when told.

#![expect(clippy::unwrap_used, reason = "a test stops where it breaks")]

mod conformance;
mod errors;
mod httpbin;
mod isolation;
mod rig;
