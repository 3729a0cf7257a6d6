//! When the closed loop is played again: behind the anchor, now and then while rates are looked for and held, and at the end.

use super::clock;
use super::hopeless;
use super::level_plan::LevelPlan;
use super::progress::Progress;

/// So many levels, none of which was carried, show that more of them come.
const LEVELS_WITHOUT: usize = 4;
/// The last one takes what time is left, up to so many times as much.
const LAST_TIMES: f64 = 2.0;

/// The first one, behind the anchor. Where one request alone is late already it waits until a rate was carried: if none is, the
/// search says so sooner without it.
pub(crate) fn first(progress: &Progress) -> Option<LevelPlan> {
    let pace = progress.pace()?;
    let none = pace.played(&progress.history).next().is_none();
    plan(progress, 1.0).filter(|_| none && !hopeless::is_late_alone(progress))
}

/// The next one, where the one before is long ago and time is left for what follows.
pub(crate) fn due(progress: &Progress) -> Option<LevelPlan> {
    let last = progress.pace()?.played(&progress.history).last();
    let is_time = match last {
        Some(last) => progress.clock.elapsed() - last.end >= clock::between_paces(&progress.config),
        None => progress.highest_passed().is_some() || progress.levels().count() >= LEVELS_WITHOUT,
    };
    let left = progress.clock.left() - progress.reserve_beyond();
    let room = left >= clock::block(&progress.config) + clock::pace(&progress.config);
    plan(progress, 1.0).filter(|_| is_time && room)
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
