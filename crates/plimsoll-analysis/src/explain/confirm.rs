//! The confirming experiment (capacity-science D.3 step 6): one limit was moved; did the system follow as predicted?

use plimsoll_core::outcome::Outcome;
use plimsoll_core::record::{LabSetup, Record, TierSetup};
use plimsoll_core::units::three_digits;
use plimsoll_core::verdict::{Cause, Confidence, Evidence, Limit};

use super::cause::percent;
use super::level::{Level, levels, ratio};
use super::saturation::peak;

/// A predicted rate that is met within this share confirms the cause (D.3 step 6).
const RATE_WITHIN: f64 = 0.15;
/// Lifting a limit that ends requests must leave at most this share of the failures that it caused.
const FAILURES_LEFT: f64 = 0.01;
/// From this share of failed attempts on, the failures are what the limit does.
const FAILING: f64 = 0.01;

/// What of a tier an experiment can move.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Knob {
    Slots,
    Connections,
    Pool,
    Cpu,
    Instances,
}

/// One knob of one tier that two variants differ in, and in nothing else.
#[derive(Debug, Clone, PartialEq)]
struct Moved {
    /// As the experiment names it, without a number.
    tier: String,
    knob: Knob,
    from: f64,
    to: f64,
}

impl Knob {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Slots => "slots",
            Self::Connections => "connections",
            Self::Pool => "pool",
            Self::Cpu => "cpu",
            Self::Instances => "instances",
        }
    }

    /// Its value in a tier's setup; of `count` instances.
    fn value(self, setup: &TierSetup, count: usize) -> Option<f64> {
        match self {
            Self::Slots | Self::Connections | Self::Pool => setup.limits.get(self.name()).copied(),
            Self::Cpu => setup.cpu_cores,
            Self::Instances => Some(count as f64),
        }
    }
}

/// The knobs that move what `cause` names, the most direct one first; none where an experiment file has none.
pub fn knobs(cause: Cause) -> &'static [Knob] {
    match cause {
        Cause::ConnectionSlots => &[Knob::Slots, Knob::Connections],
        Cause::Pool => &[Knob::Pool],
        Cause::CpuQuota | Cause::Cpu | Cause::PinnedThread | Cause::EventLoop => {
            &[Knob::Cpu, Knob::Instances]
        }
        _ => &[],
    }
}

/// In what knob `after` differs from `before`; `None` if it is no neighbour, or differs in anything else.
fn moved(before: &LabSetup, after: &LabSetup) -> Option<Moved> {
    let follows = |one: &LabSetup, other: &LabSetup| {
        other.base.as_deref() == Some(one.variant.as_str()) && other.changes.len() == 1
    };
    if !follows(before, after) && !follows(after, before) {
        return None;
    }
    let all = [
        Knob::Slots,
        Knob::Connections,
        Knob::Pool,
        Knob::Cpu,
        Knob::Instances,
    ];
    let instances = |setup: &LabSetup, tier: &str| -> Vec<TierSetup> {
        setup
            .tiers
            .iter()
            .filter(|t| t.tier == tier)
            .cloned()
            .collect()
    };
    before.tiers.iter().find_map(|setup| {
        let (was, is) = (
            instances(before, &setup.tier),
            instances(after, &setup.tier),
        );
        let other = is.first()?;
        all.into_iter().find_map(|knob| {
            let from = knob.value(setup, was.len())?;
            let to = knob.value(other, is.len())?;
            (from.total_cmp(&to).is_ne()).then(|| Moved {
                tier: setup.tier.clone(),
                knob,
                from,
                to,
            })
        })
    })
}

