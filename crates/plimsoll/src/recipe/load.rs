//! The load of a URL or a workload: set, or searched for.

use plimsoll_control::search::client_timeout;
use plimsoll_core::Nanos;
use plimsoll_core::objective::Objectives;
use plimsoll_core::schedule::{Arrivals, RateProfile};
use plimsoll_core::test::{How, Load, SearchSettings, TestError, Until};

#[derive(Clone)]
pub(crate) enum LoadPlan {
    Set {
        /// None: a closed loop.
        rate: Option<(RateProfile, Arrivals)>,
        until: Until,
        timeout: Nanos,
        objectives: Option<Objectives>,
    },
    /// The timeout of its client follows from the objectives.
    Search {
        settings: SearchSettings,
        objectives: Objectives,
    },
}

impl LoadPlan {
    /// Whether arrivals come at their own times.
    pub(super) fn is_open(&self) -> bool {
        match self {
            Self::Set { rate, .. } => rate.is_some(),
            Self::Search { .. } => true,
        }
    }

    /// Longest wait of a client.
    pub(super) fn timeout(&self) -> Nanos {
        match self {
            Self::Set { timeout, .. } => *timeout,
            Self::Search { objectives, .. } => client_timeout(objectives),
        }
    }

    pub(super) fn objectives(&self) -> Option<&Objectives> {
        match self {
            Self::Set { objectives, .. } => objectives.as_ref(),
            Self::Search { objectives, .. } => Some(objectives),
        }
    }

    /// How it is played, where `closed` is its closed loop; with the longest wait of a client.
    pub(super) fn how(&self, closed: Load) -> (How, Nanos) {
        let how = match self {
            Self::Set {
                rate,
                until,
                objectives,
                ..
            } => How::Set {
                load: rate.map_or(closed, |(profile, arrivals)| Load::Open {
                    profile,
                    arrivals,
                }),
                until: Some(*until),
                objectives: objectives.clone(),
            },
            Self::Search {
                settings,
                objectives,
            } => How::Search {
                settings: *settings,
                objectives: objectives.clone(),
            },
        };
        (how, self.timeout())
    }

    /// A set load lasts for so long, and nobody judges it.
    pub(super) fn last(&mut self, time: Nanos) -> Result<(), TestError> {
        if let Self::Set {
            until, objectives, ..
        } = self
        {
            *until = Until::after(time)?;
            *objectives = None;
        }
        Ok(())
    }
}
