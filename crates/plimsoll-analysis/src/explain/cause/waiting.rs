//! Waiting for others: a pool, a tier behind.

use std::collections::BTreeMap;

use plimsoll_core::statistics::ratio;
use plimsoll_core::units::{percent, three_digits};
use plimsoll_core::verdict::{Cause, Signal};
use plimsoll_core::{Histogram, Nanos};

use super::at_once::at_once;
use crate::explain::case::{Case, Tier};
use crate::explain::finding::Finding;
use crate::facts::gauges::{Gauge, Gauges, gauges};
use crate::facts::level::{GIVEN_UP, WindowFacts};

/// How far the connections of a pool may be from what is served at once (waiting-study, step 5: 15 %, and the count is a
/// median over looks).
const POOL_AGREES: f64 = 0.2;
/// Seconds; nobody fails a request so late without having waited.
const LEAST_WAIT: f64 = 0.05;

/// D.3 4d: every connection of the pool taken, somebody waiting, and nobody behind it busy.
pub(super) fn pool(case: &Case, tier: &Tier) -> Option<Finding> {
    if busy_behind(case, tier) || (tier.is_filled() && !began_with_the_pool(case, tier)) {
        return None;
    }
    let mut finding = Finding::new(Cause::Pool, tier);
    let gauges = &tier.gauges;
    let size = gauges.value(Gauge::PoolMax);
    if is_full(gauges) {
        // One of a consumer in the background may be full under any load.
        let waiters = |gauges: &Gauges| gauges.value(Gauge::PoolWaiters).unwrap_or(0.0);
        if is_full(&tier.low_gauges) && waiters(gauges) < 1.5 * waiters(&tier.low_gauges) {
            return None;
        }
        add_gauges(case, tier, &mut finding);
    } else if gauges.ticks >= 2 && gauges.value(Gauge::PoolInUse).is_some() {
        // The gauges are there and say that the pool has room.
        return None;
    }
    // A proxy in front keeps connections open that carry nothing: how many there are says nothing of waiting.
    let is_entry = case
        .tiers
        .first()
        .is_some_and(|first| first.name == tier.name);
    // Nor do connections that carry many requests each, or that something behind keeps waiting: a pool of N serves N at once.
    let served = at_once(case).map(|at_once| at_once.count);
    let is_pool = |count: f64| served.is_none_or(|n| (n / count - 1.0).abs() <= POOL_AGREES);
    let flat = flat_outgoing(tier).filter(|(_, count)| is_entry && is_pool(*count));
    if let Some((port, count)) = flat {
        finding.signal(
            Signal::Connections,
            format!("{count:.0} connections to port {port}, no more under any load"),
        );
    }
    if finding.evidence.is_empty() {
        return None;
    }
    let size = size.or(flat.map(|(_, count)| count));
    add_pool_ceiling(case, tier, size, &mut finding);
    add_wait_timeout(case, &mut finding);
    add_idle_behind(case, tier, &mut finding);
    Some(finding)
}

fn is_full(gauges: &Gauges) -> bool {
    gauges.ticks >= 2 && gauges.pool_full >= 0.8 && gauges.pool_waited >= 0.8
}

/// The pool was full, and the processor was not, when the first requests failed; and they failed after a wait.
fn began_with_the_pool(case: &Case, tier: &Tier) -> bool {
    let Some(there) = case.at_onset(tier, WindowFacts::given_up) else {
        return false;
    };
    let ticks = case.onset(WindowFacts::given_up).unwrap_or_default();
    let then = gauges(&ticks, &tier.name);
    let fastest = waits(case).quantile(0.1).unwrap_or_default();
    let base = case.base_service().unwrap_or(0.0);
    let waited = fastest.as_secs_f64() >= base.max(LEAST_WAIT);
    there.had_room() && then.pool_full > 0.0 && then.pool_waited > 0.0 && waited
}

fn add_gauges(case: &Case, tier: &Tier, finding: &mut Finding) {
    let gauges = &tier.gauges;
    let shown = |gauge| three_digits(gauges.value(gauge).unwrap_or(0.0));
    finding.signal(
        Signal::PoolGauges,
        format!(
            "pool in use {} of {} in {} of samples, {} waiting",
            shown(Gauge::PoolInUse),
            shown(Gauge::PoolMax),
            percent(gauges.pool_full),
            shown(Gauge::PoolWaiters),
        ),
    );
    if let Some(there) = case.at_onset(tier, WindowFacts::given_up) {
        finding.signal(
            Signal::PoolGauges,
            format!(
                "when the first requests failed {} of its processor was in use, {} later",
                percent(there.cpu_share().max(there.busiest())),
                percent(tier.high.cpu_share().max(tier.high.busiest()))
            ),
        );
    }
}

/// Little's law for the pools of all instances: size ÷ time that a request holds a connection = ceiling.
fn add_pool_ceiling(case: &Case, tier: &Tier, size: Option<f64>, finding: &mut Finding) {
    let Some((size, held)) = size.zip(case.base_service()) else {
        return;
    };
    let instances = case.instances_of(case.declared(&tier.name)).max(1);
    let all = size * instances as f64;
    let ceiling = ratio(all, held);
    if ceiling > 0.0 && (case.saturation.peak / ceiling - 1.0).abs() <= 0.2 {
        finding.ceiling = Some(ceiling);
        finding.signal(
            Signal::Little,
            format!(
                "{}{size:.0} ÷ {} per request = {}/s; {}",
                if instances > 1 {
                    format!("{instances} × ")
                } else {
                    String::new()
                },
                Nanos::from_secs_f64(held),
                three_digits(ceiling),
                case.peak_words()
            ),
        );
    }
}

