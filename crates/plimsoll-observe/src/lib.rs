//! Samples the tiers under test into observations, without root where the kernel allows it.
//!
//! The caller owns the thread and the clock: it calls [`Sampler::sample`] about once a second, and
//! [`Sampler::look`] as often as it likes in between, and appends what comes back to the record.
//! Every source is optional; one that cannot be read becomes an `absent` observation, once.

mod batch;
mod cgroup;
mod discover;
mod host;
mod metrics;
mod neighbours;
mod nginx;
mod parse;
mod process;
mod procfs;
mod sampler;
mod scrape;
mod socket;
mod table;
mod tier;
#[cfg(test)]
mod tree;
mod waiting;
mod watch;

pub use metrics::parse_metrics;
pub use nginx::parse_log_line;
pub use sampler::{ObserveError, Sampler};
pub use scrape::read_metrics;
pub use watch::{Subject, Watch, WatchError};
