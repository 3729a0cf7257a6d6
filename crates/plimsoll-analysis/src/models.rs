//! Capacity models: throughput against concurrency as the hinge, exact MVA, Amdahl's law and the universal scalability law say.

mod bootstrap;
mod choice;
mod hinge;
mod least_squares;
mod mva;
mod usl;

pub use bootstrap::{Dealt, bootstrap};
pub(crate) use choice::Ranked;
pub use choice::{Curve, Model, Refusal, Selection, select};
pub use hinge::{Hinge, Loss};
pub use mva::{Flow, Network, Repairman, Stations};
pub use usl::{Usl, UslFit};

/// One measured point: concurrency, which may be a mean and no whole number, and throughput per second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    pub n: f64,
    pub x: f64,
}

/// How much the residual of each sample counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weighting {
    Equal,
    /// By 1 ÷ x²: a share of the value is as bad everywhere.
    Relative,
}

impl Weighting {
    fn of(self, sample: &Sample) -> f64 {
        match self {
            Self::Equal => 1.0,
            Self::Relative => 1.0 / (sample.x * sample.x),
        }
    }
}
