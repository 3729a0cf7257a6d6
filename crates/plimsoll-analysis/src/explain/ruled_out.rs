//! Which resources along the path are not the limit, each with the figure that says so.
//!
//! What anything else on the page names is never ruled out: the cause and what it covers, a rival that is as likely, a
//! figure of the evidence, a gate that found it near its end.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_core::outcome::Outcome;
use plimsoll_core::record::ThreadState;
use plimsoll_core::statistics::ratio;
use plimsoll_core::units::{percent, three_digits};
use plimsoll_core::verdict::{Cause, Signal};
use plimsoll_core::{Histogram, Nanos};

use super::case::{Case, Tier};
use super::finding::Finding;
use crate::facts::level::{Level, NO_ANSWER};

/// Below this share of the attempts a way to fail is no limit.
const HARDLY_ANY: f64 = 0.005;

/// What can be ruled out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Subject {
    Thread,
    Processors,
    Quota,
    Disk,
    Memory,
    ConnectionSlots,
    Rule,
    Network,
    /// What a proxy itself takes of each request.
    OwnTime,
}

impl Subject {
    const fn is_of_one_tier(self) -> bool {
        !matches!(self, Self::ConnectionSlots | Self::Rule | Self::Network)
    }

    /// Those that a cause names.
    const fn of_cause(cause: Cause) -> &'static [Self] {
        match cause {
            Cause::PinnedThread | Cause::EventLoop => &[Self::Thread, Self::OwnTime],
            Cause::Cpu => &[Self::Processors, Self::OwnTime],
            // The processors that a quota leaves are what is used up.
            Cause::CpuQuota => &[Self::Quota, Self::Processors, Self::OwnTime],
            Cause::Disk => &[Self::Disk],
            Cause::Memory => &[Self::Memory, Self::Thread, Self::Processors],
            Cause::ConnectionSlots => &[Self::ConnectionSlots],
            Cause::Rule => &[Self::Rule],
            Cause::Pool
            | Cause::Downstream
            | Cause::Lock
            | Cause::Concurrency
            | Cause::Stalls
            | Cause::NotReached
            | Cause::Unknown => &[],
        }
    }

    /// Those that a figure speaks for, whatever the cause is that it was found for.
    const fn of_signal(signal: &Signal) -> Option<Self> {
        match signal {
            Signal::AcceptQueue
            | Signal::ListenerDrops
            | Signal::DeclaredSlots
            | Signal::NoAnswer
            | Signal::Descriptors => Some(Self::ConnectionSlots),
            Signal::Refusals => Some(Self::Rule),
            Signal::Throttling => Some(Self::Quota),
            Signal::DiskState | Signal::Fsync | Signal::Writes => Some(Self::Disk),
            Signal::Faults | Signal::Collector => Some(Self::Memory),
            Signal::RunQueue => Some(Self::Processors),
            _ => None,
        }
    }
}

/// What is not the limit, where `findings` are what was found: the limit, what it covers, and its rivals.
pub(super) fn lines(case: &Case, findings: &[&Finding]) -> Vec<String> {
    let entry = case.entry();
    let named = named(case, &entry, findings);
    let mut lines = Vec::new();
    if entry.high.ticks > 0 {
        processors(case, &entry, &mut lines);
        storage(case, &entry, &mut lines);
    }
    lines.extend(slots(case, &entry));
    lines.extend(rule(case, findings));
    lines.extend(network(case));
    lines.extend(own_time(&entry));
    let mut texts: Vec<String> = lines
        .into_iter()
        .filter(|(subject, _)| !named.contains(subject))
        .map(|(_, text)| text)
        .collect();
    texts.extend(idle_tiers(case, findings));
    texts
}

type Line = (Subject, String);

