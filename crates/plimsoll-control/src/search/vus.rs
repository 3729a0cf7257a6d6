//! What only a search over virtual users can say: the knee in their number, the request rate they come to.

use plimsoll_core::step::Phase;
use plimsoll_core::verdict::{Bounds, LevelState};

use super::ended_level::EndedLevel;
use super::measured::{Second, per_second};
use super::progress::Progress;
use plimsoll_core::statistics::t_975;

/// Seconds that tell a throughput: three that happen to be alike look surer than a soak.
const SECONDS_LEAST: usize = 5;

/// So many times the knee is beyond it: there the service is full.
const BEYOND: f64 = 1.25;

/// What was served per second at the levels that carry what is claimed, together.
pub(crate) fn reached(progress: &Progress, levels: &[u32]) -> Option<Bounds> {
    let carry = |played: &&EndedLevel| levels.contains(&played.level);
    let carrying = progress.history.iter().filter(carry);
    let seconds = carrying.flat_map(|played| played.measured.judged());
    per_second(seconds, |second| second.served)
}

/// Where the asymptotic bounds of a closed network meet (Lazowska et al., Quantitative System Performance,
/// chapter 5): N* = (Z + R₀) ÷ D, with 1 ÷ D the most that is served and Z by the interactive response time
/// law, Z = N ÷ X − R, from every level that passed. With 1 s of thought and 10 ms of work: 101. An estimate
/// as far as was played: below the knee it is a little less than the most virtual users.
pub(crate) fn crossing(progress: &Progress) -> Option<f64> {
    let levels: Vec<&EndedLevel> = progress
        .history
        .iter()
        .filter(|played| shows(played) && played.measured.judged().len() >= SECONDS_LEAST)
        .collect();
    let (mut thought, mut attempts) = (0.0, 0.0);
    for played in levels.iter().filter(|p| p.state == LevelState::Pass) {
        let vus = played.rate()?;
        let outside = |second: &Second| (vus - second.in_flight_mean).max(0.0) * second.length;
        thought += played.measured.judged().iter().map(outside).sum::<f64>();
        attempts += played.measured.attempts() as f64;
    }
    let think = (attempts > 0.0).then(|| thought / attempts)?;
    let rest = think + progress.response_at_rest()?.as_secs_f64();
    Some(most_served(&levels)? * rest)
}

/// Most that was served per second: all levels together that may have served as much as the best one. The best alone is the
/// luckiest: 5 % above the truth in half of the simulated searches.
fn most_served(levels: &[&EndedLevel]) -> Option<f64> {
    let each: Vec<(Bounds, f64)> = levels
        .iter()
        .filter_map(|played| Some((throughput(played)?, played.measured.seconds_judged())))
        .collect();
    let lower = each.iter().filter_map(|(bounds, _)| bounds.lower);
    let least = lower.max_by(f64::total_cmp)?;
    let as_good = each
        .iter()
        .filter(|(bounds, _)| bounds.upper.is_some_and(|upper| upper >= least));
    let (served, seconds) = as_good.fold((0.0, 0.0), |(served, seconds), (bounds, length)| {
        (served + bounds.estimate * length, seconds + length)
    });
    (seconds > 0.0).then_some(served / seconds)
}

/// Served per second, with an interval. Seconds that happen to be alike are no surer than a Poisson count, whose variance
/// is its mean.
fn throughput(played: &EndedLevel) -> Option<Bounds> {
    let seen = played.measured.per_second(|second| second.served)?;
    let count = played.measured.judged().len();
    let of_count = t_975(count - 1) * libm::sqrt(seen.estimate / count as f64);
    Some(Bounds {
        lower: Some(seen.lower?.min(seen.estimate - of_count)),
        upper: Some(seen.upper?.max(seen.estimate + of_count)),
        ..seen
    })
}

/// The knee, once a level well beyond it has been played: as many virtual users as hardly wait come to nearly
/// N ÷ (Z + R₀) each second, which looks like a knee just below them.
pub(crate) fn knee(progress: &Progress) -> Option<Bounds> {
    let knee = crossing(progress)?;
    let played = progress.history.iter().filter(|played| shows(played));
    let sizes: Vec<f64> = played.filter_map(EndedLevel::rate).collect();
    sizes.iter().find(|vus| **vus > knee * BEYOND)?;
    let below = sizes.iter().copied().filter(|vus| *vus <= knee);
    let above = sizes.iter().copied().filter(|vus| *vus > knee);
    Some(Bounds {
        estimate: knee,
        lower: below.max_by(f64::total_cmp),
        upper: above.min_by(f64::total_cmp),
    })
}

fn shows(played: &EndedLevel) -> bool {
    let phase = matches!(
        played.phase,
        Phase::Bracket | Phase::Bisect | Phase::Soak | Phase::Overshoot
    );
    phase && played.state != LevelState::Void
}
