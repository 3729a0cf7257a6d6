//! Processors: one thread that is full, a quota, or all cores; and an event loop that falls behind.

use plimsoll_core::Nanos;
use plimsoll_core::statistics::ratio;
use plimsoll_core::units::{percent, three_digits};
use plimsoll_core::verdict::{Cause, Signal};

use super::backlog::at_low_load;
use crate::explain::case::{Case, Tier};
use crate::explain::finding::Finding;
use crate::facts::gauges::Gauge;
use crate::facts::level::FAILING;
use crate::facts::tick::{FULL, TierFacts};

/// Of that at least this much must be running: else neighbours take the core.
const FULL_RUNNING: f64 = 0.8;
/// All cores that a tier may use, this busy, are taken; so is the one that a thread has to itself.
const TAKEN: f64 = 0.85;
/// Threads beside the full one; helpers such as a compiler or collector may work a little.
const OTHERS_IDLE: f64 = 0.3;
/// Whether goodput falls shows at rates this far beyond the peak.
const OVERLOAD: f64 = 1.05;
/// The ceiling that the demand below saturation predicts must meet the measured peak this closely.
const CEILING_TOLERANCE: f64 = 0.2;

/// D.3 4b, and 4i where the loop takes in requests faster than it finishes them.
pub(super) fn thread(case: &Case, tier: &Tier) -> Option<Finding> {
    let thread = tier.high.thread.as_ref()?;
    // Neighbours may hold its core: then it must be nearly all that the tier runs, else they hold up others as well.
    let robbed = thread.run < FULL_RUNNING * thread.demand();
    let alone = tier.works_alone(thread);
    // On its tier's only core a thread is full when that is.
    let bound = if alone && !robbed && tier.high.cores <= 1.0 {
        TAKEN
    } else {
        FULL
    };
    let full = thread.demand() >= bound && (!robbed || alone);
    if tier.spinning(case).is_some() {
        return None;
    }
    if !full || thread.next >= OTHERS_IDLE * thread.demand() || is_throttled(tier) {
        return None;
    }
    let mut finding = Finding::new(Cause::PinnedThread, tier);
    let siblings = if thread.elsewhere >= FULL_RUNNING {
        "the tier's other processes have a full thread each"
    } else {
        "no other thread does much"
    };
    finding.signal(
        Signal::Thread,
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
    if robbed {
        // No second signal and no ceiling: both end with the neighbours.
        let waits = percent(thread.wait);
        let text = format!("neighbours hold its core for the {waits} that it waits");
        let text = with_neighbour(case, text);
        finding.signal(Signal::Thread, text);
    } else {
        let demand = case.thread_demand(tier, thread);
        add_ceiling(case, &mut finding, demand, 1.0, "of one core per request");
    }
    if finding.ceiling.is_some() && thread.elsewhere >= FULL_RUNNING {
        // Several full processes share the load: one thread's demand is not the tier's ceiling.
        finding.ceiling = None;
    }
    add_spare_cores(case, &mut finding);
    overload(case, tier, &mut finding);
    Some(finding)
}

/// Who they are, where one of them was seen.
fn with_neighbour(case: &Case, text: String) -> String {
    match &case.host_high.neighbour {
        Some(neighbour) => format!("{text}: {neighbour}"),
        None => text,
    }
}

/// What the hypervisor took, where it is worth a word.
fn taken(stolen: f64) -> String {
    if stolen < 0.01 {
        return String::new();
    }
    format!(", {} taken by the hypervisor", percent(stolen))
}

/// `capacity ÷ demand` as a signal of its own: it comes from the levels below saturation.
fn add_ceiling(case: &Case, finding: &mut Finding, demand: Option<f64>, capacity: f64, unit: &str) {
    let Some(demand) = demand else { return };
    let ceiling = capacity / demand;
    let peak = case.saturation.peak;
    if (ratio(peak, ceiling) - 1.0).abs() <= CEILING_TOLERANCE {
        finding.ceiling = Some(ceiling);
        finding.signal(
            Signal::Demand,
            format!(
                "{} {unit} below saturation → ceiling {}/s; {}",
                Nanos::from_secs_f64(demand),
                three_digits(ceiling),
                case.peak_words()
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
            Signal::Thread,
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
    let service = case.base_service().unwrap_or(0.0);
    let lag = tier.gauges.value(Gauge::LoopLagSeconds);
    let lags = lag.filter(|lag| service > 0.0 && *lag >= 10.0 * service);
    let (_, in_flight) = case.in_flight();
    let unread = tier.high.unread.filter(|unread| {
        let inside = tier.high.established.unwrap_or(0.0);
        inside >= 8.0 && in_flight >= 8.0 && *unread <= 0.2 * in_flight.min(inside)
    });
    let peak = case.shown_peak();
    let lost = 1.0 - ratio(worst, peak);
    let open = || case.levels.iter().filter(|level| level.closed.is_none());
    // Slightly beyond it, or for a moment, all is still answered, and only late: nothing shows then what becomes of goodput.
    let is_seen = open().any(|level| {
        level.seconds() >= 2.0 && level.rate >= OVERLOAD * peak && level.failed_share() >= FAILING
    });
    let is_inside = tier
        .high
        .unread
        .is_none_or(|unread| unread <= 0.2 * in_flight);
    if open().next().is_some() && !is_seen && is_inside {
        // A closed loop never asks for more than is answered.
        finding.unsure = true;
        let text = "everything is taken in at once, and no rate beyond the limit was played until attempts failed: an event \
                    loop that falls behind looks the same";
        finding.signal(Signal::None, text.to_owned());
    }
    if !worst.is_finite() || lost < 0.15 {
        return;
    }
    if let Some(lag) = lags {
        finding.signal(
            Signal::LoopLag,
            format!(
                "event-loop lag {} against {} per request without load",
                Nanos::from_secs_f64(lag),
                Nanos::from_secs_f64(service)
            ),
        );
    } else if let Some(unread) = unread {
        finding.signal(
            Signal::Intake,
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
        Signal::Goodput,
        format!(
            "goodput falls to {}/s under overload, {} below the peak of {}/s, while the thread \
             stays busy",
            three_digits(worst),
            percent(lost),
            three_digits(peak)
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
    let mut finding = Finding::new(Cause::CpuQuota, tier);
    finding.signal(
        Signal::ProcessorTime,
        format!(
            "{} cores used of a quota of {} ({})",
            three_digits(tier.high.run),
            three_digits(quota),
            percent(used)
        ),
    );
    if let Some(thread) = tier.high.thread.as_ref().filter(|t| tier.works_alone(t)) {
        finding.signal(
            Signal::ProcessorTime,
            format!(
                "nearly all of it by one thread, {}: more than one core would not help it",
                thread.thread
            ),
        );
    }
    finding.signal(
        Signal::Throttling,
        format!(
            "throttled in {} of the quota's periods{}",
            percent(tier.high.throttled),
            at_low_load(tier.before(|low| low.throttled).map(percent))
        ),
    );
    let demand = case.processor_demand(tier);
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
    let own = used >= TAKEN && run >= FULL_RUNNING * (run + stolen);
    // Neighbours hold the cores: true, but nothing of the tier's own, so never more than suspected.
    let robbed = wanted >= 0.9 && run <= FULL_RUNNING * (run + wait + stolen);
    if !own && !robbed {
        return None;
    }
    let mut finding = Finding::new(Cause::Cpu, tier);
    finding.signal(
        Signal::ProcessorTime,
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
        let text = with_neighbour(case, text);
        finding.signal(Signal::ProcessorTime, text);
    }
    if host_full {
        let text = format!("{} of {} cores busy", three_digits(host.busy), host.cores);
        let text = format!("host: {text}, steal {}", percent(host.steal));
        finding.signal(Signal::ProcessorTime, text);
    }
    if own {
        let demand = case.processor_demand(tier);
        add_ceiling(
            case,
            &mut finding,
            demand,
            capacity,
            "of processor time per request",
        );
    }
    let waited = ratio(tier.high.wait, capacity);
    let before = tier.before(|low| low.wait);
    if let Some(before) = before.filter(|low| own && waited >= 0.15 && tier.high.wait >= 2.0 * low)
    {
        finding.signal(
            Signal::RunQueue,
            format!(
                "waiting for a core rose from {} to {} cores",
                three_digits(before),
                three_digits(tier.high.wait)
            ),
        );
    }
    Some(finding)
}
