//! Processors: one thread that is full, a quota, or all cores; and an event loop that falls behind.

use plimsoll_core::Nanos;
use plimsoll_core::units::three_digits;
use plimsoll_core::verdict::Cause;

use super::percent;
use crate::explain::case::{Case, Finding, Tier};
use crate::explain::gauges::Gauge;
use crate::explain::level::{Level, ratio};
use crate::explain::tick::{FULL, ThreadFacts, Tick, TierFacts, TierTick};

/// Of that at least this much must be running: else neighbours take the core.
const FULL_RUNNING: f64 = 0.8;
/// Threads beside the full one; helpers such as a compiler or collector may work a little.
const OTHERS_IDLE: f64 = 0.3;
/// Share of a process' time from which one thread is all of it; medians of the two are compared, hence the room.
const ALONE: f64 = 0.85;
/// The ceiling that the demand below saturation predicts must meet the measured peak this closely.
const CEILING_TOLERANCE: f64 = 0.2;

/// D.3 4b, and 4i where the loop takes in requests faster than it finishes them.
pub(super) fn thread(case: &Case, tier: &Tier) -> Option<Finding> {
    let thread = tier.high.thread.as_ref()?;
    let full = thread.demand() >= FULL && thread.run >= FULL_RUNNING * thread.demand();
    if !full || thread.next >= OTHERS_IDLE * thread.demand() || is_throttled(tier) {
        return None;
    }
    let mut finding = Finding::of(Cause::PinnedThread, tier);
    let siblings = if thread.elsewhere >= FULL_RUNNING {
        "the tier's other processes have a full thread each"
    } else {
        "no other thread does much"
    };
    finding.signal(
        "thread",
        format!(
            "thread {} {} busy ({} running, {} waiting{}); {siblings} (next {})",
            thread.thread,
            percent(thread.demand().min(1.0)),
            percent(thread.run),
            percent(thread.wait),
            taken(thread.stolen),
            percent(thread.next.max(thread.elsewhere)),
        ),
    );
    let demand = thread_demand(case, tier, thread);
    add_ceiling(case, &mut finding, demand, 1.0, "of one core per request");
    if finding.ceiling.is_some() && thread.elsewhere >= FULL_RUNNING {
        // Several full processes share the load: one thread's demand is not the tier's ceiling.
        finding.ceiling = None;
    }
    add_spare_cores(case, &mut finding);
    overload(case, tier, &mut finding);
    Some(finding)
}

/// What the hypervisor took, where it is worth a word.
fn taken(stolen: f64) -> String {
    if stolen < 0.01 {
        return String::new();
    }
    format!(", {} taken by the hypervisor", percent(stolen))
}

/// Seconds of one thread per answer.
fn thread_demand(case: &Case, tier: &Tier, thread: &ThreadFacts) -> Option<f64> {
    let busy = |tick: &Tick| {
        let at = tick.tiers.get(tier.name.as_str())?;
        let process = at.processes.iter().find(|p| p.pid == thread.pid)?;
        // By name: a record keeps no thread number in its summary, and a pool's threads share one.
        let same = process.threads.iter().filter(|t| t.name == thread.thread);
        same.map(|t| t.run_ns.as_secs_f64()).reduce(f64::max)
    };
    case.demand(&busy)
}

/// `capacity ÷ demand` as a signal of its own: it comes from the levels below saturation.
fn add_ceiling(case: &Case, finding: &mut Finding, demand: Option<f64>, capacity: f64, unit: &str) {
    let Some(demand) = demand else { return };
    let ceiling = capacity / demand;
    let peak = case.saturation.peak;
    if (ratio(peak, ceiling) - 1.0).abs() <= CEILING_TOLERANCE {
        finding.ceiling = Some(ceiling);
        finding.signal(
            "demand",
            format!(
                "{} {unit} below saturation → ceiling {}/s; measured peak {}/s",
                Nanos::from_secs_f64(demand),
                three_digits(ceiling),
                three_digits(peak)
            ),
        );
    }
}

/// Part of the thread's signal: it says that more of the same core would not be needed.
fn add_spare_cores(case: &Case, finding: &mut Finding) {
    let host = &case.host_high;
    let spare = host.cores - host.busy;
    if host.cores > 0.0 && spare >= 0.2 {
        finding.signal(
            "thread",
            format!("{} of {} cores idle", three_digits(spare), host.cores),
        );
    }
}

/// D.3 4i: the thread is full, requests wait inside the process rather than unread in their sockets
/// (or the loop reports its lag), and goodput falls below what the thread could do.
fn overload(case: &Case, tier: &Tier, finding: &mut Finding) {
    let worst = case
        .high()
        .filter(|level| level.closed.is_none() && level.seconds() >= 2.0)
        .map(|level| level.served)
        .fold(f64::INFINITY, f64::min);
    let lost = 1.0 - ratio(worst, case.saturation.peak);
    if !worst.is_finite() || lost < 0.15 {
        return;
    }
    let service = case.base_service().unwrap_or(0.0);
    let lag = tier.gauges.value(Gauge::LoopLagSeconds);
    let lags = lag.filter(|lag| service > 0.0 && *lag >= 10.0 * service);
    let (_, in_flight) = case.in_flight();
    let unread = tier.high.unread.filter(|unread| {
        let inside = tier.high.established.unwrap_or(0.0);
        inside >= 8.0 && in_flight >= 8.0 && *unread <= 0.2 * in_flight.min(inside)
    });
    if let Some(lag) = lags {
        finding.signal(
            "loop lag",
            format!(
                "event-loop lag {} against {} per request without load",
                Nanos::from_secs_f64(lag),
                Nanos::from_secs_f64(service)
            ),
        );
    } else if let Some(unread) = unread {
        finding.signal(
            "intake",
            format!(
                "everything is taken in at once and waits inside: {} in flight, {} connections \
                 with unread bytes",
                three_digits(in_flight),
                three_digits(unread)
            ),
        );
    } else {
        return;
    }
    finding.cause = Cause::EventLoop;
    finding.signal(
        "goodput",
        format!(
            "goodput falls to {}/s under overload, {} below the peak of {}/s, while the thread \
             stays busy",
            three_digits(worst),
            percent(lost),
            three_digits(case.saturation.peak)
        ),
    );
}

