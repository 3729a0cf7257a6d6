//! The same closed loop at several times of a search: is the target as fast at its end as at its beginning, and in between?
//!
//! A leak of some per cent in a search hides behind the noise of a boundary, and is twice or ten times that in an hour; a
//! speed that wanders shows a search its good minutes or its bad ones. A closed loop that fills the target tells its speed
//! within 2 % in seconds, because every answer counts and not only the late ones: of 500/s in 9 s, 4,500 ± 67.
//!
//! ```text
//! slope of the means over time, against the scatter of seconds   (Student's t, one side)   it slows down, unless the
//!                               and against the means around it  (Fisher's F)              means scatter as much by themselves
//! scatter of the means, beyond what seconds explain              (Fisher's F)              its own deviation σ
//! ```
//!
//! A speed that differs by a few per cent from one level to the next is no reason for silence: what was held went through slower and
//! faster levels. But four levels are few, and bad minutes weigh more than good ones: so the claim is put lower by σ, and says so.
//! A larger σ is another matter: four levels do not show how slow it gets in half an hour.

use plimsoll_core::statistics::{median, t_975};
use plimsoll_core::step::Phase;
use plimsoll_core::verdict::{LevelState, SearchRemark};

use super::ended_level::EndedLevel;
use super::level_plan::{LevelPlan, StopRule};
use super::load::Load;
use super::measured::Measured;

/// A closed loop is full where it gets this share of the most.
const FULL: f64 = 0.95;
/// Seconds between two levels are played and not judged.
const DISCARD: u32 = 1;
/// Fewer seconds say too little.
const LEAST: u32 = 2;
/// Less than this is not worth a word, however certain: a slope over the whole time.
const SLOWER_LEAST: f64 = 0.03;
/// Two speeds that are certainly no further apart than this are one: what they carry differs by no more than levels tell.
const SAME: f64 = 0.04;
/// Beyond this standard deviation of the speed nothing is held.
const DEVIATION_MOST: f64 = 0.045;
/// So few say nothing of it.
const PROBES_LEAST: usize = 3;
/// Standard normal deviate beyond which chance explains it in one search of twenty; and the one of 95 % between both sides.
const SURE: f64 = 1.645;
const BOTH_SIDES: f64 = 1.96;
/// The one that chance exceeds on both sides in one of five: a slope that stands out of the scatter around it.
const STANDS_OUT: f64 = 0.842;
/// The one beyond which means scatter around a line by themselves: chance does so in one of six.
const SCATTERED: f64 = 1.0;

/// The closed loop that is played again and again.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pace {
    in_flight: u32,
    /// Index of the first level that may be one of it: those of the anchor were chosen for what they got.
    from: usize,
}

/// What was served in each judged second of it, once.
#[derive(Debug, Clone)]
struct Probe {
    /// Its middle, in seconds of the search.
    at: f64,
    served: Vec<f64>,
}

impl Pace {
    /// One doubling beyond the first level that got nearly as much as any.
    pub(crate) fn of_anchor(history: &[EndedLevel]) -> Option<Self> {
        let anchor: Vec<(u32, f64)> = history.iter().filter_map(throughput).collect();
        let most = anchor.iter().map(|(_, served)| *served).fold(0.0, f64::max);
        let first = anchor
            .iter()
            .position(|(_, served)| *served >= FULL * most)?;
        let (in_flight, _) = anchor[(first + 1).min(anchor.len() - 1)];
        Some(Self {
            in_flight,
            from: history.len(),
        })
    }

    /// In the middle of its seconds, with their variance: by the middle distance from it, which a stop in one of them does not
    /// make larger.
    pub(crate) fn served(self, history: &[EndedLevel]) -> Option<(f64, f64)> {
        const OF_NORMAL: f64 = 1.4826;
        let seconds: Vec<f64> = self
            .played(history)
            .filter(|played| played.state != LevelState::Void)
            .flat_map(|played| served(&played.measured))
            .collect();
        let middle = median(seconds.clone())?;
        let off = seconds.iter().map(|served| (served - middle).abs());
        let deviation = OF_NORMAL * median(off.collect())?;
        Some((middle, (deviation * deviation).max(middle)))
    }

