//! Names what gives way first, from the record alone, and says how sure that is.
//!
//! The order of the argument: did the system give way at all, at which levels, which discriminators
//! hold there and not at low load, what would be full next, what to change. A cause is `supported`
//! by two independent signals and `suspected` by one; only an experiment makes it `confirmed`.
//! Names of tiers, processes and threads are shown and never weighed.

mod advice;
mod case;
mod cause;
mod confirm;
pub(crate) mod gauges;
mod level;
mod predict;
mod resource;
mod saturation;
mod tick;

use plimsoll_core::record::Record;
use plimsoll_core::units::three_digits;
use plimsoll_core::verdict::{
    Advice, Cause, Confidence, Evidence, Found, Limit, NextLimit, Resource,
};

use case::{Case, Finding};
pub use confirm::{Knob, confirm, knobs};
use level::{Level, levels};
pub use predict::{PlannedTier, Predicted, capacity, predict};
use saturation::{Saturation, Sign, saturation};
use tick::{Tick, ticks};

/// What gives way first, what next, how full everything is, and what to change.
#[derive(Debug, Clone, PartialEq)]
pub struct Explanation {
    pub limit: Limit,
    pub next_limit: Option<NextLimit>,
    pub resources: Vec<Resource>,
    pub advice: Vec<Advice>,
}

/// Reads levels, windows, observations and objectives of `record`; `found` is what the search knows
/// so far (empty after a plain run). Never fails: what the figures do not carry is `unknown`.
pub fn explain(record: &Record, found: &Found) -> Explanation {
    let levels = levels(record);
    let ticks = ticks(record, &levels);
    let (saturated, held) = saturation(&levels);
    let Some(saturated) = saturated else {
        return not_reached(record, &levels, &ticks, found, held);
    };
    let case = Case::new(record, &levels, &ticks, &saturated, found);
    let findings = cause::findings(&case);
    let (limit, covered) = choose(&case, findings);
    let resources = resource::resources(&case);
    let next_limit = full_behind_slots(&limit, &covered, saturated.peak)
        .or_else(|| resource::next_limit(&case, &limit, &resources, saturated.peak));
    let advice = advice::advice(&case, record, &limit, next_limit.as_ref());
    Explanation {
        limit,
        next_limit,
        resources,
        advice,
    }
}

/// Without saturation there is no limit to name, but demand per request and where it would end.
fn not_reached(
    record: &Record,
    levels: &[Level],
    ticks: &[Tick],
    found: &Found,
    held: f64,
) -> Explanation {
    let by_rate = |index: &usize| levels.get(*index).map_or(0.0, |level| level.served);
    let highest = (0..levels.len()).max_by(|a, b| by_rate(a).total_cmp(&by_rate(b)));
    // The highest level plays the saturated one's part: shares are taken there.
    let pretended = Saturation {
        sign: Sign::Throughput,
        high: highest.into_iter().collect(),
        low: (0..levels.len()).filter(|i| Some(*i) != highest).collect(),
        peak: held,
    };
    let case = Case::new(record, levels, ticks, &pretended, found);
    let resources = resource::resources(&case);
    let limit = Limit {
        cause: Cause::NotReached,
        tier: None,
        process: None,
        confidence: Confidence::Unknown,
        ceiling_per_s: None,
        evidence: vec![Evidence {
            signal: "throughput".to_owned(),
            text: if levels.is_empty() {
                "no level was measured".to_owned()
            } else {
                format!(
                    "held up to {}/s; no level beyond it gave way",
                    three_digits(held)
                )
            },
        }],
        ruled_out: Vec::new(),
    };
    Explanation {
        next_limit: resource::next_limit(&case, &limit, &resources, held),
        limit,
        resources,
        advice: Vec::new(),
    }
}

/// Slots end requests whatever else is full: what is full behind them is met as soon as they are lifted.
fn full_behind_slots(limit: &Limit, covered: &[Finding], peak: f64) -> Option<NextLimit> {
    let behind = covered.iter().find(|finding| {
        let is_processor = matches!(
            finding.cause,
            Cause::CpuQuota | Cause::Cpu | Cause::PinnedThread | Cause::EventLoop | Cause::Disk
        );
        is_processor && finding.tier != limit.tier
    });
    let finding = behind.filter(|_| limit.cause == Cause::ConnectionSlots)?;
    Some(NextLimit {
        tier: finding.tier.clone()?,
        resource: cause_name(finding.cause).to_owned(),
        // It was full while this was carried.
        full_at_per_s: peak,
    })
}

/// The limit, and findings that it explains too.
fn choose(case: &Case, findings: Vec<Finding>) -> (Limit, Vec<Finding>) {
    let mut ranked: Vec<(Confidence, Finding)> = findings
        .into_iter()
        .map(|finding| (confidence(case, &finding), finding))
        .collect();
    // Stable: within one confidence the order of the procedure stays.
    ranked.sort_by_key(|(confidence, _)| std::cmp::Reverse(*confidence));
    if ranked.is_empty() {
        return (unknown(case), Vec::new());
    }
    let (mut sure, first) = ranked.remove(pool_that_fills(case, &ranked).unwrap_or(0));
    let mut covered = Vec::new();
    let mut ruled_out = resource::ruled_out(case, first.cause, first.tier.as_deref());
    for (rival_sure, rival) in ranked {
        if covers(case, &first, &rival) {
            covered.push(rival);
        } else if rival_sure == sure {
            sure = Confidence::Suspected;
            ruled_out.push(format!(
                "not ruled out: {} {}",
                cause_name(rival.cause),
                rival.evidence.first().map_or("", |e| e.text.as_str())
            ));
        }
    }
    let mut first = first;
    let alike = instances_alike(case, &first, &covered);
    first.evidence.extend(alike);
    let limit = Limit {
        cause: first.cause,
        tier: first.tier,
        process: first.process,
        confidence: sure,
        ceiling_per_s: first.ceiling,
        evidence: first.evidence,
        ruled_out,
    };
    (limit, covered)
}

