//! What an executor counts, and the text that Prometheus reads.

mod meter;
mod text;

pub(crate) use meter::{Committed, Meter, Snapshot};
pub use text::SPECS;
pub(crate) use text::{Surroundings, write};