fn is_throttled(tier: &Tier) -> bool {
    tier.high.quota.is_some() && tier.high.throttled >= 0.2
}

/// D.3 4c with a quota: nearly all of it used, and periods in which it ran out.
pub(super) fn quota(case: &Case, tier: &Tier) -> Option<Finding> {
    let quota = tier.high.quota?;
    let used = ratio(tier.high.run, quota);
    if used < 0.8 || tier.high.throttled < 0.2 {
        return None;
    }
    let mut finding = Finding::of(Cause::CpuQuota, tier);
    finding.signal(
        "processor time",
        format!(
            "{} cores used of a quota of {} ({})",
            three_digits(tier.high.run),
            three_digits(quota),
            percent(used)
        ),
    );
    if let Some(thread) = tier.high.thread.as_ref().filter(|t| is_alone(t, tier)) {
        finding.signal(
            "processor time",
            format!(
                "nearly all of it by one thread, {}: more than one core would not help it",
                thread.thread
            ),
        );
    }
    finding.signal(
        "throttling",
        format!(
            "throttled in {} of the quota's periods ({} at low load)",
            percent(tier.high.throttled),
            percent(tier.low.throttled)
        ),
    );
    let demand = processor_demand(case, tier);
    add_ceiling(
        case,
        &mut finding,
        demand,
        quota,
        "of processor time per request",
    );
    finding.ceiling = finding.ceiling.or(demand.map(|demand| quota / demand));
    Some(finding)
}

/// One thread does the tier's work.
pub(in crate::explain) fn is_alone(thread: &ThreadFacts, tier: &Tier) -> bool {
    tier.high.run > 0.0 && thread.run >= ALONE * tier.high.run
}

pub(in crate::explain) fn processor_demand(case: &Case, tier: &Tier) -> Option<f64> {
    let run = |at: &TierTick| -> f64 {
        let each = at.processes.iter().map(|process| {
            let threads = process.threads.iter().map(|t| t.run_ns.as_secs_f64());
            threads.sum::<f64>() + process.others.run_ns.as_secs_f64()
        });
        each.sum()
    };
    case.demand(&|tick| {
        let at = tick.tiers.get(tier.name.as_str())?;
        (!at.processes.is_empty()).then(|| run(at))
    })
}

/// D.3 4c without a quota: all cores that the tier may use are taken.
pub(super) fn cpu(case: &Case, tier: &Tier) -> Option<Finding> {
    let capacity = tier.high.cores;
    if capacity <= 0.0 || is_throttled(tier) {
        return None;
    }
    let TierFacts {
        run, wait, stolen, ..
    } = tier.high;
    let used = (run + stolen) / capacity;
    let wanted = (run + wait + stolen) / capacity;
    let host = &case.host_high;
    let host_full = host.cores > 0.0 && host.busy >= 0.95 * host.cores;
    let own = used >= 0.85 && run >= FULL_RUNNING * (run + stolen);
    // Neighbours hold the cores: true, but nothing of the tier's own, so never more than suspected.
    let robbed = wanted >= 0.9 && run <= FULL_RUNNING * (run + wait + stolen);
    if !own && !robbed {
        return None;
    }
    let mut finding = Finding::of(Cause::Cpu, tier);
    finding.signal(
        "processor time",
        format!(
            "all threads together {} of {} cores running, {} waiting{}",
            three_digits(run),
            capacity,
            three_digits(wait),
            taken(stolen / capacity)
        ),
    );
    if !own {
        let neighbours = if stolen > wait {
            "other guests of the hypervisor"
        } else {
            "neighbours"
        };
        let text = format!("{neighbours} hold the cores that it may use");
        finding.signal("processor time", text);
    }
    if host_full {
        let text = format!("{} of {} cores busy", three_digits(host.busy), host.cores);
        let text = format!("host: {text}, steal {}", percent(host.steal));
        finding.signal("processor time", text);
    }
    if own {
        let demand = processor_demand(case, tier);
        add_ceiling(
            case,
            &mut finding,
            demand,
            capacity,
            "of processor time per request",
        );
    }
    let waited = ratio(tier.high.wait, capacity);
    if own && waited >= 0.15 && tier.high.wait >= 2.0 * tier.low.wait {
        finding.signal(
            "run queue",
            format!(
                "waiting for a core rose from {} to {} cores",
                three_digits(tier.low.wait),
                three_digits(tier.high.wait)
            ),
        );
    }
    Some(finding)
}

/// The service's slowest pure time, for advice.
pub(in crate::explain) fn base_response(case: &Case) -> Option<f64> {
    let times = case.low().filter_map(Level::served_response);
    times.map(Nanos::as_secs_f64).reduce(f64::min)
}
