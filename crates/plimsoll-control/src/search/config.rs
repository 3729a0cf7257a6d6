//! What a search is asked, what is refused, and what follows from it before the first request.

use std::num::NonZeroU32;

use plimsoll_core::record::Anchor;
use plimsoll_core::schedule::Arrivals;
use plimsoll_core::test::{self, How, SearchSettings, Test};
use plimsoll_core::verdict::CeilingKind;
use plimsoll_core::{Nanos, Objectives};
use thiserror::Error;

use super::load::Over;

/// Below this the recovery probe is dropped (DESIGN section 7).
const RECOVERY_FROM: Nanos = Nanos::from_secs(480);
/// Below this overshoot is dropped (DESIGN section 7).
const OVERSHOOT_FROM: Nanos = Nanos::from_secs(240);
/// A soak is never shorter than this (DESIGN section 7).
pub(crate) const SOAK_LEAST: f64 = 60.0;
/// A soak with enough time (DESIGN section 7).
pub(crate) const SOAK_FULL: f64 = 120.0;
/// Warm-up, its last window and the change of level before a soak in the shortest check.
const CHECK_LEAD: f64 = 12.0;

/// Everything a search needs to know. Rates are per second.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    pub objectives: Objectives,
    pub over: Over,
    /// Time for everything, `spent` included.
    pub within: Nanos,
    /// Time already used, by the self-check.
    pub spent: Nanos,
    /// Upper over lower bound minus 1 at which bisection ends.
    pub goal_width: f64,
    /// Never offer more. Closed loops, whose rate the target decides, are then left out.
    pub max_rate_per_s: Option<f64>,
    /// What the self-check said this generator can send; levels are never offered above it.
    pub generator_max_per_s: Option<f64>,
    pub overshoot: bool,
    /// Only say whether this rate passes.
    pub check_rate_per_s: Option<f64>,
    /// Over virtual users: only say whether so many pass.
    pub check_vus: Option<NonZeroU32>,
    /// From an earlier search of a similar target.
    pub anchor: Option<Anchor>,
    /// Most connections the generator may open: the most a closed loop keeps in flight, and the most
    /// virtual users.
    pub connections_max: NonZeroU32,
    pub arrivals: Arrivals,
}

/// A search that cannot be run as asked.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum SearchError {
    #[error(
        "{within} leaves {left} after the self-check, a check of one rate needs {needed}; allow more time"
    )]
    TooShort {
        within: Nanos,
        left: Nanos,
        needed: Nanos,
    },
    #[error(
        "{within} is too short for a search ({needed}); allow more time, or name a rate to check"
    )]
    NoRate { within: Nanos, needed: Nanos },
    #[error(
        "{within} is too short for a search ({needed}); allow more time, or name a number of virtual users to check"
    )]
    NoVus { within: Nanos, needed: Nanos },
    #[error("{vus} virtual users to check are more than the {most} allowed")]
    TooManyVus { vus: f64, most: f64 },
    #[error("a closed loop cannot keep a highest rate; bound the number of virtual users instead")]
    MaxRateOfVus,
    #[error("goal width {0} is not between 0.01 and 1; write for example 5%")]
    GoalWidth(f64),
    #[error("{what} {rate} is not a positive number")]
    Rate { what: &'static str, rate: f64 },
    #[error("rate {rate}/s to check is above the highest rate allowed, {most}/s")]
    AboveMost { rate: f64, most: f64 },
}

impl Config {
    pub fn new(objectives: Objectives, connections_max: NonZeroU32) -> Self {
        Self {
            objectives,
            over: Over::Rate,
            within: SearchSettings::WITHIN,
            spent: Nanos::ZERO,
            goal_width: SearchSettings::GOAL_WIDTH,
            max_rate_per_s: None,
            generator_max_per_s: None,
            overshoot: true,
            check_rate_per_s: None,
            check_vus: None,
            anchor: None,
            connections_max,
            arrivals: Arrivals::default(),
        }
    }

    /// The search that a test asks for, if it asks for one.
    pub fn from_test(test: &Test) -> Option<Self> {
        let How::Search {
            settings,
            objectives,
        } = &test.how
        else {
            return None;
        };
        let mut config = Self::new(objectives.clone(), test.in_flight_max());
        config.within = settings.within;
        config.goal_width = settings.goal_width;
        config.overshoot = settings.overshoot;
        match settings.over {
            test::Over::Rate {
                arrivals,
                max_per_s,
                only_per_s,
            } => {
                config.arrivals = arrivals;
                config.max_rate_per_s = max_per_s;
                config.check_rate_per_s = only_per_s;
            }
            test::Over::Vus { only } => {
                // How long an iteration takes is known once the script has run.
                config.over = Over::Vus {
                    iteration: Nanos::ZERO,
                };
                config.check_vus = only;
            }
        }
        Some(config)
    }

