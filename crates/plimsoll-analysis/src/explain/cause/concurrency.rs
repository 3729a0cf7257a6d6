//! Only so many at a time: workers, connections or one section, where nobody's processor or disk is full.
//!
//! Little's law says how many: the most that was ever served × the time of one without load. 8.02 are eight workers, 1.04 is
//! a lock or another serial section (`waiting-study`: 14 of 16 services by it and where the queue stands).

use plimsoll_core::Nanos;
use plimsoll_core::record::ThreadState;
use plimsoll_core::units::three_digits;
use plimsoll_core::verdict::{Cause, Signal};

use super::at_once::{AtOnce, at_once, is_contended};
use super::backlog::short_writes;
use super::client;
use super::queue::{Counted, all_of, queue};
use super::refusal::idle_line;
use super::waiting::{busy_behind, outgoing_growth};
use crate::explain::case::{Case, Tier};
use crate::explain::finding::Finding;
use crate::explain::saturation::{ROOM, Sign, keeps_up};
use crate::facts::level::Level;
use crate::facts::tick::ThreadFacts;

/// Fewer than this at once are one at a time. What a request waits for outside of the section, a processor above all, counts
/// too, so that one reads as 1.2 to 1.4 beside a busy neighbour; two read as at least 0.85 × 2, as the peak may be missed.
const SERIAL_BELOW: f64 = 1.7;
/// From here on two are not excluded, whose throughput a neighbour held down when it was measured.
const SURELY_SERIAL_BELOW: f64 = 1.3;
/// Milliseconds outside of the section are worth a line from this many at once on.
const BESIDE: f64 = 1.1;
/// Where so much of those served at once runs or waits for a processor, that may be what they share: nine services beside a busy
/// loop had at most 0.3 of one, a disk whose writer waited for its core 0.84.
const ON_PROCESSOR: f64 = 0.5;
/// Answers that take so many times their time without load have waited.
const WAITS: f64 = 1.3;
/// Threads in a disk's queue from which on it is the disk.
const ON_DISK: f64 = 0.3;

/// A tier that serves only so many at a time, the deepest that holds the queue: behind a front, that is its downstream.
pub(super) fn at_a_time(case: &Case, entry: &Tier) -> Option<Finding> {
    if is_passed_by(case, entry) || has_room(case) {
        return None;
    }
    let counted = queue(case, entry);
    let holder = match &counted {
        Counted::In(queue) if calls_grow_unseen(case, queue.tier) => return None,
        Counted::In(queue) => queue.tier,
        Counted::Unknown | Counted::Spread => holder(case, entry)?,
    };
    if holder.high.ticks == 0 || !has_idle_processor(case, holder) {
        return None;
    }
    if holder.high.state(ThreadState::Disk) >= ON_DISK || busy_behind(case, holder) {
        return None;
    }
    let at_once = at_once(case);
    if let Some(of_client) = at_once.and_then(|at_once| client::room(case, entry, at_once)) {
        return Some(of_client);
    }
    let mut found = match at_once {
        Some(at_once) => at_once_in(case, holder, at_once),
        None => by_threads(case, holder)?,
    };
    match counted {
        Counted::In(queue) => found.signal(Signal::Sockets, queue.line()),
        // A limit has one queue before it: then the rest is no more than a suspicion.
        Counted::Spread => found.evidence.truncate(1),
        Counted::Unknown => {}
    }
    if let Some(writes) = short_writes(case, holder) {
        found.unsure = true;
        found.signal(Signal::Writes, format!("not ruled out: disk, {writes}"));
    }
    let is_entry = holder.name == entry.name;
    Some(if is_entry {
        found
    } else {
        super::waiting::behind(case, entry, found)
    })
}

/// Requests are in flight and none of them is there: it holds the port, and the kernel leads connections past it (as Docker
/// does for a container's port on the host's own address).
fn is_passed_by(case: &Case, entry: &Tier) -> bool {
    let is_none = |count: Option<f64>| count.is_some_and(|count| count < 1.0);
    let (_, in_flight) = case.in_flight();
    let waits = entry.high.waits.unwrap_or_default();
    in_flight >= 1.0
        && is_none(entry.high.established)
        && is_none(entry.high.accept_queue)
        && all_of(&waits) + waits.answers_unread < 0.5
}

