//! Plays one load that was asked for by name: does it pass?

use plimsoll_core::step::Phase;
use plimsoll_core::verdict::SearchRemark;

use super::config::SOAK_LEAST;
use super::judge::Decision;
use super::level::Level;
use super::level_plan::{LevelPlan, StopRule};
use super::progress::{Checked, Progress};

/// A check that was shorter decides nothing; a second is lost at the change of level.
const ENOUGH: f64 = SOAK_LEAST - 1.0;

#[derive(Debug)]
pub(crate) struct Check {
    rate: f64,
    done: bool,
}

impl Check {
    pub(crate) fn new(rate: f64) -> Self {
        Self { rate, done: false }
    }

    pub(crate) fn plan(&self, progress: &mut Progress) -> Option<LevelPlan> {
        if self.done {
            return None;
        }
        let discard = progress.discard();
        let wanted = progress.config.check_seconds() + f64::from(discard);
        let windows_max = progress.clock.windows(wanted, 0.0);
        if f64::from(windows_max) < SOAK_LEAST + f64::from(discard) {
            progress.remark_once(SearchRemark::NoTimeForSoak {
                seconds: SOAK_LEAST,
            });
            return None;
        }
        Some(LevelPlan {
            phase: Phase::Soak,
            load: progress.config.over.load(self.rate),
            windows_max,
            discard,
            stop: StopRule::Check {
                seconds: f64::from(windows_max - discard),
            },
        })
    }

    pub(crate) fn ended(&mut self, level: &Level, progress: &mut Progress) {
        let (Some(verdict), Some(rate)) = (level.verdict(), level.rate()) else {
            return;
        };
        self.done = true;
        let seconds = level.measured.seconds_judged();
        progress.checked = Some(Checked {
            rate,
            level: level.step.level,
            seconds,
            clause: verdict.clause,
            holds: verdict.holds() && seconds >= ENOUGH,
            is_sure: verdict.decision != Decision::PassProvisionally,
        });
    }
}
