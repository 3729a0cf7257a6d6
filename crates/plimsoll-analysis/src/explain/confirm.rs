//! The confirming experiment (capacity-science D.3 step 6): one limit was moved; did the system follow as predicted?

use plimsoll_core::outcome::Outcome;
use plimsoll_core::record::{LabSetup, Record, TierSetup};
use plimsoll_core::statistics::ratio;
use plimsoll_core::units::{percent, three_digits};
use plimsoll_core::verdict::{Cause, Confidence, Evidence, Limit, Signal};

use super::saturation::{keeps_up, peak};
use crate::facts::level::{FAILING, Level, NO_ANSWER, levels};

/// A predicted rate that is met within this share confirms the cause (D.3 step 6).
const RATE_WITHIN: f64 = 0.15;
/// Lifting a limit that ends requests must leave at most this share of the failures that it caused.
const FAILURES_LEFT: f64 = 0.01;
/// Two variants are asked the same where the most that was offered differs by no more; Poisson arrivals are never quite the same.
const AS_MUCH: f64 = 0.95;
/// How attempts end that a service was too slow for.
const TOO_SLOW: [Outcome; 7] = [
    Outcome::Timeout,
    Outcome::Http5xx,
    Outcome::Shed,
    Outcome::Eof,
    Outcome::Reset,
    Outcome::Refused,
    Outcome::ConnectTimeout,
];

/// What of a tier an experiment can move.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Knob {
    Slots,
    Connections,
    Pool,
    Cpu,
    Instances,
    /// A stub in the place of the whole tier.
    Stub,
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

impl Moved {
    /// What a limit that let `rate` through lets through now; a stub has none.
    fn lets_through(&self, rate: f64) -> f64 {
        match self.knob {
            Knob::Stub => f64::INFINITY,
            _ => rate * self.to / self.from,
        }
    }
}

impl std::fmt::Display for Moved {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (tier, name, from, to) = (&self.tier, self.knob.name(), self.from, self.to);
        match self.knob {
            Knob::Stub => write!(f, "a stub in the place of {tier}"),
            _ => write!(f, "{name} of {tier} changed from {from} to {to}"),
        }
    }
}

impl Knob {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Slots => "slots",
            Self::Connections => "connections",
            Self::Pool => "pool",
            Self::Cpu => "cpu",
            Self::Instances => "instances",
            Self::Stub => "stubbed",
        }
    }

    /// It gives a tier more processors.
    const fn is_power(self) -> bool {
        matches!(self, Self::Cpu | Self::Instances)
    }

    /// Its value in a tier's setup; of `count` instances.
    fn value(self, setup: &TierSetup, count: usize) -> Option<f64> {
        match self {
            Self::Slots | Self::Connections | Self::Pool => setup.limits.get(self.name()).copied(),
            Self::Cpu => setup.cpu_cores,
            Self::Instances => Some(count as f64),
            Self::Stub => Some(f64::from(u8::from(setup.stubbed))),
        }
    }
}

