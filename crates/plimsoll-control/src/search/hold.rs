//! Holds the rate that was found, in blocks between which rates a little higher are tried: the pooled blocks are the claim.
//!
//! No block is final. When what they show moves the boundary, the rate follows; a block that was lost stays in the pool.

use plimsoll_core::step::Phase;

use super::boundary::judged;
use super::claim;
use super::clock;
use super::level::Level;
use super::level_plan::LevelPlan;
use super::progress::Progress;

/// The boundary is below the rate that is held with this probability; where nothing but what services usually do is known of
/// it, with the second: looking further down would take too long.
const QUANTILES: [f64; 2] = [0.32, 0.45];
/// It is moved only when it is this far off, or when nothing could be claimed there any more.
const MOVE: f64 = 0.025;
/// Every so many blocks one is a probe above…
const PROBE_EVERY: u32 = 3;
/// …by this much. After one that was easy the next follows at once, after two by more.
const PROBES: [f64; 4] = [1.05, 1.05, 1.2, 1.5];
const PROBE_SECONDS: f64 = 12.0;
/// A probe this far within its budget was easy.
const EASY_BUDGETS: f64 = 0.5;
/// A shorter block would say too little.
const BLOCK_LEAST: f64 = 8.0;
/// Enough: the boundary is above with this probability, and not far above.
const SURE_ABOVE: f64 = 0.65;
const SURE_WITHIN: f64 = 1.07;
/// What counts as played at the rate: up to so much above it.
const SPREAD_RATE: f64 = 1.04;
/// And the evidence is spread over this many times its own length.
const SPREAD: f64 = 1.3;

#[derive(Debug, Default)]
pub(crate) struct Hold {
    rate: Option<f64>,
    blocks: u32,
    easy: usize,
}

impl Hold {
    pub(crate) fn plan(&mut self, progress: &Progress) -> Option<LevelPlan> {
        let posterior = progress.posterior()?;
        let over = progress.config.over;
        let ceiling = progress.ceiling();
        let likely = claim::likely_most(posterior);
        let known = progress
            .highest_passed()
            .map_or(f64::INFINITY, |rate| rate * PROBES[0]);
        let quantile = QUANTILES[usize::from(posterior.is_usual())];
        let aim = posterior.quantile(quantile).min(likely).min(known);
        let aim = over.at_most(progress.within_steps(aim)).min(ceiling);
        let stays = |rate: &f64| (aim / rate - 1.0).abs() <= MOVE && *rate <= likely;
        let rate = self.rate.filter(stays).unwrap_or(aim);
        self.rate = Some(rate);
        let left = progress.clock.left() - progress.reserve_beyond();
        if is_enough(rate, left, progress) || left < BLOCK_LEAST + f64::from(progress.discard()) {
            return None;
        }
        let is_due = self.easy > 0 || self.blocks % PROBE_EVERY == PROBE_EVERY - 1;
        if is_due && rate < ceiling {
            let share = PROBES[self.easy.min(PROBES.len() - 1)];
            let above = over
                .nearest(rate * share)
                .max(over.next_above(rate))
                .min(ceiling);
            return judged(progress, Phase::Bisect, above, PROBE_SECONDS);
        }
        judged(progress, Phase::Soak, rate, clock::block(&progress.config))
    }

    pub(crate) fn ended(&mut self, level: &Level, progress: &Progress) {
        if matches!(level.plan.phase, Phase::Bracket | Phase::Anchor) {
            return;
        }
        self.blocks += 1;
        let Some(played) = progress.history.last() else {
            return;
        };
        if level.plan.phase == Phase::Bisect {
            let easy = !played.is_over && played.budgets() < EASY_BUDGETS;
            self.easy = if easy { self.easy + 1 } else { 0 };
        }
    }
}

/// Whether the evidence at the rate carries the claim before the time is over.
fn is_enough(rate: f64, left: f64, progress: &Progress) -> bool {
    let Some(posterior) = progress.posterior() else {
        return false;
    };
    let pool = claim::pool(progress, rate, SPREAD_RATE);
    let wanted = clock::enough(&progress.config).max(claim::seconds_least(progress));
    let at_ceiling = rate >= progress.ceiling();
    pool.seconds >= wanted
        && pool.span >= SPREAD * wanted
        && pool.holds()
        && progress.spells().is_empty()
        && (at_ceiling
            || posterior.above(rate) > SURE_ABOVE && posterior.quantile(0.9) <= SURE_WITHIN * rate)
        && !pool.gets_enough(left)
        && is_claimed(rate, progress)
}

/// What would be said now is that the rate is held: else the time that is left may still bring it. Where the target changed or
/// does not stand still, no time does.
fn is_claimed(rate: f64, progress: &Progress) -> bool {
    let near = claim::of_search(progress).filter(|claim| claim.rate >= (1.0 - MOVE) * rate);
    near.is_some_and(|claim| !claim.is_conditional) || !progress.stands_still()
}