/// What `before` said gives way first, after `after` moved something: confirmed if it moved that limit and the
/// system followed as predicted, put in doubt if it did not follow. `None` if it moved something else, or is not valid.
pub fn confirm(limit: &Limit, before: &Record, after: &Record) -> Option<Limit> {
    let (was, is) = (before.header.lab.as_ref()?, after.header.lab.as_ref()?);
    let moved = moved(was, is)?;
    let of_limit = limit.tier.as_deref().is_some_and(|name| {
        was.tiers
            .iter()
            .any(|t| t.name == name && t.tier == moved.tier)
    });
    let is_valid = after.verdict.as_ref().is_none_or(|verdict| verdict.valid);
    if !of_limit || !is_valid || !knobs(limit.cause).contains(&moved.knob) {
        return None;
    }
    let (follows, text) = judged(limit.cause, &moved, before, after);
    let mut limit = limit.clone();
    match follows {
        Follows::AsPredicted => limit.confidence = Confidence::Confirmed,
        // Something else is met on the way: neither for nor against.
        Follows::PartOfTheWay => {}
        Follows::Not => limit.confidence = Confidence::Suspected,
    }
    limit.evidence.push(Evidence {
        signal: "experiment".to_owned(),
        text: format!(
            "{} {} of {} → {} in variant {}: {text}",
            moved.knob.name(),
            moved.from,
            moved.tier,
            moved.to,
            is.variant
        ),
    });
    Some(limit)
}

/// The failures that a limit of this cause produces.
fn failures_of(cause: Cause) -> &'static [Outcome] {
    match cause {
        Cause::ConnectionSlots => &super::cause::NO_ANSWER,
        Cause::Pool => &[Outcome::Http5xx, Outcome::Shed, Outcome::Timeout],
        _ => &[],
    }
}

/// What a system does when its limit is moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Follows {
    AsPredicted,
    /// It carries more than before and less than predicted, after a limit was lifted.
    PartOfTheWay,
    Not,
}

/// Did the system follow, and in what words?
fn judged(cause: Cause, moved: &Moved, before: &Record, after: &Record) -> (Follows, String) {
    let (was, is) = (levels(before), levels(after));
    let kinds = failures_of(cause);
    let (failed_before, failed_after) = (share(&was, kinds), share(&is, kinds));
    if failed_before >= FAILING && moved.to > moved.from {
        let left = failed_after / failed_before;
        let text = format!(
            "{} of attempts failed so, {} do now ({} of the failures are gone; predicted 99 % or more)",
            percent_fine(failed_before),
            percent_fine(failed_after),
            percent_fine((1.0 - left).max(0.0))
        );
        let follows = if left <= FAILURES_LEFT {
            Follows::AsPredicted
        } else {
            Follows::Not
        };
        return (follows, text);
    }
    let next = before
        .verdict
        .as_ref()
        .and_then(|verdict| verdict.next_limit.as_ref());
    let lifted = peak(&was) * moved.to / moved.from;
    let predicted = match next.map(|next| next.full_at_per_s) {
        Some(bound) if moved.to > moved.from => lifted.min(bound),
        _ => lifted,
    };
    let measured = peak(&is);
    let text = format!(
        "{}/s measured, {}/s predicted ({}/s before)",
        three_digits(measured),
        three_digits(predicted),
        three_digits(peak(&was))
    );
    let rises = moved.to > moved.from && measured > (1.0 + RATE_WITHIN) * peak(&was);
    let follows = if (ratio(measured, predicted) - 1.0).abs() <= RATE_WITHIN {
        Follows::AsPredicted
    } else if rises && measured < predicted {
        Follows::PartOfTheWay
    } else {
        Follows::Not
    };
    (follows, text)
}

/// Share of all attempts that ended so.
fn share(levels: &[Level], kinds: &[Outcome]) -> f64 {
    let (mut failed, mut all) = (0, 0);
    for level in levels {
        failed += kinds
            .iter()
            .map(|kind| level.tally.class(*kind).count)
            .sum::<u64>();
        all += level.tally.decided();
    }
    ratio(failed as f64, all as f64)
}

/// `81 %`, `0.03 %`
fn percent_fine(share: f64) -> String {
    let whole = share * 100.0;
    if (10.0..99.0).contains(&whole) {
        percent(share)
    } else {
        format!("{} %", three_digits(whole))
    }
}

#[cfg(test)]
mod tests;
