//! A rule of advice: what it advises, or which measurement would allow it to.

use serde::Serialize;

use crate::verdict::Advice;

/// Limits that a client or a service is given, each by a rule with a precondition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    InFlightCap,
    PoolSize,
    QueueBound,
    ClientTimeout,
    RetryBudget,
}

impl Rule {
    pub const fn name(self) -> &'static str {
        match self {
            Self::InFlightCap => "in-flight cap",
            Self::PoolSize => "pool per process",
            Self::QueueBound => "queue bound",
            Self::ClientTimeout => "client timeout",
            Self::RetryBudget => "retry budget",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Counsel {
    pub rule: Rule,
    #[serde(flatten)]
    pub says: Says,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Says {
    Advice(Advice),
    /// The measurement that would allow it.
    Needs(String),
}