/// As sure as the first, a pool that covers it: clients whose wait was given up ask again at once, and that fills
/// processors of its tier and of those in front.
fn pool_that_fills(case: &Case, ranked: &[(Confidence, Finding)]) -> Option<usize> {
    let (sure, first) = ranked.first()?;
    ranked.iter().position(|(confidence, finding)| {
        confidence == sure && finding.cause == Cause::Pool && covers(case, finding, first)
    })
}

/// How many instances of the tier show the same, if there are several.
fn instances_alike(case: &Case, first: &Finding, covered: &[Finding]) -> Option<Evidence> {
    let name = first.tier.as_deref()?;
    let count = case.instances_of(case.declared(name));
    let is_alike = |rival: &&Finding| {
        rival.cause == first.cause
            && rival.tier != first.tier
            && case.are_of_one_tier(first.tier.as_deref(), rival.tier.as_deref())
    };
    let alike = 1 + covered.iter().filter(is_alike).count();
    (count > 1).then(|| Evidence {
        // No signal of its own: more of the same.
        signal: first
            .evidence
            .first()
            .map_or_else(String::new, |e| e.signal.clone()),
        text: format!("these are figures of {name}; {alike} of {count} instances are as full"),
    })
}

/// Words of D.3 step 6. What the client alone sees is never more than a suspicion, and where a
/// tier's descriptors are hidden a lock cannot be told from waiting for somebody else.
fn confidence(case: &Case, finding: &Finding) -> Confidence {
    let entry = case.entry();
    let observed = case.tiers.iter().any(|tier| tier.high.ticks >= 2);
    let hidden = finding.cause == Cause::Lock && entry.high.out.is_none();
    if observed && !hidden && finding.signals() >= 2 {
        Confidence::Supported
    } else {
        Confidence::Suspected
    }
}

/// Does the first finding explain the second too, or contradict it by a stronger discriminator?
fn covers(case: &Case, first: &Finding, second: &Finding) -> bool {
    let same_tier = case.are_of_one_tier(first.tier.as_deref(), second.tier.as_deref());
    match (first.cause, second.cause) {
        (a, b) if a == b && same_tier => true,
        // A pool answers when nothing becomes free, a full processor answers late: ends without an answer come from
        // slots, and clients that fail at once and ask again at once fill processors.
        (Cause::ConnectionSlots, _)
        | (Cause::Rule, Cause::Pool | Cause::Downstream | Cause::Lock)
        | (Cause::Downstream, Cause::Downstream) => true,
        (Cause::Pool, Cause::CpuQuota | Cause::PinnedThread | Cause::EventLoop | Cause::Cpu) => {
            let full = case
                .tiers
                .iter()
                .find(|tier| second.tier.as_ref() == Some(&tier.name));
            let then = full.and_then(|tier| case.at_onset(tier, cause::given_up));
            then.is_some_and(|then| then.had_room())
        }
        (Cause::Memory | Cause::CpuQuota, Cause::PinnedThread | Cause::Cpu)
        | (Cause::PinnedThread | Cause::EventLoop, Cause::Cpu | Cause::Lock)
        | (Cause::Cpu | Cause::Disk | Cause::Pool, Cause::Lock) => same_tier,
        _ => false,
    }
}

fn unknown(case: &Case) -> Limit {
    let observed = case.tiers.iter().any(|tier| tier.high.ticks >= 2);
    let text = if observed {
        "the system gave way, and no figure of the tiers that were seen says why; \
         watch the tier behind (--watch port:N) or its gauges (--watch metrics:URL)"
    } else {
        "the system gave way, and no tier could be seen; run on its host, or name its process \
         (--watch pid:N)"
    };
    Limit {
        cause: Cause::Unknown,
        tier: None,
        process: None,
        confidence: Confidence::Unknown,
        ceiling_per_s: None,
        evidence: vec![Evidence {
            signal: "none".to_owned(),
            text: text.to_owned(),
        }],
        ruled_out: resource::ruled_out(case, Cause::Unknown, None),
    }
}

/// The cause in words.
pub fn cause_name(cause: Cause) -> &'static str {
    match cause {
        Cause::PinnedThread => "one thread",
        Cause::Cpu => "processors",
        Cause::CpuQuota => "CPU quota",
        Cause::ConnectionSlots => "connection slots",
        Cause::Pool => "connection pool",
        Cause::Downstream => "downstream",
        Cause::Lock => "lock or serialised section",
        Cause::Disk => "disk",
        Cause::EventLoop => "event loop",
        Cause::Memory => "memory or garbage collection",
        Cause::Stalls => "stalls",
        Cause::Rule => "configured rate rule",
        Cause::NotReached => "limit not reached",
        Cause::Unknown => "unknown",
    }
}

#[cfg(test)]
mod tests;
