//! What only a search over virtual users can say: the knee in their number, the request rate they come to.

use plimsoll_core::step::Phase;
use plimsoll_core::verdict::{Bounds, LevelState};

use super::ended_level::EndedLevel;
use super::measured::Second;
use super::progress::Progress;

/// Seconds that tell a throughput: three that happen to be alike look surer than a soak.
const SECONDS_LEAST: usize = 5;

/// So many times the knee is beyond it: there the service is full.
const BEYOND: f64 = 1.25;

/// One level, as played.
struct Point {
    throughput: Bounds,
    attempts: f64,
    /// Seconds that virtual users spent outside of requests, all of them together.
    thought: f64,
    passed: bool,
}

/// What was served per second at the level that carries the key figures.
pub(crate) fn reached(progress: &Progress, level: Option<u32>) -> Option<Bounds> {
    let level = level?;
    let played = progress
        .history
        .iter()
        .rfind(|played| played.level == level)?;
    throughput(played)
}

/// Where the asymptotic bounds of a closed network meet (Lazowska et al., Quantitative System Performance,
/// chapter 5): N* = (Z + R₀) ÷ D, with 1 ÷ D the most that is served and Z by the interactive response time
/// law, Z = N ÷ X − R, from every level that passed. With 1 s of thought and 10 ms of work: 101. An estimate
/// as far as was played: below the knee it is a little less than the most virtual users.
pub(crate) fn crossing(progress: &Progress) -> Option<f64> {
    let points: Vec<Point> = progress.history.iter().filter_map(point).collect();
    let passed = || points.iter().filter(|point| point.passed);
    let attempts: f64 = passed().map(|point| point.attempts).sum();
    let thought: f64 = passed().map(|point| point.thought).sum();
    let think = (attempts > 0.0).then(|| thought / attempts)?;
    let rest = think + progress.response_at_rest()?.as_secs_f64();
    // By the lower bound: by the mean, the shortest and noisiest level would win.
    let lower = |point: &&Point| point.throughput.lower.unwrap_or(0.0);
    let best = points.iter().max_by(|a, b| lower(a).total_cmp(&lower(b)))?;
    Some(best.throughput.estimate * rest)
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

fn point(played: &EndedLevel) -> Option<Point> {
    let seconds = played.measured.judged();
    if !shows(played) || seconds.len() < SECONDS_LEAST {
        return None;
    }
    let vus = played.rate()?;
    let outside = |second: &Second| (vus - second.in_flight_mean).max(0.0) * second.length;
    Some(Point {
        throughput: throughput(played)?,
        attempts: seconds.iter().map(|second| second.attempts as f64).sum(),
        thought: seconds.iter().map(outside).sum(),
        passed: played.state == LevelState::Pass,
    })
}

/// Served per second, with an interval by the seconds.
fn throughput(played: &EndedLevel) -> Option<Bounds> {
    played.measured.per_second(|second| second.served)
}