    pub(crate) fn played(self, history: &[EndedLevel]) -> impl Iterator<Item = &EndedLevel> {
        let levels = history[self.from..].iter();
        levels.filter(|played| played.phase == Phase::Anchor)
    }

    /// For so many judged seconds, or those of `windows_left` windows if they are fewer.
    pub(crate) fn plan(self, seconds: f64, windows_left: u32) -> Option<LevelPlan> {
        let windows_max = (seconds.ceil() as u32 + DISCARD).min(windows_left);
        (windows_max > DISCARD + LEAST).then_some(LevelPlan {
            phase: Phase::Anchor,
            load: Load::Closed(self.in_flight),
            windows_max,
            discard: DISCARD,
            stop: StopRule::Fixed,
        })
    }

    /// What all that were played show together.
    pub(crate) fn shows(self, history: &[EndedLevel]) -> Option<SearchRemark> {
        seen(&self.probes(history))
    }

    /// How much the target's own speed varies, where it is little enough for a claim.
    pub(crate) fn scatters(self, history: &[EndedLevel]) -> Option<Scatters> {
        scatters(&self.probes(history))
    }

    /// What was played before a second of the search and what was played since were served alike, beyond chance.
    pub(crate) fn is_as_fast_since(self, history: &[EndedLevel], at: f64) -> bool {
        is_as_fast_since(&self.probes(history), at)
    }

    fn probes(self, history: &[EndedLevel]) -> Vec<Probe> {
        self.played(history)
            .filter(|played| played.state != LevelState::Void)
            .filter_map(Probe::of_level)
            .collect()
    }
}

fn throughput(played: &EndedLevel) -> Option<(u32, f64)> {
    let Load::Closed(in_flight) = played.measured.load else {
        return None;
    };
    let served = served(&played.measured);
    let mean = served.iter().sum::<f64>() / served.len().max(1) as f64;
    (played.phase == Phase::Anchor).then_some((in_flight, mean))
}

fn served(measured: &Measured) -> Vec<f64> {
    let seconds = measured.judged().iter();
    let whole = seconds.filter(|second| second.length > 0.0);
    whole
        .map(|second| second.served as f64 / second.length)
        .collect()
}

impl Probe {
    fn of_level(played: &EndedLevel) -> Option<Self> {
        let served = served(&played.measured);
        (served.len() > 1).then(|| Self {
            at: played.end - 0.5 * played.measured.seconds_judged(),
            served,
        })
    }

    fn seconds(&self) -> f64 {
        self.served.len() as f64
    }

    fn mean(&self) -> f64 {
        self.served.iter().sum::<f64>() / self.seconds()
    }

    fn squares(&self) -> f64 {
        let mean = self.mean();
        let each = self.served.iter().map(|served| served - mean);
        each.map(|off| off * off).sum()
    }
}

/// A speed that differs from one time to another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Scatters {
    /// Its standard deviation without what chance adds, as a share of the mean.
    pub(crate) deviation: f64,
    pub(crate) least_per_s: f64,
    pub(crate) most_per_s: f64,
    pub(crate) over_seconds: f64,
}

fn scatters(probes: &[Probe]) -> Option<Scatters> {
    let scatter = Scatter::of(probes).filter(|_| probes.len() >= PROBES_LEAST)?;
    let means = || probes.iter().map(Probe::mean);
    Some(Scatters {
        deviation: scatter.deviation(probes),
        least_per_s: means().fold(f64::INFINITY, f64::min),
        most_per_s: means().fold(0.0, f64::max),
        over_seconds: scatter.over_seconds,
    })
}

