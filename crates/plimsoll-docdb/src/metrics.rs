//! What an executor counts, and the text that Prometheus reads.

mod meter;
mod text;

pub use meter::{Buckets, DatabaseCounts, Meter, Snapshot};
pub use text::{MetricSpec, SPECS, Surroundings, write};
