//! How full every resource of every tier is, and where it would be full.

use plimsoll_core::record::ThreadState;
use plimsoll_core::statistics::ratio;
use plimsoll_core::verdict::{Cause, Limit, NextLimit, REACH, Resource, ResourceKind};

use super::case::{Case, Tier};
use crate::facts::gauges::Gauge;

/// A resource used less than this says nothing about where it would be full.
const NOTICEABLE: f64 = 0.02;
/// A ceiling this far below what was served is none: what a request takes had become less by then.
const DISPROVED: f64 = 0.9;

/// Every resource with its share in use where the system had given way.
pub(super) fn resources(case: &Case) -> Vec<Resource> {
    let mut found: Vec<Resource> = case
        .tiers
        .iter()
        .flat_map(|tier| of_tier(case, tier))
        .collect();
    for resource in &mut found {
        let full = resource.full_at_per_s;
        resource.full_at_per_s = full.filter(|full| *full >= DISPROVED * case.saturation.peak);
    }
    found
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
        let each = at.metrics.iter();
        let in_use = each.filter_map(|scraped| tier.gauges.in_use(scraped.values));
        in_use
            .map(|count| count * tick.seconds)
            .reduce(|a, b| a + b)
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
        .filter(|next| next.full_at_per_s > 1.1 * reached && next.full_at_per_s <= REACH * peak)
        .min_by(|a, b| a.full_at_per_s.total_cmp(&b.full_at_per_s))
}