/// Everything that the findings and the gates name of the first tier and of the way to it.
fn named(case: &Case, entry: &Tier, findings: &[&Finding]) -> BTreeSet<Subject> {
    let mut named = BTreeSet::new();
    for finding in findings {
        let here = finding.tier.is_none()
            || case.are_of_one_tier(finding.tier.as_deref(), Some(&entry.name));
        let signals = finding.evidence.iter().map(|line| &line.signal);
        let of_signals = signals.filter_map(Subject::of_signal);
        let all = Subject::of_cause(finding.cause)
            .iter()
            .copied()
            .chain(of_signals);
        named.extend(all.filter(|subject| here || !subject.is_of_one_tier()));
    }
    if case.slots_are_near {
        named.insert(Subject::ConnectionSlots);
    }
    named
}

/// `one thread`, and whose where several tiers were seen.
fn of_tier(case: &Case, tier: &Tier, what: &str) -> String {
    if case.tiers.len() > 1 {
        format!("{what} of {}", tier.name)
    } else {
        what.to_owned()
    }
}

fn processors(case: &Case, tier: &Tier, lines: &mut Vec<Line>) {
    let demand = tier.high.busiest();
    if demand < 0.8 {
        let what = of_tier(case, tier, "one thread");
        let text = format!("{what}: the busiest is {} busy", percent(demand));
        lines.push((Subject::Thread, text));
    }
    if tier.high.cpu_share() < 0.75 {
        let text = format!(
            "{}: {} of {} cores used",
            of_tier(case, tier, "processors"),
            three_digits(tier.high.run),
            three_digits(tier.high.capacity())
        );
        lines.push((Subject::Processors, text));
    }
    let quota = of_tier(case, tier, "CPU quota");
    match tier.high.quota {
        None if tier.high.has_group => {
            lines.push((Subject::Quota, format!("{quota}: none is set")));
        }
        Some(_) if tier.high.throttled < 0.1 => {
            let throttled = percent(tier.high.throttled);
            let text = format!("{quota}: throttled in {throttled} of periods");
            lines.push((Subject::Quota, text));
        }
        _ => {}
    }
}

fn storage(case: &Case, tier: &Tier, lines: &mut Vec<Line>) {
    let waiting = tier.high.state(ThreadState::Disk);
    if waiting < 0.2 {
        let text = format!(
            "{}: {} threads wait for it{}",
            of_tier(case, tier, "disk"),
            three_digits(waiting),
            pressure(case.host_high.psi_io)
        );
        lines.push((Subject::Disk, text));
    }
    if tier.high.major_faults_per_s < 5.0 {
        let text = format!(
            "{}: {} major faults per second{}",
            of_tier(case, tier, "memory"),
            three_digits(tier.high.major_faults_per_s),
            pressure(case.host_high.psi_memory)
        );
        lines.push((Subject::Memory, text));
    }
}

/// `, pressure 3 %`, where the kernel tells.
fn pressure(told: Option<f64>) -> String {
    told.map_or(String::new(), |share| {
        format!(", pressure {}", percent(share))
    })
}

/// The highest share of attempts that ended so where the system had given way.
fn worst(case: &Case, outcomes: &[Outcome]) -> f64 {
    case.high()
        .map(|level| level.share(outcomes))
        .fold(0.0, f64::max)
}

/// A connection that nobody takes waits in the accept queue, or ends without an answer. A queue that nobody looked at is not empty.
fn slots(case: &Case, tier: &Tier) -> Option<Line> {
    let worst = worst(case, &NO_ANSWER);
    let queue = tier.high.accept_queue?;
    let drops = case.host_high.drops_per_s;
    (worst < HARDLY_ANY && queue < 1.0 && drops < 1.0).then(|| {
        let text = format!(
            "connection slots: {} of attempts ended without an answer, accept queue {}",
            percent(worst),
            three_digits(queue)
        );
        (Subject::ConnectionSlots, text)
    })
}

