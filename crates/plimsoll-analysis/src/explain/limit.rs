//! Chooses among the findings the one that is the limit, says how sure that is, and which others it explains.

use plimsoll_core::outcome::Outcome;
use plimsoll_core::units::{percent, three_digits};
use plimsoll_core::verdict::{Cause, Confidence, Evidence, Limit, NextLimit, Signal};

use super::case::Case;
use super::cause::{CLIENT, calls_unseen};
use super::finding::Finding;
use super::ruled_out;
use super::saturation::Sign;
use crate::facts::level::{Level, WindowFacts};

/// Slots end requests whatever else is full: what is full behind them is met as soon as they are lifted.
pub(super) fn full_behind_slots(
    limit: &Limit,
    covered: &[Finding],
    peak: f64,
) -> Option<NextLimit> {
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
        resource: finding.cause.word().to_owned(),
        // It was full while this was carried.
        full_at_per_s: peak,
    })
}

/// The limit, and findings that it explains too.
pub(super) fn choose(case: &Case, findings: Vec<Finding>) -> (Limit, Vec<Finding>) {
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
    let first_sure = sure;
    let (covered, rivals): (Vec<_>, Vec<_>) = ranked
        .into_iter()
        .partition(|(_, rival)| covers(case, &first, rival));
    let covered: Vec<Finding> = covered.into_iter().map(|(_, finding)| finding).collect();
    let others = covered.iter().chain(rivals.iter().map(|(_, rival)| rival));
    let findings: Vec<&Finding> = std::iter::once(&first).chain(others).collect();
    let ruled_out = ruled_out::lines(case, &findings);
    let mut first = first;
    let alike = instances_alike(case, &first, &covered);
    first.evidence.extend(alike);
    first.evidence.extend(refused_by_guard(case));
    for (_, rival) in rivals.iter().filter(|(rival, _)| *rival == first_sure) {
        sure = Confidence::Suspected;
        first.evidence.push(not_ruled_out(rival));
    }
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

/// What became of the rest, where a guard turned it away.
fn refused_by_guard(case: &Case) -> Option<Evidence> {
    let refused = |level: &&Level| level.share(&[Outcome::Shed]);
    let most = case
        .high()
        .max_by(|a, b| refused(a).total_cmp(&refused(b)))?;
    let is_some = case.is_guarded && refused(&most) > 0.0;
    is_some.then(|| Evidence {
        // It tells of the load, not of what is full.
        signal: Signal::None,
        text: format!(
            "shed by a guard: {} of attempts at {}/s, while {}/s were answered",
            percent(refused(&most)),
            three_digits(most.offered),
            three_digits(most.served)
        ),
    })
}

/// As likely as the limit.
fn not_ruled_out(rival: &Finding) -> Evidence {
    let figure = rival.evidence.first().map_or("", |line| line.text.as_str());
    Evidence {
        // No figure for the limit that is named.
        signal: Signal::None,
        text: format!("not ruled out: {}, {figure}", rival.cause.word()),
    }
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
            .map_or(Signal::None, |e| e.signal.clone()),
        text: format!("these are figures of {name}; {alike} of {count} instances are as full"),
    })
}

/// Words of D.3 step 6. What the client alone sees is never more than a suspicion, and where a
/// tier's descriptors are hidden a lock cannot be told from waiting for somebody else.
fn confidence(case: &Case, finding: &Finding) -> Confidence {
    let entry = case.entry();
    let observed = case.tiers.iter().any(|tier| tier.high.ticks >= 2);
    // Where calls are hidden, or lead to somebody unseen, the queue may be there.
    let waits = matches!(finding.cause, Cause::Lock | Cause::Concurrency);
    let own = case
        .tiers
        .iter()
        .find(|tier| finding.tier.as_ref() == Some(&tier.name));
    let own = own.unwrap_or(&entry);
    let hidden = waits && (own.high.out.is_none() || calls_unseen(case, own));
    if observed && !hidden && !finding.unsure && finding.signals() >= 2 {
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
        // What waits in the client for connections that are gone reaches nobody who could be full.
        (Cause::Pool, Cause::Pool | Cause::Downstream | Cause::Lock | Cause::Concurrency)
            if first.tier.as_deref() == Some(CLIENT) =>
        {
            true
        }
        // A pool answers when nothing becomes free, a full processor answers late: ends without an answer come from
        // slots, and clients that fail at once and ask again at once fill processors.
        (Cause::ConnectionSlots, _)
        | (
            Cause::Rule | Cause::Downstream,
            Cause::Pool | Cause::Downstream | Cause::Lock | Cause::Concurrency,
        ) => true,
        (Cause::Pool, Cause::CpuQuota | Cause::PinnedThread | Cause::EventLoop | Cause::Cpu) => {
            let full = case
                .tiers
                .iter()
                .find(|tier| second.tier.as_ref() == Some(&tier.name));
            let then = full.and_then(|tier| case.at_onset(tier, WindowFacts::given_up));
            then.is_some_and(|then| then.had_room())
        }
        (Cause::Memory | Cause::CpuQuota, Cause::PinnedThread | Cause::Cpu)
        | (Cause::PinnedThread | Cause::EventLoop, Cause::Cpu)
        | (
            Cause::Pool
            | Cause::Disk
            | Cause::Memory
            | Cause::CpuQuota
            | Cause::Cpu
            | Cause::PinnedThread
            | Cause::EventLoop
            | Cause::Lock
            | Cause::Concurrency,
            Cause::Concurrency | Cause::Lock,
        ) => same_tier,
        _ => false,
    }
}

fn unknown(case: &Case) -> Limit {
    let observed = case.tiers.iter().any(|tier| tier.high.ticks >= 2);
    // One closed loop says that requests wait, not that something ended.
    let what = if case.is_guarded {
        "a guard sheds what is more than those behind it can do"
    } else if case.saturation.sign == Sign::Queueing {
        "requests wait for each other"
    } else {
        "the system gave way"
    };
    let text = if observed {
        format!(
            "{what}, and no figure of the tiers that were seen says why; watch the tier behind \
             (--watch port:N) or its gauges (--watch metrics:URL)"
        )
    } else {
        format!(
            "{what}, and no tier could be seen; run on its host, or name its process (--watch pid:N)"
        )
    };
    let why = Evidence {
        signal: Signal::None,
        text,
    };
    Limit {
        cause: Cause::Unknown,
        tier: None,
        process: None,
        confidence: Confidence::Unknown,
        ceiling_per_s: None,
        evidence: std::iter::once(why).chain(refused_by_guard(case)).collect(),
        ruled_out: ruled_out::lines(case, &[]),
    }
}