/// The rates that broke the objective were kept up with, and much more was served at other levels: what bounds throughput is not
/// what makes these late.
fn has_room(case: &Case) -> bool {
    case.saturation.sign == Sign::ResponseTime
        && case
            .high()
            .all(|level| keeps_up(level) && level.rate <= ROOM * case.saturation.peak)
}

/// From the entry to the next tier, as long as the connections to it grow with the requests in flight. `None` where they lead
/// to one that is not seen.
fn holder<'a>(case: &'a Case, entry: &'a Tier) -> Option<&'a Tier> {
    let mut holder = entry;
    for _ in 0..case.tiers.len() {
        match outgoing_growth(case, holder) {
            Some((port, rises)) if rises >= 1.5 => {
                let mut behind = case.behind().iter();
                holder = behind.find(|tier| tier.ports.contains(&port))?;
            }
            _ => return Some(holder),
        }
    }
    None
}

/// Its connections to somebody who is not seen grow with the requests in flight: these may wait there.
fn calls_grow_unseen(case: &Case, tier: &Tier) -> bool {
    let grows = outgoing_growth(case, tier).filter(|(_, rises)| *rises >= 1.5);
    grows.is_some_and(|(port, _)| !case.tiers.iter().any(|known| known.ports.contains(&port)))
}

/// A thread that is as busy without load works for nobody: beside it the processor may be idle all the same.
fn has_idle_processor(case: &Case, tier: &Tier) -> bool {
    let beside = |thread: f64| tier.high.ticks > 0 && tier.high.run - thread < 0.5;
    let spinning = tier.spinning(case).map(|thread| thread.run);
    let idle = tier.high.has_idle_processor() && tier.high.cpu_share() < 0.7;
    idle || spinning.is_some_and(beside)
}

fn at_once_in(case: &Case, tier: &Tier, at_once: AtOnce) -> Finding {
    let is_serial = at_once.count < SERIAL_BELOW;
    let cause = if is_serial {
        Cause::Lock
    } else {
        Cause::Concurrency
    };
    let mut finding = Finding::new(cause, tier);
    finding.ceiling = Some(at_once.peak);
    finding.signal(
        Signal::Little,
        format!(
            "{}/s × {}, the time without load: {} are served at once",
            three_digits(at_once.peak),
            Nanos::from_secs_f64(at_once.time),
            three_digits(at_once.count)
        ),
    );
    if at_once.held >= 0.001 {
        let held = Nanos::from_secs_f64(at_once.held);
        let text = format!("not in that time: {held} for which answers wait in sockets to be sent");
        finding.signal(Signal::Little, text);
    }
    if is_serial && at_once.count >= BESIDE {
        finding.unsure = at_once.count >= SURELY_SERIAL_BELOW;
        let section = Nanos::from_secs_f64(1.0 / at_once.peak);
        let text = format!("{section} of that time are one at a time, the rest is beside it");
        finding.signal(Signal::Little, text);
    }
    finding.signal(
        Signal::Flat,
        format!(
            "no more than that with {} as with {} in flight",
            three_digits(at_once.in_flight.1),
            three_digits(at_once.in_flight.0)
        ),
    );
    finding.signal(Signal::Idle, idle_line(&tier.high));
    if is_serial {
        let before = finding.evidence.len();
        add_threads(tier, &mut finding);
        finding.unsure &= finding.evidence.len() == before;
    }
    add_on_processor(case, tier, at_once, &mut finding);
    if calls_unseen(case, tier) {
        let text = "what it calls is not seen: they may wait inside it or behind it".to_owned();
        finding.signal(Signal::None, text);
    }
    finding
}

/// Requests that run or wait for a processor wait for no permit.
fn add_on_processor(case: &Case, tier: &Tier, at_once: AtOnce, finding: &mut Finding) {
    let spinning = tier.spinning(case).map_or(0.0, ThreadFacts::demand);
    let wanted = tier.high.run + tier.high.wait + tier.high.stolen - spinning;
    let count = if finding.cause == Cause::Lock {
        1.0
    } else {
        at_once.count
    };
    if wanted < ON_PROCESSOR * count {
        return;
    }
    finding.unsure = true;
    finding.signal(
        Signal::RunQueue,
        format!(
            "not ruled out: processors, for {} of those at once run and {} wait for one",
            three_digits(tier.high.run),
            three_digits(tier.high.wait + tier.high.stolen)
        ),
    );
}

