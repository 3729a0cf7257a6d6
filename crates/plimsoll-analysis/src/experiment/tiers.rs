//! What the tiers of a variant were given, what they used and what a good answer costs, from what was seen of them.

use std::collections::BTreeMap;

use plimsoll_core::experiment::{PoolUse, TierUse, Tiers, Variant};
use plimsoll_core::record::{Record, Seen, TierSetup};
use plimsoll_core::verdict::{Resource, ResourceKind};
use plimsoll_core::{Nanos, Window};

use super::spread::spread;
use crate::watched::Watched;

/// From here on a share is full: what is left is the noise of two looks at a counter.
const FULL: f64 = 0.9;
/// From here on being held back by a quota is worth a word: one period in a hundred.
const THROTTLED: f64 = 0.01;

pub(super) fn of_variant(variant: &Variant<'_>) -> Tiers {
    let each = over_runs(variant);
    let sum = |figure: fn(&TierUse) -> Option<f64>| -> Option<f64> {
        let all: Option<Vec<f64>> = each.iter().map(figure).collect();
        all.filter(|all| !all.is_empty())
            .map(|all| all.iter().sum())
    };
    Tiers {
        pools: pools(variant),
        cores_given: sum(|tier| tier.cores_given),
        cost_seconds: sum(|tier| tier.cost_seconds),
        each,
    }
}

fn over_runs(variant: &Variant<'_>) -> Vec<TierUse> {
    let runs: Vec<Vec<TierUse>> = variant.shown().map(|run| of_run(run.record)).collect();
    let Some(first) = runs.first() else {
        return Vec::new();
    };
    let merge = |tier: &TierUse| {
        let same = || {
            let all = runs.iter().flatten();
            all.filter(|other| other.tier == tier.tier)
        };
        let median = |of: fn(&TierUse) -> Option<f64>| spread(same().filter_map(of)).median;
        let cores_used = median(|tier| tier.cores_used);
        let given = tier.cores_given.filter(|given| *given > 0.0);
        let busy_ratio = given.zip(cores_used).map(|(given, used)| used / given);
        let throttled_ratio = median(|tier| tier.throttled_ratio);
        TierUse {
            cores_used,
            busy_ratio,
            is_full: busy_ratio.is_some_and(|busy| busy >= FULL),
            throttled_ratio,
            is_throttled: throttled_ratio.is_some_and(|held| held >= THROTTLED),
            cost_seconds: median(|tier| tier.cost_seconds),
            ..tier.clone()
        }
    };
    first.iter().map(merge).collect()
}

fn pools(variant: &Variant<'_>) -> Vec<PoolUse> {
    let first = variant.verdicts().next();
    let resources = first.iter().flat_map(|verdict| &verdict.resources);
    let pool = |resource: &Resource| PoolUse {
        tier: resource.tier.clone(),
        used_ratio: resource.run_ratio,
        size: resource.size,
    };
    resources
        .filter(|resource| resource.resource_kind == ResourceKind::Pool)
        .map(pool)
        .collect()
}

/// Cores that an instance used on average while the load was on.
pub(super) fn cores_used(record: &Record, instance: &str) -> Option<f64> {
    Seconds::of(record).cores_used(instance)
}

fn of_run(record: &Record) -> Vec<TierUse> {
    let Some(lab) = &record.header.lab else {
        return Vec::new();
    };
    let mut tiers: Vec<(&str, Vec<&TierSetup>)> = Vec::new();
    for instance in &lab.tiers {
        match tiers.iter_mut().find(|(tier, _)| *tier == instance.tier) {
            Some((_, instances)) => instances.push(instance),
            None => tiers.push((&instance.tier, vec![instance])),
        }
    }
    let seen = Seconds::of(record);
    let used = |(tier, instances): (&str, Vec<&TierSetup>)| of_tier(tier, &instances, &seen);
    tiers.into_iter().map(used).collect()
}

fn of_tier(tier: &str, instances: &[&TierSetup], seen: &Seconds<'_>) -> TierUse {
    let given: Option<Vec<f64>> = instances.iter().map(|one| one.cpu_cores).collect();
    let used: Option<Vec<f64>> = instances
        .iter()
        .map(|one| seen.cores_used(&one.name))
        .collect();
    let cores_used = used.map(|used| used.iter().sum::<f64>());
    let throttled = instances
        .iter()
        .filter_map(|one| seen.throttled_ratio(&one.name));
    let takes: Option<Vec<(&str, f64)>> = instances.iter().map(|one| one.in_flight_max()).collect();
    let takes = takes.filter(|takes| !takes.is_empty());
    let mut isolation: Vec<String> = instances.iter().map(|one| one.isolation.clone()).collect();
    isolation.dedup();
    TierUse {
        tier: tier.to_owned(),
        instances: instances.len(),
        cores_given: given.map(|given| given.iter().sum()),
        cores_used,
        busy_ratio: None,
        is_full: false,
        throttled_ratio: throttled.reduce(f64::max),
        is_throttled: false,
        cost_seconds: cores_used.and_then(|cores| seen.per_good(cores)),
        takes: takes.and_then(|takes| {
            let name = takes.first()?.0.to_owned();
            Some((name, takes.iter().map(|(_, count)| count).sum()))
        }),
        isolation,
    }
}