/// How long those took that the service gave up.
fn waits(case: &Case) -> Histogram {
    let mut waits = Histogram::new();
    for level in case.high() {
        for kind in GIVEN_UP {
            waits.merge(&level.tally.class(kind).service);
        }
    }
    waits
}

/// Failures that all take the same long time are a wait that was given up.
fn add_wait_timeout(case: &Case, finding: &mut Finding) {
    let waits = waits(case);
    let at = |q| waits.quantile(q).unwrap_or_default().as_secs_f64();
    let (early, middle, late) = (at(0.1), at(0.5), at(0.9));
    if waits.count() >= 20 && middle >= LEAST_WAIT && late - early <= 0.1 * middle {
        let text = format!(
            "failures end together at {} with an answer of the service's own",
            Nanos::from_secs_f64(middle)
        );
        finding.signal(Signal::WaitTimeout, text);
    }
}

fn add_idle_behind(case: &Case, tier: &Tier, finding: &mut Finding) {
    for tier in case.behind_of(tier) {
        if tier.high.ticks == 0 {
            continue;
        }
        let thread = tier.high.busiest();
        let busy = thread.max(tier.high.cpu_share());
        finding.signal(
            Signal::IdleBehind,
            format!("{} behind it is {} busy", tier.name, percent(busy)),
        );
    }
}

pub(super) fn busy_behind(case: &Case, tier: &Tier) -> bool {
    case.behind_of(tier).iter().any(|tier| {
        let thread = tier.high.busiest();
        thread >= 0.7 || tier.high.cpu_share() >= 0.7 || tier.high.throttled >= 0.5
    })
}

/// The busiest outgoing port, if its connections stopped growing while requests went on piling up.
fn flat_outgoing(tier: &Tier) -> Option<(u16, f64)> {
    let (high, low) = (tier.high.out.as_ref()?, tier.low.out.as_ref()?);
    let (port, count) = most(high)?;
    let before = low.get(&port).copied().unwrap_or(0.0);
    let inside = tier.high.established.unwrap_or(0.0);
    (count >= 2.0 && inside >= 3.0 * count && count <= 1.1 * before.max(1.0))
        .then_some((port, count))
}

fn most(out: &BTreeMap<u16, f64>) -> Option<(u16, f64)> {
    let each = out.iter().map(|(port, count)| (*port, *count));
    each.max_by(|a, b| a.1.total_cmp(&b.1))
        .filter(|(_, n)| *n >= 1.0)
}

/// A tier behind that is full: the cause of its own where a proxy only hands requests on, and the
/// downstream of a service that has work of its own.
pub(super) fn behind(case: &Case, entry: &Tier, mut finding: Finding) -> Finding {
    if entry.high.ticks > 0 && entry.high.has_idle_processor() {
        let thread = entry.high.busiest();
        finding.signal(
            Signal::IdleBefore,
            format!("{} in front of it is {} busy", entry.name, percent(thread)),
        );
    }
    match &entry.high.proxy {
        Some(proxy) if proxy.requests > 0 => {
            add_share_of_upstream(entry, &mut finding);
        }
        // Without a look at the process in front, this one may well be the service itself.
        _ if entry.high.ticks == 0 => {}
        _ => {
            finding.cause = Cause::Downstream;
            // Whichever of the two it is there, seen from here it is the same.
            finding.unsure = false;
            let (port, rises) = outgoing_growth(case, entry).unwrap_or((0, 0.0));
            if rises >= 1.5 {
                let text = format!("connections to port {port} rose {}×", three_digits(rises));
                finding.signal(Signal::Connections, text);
            }
        }
    }
    finding
}

/// D.3 step 3 with a proxy's log: which side absorbed the growth of requests in flight?
fn add_share_of_upstream(entry: &Tier, finding: &mut Finding) {
    let (Some(high), Some(low)) = (&entry.high.proxy, &entry.low.proxy) else {
        return;
    };
    let mean = |h: &Histogram| h.mean().unwrap_or_default().as_secs_f64();
    let all = mean(&high.request_time) - mean(&low.request_time);
    let upstream = mean(&high.upstream_time) - mean(&low.upstream_time);
    if all > 0.001 && upstream >= 0.7 * all {
        let text = format!(
            "{} of the growth in time per request lies behind the proxy",
            percent((upstream / all).min(1.0))
        );
        finding.signal(Signal::ProxyLog, text);
    }
}

/// How many times more connections to the busiest remote port at saturation than at low load.
pub(super) fn outgoing_growth(case: &Case, tier: &Tier) -> Option<(u16, f64)> {
    let (port, count) = most(tier.high.out.as_ref()?)?;
    let before = tier.low.out.as_ref()?.get(&port).copied().unwrap_or(0.0);
    let (_, in_flight) = case.in_flight();
    (count >= 0.5 * in_flight).then(|| (port, count / before.max(1.0)))
}

/// Requests wait for something that the tier calls, and that is not seen itself.
pub(super) fn downstream(case: &Case, tier: &Tier) -> Option<Finding> {
    let observed = |port: u16| case.behind().iter().any(|tier| tier.ports.contains(&port));
    if tier.high.ticks == 0 || !tier.high.has_idle_processor() {
        return None;
    }
    let (port, rises) = outgoing_growth(case, tier)?;
    if rises < 2.0 || observed(port) {
        return None;
    }
    let mut finding = Finding::new(Cause::Downstream, tier);
    finding.process = None;
    finding.signal(
        Signal::Connections,
        format!(
            "connections to port {port} rose {}× with the requests in flight",
            three_digits(rises)
        ),
    );
    Some(finding)
}