fn is_as_fast_since(probes: &[Probe], at: f64) -> bool {
    let since = probes.partition_point(|probe| probe.at < at);
    let (before, since) = probes.split_at(since);
    let (Some(all), false, false) = (Scatter::of(probes), before.is_empty(), since.is_empty())
    else {
        return false;
    };
    let seconds = |probes: &[Probe]| weighed(probes, |_| 1.0);
    let mean = |probes: &[Probe]| weighed(probes, Probe::mean) / seconds(probes);
    let off = (mean(since) - mean(before)).abs();
    let chance = t_975(all.degrees)
        * libm::sqrt(all.within * (1.0 / seconds(before) + 1.0 / seconds(since)));
    off + chance <= SAME * mean(before)
}

/// What the probes show together that forbids a claim, if they show anything.
fn seen(probes: &[Probe]) -> Option<SearchRemark> {
    let scatter = Scatter::of(probes)?;
    scatter
        .slows_down(probes)
        .or_else(|| scatter.varies(probes))
}

/// Of the seconds within probes, and of the probes among each other.
#[derive(Debug, Clone, Copy)]
struct Scatter {
    mean: f64,
    /// Variance of a second around the mean of its probe, and its degrees of freedom.
    within: f64,
    degrees: usize,
    over_seconds: f64,
}

impl Scatter {
    fn of(probes: &[Probe]) -> Option<Self> {
        let (first, last) = (probes.first()?, probes.last()?);
        let degrees = probes.iter().map(|probe| probe.served.len() - 1).sum();
        (probes.len() > 1).then(|| Self {
            mean: weighed(probes, Probe::mean) / weighed(probes, |_| 1.0),
            within: probes.iter().map(Probe::squares).sum::<f64>() / degrees as f64,
            degrees,
            over_seconds: last.at - first.at,
        })
    }

    /// By a line through the means: its slope is negative beyond chance.
    fn slows_down(self, probes: &[Probe]) -> Option<SearchRemark> {
        let middle = weighed(probes, |probe| probe.at) / weighed(probes, |_| 1.0);
        let times = weighed(probes, |probe| (probe.at - middle) * (probe.at - middle));
        let moved = weighed(probes, |probe| {
            (probe.at - middle) * (probe.mean() - self.mean)
        });
        let slope = moved / times;
        let ratio = -slope * self.over_seconds / probes.first()?.mean();
        // The quantile of one side from that of two, as of the normal distribution.
        let chance = t_975(self.degrees) * SURE / BOTH_SIDES * libm::sqrt(self.within / times);
        let is_sure = -slope > chance && self.stands_out(slope * moved, probes);
        (ratio >= SLOWER_LEAST && is_sure).then_some(SearchRemark::SlowsDown {
            ratio,
            over_seconds: self.over_seconds,
        })
    }

    /// The line explains more than the means scatter around it. Two of them have no scatter around a line.
    fn stands_out(self, explained: f64, probes: &[Probe]) -> bool {
        let around = probes.len() as f64 - 2.0;
        let rest = self.between(probes) - explained;
        let is_scattered = around > 0.0
            && deviate(rest / around / self.within, around, self.degrees as f64) > SCATTERED;
        !is_scattered || deviate(explained * around / rest, 1.0, around) > STANDS_OUT
    }

    /// Squares of the means around the mean of all, times their seconds.
    fn between(self, probes: &[Probe]) -> f64 {
        weighed(probes, |probe| {
            (probe.mean() - self.mean) * (probe.mean() - self.mean)
        })
    }

    /// Of the target's own speed, as a share: what is between probes and not between seconds.
    fn deviation(self, probes: &[Probe]) -> f64 {
        let above = (probes.len() - 1) as f64;
        let seconds = weighed(probes, |_| 1.0) / probes.len() as f64;
        let variance = (self.between(probes) / above - self.within) / seconds;
        libm::sqrt(variance.max(0.0)) / self.mean
    }

    /// Among each other they differ more than seconds do, and by much.
    fn varies(self, probes: &[Probe]) -> Option<SearchRemark> {
        let above = (probes.len() - 1) as f64;
        let factor = self.between(probes) / above / self.within;
        let is_sure = deviate(factor, above, self.degrees as f64) > SURE;
        let means = || probes.iter().map(Probe::mean);
        (is_sure && self.deviation(probes) > DEVIATION_MOST).then_some(SearchRemark::PaceVaries {
            least_per_s: means().fold(f64::INFINITY, f64::min),
            most_per_s: means().fold(0.0, f64::max),
            over_seconds: self.over_seconds,
            lower_ratio: None,
        })
    }
}

