//! What the tiers of a variant were given, what they used and what a good answer costs, from what was seen of them.

use std::collections::BTreeMap;

use plimsoll_core::Nanos;
use plimsoll_core::record::{Record, Seen, TierSetup};

use super::cell::spread;
use super::{Run, Variant};
use crate::format;

/// One tier with all its instances; medians over the runs.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TierUse {
    pub(crate) tier: String,
    pub(crate) instances: usize,
    /// Cores that all instances may use together; none if they are not confined.
    pub(crate) cores_given: Option<f64>,
    /// Cores used on average while the load was on; none if its processes were not seen.
    pub(crate) cores_used: Option<f64>,
    /// Share of the scheduler's periods in which the busiest instance was held back by its quota.
    pub(crate) throttled_ratio: Option<f64>,
    /// Processor seconds per good answer.
    pub(crate) cost_seconds: Option<f64>,
    /// Requests that all instances take at once, with the limit that says so.
    pub(crate) takes: Option<(String, f64)>,
    /// How each instance was kept to its share, in words.
    pub(crate) isolation: Vec<String>,
}

impl TierUse {
    /// Used as a share of what was given.
    pub(crate) fn busy_ratio(&self) -> Option<f64> {
        let given = self.cores_given.filter(|given| *given > 0.0)?;
        self.cores_used.map(|used| used / given)
    }

    /// `97 % of 0.35 cores, throttled in 80 % of periods`
    pub(crate) fn busy_text(&self) -> String {
        let Some(used) = self.cores_used else {
            return "not seen".to_owned();
        };
        let cores = |count: f64| {
            let unit = if count > 1.0 { "cores" } else { "core" };
            format!("{}{}{unit}", format::number(count), format::NBSP)
        };
        let mut text = match (self.busy_ratio(), self.cores_given) {
            (Some(busy), Some(given)) => {
                format!("{} of {}", format::percent(busy), cores(given))
            }
            _ => format!("{} used", cores(used)),
        };
        if let Some(throttled) = self.throttled_ratio.filter(|ratio| *ratio >= 0.01) {
            let share = format::percent(throttled);
            put!(text, ", throttled in {share} of periods");
        }
        text
    }
}

impl Variant<'_> {
    /// In the order of their start; empty where the records do not say what was started.
    pub(crate) fn tiers(&self) -> Vec<TierUse> {
        let runs: Vec<Vec<TierUse>> = self.shown().map(of_run).collect();
        let Some(first) = runs.first() else {
            return Vec::new();
        };
        let merge = |tier: &TierUse| {
            let same = || {
                let all = runs.iter().flatten();
                all.filter(|other| other.tier == tier.tier)
            };
            let median = |of: fn(&TierUse) -> Option<f64>| {
                let values: Vec<f64> = same().filter_map(of).collect();
                spread(&values).median
            };
            TierUse {
                cores_used: median(|tier| tier.cores_used),
                throttled_ratio: median(|tier| tier.throttled_ratio),
                cost_seconds: median(|tier| tier.cost_seconds),
                ..tier.clone()
            }
        };
        first.iter().map(merge).collect()
    }

    /// Cores given to all tiers together, if every tier has a share.
    pub(crate) fn cores_given(&self) -> Option<f64> {
        let tiers = self.tiers();
        let given: Option<Vec<f64>> = tiers.iter().map(|tier| tier.cores_given).collect();
        given
            .filter(|all| !all.is_empty())
            .map(|all| all.iter().sum())
    }

    /// Processor seconds of all tiers per good answer, if every tier was seen.
    pub(crate) fn cost_seconds(&self) -> Option<f64> {
        let tiers = self.tiers();
        let costs: Option<Vec<f64>> = tiers.iter().map(|tier| tier.cost_seconds).collect();
        costs
            .filter(|all| !all.is_empty())
            .map(|all| all.iter().sum())
    }

    /// Most requests on the wire at once in any run.
    pub(crate) fn wire_max(&self) -> u64 {
        let windows = self.shown().flat_map(|run| &run.record.windows);
        windows.map(|window| window.wire_max).max().unwrap_or(0)
    }
}

/// Cores that an instance used on average while the load was on.
pub(super) fn cores_used(record: &Record, instance: &str) -> Option<f64> {
    Seconds::of(record).cores_used(instance)
}

fn of_run(run: &Run<'_>) -> Vec<TierUse> {
    let record = run.record;
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
        throttled_ratio: throttled.reduce(f64::max),
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
    /// Of each process of an instance: seconds on a processor, and seconds that it was watched for.
    processes: BTreeMap<(&'r str, u32), (f64, f64)>,
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
        let to = record
            .windows_of(level)
            .map(plimsoll_core::Window::end_ns)
            .max();
        let (from, to) = (from.unwrap_or(Nanos::ZERO), to.unwrap_or(Nanos::ZERO));
        for look in &record.observations {
            // By its end: a look that began before the load has most of it still.
            if look.at_ns <= from || look.at_ns > to {
                continue;
            }
            match &look.seen {
                Seen::Process(process) => {
                    let threads = process.threads.iter().chain([&process.others]);
                    let run = threads
                        .map(|thread| thread.run_ns.as_secs_f64())
                        .sum::<f64>();
                    let key = (look.tier.as_str(), process.pid);
                    let (busy, watched) = seen.processes.entry(key).or_default();
                    *busy += run;
                    *watched += look.length_ns.as_secs_f64();
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
        let of = self
            .processes
            .iter()
            .filter(|((name, _), _)| *name == instance);
        let cores = of.filter(|(_, (_, watched))| *watched > 0.0);
        cores
            .map(|(_, (busy, watched))| busy / watched)
            .reduce(|a, b| a + b)
    }

    fn throttled_ratio(&self, instance: &str) -> Option<f64> {
        let (held, all) = self.periods.get(instance)?;
        (*all > 0).then(|| *held as f64 / *all as f64)
    }

    fn per_good(&self, cores: f64) -> Option<f64> {
        (self.good > 0).then(|| cores * self.length / self.good as f64)
    }
}
