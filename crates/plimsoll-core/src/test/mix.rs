//! How often each of several requests is sent, and how that changes over the time line.

use serde::{Deserialize, Serialize};

use crate::units::Nanos;

/// A part of the time line with a mix of its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(bound(serialize = "M: Serialize", deserialize = "M: Deserialize<'de>"))]
pub struct MixPhase<M> {
    pub name: String,
    pub length_ns: Nanos,
    /// At its start; the usual one where none is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mix: Option<M>,
    /// Where the mix goes evenly until its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mix_to: Option<M>,
}

/// The mix at that time after the start: where it comes from, if not from the usual one, and which part of the way to
/// another it has gone. The last phase stays as it ended.
pub(super) fn mix_at<M>(phases: &[MixPhase<M>], at: Nanos) -> (Option<&M>, Option<(&M, f64)>) {
    let mut start = Nanos::ZERO;
    for phase in phases {
        let end = start + phase.length_ns;
        if at < end {
            let done = (at - start).0 as f64 / phase.length_ns.0 as f64;
            return (
                phase.mix.as_ref(),
                phase.mix_to.as_ref().map(|to| (to, done)),
            );
        }
        start = end;
    }
    let last = phases.last();
    let last = last.and_then(|phase| phase.mix_to.as_ref().or(phase.mix.as_ref()));
    (last, None)
}

/// Requests by name, of which each attempt draws one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RequestMix {
    /// One for each request, in their order.
    pub names: Vec<String>,
    /// Percent of each.
    pub shares: Vec<f64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<MixPhase<Vec<f64>>>,
}

// Shares are finite numbers that were read from a file.
impl Eq for RequestMix {}

impl RequestMix {
    /// Each has counters of its own in every second.
    pub const REQUESTS_MAX: usize = 100;

    /// The place of the request that a number drawn evenly from 0 to 1 stands for, at that time after the start.
    pub fn draw(&self, at: Nanos, unit: f64) -> usize {
        let (from, to) = mix_at(&self.phases, at);
        let from = from.unwrap_or(&self.shares);
        let share = |place: usize| {
            let from = from.get(place).copied().unwrap_or_default();
            let to = to.and_then(|(to, done)| Some((to.get(place)?, done)));
            to.map_or(from, |(to, done)| from + (to - from) * done)
        };
        let sum: f64 = (0..self.names.len()).map(share).sum();
        let mut left = unit * sum;
        let mut last = 0;
        for place in 0..self.names.len() {
            let share = share(place);
            if share > 0.0 {
                left -= share;
                last = place;
                if left < 0.0 {
                    break;
                }
            }
        }
        last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mix(shares: &[f64], phases: Vec<MixPhase<Vec<f64>>>) -> RequestMix {
        RequestMix {
            names: (0..shares.len()).map(|place| place.to_string()).collect(),
            shares: shares.to_vec(),
            phases,
        }
    }

    /// How many of a thousand evenly spaced numbers stand for each.
    fn counts(mix: &RequestMix, seconds: u64) -> Vec<usize> {
        let mut counts = vec![0; mix.names.len()];
        for step in 0..1000 {
            let unit = (f64::from(step) + 0.5) / 1000.0;
            counts[mix.draw(Nanos::from_secs(seconds), unit)] += 1;
        }
        counts
    }

    #[test]
    fn each_is_drawn_as_often_as_its_share() {
        assert_eq!(counts(&mix(&[70.0, 0.0, 30.0], vec![]), 0), [700, 0, 300]);
        let only_first = mix(&[100.0, 0.0], vec![]);
        for unit in [0.0, 0.5, 1.0] {
            assert_eq!(only_first.draw(Nanos::ZERO, unit), 0, "{unit}");
        }
    }

    #[test]
    fn shares_change_evenly_within_a_phase_and_stay_after_the_last() {
        let phase = |mix, mix_to| MixPhase {
            name: String::new(),
            length_ns: Nanos::from_secs(10),
            mix,
            mix_to,
        };
        let to = Some(vec![0.0, 100.0]);
        let mix = mix(
            &[60.0, 40.0],
            vec![phase(None, None), phase(Some(vec![100.0, 0.0]), to)],
        );
        let first = [1, 10, 15, 20, 99].map(|seconds| counts(&mix, seconds)[0]);
        assert_eq!(first, [600, 1000, 500, 0, 0]);
    }
}
