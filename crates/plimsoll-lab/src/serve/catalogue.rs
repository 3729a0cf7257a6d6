//! The one table of services: what each is, what it is expected to give way by, and at which rate.
//!
//! `--list`, the page in `docs/` and the tests read it; nothing else states an expectation.

mod parts;
mod table;
mod values;

pub use values::Values;

use plimsoll_core::nearest::nearest;
use plimsoll_core::verdict::Cause;

use crate::LabError;
use crate::serve::Context;

/// What a number measures, and the range that `--set` accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    Milliseconds,
    Seconds,
    Count,
    /// A count that may be 0: none.
    CountOrNone,
    /// 0 is off, 1 is on.
    Switch,
    PerSecond,
    Cores,
    Mebibytes,
}

impl Unit {
    pub(crate) fn symbol(self) -> &'static str {
        match self {
            Self::Milliseconds => "ms",
            Self::Seconds => "s",
            Self::Count | Self::CountOrNone | Self::Switch => "",
            Self::PerSecond => "/s",
            Self::Cores => "cores",
            Self::Mebibytes => "MiB",
        }
    }

    /// Takes whole numbers only.
    fn is_whole(self) -> bool {
        matches!(self, Self::Count | Self::CountOrNone | Self::Switch)
    }

    /// Lowest and highest value that makes sense for a service on one machine.
    fn range(self) -> (f64, f64) {
        match self {
            Self::Milliseconds => (0.0, 60_000.0),
            Self::Seconds => (0.1, 3_600.0),
            Self::Count => (1.0, 65_536.0),
            Self::CountOrNone => (0.0, 65_536.0),
            Self::Switch => (0.0, 1.0),
            Self::PerSecond => (1.0, 1e6),
            Self::Cores | Self::Mebibytes => (0.01, 1_024.0),
        }
    }
}

/// What the healthy twin does to one parameter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Twin {
    Same,
    /// Multiplied, then rounded to the parameter's step.
    Times(f64),
    Set(f64),
}

/// One number of a service, drawn evenly from `low..=high` in steps by the seed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Parameter {
    pub name: &'static str,
    pub unit: Unit,
    pub low: f64,
    pub high: f64,
    pub step: f64,
    pub twin: Twin,
    pub about: &'static str,
}

/// Why a service exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// One injected cause, with a healthy twin.
    Fixture,
    /// The demo.
    Shop,
    /// A plain service, or a part that others start; each also works alone.
    Part,
}

/// Which tier holds the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tier {
    /// The process that owns the port under test.
    Entry,
    /// The process behind it.
    Downstream,
}

/// The verdict that a fixture must get once its ceiling is passed.
#[derive(Debug, Clone, Copy)]
pub struct Expected {
    pub cause: Cause,
    pub tier: Tier,
    /// Requests per second that it can complete, whatever is offered; infinite without a ceiling.
    pub ceiling: fn(&Values) -> f64,
    /// The same as a formula over the parameters.
    pub(crate) formula: &'static str,
    /// Objectives under which the cause binds.
    pub slo: &'static str,
    /// What the healthy twin changes.
    pub twin: &'static str,
}

#[derive(Debug, Clone, Copy)]
pub struct Service {
    pub name: &'static str,
    pub group: Group,
    pub about: &'static str,
    pub expected: Option<Expected>,
    pub(crate) parameters: &'static [Parameter],
    pub(crate) start: fn(Context) -> Result<(), LabError>,
}

/// Every service: fixtures first, then the shop, then the parts.
pub fn services() -> impl Iterator<Item = &'static Service> {
    table::FIXTURES.iter().chain(parts::PARTS)
}

pub fn service(name: &str) -> Result<&'static Service, LabError> {
    services()
        .find(|service| service.name == name)
        .ok_or_else(|| LabError::UnknownService {
            name: name.to_owned(),
            nearest: nearest(name, services().map(|service| service.name)),
        })
}

#[cfg(test)]
mod tests;
