//! MongoDB's wire protocol: frames in, requests out; replies in, frames out.

mod request;

pub use request::{Request, Sequence};
