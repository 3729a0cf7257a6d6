//! Starts tiers: the embedded services behind `plimsoll serve`, one injected cause each.

pub mod error;
pub mod serve;

pub use error::LabError;