/// What was seen while the load that the verdict describes was on.
struct Seconds<'r> {
    /// Of each instance, whose processes may be others after a restart.
    processes: BTreeMap<&'r str, Watched>,
    /// Of each instance: periods in which it was held back, and all of them.
    periods: BTreeMap<&'r str, (u64, u64)>,
    length: f64,
    good: u64,
}

impl<'r> Seconds<'r> {
    fn of(record: &'r Record) -> Self {
        let level = record.verdict.as_ref().map_or(1, |verdict| verdict.level);
        let mut seen = Self {
            processes: BTreeMap::new(),
            periods: BTreeMap::new(),
            length: 0.0,
            good: 0,
        };
        for window in record.windows_of(level) {
            seen.length += window.length_ns.as_secs_f64();
            seen.good += window.total().good();
        }
        let from = record.windows_of(level).map(|window| window.start_ns).min();
        let to = record.windows_of(level).map(Window::end_ns).max();
        let (from, to) = (from.unwrap_or(Nanos::ZERO), to.unwrap_or(Nanos::ZERO));
        for look in &record.observations {
            // By its end: a look that began before the load has most of it still.
            if look.at_ns <= from || look.at_ns > to {
                continue;
            }
            match &look.seen {
                Seen::Process(process) => {
                    let watched = seen.processes.entry(&look.tier).or_default();
                    watched.add(look, process);
                }
                Seen::Cgroup(group) if group.quota_cores.is_some() => {
                    let (held, all) = seen.periods.entry(look.tier.as_str()).or_default();
                    *held += group.throttled_periods;
                    *all += group.periods;
                }
                _ => {}
            }
        }
        seen
    }

    fn cores_used(&self, instance: &str) -> Option<f64> {
        self.processes.get(instance)?.cores()
    }

    fn throttled_ratio(&self, instance: &str) -> Option<f64> {
        let (held, all) = self.periods.get(instance)?;
        (*all > 0).then(|| *held as f64 / *all as f64)
    }

    fn per_good(&self, cores: f64) -> Option<f64> {
        (self.good > 0).then(|| cores * self.length / self.good as f64)
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_core::record::{Line, Observation, ProcessSample, ThreadSample};
    use plimsoll_core::schedule::RateProfile;

    use super::*;
    use crate::gates::tests::{RATE, record_with, window};

    /// Ten seconds, in each of which one of the processes that `of` names ran for 0.9 s.
    fn record(of: impl Fn(u64) -> Vec<u32>) -> Record {
        let mut record = record_with(RateProfile::constant(RATE as f64).unwrap());
        for second in 1..=10 {
            record.push(Line::Window(window(second - 1)));
            let pids = of(second);
            for pid in &pids {
                let run_ns = Nanos(900_000_000 / pids.len() as u64);
                let process = ProcessSample {
                    pid: *pid,
                    threads: vec![ThreadSample {
                        run_ns,
                        ..ThreadSample::default()
                    }],
                    ..ProcessSample::default()
                };
                record.push(Line::Observation(Observation {
                    at_ns: Nanos::from_secs(second),
                    length_ns: Nanos::from_secs(1),
                    tier: "db".to_owned(),
                    seen: Seen::Process(process),
                }));
            }
        }
        let verdict = crate::summary::of_run(&record);
        record.push(Line::Verdict(verdict));
        record
    }

    #[test]
    fn processes_that_follow_each_other_are_not_there_at_once() {
        for (what, record) in [
            ("one", record(|_| vec![1])),
            ("two beside each other", record(|_| vec![1, 2])),
            (
                "restarted",
                record(|second| vec![1 + u32::from(second > 5)]),
            ),
        ] {
            let cores = cores_used(&record, "db").unwrap();
            assert!((cores - 0.9).abs() < 1e-9, "{what}: {cores}");
        }
        assert_eq!(cores_used(&record(|_| vec![1]), "app"), None);
    }
}
