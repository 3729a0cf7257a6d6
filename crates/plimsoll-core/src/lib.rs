//! Gives every number a unit, every test a plan and every run one record.
//!
//! Nothing here reads a clock, opens a file or socket, starts a thread or looks at the environment.

pub mod comparison;
pub mod ending;
pub mod health;
pub mod histogram;
pub mod metrics;
pub mod nearest;
pub mod objective;
pub mod outcome;
pub mod plan;
pub mod record;
pub mod rng;
pub mod scenario;
pub mod schedule;
pub mod step;
pub mod tally;
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