/// D.3 4e where throughput was not seen to stand still with more and more in flight: processors idle, threads waiting for each
/// other. Where many are answered within the time that one takes without load, it is no lock that they wait for.
fn by_threads(case: &Case, tier: &Tier) -> Option<Finding> {
    if tier.high.calls_out() || !takes_longer(case) {
        return None;
    }
    let mut finding = Finding::new(Cause::Lock, tier);
    add_threads(tier, &mut finding);
    if finding.evidence.is_empty() {
        return None;
    }
    if let Some((base, count)) = many_at_once(case) {
        finding.cause = Cause::Concurrency;
        finding.unsure = true;
        let (peak, base) = (
            three_digits(case.saturation.peak),
            Nanos::from_secs_f64(base),
        );
        let count = three_digits(count);
        let text = format!("{peak}/s × {base}, the time without load: {count} or more at once");
        finding.signal(Signal::Little, text);
    }
    add_flat(case, &mut finding);
    Some(finding)
}

/// The time without load and how many were served at once at least, if that is no lock: users who get less in each other's way
/// wait for one all the same.
fn many_at_once(case: &Case) -> Option<(f64, f64)> {
    let base = case.base_response()?;
    let count = case.saturation.peak * base;
    (count >= SERIAL_BELOW && !is_contended(case)).then_some((base, count))
}

/// Who waits for others answers later than without load; where nothing was answered there is nothing to compare.
fn takes_longer(case: &Case) -> bool {
    let high = case.high().filter_map(Level::served_response);
    let high = high.map(Nanos::as_secs_f64).reduce(f64::max);
    high.zip(case.base_response())
        .is_none_or(|(high, base)| high >= WAITS * base)
}

/// Threads at a futex, and turns of the scheduler per request; each against a figure at low load that there must be.
fn add_threads(tier: &Tier, finding: &mut Finding) {
    let high = tier.high.state(ThreadState::Futex);
    let low = tier.before(|low| low.state(ThreadState::Futex));
    // Idle workers of a pool wait at the same place, but fewer of them under load.
    if let Some(low) = low.filter(|low| high >= 3.0 && high >= 1.5 * low + 1.0) {
        finding.signal(
            Signal::Futex,
            format!(
                "{} threads wait for a lock at any time, {} at low load",
                three_digits(high),
                three_digits(low)
            ),
        );
    }
    let switches = tier.high.switches.zip(tier.low.switches);
    if let Some((high, low)) = switches.filter(|(high, low)| *high >= 1.3 * low && *low > 0.0) {
        finding.signal(
            Signal::Switches,
            format!(
                "{} voluntary switches per request, {} at low load",
                three_digits(high),
                three_digits(low)
            ),
        );
    }
}

/// Connections to something that no tier of the record is: a port of nobody, or no port at all. Of the latter some are to a
/// process' own parent or to a log: only those count that come with the load.
pub(in crate::explain) fn calls_unseen(case: &Case, tier: &Tier) -> bool {
    let out = tier.high.out.iter().flatten();
    let mut called = out
        .filter(|(_, count)| **count >= 1.0)
        .map(|(port, _)| port);
    let (high, low) = (tier.high.unnamed, tier.low.unnamed);
    let is_unnamed = high >= low + 2.0 && high >= 1.5 * low;
    is_unnamed || called.any(|port| !case.tiers.iter().any(|known| known.ports.contains(port)))
}

fn add_flat(case: &Case, finding: &mut Finding) {
    let served: Vec<(f64, f64)> = case
        .high()
        // Far beyond, answers come too late and say nothing of the rate.
        .filter(|level| level.seconds() >= 2.0 && level.served >= 0.8 * case.saturation.peak)
        .map(|level: &Level| (level.in_flight, level.served))
        .collect();
    let span = |of: fn(&(f64, f64)) -> f64| {
        let each = served.iter().map(of);
        each.fold((f64::INFINITY, 0.0), |(a, b): (f64, f64), x| {
            (a.min(x), b.max(x))
        })
    };
    let (fewest, most) = span(|level| level.0);
    let (slowest, fastest) = span(|level| level.1);
    if served.len() >= 2 && most >= 1.5 * fewest && fastest <= 1.2 * slowest {
        finding.ceiling = Some(case.shown_peak());
        finding.signal(
            Signal::Flat,
            format!(
                "{} to {}/s with {} to {} in flight, and processors idle",
                three_digits(slowest),
                three_digits(fastest),
                three_digits(fewest),
                three_digits(most)
            ),
        );
    }
}
