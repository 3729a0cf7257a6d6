//! What the levels of a search differ in, a rate or virtual users, and the words for it.

use plimsoll_core::step::StepLoad;

use super::LevelView;
use crate::format;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Varied {
    /// Arrivals per second.
    Rate,
    /// Arrivals of operations on a database, per second.
    Operations,
    /// Virtual users in a closed loop.
    Vus,
}

impl Varied {
    /// By the levels themselves: a record that was cut off has no verdict to ask.
    pub(super) fn new(levels: &[LevelView], is_workload: bool) -> Self {
        let closed = |level: &LevelView| matches!(level.load, StepLoad::Closed { .. });
        if levels.iter().any(|level| level.is_point() && closed(level)) {
            Self::Vus
        } else if is_workload {
            Self::Operations
        } else {
            Self::Rate
        }
    }

    /// `412/s`, `64 VUs`
    pub(crate) fn text(self, value: f64) -> String {
        match self {
            Self::Rate | Self::Operations => format::rate(value),
            Self::Vus => format!("{}{}", format::number(value), self.unit_of(value)),
        }
    }

    /// What stands behind a number of it.
    pub(crate) fn unit(self) -> &'static str {
        self.unit_of(0.0)
    }

    fn unit_of(self, value: f64) -> &'static str {
        match self {
            Self::Rate | Self::Operations => "/s",
            Self::Vus if format::number(value) == "1" => "\u{a0}VU",
            Self::Vus => "\u{a0}VUs",
        }
    }

    /// As in `carries 412 requests per second`.
    pub(super) fn in_prose(self) -> &'static str {
        match self {
            Self::Rate => "requests per second",
            Self::Operations => "operations per second",
            Self::Vus => "virtual users",
        }
    }

    /// As in `each point is one arrival rate`.
    pub(crate) fn singular(self) -> &'static str {
        match self {
            Self::Rate | Self::Operations => "arrival rate",
            Self::Vus => "number of virtual users",
        }
    }

    /// Along the axis of a drawing.
    pub(crate) fn axis(self) -> &'static str {
        match self {
            Self::Rate => "arrival rate: requests offered per second",
            Self::Operations => "arrival rate: operations offered per second",
            Self::Vus => "virtual users",
        }
    }
}