/// A rule may close connections instead of answering: only slots that are sure explain what had no answer.
fn rule(case: &Case, findings: &[&Finding]) -> Option<Line> {
    let is_slots = |finding: &&Finding| finding.cause == Cause::ConnectionSlots && !finding.unsure;
    if worst(case, &NO_ANSWER) >= HARDLY_ANY && !findings.iter().any(is_slots) {
        return None;
    }
    let shed = worst(case, &[Outcome::Shed]);
    let text = if shed == 0.0 {
        "rate rule: no 429 or 503".to_owned()
    } else {
        format!("rate rule: {} of attempts got a 429 or 503", percent(shed))
    };
    (shed < HARDLY_ANY).then_some((Subject::Rule, text))
}

fn network(case: &Case) -> Option<Line> {
    if case.host_high.cores == 0.0 || !retransmits_cost_little(case) {
        return None;
    }
    let share = percent(case.host_high.retransmits_per_answer);
    let rates = case
        .high()
        .map(|level| ratio(level.tally.bytes() as f64 / 1e6, level.seconds()));
    let rate = rates.fold(0.0, f64::max);
    let text = format!(
        "network: {share} retransmitted segments per answer, {} MB/s of answers",
        three_digits(rate)
    );
    Some((Subject::Network, text))
}

/// A lost segment costs its answer the kernel's shortest wait before it is sent again, or more.
fn retransmits_cost_little(case: &Case) -> bool {
    const SHORTEST_WAIT: f64 = 0.2;
    let per_answer = case.host_high.retransmits_per_answer;
    let slowest = case.high().filter_map(Level::served_response).max();
    let response = slowest.unwrap_or_default().as_secs_f64();
    per_answer < 0.01 || per_answer * SHORTEST_WAIT < 0.1 * response
}

/// What a proxy itself adds to a request, by its own log.
fn own_time(tier: &Tier) -> Option<Line> {
    let proxy = tier.high.proxy.as_ref()?;
    let mean = |times: &Histogram| Some(times.mean()?.as_secs_f64());
    let (all, upstream) = (mean(&proxy.request_time)?, mean(&proxy.upstream_time)?);
    let connect = mean(&proxy.upstream_connect_time).unwrap_or(0.0);
    let own = (all - upstream).max(0.0);
    // The log has milliseconds.
    let shown = if own < 0.001 {
        "less than 1 ms".to_owned()
    } else {
        Nanos::from_secs_f64(own).to_string()
    };
    (own < 0.3 * all).then(|| {
        let text = format!(
            "time in {}: {shown} of {} per request is its own by its log, {} went into connecting",
            tier.name,
            Nanos::from_secs_f64(all),
            Nanos::from_secs_f64(connect)
        );
        (Subject::OwnTime, text)
    })
}

/// Tiers behind, other than those that a finding is about, whose processors have room; instances together.
fn idle_tiers(case: &Case, findings: &[&Finding]) -> Vec<String> {
    let is_found = |name: &str| {
        let mut tiers = findings
            .iter()
            .filter_map(|finding| finding.tier.as_deref());
        tiers.any(|tier| case.declared(tier) == name)
    };
    let mut sums: BTreeMap<&str, (f64, f64, usize)> = BTreeMap::new();
    for tier in case.behind().iter().filter(|tier| tier.high.ticks > 0) {
        let (used, given, count) = sums.entry(case.declared(&tier.name)).or_default();
        *used += tier.high.run;
        *given += tier.high.capacity();
        *count += 1;
    }
    let idle = sums.into_iter().filter(|(name, (used, given, _))| {
        !is_found(name) && *given > 0.0 && ratio(*used, *given) < 0.75
    });
    let line = |(name, (used, given, count)): (&str, (f64, f64, usize))| {
        let by = if count > 1 {
            format!(" by {count} instances")
        } else {
            String::new()
        };
        format!(
            "processors of {name}: {} of {} cores used{by} ({})",
            three_digits(used),
            three_digits(given),
            percent(ratio(used, given))
        )
    };
    idle.map(line).collect()
}