    /// The highest rate that may be offered, and whether the generator is the reason.
    pub(crate) fn ceiling(&self) -> Option<Ceiling> {
        if self.over.is_vus() {
            return Some(Ceiling::Vus(f64::from(self.connections_max.get())));
        }
        let named = self.max_rate_per_s.map(Ceiling::MaxRate);
        let generator = self.generator_max_per_s.map(Ceiling::Generator);
        match (named, generator) {
            (Some(a), Some(b)) if b.rate() < a.rate() => Some(b),
            (Some(a), _) => Some(a),
            (None, b) => b,
        }
    }

    /// The rate to check, when that is all there is time for or all that was asked.
    pub(crate) fn only_check(&self) -> Option<f64> {
        if self.over.is_vus() {
            return self.check_vus.map(|vus| f64::from(vus.get()));
        }
        let short = self.within < SearchSettings::SHORTEST;
        self.check_rate_per_s
            .or(if short { self.max_rate_per_s } else { None })
    }

    pub(crate) fn wants_overshoot(&self) -> bool {
        self.overshoot && self.within >= OVERSHOOT_FROM
    }

    pub(crate) fn wants_recovery(&self) -> bool {
        // Users who wait for their answers leave no backlog behind that would take time to work off.
        self.overshoot && self.within >= RECOVERY_FROM && !self.over.is_vus()
    }

    /// Little time: fewer and shorter levels before the soak, and none of it kept back for what
    /// follows. A boundary comes first: four minutes on a real Node service once ended without one
    /// because they were kept for the overshoot.
    pub(crate) fn is_brief(&self) -> bool {
        self.within < RECOVERY_FROM
    }

    /// Seconds for which one load is checked: a third of the time, between 60 and 120.
    pub(crate) fn check_seconds(&self) -> f64 {
        (self.within.as_secs_f64() / 3.0).clamp(SOAK_LEAST, SOAK_FULL)
    }

    pub(crate) fn check(&self) -> Result<(), SearchError> {
        for (what, rate) in [
            ("the highest rate", self.max_rate_per_s),
            ("the generator's rate", self.generator_max_per_s),
            ("the rate to check", self.check_rate_per_s),
            (
                "the anchor's rate",
                self.anchor.map(|a| a.throughput_max_per_s),
            ),
        ] {
            if let Some(rate) = rate.filter(|rate| !(rate.is_finite() && *rate > 0.0)) {
                return Err(SearchError::Rate { what, rate });
            }
        }
        if !(0.01..=1.0).contains(&self.goal_width) {
            return Err(SearchError::GoalWidth(self.goal_width));
        }
        let most = self.ceiling().map_or(f64::INFINITY, Ceiling::rate);
        if let Some(rate) = self.only_check().filter(|&rate| rate > most) {
            return Err(match self.over {
                Over::Rate => SearchError::AboveMost { rate, most },
                Over::Vus { .. } => SearchError::TooManyVus { vus: rate, most },
            });
        }
        if self.over.is_vus() && self.max_rate_per_s.is_some() {
            return Err(SearchError::MaxRateOfVus);
        }
        self.check_time()
    }

    fn check_time(&self) -> Result<(), SearchError> {
        let left = self.within - self.spent;
        if self.only_check().is_none() && self.within < SearchSettings::SHORTEST {
            let (within, needed) = (self.within, SearchSettings::SHORTEST);
            return Err(match self.over {
                Over::Rate => SearchError::NoRate { within, needed },
                Over::Vus { .. } => SearchError::NoVus { within, needed },
            });
        }
        let least = Nanos::from_secs_f64(SOAK_LEAST + CHECK_LEAD);
        if left < least {
            return Err(SearchError::TooShort {
                within: self.within,
                left,
                needed: least,
            });
        }
        Ok(())
    }
}

/// Why no higher rate may be offered.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Ceiling {
    MaxRate(f64),
    Generator(f64),
    Vus(f64),
}

impl Ceiling {
    pub(crate) fn rate(self) -> f64 {
        match self {
            Self::MaxRate(rate) | Self::Generator(rate) | Self::Vus(rate) => rate,
        }
    }

    pub(crate) fn kind(self) -> CeilingKind {
        match self {
            Self::MaxRate(_) => CeilingKind::MaxRate,
            Self::Generator(_) => CeilingKind::Generator,
            Self::Vus(_) => CeilingKind::MaxVus,
        }
    }
}

/// Four times the longest bound, within 1 and 10 s (DESIGN section 7); 10 s without a bound. A bound of more than 8 s is
/// waited for by a quarter longer: a client that gives up before it would fail what the bound allows.
/// With p99 < 250 ms: 1 s; with p90 < 20 s: 25 s.
pub fn client_timeout(objectives: &Objectives) -> Nanos {
    const LEAST: Nanos = Nanos::from_secs(1);
    const MOST: Nanos = Nanos::from_secs(10);
    objectives.longest_bound().map_or(MOST, |bound| {
        let beyond = Nanos(bound.0.saturating_add(bound.0 / 4));
        bound.saturating_mul(4).clamp(LEAST, MOST.max(beyond))
    })
}
