//! Gives every number a unit, every test one form and every run one record.
//!
//! Nothing here reads a clock, opens a file or socket, starts a thread or looks at the environment.

pub mod comparison;
pub mod ending;
pub mod experiment;
pub mod guarding;
pub mod health;
pub mod histogram;
pub mod interval;
pub mod judge;
pub mod keys;
pub mod metrics;
pub mod nearest;
pub mod objective;
pub mod outcome;
pub mod record;
pub mod scenario;
pub mod schedule;
pub mod secrets;
pub mod statistics;
pub mod status;
pub mod step;
pub mod sweep;
pub mod tally;
pub mod test;
pub mod threshold;
pub mod units;
pub mod verdict;
pub mod window;

pub use histogram::Histogram;
pub use objective::Objectives;
pub use outcome::Outcome;
pub use tally::Tally;
pub use units::Nanos;
pub use window::Window;
