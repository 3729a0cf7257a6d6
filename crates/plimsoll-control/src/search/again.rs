//! The closed loop of the beginning, played again at the end: does the target slow down with time, or by what it served?
//!
//! A leak of some per cent in a search hides behind the noise of a boundary, and is twice or ten times that in an hour. The same
//! closed loop, full both times, tells it apart: of 500/s in nine seconds and nine, a slowdown of 7 % is found in nine of ten.

use plimsoll_core::statistics::mean_and_error;
use plimsoll_core::step::Phase;
use plimsoll_core::verdict::SearchRemark;

use super::claim;
use super::ended_level::EndedLevel;
use super::level::Level;
use super::level_plan::{LevelPlan, StopRule};
use super::measured::Measured;
use super::progress::Progress;
use plimsoll_core::statistics::t_975;

/// A closed loop is full where it gets this share of the most.
const FULL: f64 = 0.95;
/// Of the levels that were full as many are played again, the last ones.
const LEVELS: usize = 3;
/// Seconds between two levels are played and not judged.
const DISCARD: u32 = 1;
/// Less than this is not worth a word, however certain.
const SLOWER_LEAST: f64 = 0.02;

/// The levels that are played again, in turn.
#[derive(Debug, Default)]
pub(crate) struct Again {
    pairs: Vec<Pair>,
}

/// What was served in each judged second of the same closed loop, at the beginning and at the end.
#[derive(Debug)]
struct Pair {
    before: Vec<f64>,
    now: Vec<f64>,
}

impl Again {
    /// Only where something is claimed that a slower target would not carry.
    pub(crate) fn plan(&self, progress: &Progress) -> Option<LevelPlan> {
        let claim = claim::of_search(progress).filter(|claim| !claim.is_conditional);
        if claim.is_none() || !progress.is_anchor_full {
            return None;
        }
        let levels = full(progress);
        let again = levels.get(self.pairs.len())?;
        let seconds = again.measured.judged().len() as u32 + DISCARD;
        let left = progress.clock.windows(f64::from(seconds), 0.0);
        (left == seconds).then_some(LevelPlan {
            phase: Phase::Repeat,
            load: again.measured.load,
            windows_max: seconds,
            discard: DISCARD,
            stop: StopRule::Fixed,
        })
    }

    pub(crate) fn ended(&mut self, level: &Level, progress: &mut Progress) {
        let full = full(progress);
        let Some(again) = full.get(self.pairs.len()) else {
            return;
        };
        self.pairs.push(Pair {
            before: served(&again.measured),
            now: served(&level.measured),
        });
        if self.pairs.len() < full.len() {
            return;
        }
        let over_seconds = progress.clock.elapsed() - again.end;
        if let Some(ratio) = slower(&self.pairs) {
            progress.remark_once(SearchRemark::SlowsDown {
                ratio,
                over_seconds,
            });
        }
    }
}

/// The last levels of this search's own closed loop, from the one on that gets nearly as much as any. No level is chosen or
/// left out for what it got itself: that would make the beginning look better than it was.
fn full(progress: &Progress) -> Vec<&EndedLevel> {
    let levels = progress.history.iter();
    let anchor: Vec<&EndedLevel> = levels
        .filter(|played| played.phase == Phase::Anchor)
        .collect();
    let mean = |played: &EndedLevel| {
        mean_and_error(&served(&played.measured)).map_or(0.0, |(mean, _)| mean)
    };
    let most = anchor.iter().map(|played| mean(played)).fold(0.0, f64::max);
    let first = anchor.iter().position(|played| mean(played) >= FULL * most);
    let from = first
        .unwrap_or(anchor.len())
        .max(anchor.len().saturating_sub(LEVELS));
    anchor[from..].to_vec()
}

fn served(measured: &Measured) -> Vec<f64> {
    let seconds = measured.judged().iter();
    let whole = seconds.filter(|second| second.length > 0.0);
    whole
        .map(|second| second.served as f64 / second.length)
        .collect()
}

/// By which share less was served, where chance explains it in one case of forty at most (Student's t; seconds scatter around
/// the mean of their level).
fn slower(pairs: &[Pair]) -> Option<f64> {
    let (mut was, mut less, mut variance, mut degrees) = (0.0, 0.0, 0.0, 0);
    for Pair { before, now } in pairs {
        let ((mean, error), (mean_now, error_now)) =
            (mean_and_error(before)?, mean_and_error(now)?);
        let error = libm::hypot(error?, error_now?);
        was += mean;
        less += mean - mean_now;
        variance += error * error;
        degrees += before.len() + now.len() - 2;
    }
    let ratio = less / was;
    (ratio >= SLOWER_LEAST && less > t_975(degrees) * libm::sqrt(variance)).then_some(ratio)
}

#[cfg(test)]
mod tests {
    use super::{Pair, slower};

    fn pair(before: &[f64], now: &[f64]) -> Pair {
        Pair {
            before: before.to_vec(),
            now: now.to_vec(),
        }
    }

    #[test]
    fn a_slowdown_is_told_from_the_noise_of_seconds() {
        let before = [500.0, 512.0, 489.0];
        let now = [462.0, 470.0, 455.0];
        // More users get more or less than these, then and now.
        let more = pair(&[450.0, 440.0, 460.0], &[415.0, 425.0, 405.0]);
        let ratio = slower(&[pair(&before, &now), more]).unwrap();
        assert!((ratio - 0.0762).abs() < 0.001, "{ratio}");
        // Faster, the same, or as noisy as the difference.
        assert_eq!(slower(&[pair(&now, &before)]), None);
        assert_eq!(slower(&[pair(&before, &before)]), None);
        let noisy = pair(&[500.0, 300.0, 700.0], &[460.0, 260.0, 660.0]);
        assert_eq!(slower(&[noisy]), None);
        assert_eq!(slower(&[pair(&[500.0], &now)]), None, "no scatter");
        assert_eq!(slower(&[]), None);
    }
}