/// The sum of a figure over all seconds.
fn weighed(probes: &[Probe], figure: impl Fn(&Probe) -> f64) -> f64 {
    let each = probes.iter().map(|probe| probe.seconds() * figure(probe));
    each.sum()
}

/// The standard normal deviate that is as unlikely as F with so many degrees of freedom (Paulson's approximation; Wilson and
/// Hilferty's cube roots).
fn deviate(factor: f64, above: f64, below: f64) -> f64 {
    let (a, b) = (2.0 / (9.0 * above), 2.0 / (9.0 * below));
    let root = libm::cbrt(factor);
    ((1.0 - b) * root - (1.0 - a)) / libm::sqrt(b * root * root + a)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn probes(means: &[f64]) -> Vec<Probe> {
        let each = means.iter().enumerate();
        each.map(|(index, mean)| Probe {
            at: 80.0 * index as f64,
            served: [-12.0, 9.0, 0.0, -7.0, 10.0]
                .iter()
                .map(|off| mean + off)
                .collect(),
        })
        .collect()
    }

    #[test]
    fn a_slowdown_is_told_from_a_speed_that_varies_and_from_noise() {
        let Some(SearchRemark::SlowsDown {
            ratio,
            over_seconds,
        }) = seen(&probes(&[500.0, 490.0, 478.0, 465.0]))
        else {
            panic!("a slowdown");
        };
        assert!(
            (ratio - 0.07).abs() < 0.005 && (over_seconds - 240.0).abs() < 1e-9,
            "{ratio}"
        );
        let varies = seen(&probes(&[470.0, 510.0, 515.0, 472.0]));
        let Some(SearchRemark::PaceVaries {
            least_per_s,
            most_per_s,
            ..
        }) = varies
        else {
            panic!("{varies:?}");
        };
        assert!((least_per_s - 470.0).abs() < 1.0 && (most_per_s - 515.0).abs() < 1.0);
        // Noise of the target's own, which no line stands out of; chance, one probe, none.
        let noisy = probes(&[500.0, 470.0, 505.0, 475.0]);
        assert_eq!(seen(&noisy), None);
        let scatters = scatters(&noisy).unwrap();
        assert!((scatters.deviation - 0.035).abs() < 0.002, "{scatters:?}");
        assert!((scatters.least_per_s - 470.0).abs() < 1.0);
        assert_eq!(seen(&probes(&[500.0, 506.0, 497.0, 501.0])), None);
        assert_eq!(seen(&probes(&[500.0])), None);
        assert_eq!(seen(&[]), None);
    }

    #[test]
    fn a_speed_is_the_same_as_before_where_chance_cannot_hide_a_difference() {
        let steady = probes(&[500.0, 506.0, 497.0]);
        assert!(is_as_fast_since(&steady, 100.0));
        // Nothing was played since, or before.
        assert!(!is_as_fast_since(&steady, 300.0) && !is_as_fast_since(&steady, -1.0));
        assert!(!is_as_fast_since(&probes(&[500.0, 500.0, 450.0]), 100.0));
        // Seconds that differ by a fifth hide a twentieth.
        assert!(!is_as_fast_since(&probes(&[50.0, 50.6, 49.7]), 100.0));
    }

    /// F(0.975) for 3 and 24 degrees of freedom is 3.721, for 1 and 60 it is 5.286 (tables).
    #[test]
    fn the_deviate_of_a_quantile_is_that_of_the_normal() {
        for (factor, above, below) in [(3.721, 3.0, 24.0), (5.286, 1.0, 60.0)] {
            let deviate = deviate(factor, above, below);
            assert!((deviate - 1.96).abs() < 0.06, "{deviate}");
        }
    }
}
