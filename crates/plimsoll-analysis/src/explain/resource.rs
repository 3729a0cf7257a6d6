//! How full every resource of every tier is, where it would be full, and which it is not.

use std::collections::BTreeMap;

use plimsoll_core::outcome::Outcome;
use plimsoll_core::record::ThreadState;
use plimsoll_core::statistics::ratio;
use plimsoll_core::units::{percent, three_digits};
use plimsoll_core::verdict::{Cause, Limit, NextLimit, Resource, ResourceKind};
use plimsoll_core::{Histogram, Nanos};

use super::case::{Case, Tier};
use crate::facts::gauges::Gauge;
use crate::facts::level::Level;

/// A resource used less than this says nothing about where it would be full.
const NOTICEABLE: f64 = 0.02;

/// Every resource with its share in use where the system had given way.
pub(super) fn resources(case: &Case) -> Vec<Resource> {
    case.tiers
        .iter()
        .flat_map(|tier| of_tier(case, tier))
        .collect()
}

fn of_tier(case: &Case, tier: &Tier) -> Vec<Resource> {
    let mut found = Vec::new();
    if let Some(thread) = &tier.high.thread {
        let demand = case.thread_demand(tier, thread);
        found.push(Resource {
            tier: tier.name.clone(),
            resource_kind: ResourceKind::Thread,
            resource: format!("thread {}", thread.thread),
            size: None,
            run_ratio: thread.run.min(1.0),
            wait_ratio: thread.wait.min(1.0),
            demand_seconds: demand,
            full_at_per_s: demand.map(|demand| 1.0 / demand),
        });
    }
    if tier.high.ticks > 0 && tier.high.capacity() > 0.0 {
        let capacity = tier.high.capacity();
        let demand = case.processor_demand(tier);
        found.push(Resource {
            tier: tier.name.clone(),
            resource_kind: ResourceKind::Processors,
            resource: if tier.high.quota.is_some() {
                "processor quota".to_owned()
            } else {
                "processors".to_owned()
            },
            size: None,
            run_ratio: ratio(tier.high.run, capacity),
            wait_ratio: ratio(tier.high.wait, capacity),
            demand_seconds: demand,
            full_at_per_s: demand.map(|demand| capacity / demand),
        });
    }
    found.extend(pool(case, tier));
    found.extend(disk(case, tier));
    found
}

fn pool(case: &Case, tier: &Tier) -> Option<Resource> {
    let size = tier.gauges.value(Gauge::PoolMax)?;
    let used = tier.gauges.value(Gauge::PoolInUse)?;
    // Held seconds per request from the levels below, by Little's law.
    let demand = case.demand(&|tick| {
        let at = tick.tiers.get(tier.name.as_str())?;
        let values = at.metrics.iter().flat_map(|sample| &sample.values);
        let in_use = values
            .filter(|(name, _)| {
                crate::facts::gauges::recognise(name)
                    .is_some_and(|(gauge, _)| gauge == Gauge::PoolInUse)
            })
            .map(|(_, value)| value * tick.seconds);
        in_use.reduce(|a, b| a + b)
    });
    Some(Resource {
        tier: tier.name.clone(),
        resource_kind: ResourceKind::Pool,
        resource: format!("pool of {size}"),
        size: Some(size),
        run_ratio: ratio(used, size).min(1.0),
        wait_ratio: 0.0,
        demand_seconds: demand,
        full_at_per_s: demand.map(|demand| size / demand),
    })
}

fn disk(case: &Case, tier: &Tier) -> Option<Resource> {
    let waiting = tier.high.state(ThreadState::Disk);
    if waiting < NOTICEABLE {
        return None;
    }
    let demand = case.demand(&|tick| {
        let at = tick.tiers.get(tier.name.as_str())?;
        let states = at
            .processes
            .iter()
            .filter_map(|p| p.threads_by_state.get(&ThreadState::Disk));
        Some(states.sum::<f64>() * tick.seconds)
    });
    Some(Resource {
        tier: tier.name.clone(),
        resource_kind: ResourceKind::Disk,
        resource: "disk".to_owned(),
        size: None,
        run_ratio: waiting.min(1.0),
        wait_ratio: 0.0,
        demand_seconds: demand,
        // One queue: how many writes a disk takes at once cannot be seen from here.
        full_at_per_s: None,
    })
}

/// The resource that would be full at the lowest rate above what was measured.
pub(super) fn next_limit(
    case: &Case,
    limit: &Limit,
    resources: &[Resource],
    peak: f64,
) -> Option<NextLimit> {
    // The limit of a tier may be named for the tier, or for one of its instances.
    let of_limit = |resource: &Resource| {
        let limited = limit.tier.as_deref().map(|tier| case.declared(tier));
        limited == Some(case.declared(&resource.tier))
    };
    let reached = limit.ceiling_per_s.unwrap_or(peak).max(peak);
    resources
        .iter()
        .filter(|resource| resource.run_ratio >= NOTICEABLE)
        // What collects garbage also fills a thread and the processors: lifted with it.
        .filter(|resource| limit.cause != Cause::Memory || !of_limit(resource))
        // A thread that is named shares its core: its own processor time alone would promise more than it has.
        .filter(|resource| {
            let is_named =
                matches!(limit.cause, Cause::PinnedThread | Cause::EventLoop) && of_limit(resource);
            !(is_named && resource.resource_kind == ResourceKind::Thread)
        })
        .filter_map(|resource| {
            Some(NextLimit {
                tier: resource.tier.clone(),
                resource: resource.resource.clone(),
                full_at_per_s: resource.full_at_per_s?,
            })
        })
        // Within a tenth of the peak it is the same limit seen twice.
        .filter(|next| next.full_at_per_s > 1.1 * reached)
        .min_by(|a, b| a.full_at_per_s.total_cmp(&b.full_at_per_s))
}