/// The knobs of the named tier that move this limit, the most direct one first. A stub takes any limit out of the way that
/// lies inside a tier, but not how the tier takes its connections.
pub fn knobs(limit: &Limit) -> &'static [Knob] {
    match limit.cause {
        // Without a process the tier is the one that waits, and what it waits for is no tier of the experiment.
        Cause::Downstream if limit.process.is_none() => &[],
        Cause::ConnectionSlots => &[Knob::Slots, Knob::Connections],
        Cause::Pool => &[Knob::Pool],
        Cause::CpuQuota | Cause::Cpu | Cause::PinnedThread | Cause::EventLoop => {
            &[Knob::Cpu, Knob::Instances, Knob::Stub]
        }
        Cause::Downstream => &[Knob::Stub, Knob::Cpu, Knob::Instances],
        Cause::Lock | Cause::Concurrency | Cause::Disk | Cause::Memory | Cause::Stalls => {
            &[Knob::Stub]
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
    // A stub may differ in anything, and is the one change all the same.
    let all = [
        Knob::Stub,
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
pub(crate) fn confirm(limit: &Limit, before: &Record, after: &Record) -> Option<Limit> {
    let (was, is) = (before.header.lab.as_ref()?, after.header.lab.as_ref()?);
    let moved = moved(was, is)?;
    let of_limit = limit.tier.as_deref().is_some_and(|name| {
        was.tiers
            .iter()
            .any(|t| t.name == name && t.tier == moved.tier)
    });
    let is_valid = after.verdict.as_ref().is_none_or(|verdict| verdict.valid);
    // What gives way in a stub says nothing about the tier.
    let is_real = moved.knob != Knob::Stub || moved.to > moved.from;
    if !of_limit || !is_valid || !is_real || !knobs(limit).contains(&moved.knob) {
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
        signal: Signal::Experiment,
        text: format!("{moved} in variant ‘{}’: {text}", is.variant),
    });
    Some(limit)
}

/// The limit of `before` that `after` lifts, if the failures that such a limit produces are gone with it, for [`confirm`] to
/// judge: then it was the first to give way, whatever was suspected of one run's sampling. `None` if another thing was
/// changed too, the failures had another cause, or some of them stayed.
pub(crate) fn lifted(before: &Record, after: &Record) -> Option<Limit> {
    let (was, is) = (before.header.lab.as_ref()?, after.header.lab.as_ref()?);
    let moved = moved(was, is)?;
    let cause = match moved.knob {
        Knob::Slots | Knob::Connections => Cause::ConnectionSlots,
        Knob::Pool => Cause::Pool,
        Knob::Cpu => Cause::CpuQuota,
        // Another instance brings slots, a pool and processors alike: nobody can tell which of them it was.
        Knob::Instances | Knob::Stub => return None,
    };
    if moved.to <= moved.from {
        return None;
    }
    let (before, after) = (levels(before), levels(after));
    let is_gone = if moved.knob.is_power() {
        answers_all(&before, &after).is_some()
    } else {
        let kinds = failures_of(cause);
        let failed = share(&before, kinds);
        let (follows, _) = by_failures(failed, share(&after, kinds));
        failed >= FAILING && follows == Follows::AsPredicted
    };
    let named = was.tiers.iter().find(|tier| tier.tier == moved.tier)?;
    is_gone.then(|| Limit {
        cause,
        tier: Some(named.name.clone()),
        process: None,
        confidence: Confidence::Suspected,
        ceiling_per_s: None,
        evidence: Vec::new(),
        ruled_out: Vec::new(),
    })
}

/// The failures that a limit of this cause produces.
fn failures_of(cause: Cause) -> &'static [Outcome] {
    match cause {
        Cause::ConnectionSlots => &NO_ANSWER,
        Cause::Pool => &[Outcome::Http5xx, Outcome::Shed, Outcome::Timeout],
        _ => &[],
    }
}

/// What a system does when its limit is moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Follows {
    AsPredicted,
    /// It carries more than before, but not what was predicted, or the next limit is too near to tell.
    PartOfTheWay,
    Not,
}

/// Did the system follow, and in what words?
fn judged(cause: Cause, moved: &Moved, before: &Record, after: &Record) -> (Follows, String) {
    let (was, is) = (levels(before), levels(after));
    let kinds = if moved.knob.is_power() {
        &TOO_SLOW
    } else {
        failures_of(cause)
    };
    let (failed_before, failed_after) = (share(&was, kinds), share(&is, kinds));
    let next = predicted(peak(&was), moved, before);
    let by_rate = by_rate(peak(&was), peak(&is), moved, next);
    if failed_before < FAILING || moved.to <= moved.from {
        return by_rate;
    }
    if moved.knob.is_power() {
        return answers_all(&was, &is).unwrap_or(by_rate);
    }
    match (by_failures(failed_before, failed_after), by_rate) {
        // Waits for a pool end also where a larger one waits for the next limit: more is carried, and that is all that
        // can be said. What ends without an answer has no such excuse.
        ((Follows::Not, failures), (Follows::AsPredicted | Follows::PartOfTheWay, rate))
            if cause == Cause::Pool
                && (peak(&is) > 1.05 * peak(&was) || failed_after <= 0.7 * failed_before) =>
        {
            (Follows::PartOfTheWay, format!("{failures}; {rate}"))
        }
        (by_failures, _) => by_failures,
    }
}

