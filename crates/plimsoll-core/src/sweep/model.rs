//! Which models there are for throughput against concurrency, and why one is not believed.

use std::fmt;

use serde::Serialize;

use crate::units::three_digits;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Model {
    Hinge,
    Mva,
    Amdahl,
    Usl,
}

impl Model {
    pub const ALL: [Self; 4] = [Self::Hinge, Self::Mva, Self::Amdahl, Self::Usl];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Hinge => "hinge",
            Self::Mva => "exact MVA",
            Self::Amdahl => "Amdahl",
            Self::Usl => "USL",
        }
    }

    /// What the model takes the system for.
    pub const fn about(self) -> &'static str {
        match self {
            Self::Hinge => "a hard limit and nothing before it",
            Self::Mva => "one queue in front of one resource",
            Self::Amdahl => "a part of the work that only one can do at a time",
            Self::Usl => "such a part, and work that grows with everybody who takes part",
        }
    }

    /// Coefficients that are fitted.
    pub const fn parameters(self) -> usize {
        match self {
            Self::Hinge | Self::Mva | Self::Amdahl => 2,
            Self::Usl => 3,
        }
    }
}

impl fmt::Display for Model {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// Why something is not claimed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "why")]
pub enum Refusal {
    /// No model is chosen.
    FewLevels { levels: usize, needed: usize },
    /// Nothing was carried, so nothing follows anything.
    NothingCarried,
    /// A fall beyond the peak is not claimed.
    PeakUnseen { levels_past: usize, needed: usize },
    /// A peak is not claimed.
    PeakBeyond { at: f64, largest: f64 },
    /// The model describes what was measured, and says nothing beyond it.
    Pattern { runs: usize, levels: usize },
}

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FewLevels { levels, needed } => write!(
                formatter,
                "{levels} levels were measured and a choice among models needs {needed}: add values"
            ),
            Self::NothingCarried => {
                formatter.write_str("no level carried anything, so there is no curve")
            }
            Self::PeakUnseen {
                levels_past,
                needed,
            } => write!(
                formatter,
                "a fall beyond the peak is not claimed: levels that were measured beyond it: {levels_past}; needed: {needed}"
            ),
            Self::PeakBeyond { at, largest } => write!(
                formatter,
                "its peak at {} is not claimed: it lies too far beyond {}, the most that was measured",
                three_digits(*at),
                three_digits(*largest)
            ),
            Self::Pattern { runs, levels } => write!(
                formatter,
                "what it leaves over {levels} levels changes sign {} times only: it describes them, and says nothing beyond",
                runs.saturating_sub(1)
            ),
        }
    }
}