/// Resources of the first tier that are not the limit, each with the figure that says so.
pub(super) fn ruled_out(case: &Case, cause: Cause, limited: Option<&str>) -> Vec<String> {
    let tier = case.entry();
    let mut lines = Vec::new();
    if tier.high.ticks > 0 {
        let demand = tier.high.busiest();
        if demand < 0.8 {
            lines.push(format!(
                "one thread: the busiest is {} busy",
                percent(demand)
            ));
        }
        if tier.high.cpu_share() < 0.75 {
            lines.push(format!(
                "processors: {} of {} cores used",
                three_digits(tier.high.run),
                three_digits(tier.high.capacity())
            ));
        }
        if tier.high.quota.is_none() {
            lines.push("CPU quota: none is set".to_owned());
        } else if tier.high.throttled < 0.1 {
            let text = format!(
                "CPU quota: throttled in {} of periods",
                percent(tier.high.throttled)
            );
            lines.push(text);
        }
        if tier.high.state(ThreadState::Disk) < 0.2 && cause != Cause::Disk {
            lines.push(format!(
                "disk: {} threads wait for it, pressure {}",
                three_digits(tier.high.state(ThreadState::Disk)),
                percent(case.host_high.psi_io)
            ));
        }
        if tier.high.major_faults_per_s < 5.0 && cause != Cause::Memory {
            lines.push(format!(
                "memory: {} major faults per second, pressure {}",
                three_digits(tier.high.major_faults_per_s),
                percent(case.host_high.psi_memory)
            ));
        }
    }
    lines.extend(ruled_out_by_sockets(case, &tier, cause));
    lines.extend(own_time(&tier));
    lines.extend(idle_tiers(case, limited));
    lines
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
fn own_time(tier: &Tier) -> Option<String> {
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
        format!(
            "{}: {shown} of {} per request is its own by its log, {} went into connecting",
            tier.name,
            Nanos::from_secs_f64(all),
            Nanos::from_secs_f64(connect)
        )
    })
}

/// Tiers other than the limited one whose processors have room, instances together.
fn idle_tiers(case: &Case, limited: Option<&str>) -> Vec<String> {
    let limited = limited.map(|tier| case.declared(tier));
    let mut sums: BTreeMap<&str, (f64, f64, usize)> = BTreeMap::new();
    for tier in case.behind().iter().filter(|tier| tier.high.ticks > 0) {
        let (used, given, count) = sums.entry(case.declared(&tier.name)).or_default();
        *used += tier.high.run;
        *given += tier.high.capacity();
        *count += 1;
    }
    let idle = sums.into_iter().filter(|(name, (used, given, _))| {
        Some(*name) != limited && *given > 0.0 && ratio(*used, *given) < 0.75
    });
    let line = |(name, (used, given, count)): (&str, (f64, f64, usize))| {
        let by = if count > 1 {
            format!(" by {count} instances")
        } else {
            String::new()
        };
        format!(
            "{name}: {} of {} cores used{by} ({})",
            three_digits(used),
            three_digits(given),
            percent(ratio(used, given))
        )
    };
    idle.map(line).collect()
}

fn ruled_out_by_sockets(case: &Case, tier: &Tier, cause: Cause) -> Vec<String> {
    let mut lines = Vec::new();
    let no_answer = [Outcome::Eof, Outcome::Reset, Outcome::Refused];
    let worst = case
        .high()
        .map(|level| level.share(&no_answer))
        .fold(0.0, f64::max);
    if worst < 0.005 && cause != Cause::ConnectionSlots {
        let queue = three_digits(tier.high.accept_queue);
        lines.push(format!(
            "connection slots: {} of attempts ended without an answer, accept queue {queue}",
            percent(worst)
        ));
    }
    let shed = case
        .high()
        .map(|level| level.share(&[Outcome::Shed]))
        .fold(0.0, f64::max);
    if shed < 0.005 {
        lines.push("rate rule: no 429 or 503".to_owned());
    }
    if case.host_high.cores > 0.0 && retransmits_cost_little(case) {
        let share = percent(case.host_high.retransmits_per_answer);
        let rates = case
            .high()
            .map(|level| ratio(level.tally.bytes() as f64 / 1e6, level.seconds()));
        let rate = rates.fold(0.0, f64::max);
        lines.push(format!(
            "network: {share} retransmitted segments per answer, {} MB/s of answers",
            three_digits(rate)
        ));
    }
    lines
}