/// What a tier was too slow for is gone with more processors, and all that was asked is answered: then the offered load ends the
/// rise, and how much more they carry is not known.
fn answers_all(was: &[Level], is: &[Level]) -> Option<(Follows, String)> {
    let most = |levels: &[Level]| levels.iter().map(|level| level.offered).fold(0.0, f64::max);
    let is_asked = most(is) > 0.0 && most(is) >= AS_MUCH * most(was);
    let failed = share(was, &TOO_SLOW);
    let (follows, failures) = by_failures(failed, share(is, &TOO_SLOW));
    let is_gone = failed >= FAILING && follows == Follows::AsPredicted;
    (is_gone && is_asked && is.iter().all(keeps_up)).then(|| {
        let offered = three_digits(most(is));
        let text = format!("{failures}; all of the {offered}/s offered were answered");
        (follows, text)
    })
}

fn by_failures(before: f64, after: f64) -> (Follows, String) {
    let left = after / before;
    let text = format!(
        "such failures go from {} to {} of the attempts, so {} of them are gone; 99 % or more were predicted",
        percent_fine(before),
        percent_fine(after),
        percent_fine((1.0 - left).max(0.0))
    );
    let follows = if left <= FAILURES_LEFT {
        Follows::AsPredicted
    } else {
        Follows::Not
    };
    (follows, text)
}

/// The rate with the limit moved; `None` if it is out of the way and nothing else is known to bound it.
fn predicted(peak: f64, moved: &Moved, before: &Record) -> Option<f64> {
    let verdict = before.verdict.as_ref();
    let next = verdict.and_then(|verdict| verdict.next_limit.as_ref());
    let setups = before.header.lab.iter().flat_map(|lab| &lab.tiers);
    let in_stub = |tier: &str| {
        let mut own = setups.clone().filter(|setup| setup.tier == moved.tier);
        moved.knob == Knob::Stub && own.any(|setup| setup.name == tier || setup.tier == tier)
    };
    let bound = next
        .filter(|next| moved.to > moved.from && !in_stub(&next.tier))
        .map(|next| next.full_at_per_s);
    let through = Some(moved.lets_through(peak)).filter(|rate| rate.is_finite());
    [through, bound].into_iter().flatten().reduce(f64::min)
}

fn by_rate(was: f64, is: f64, moved: &Moved, predicted: Option<f64>) -> (Follows, String) {
    let risen = (1.0 + RATE_WITHIN) * was;
    let rises = moved.to > moved.from && is > risen;
    let lowered = moved.to < moved.from;
    let through = moved.lets_through(was);
    let (follows, expected) = match predicted {
        Some(rate) if (ratio(is, rate) - 1.0).abs() <= RATE_WITHIN => {
            // The next limit may be so near that nothing more can be seen of the lifted one.
            let follows = if lowered || rises {
                Follows::AsPredicted
            } else {
                Follows::PartOfTheWay
            };
            (follows, rate)
        }
        // Where the next limit lies is an estimate; no more can come of it than the lifted limit lets through.
        Some(rate) if rises && is <= (1.0 + RATE_WITHIN) * through => (Follows::PartOfTheWay, rate),
        Some(rate) => (Follows::Not, rate),
        None if rises => (Follows::AsPredicted, risen),
        None => (Follows::Not, risen),
    };
    let text = format!(
        "{}/s measured, {}{}/s predicted ({}/s before)",
        three_digits(is),
        if predicted.is_none() {
            "more than "
        } else {
            ""
        },
        three_digits(expected),
        three_digits(was)
    );
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
