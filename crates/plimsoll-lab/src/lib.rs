//! Starts tiers: the embedded services behind `plimsoll serve`, one injected cause each, and the tiers of experiments.

pub mod aftermath;
mod cgroup;
pub mod error;
pub mod experiment;
pub mod guardian;
pub mod serve;
pub mod tiers;

pub use error::LabError;
