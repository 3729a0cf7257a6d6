//! When the closed loop is played again: behind the anchor, now and then while rates are looked for and held, and at the end.

use super::clock;
use super::level_plan::LevelPlan;
use super::progress::Progress;

/// The last one takes what time is left, up to so many times as much.
const LAST_TIMES: f64 = 2.0;

/// The first one, behind the anchor.
pub(crate) fn first(progress: &Progress) -> Option<LevelPlan> {
    let pace = progress.pace()?;
    let none = pace.played(&progress.history).next().is_none();
    plan(progress, 1.0).filter(|_| none)
}

/// The next one, where the one before is long ago and time is left for what follows.
pub(crate) fn due(progress: &Progress) -> Option<LevelPlan> {
    let last = progress.pace()?.played(&progress.history).last()?.end;
    let left = progress.clock.left() - progress.reserve_beyond();
    let long_ago = progress.clock.elapsed() - last >= clock::between_paces(&progress.config);
    let room = left >= clock::block(&progress.config) + clock::pace(&progress.config);
    plan(progress, 1.0).filter(|_| long_ago && room)
}

fn plan(progress: &Progress, times: f64) -> Option<LevelPlan> {
    let seconds = times * clock::pace(&progress.config);
    let windows_left = progress.clock.windows(f64::MAX, 0.0);
    progress.pace()?.plan(seconds, windows_left)
}

/// The last one.
#[derive(Debug, Default)]
pub(crate) struct Last {
    is_asked: bool,
}

impl Last {
    pub(crate) fn plan(&mut self, progress: &Progress) -> Option<LevelPlan> {
        let plan = plan(progress, LAST_TIMES)?;
        let first = !self.is_asked;
        self.is_asked = true;
        first.then_some(plan)
    }

    pub(crate) fn ended(progress: &mut Progress) {
        let pace = progress.pace();
        if let Some(remark) = pace.and_then(|pace| pace.shows(&progress.history)) {
            progress.remark_once(remark);
        }
    }
}
