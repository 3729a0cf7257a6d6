//! Pools and queues that an experiment declares, against what their own gauges said at most: they let the next one wait,
//! so that what was in flight outside says nothing about them.

use std::collections::BTreeMap;

use plimsoll_core::record::Seen;

use super::super::Case;
use super::NEAR;
use crate::facts::gauges::{Gauge, pools};

/// What there is to say, tier by tier.
#[derive(Debug, Default)]
pub(super) struct Rooms {
    /// Those that were nearly full.
    pub(super) near: Vec<String>,
    /// Those without a gauge.
    pub(super) unseen: Vec<String>,
}

/// The most that one instance held, and how many waited outside then or at another time.
#[derive(Debug, Clone, Copy, Default)]
struct Peak {
    held: f64,
    outside: f64,
    limit: f64,
}

pub(super) fn nearly_full(case: Case<'_>) -> Rooms {
    let mut rooms = Rooms::default();
    let setup = case.record.header.lab.iter().flat_map(|lab| &lab.tiers);
    let mut fullest: BTreeMap<(&str, &str), Option<Peak>> = BTreeMap::new();
    for instance in setup {
        for (name, held, outside) in KINDS {
            let Some(limit) = instance.limits.get(name).copied() else {
                continue;
            };
            let peak = peak(case, &instance.name, held, outside);
            let peak = peak.map(|peak| Peak { limit, ..peak });
            let worst = fullest.entry((&instance.tier, name)).or_default();
            let fuller = |peak: &Peak| worst.is_none_or(|worst| peak.held > worst.held);
            if let Some(peak) = peak.filter(fuller) {
                *worst = Some(peak);
            }
        }
    }
    for ((tier, name), peak) in fullest {
        match peak {
            None => rooms.unseen.push(format!(
                "the {name} of {tier} was not observed; a `metrics:` page with its gauge would tell"
            )),
            Some(peak) if peak.held >= NEAR * peak.limit => {
                rooms.near.push(words(tier, name, peak));
            }
            Some(_) => {}
        }
    }
    rooms
}

/// Name of a limit, what is held in it, and what waits outside.
const KINDS: [(&str, Measure, Measure); 2] = [
    (
        "pool",
        |values| pools::of(values).most(Gauge::PoolInUse),
        |values| pools::of(values).most(Gauge::PoolWaiters),
    ),
    ("queue", queued, |_| None),
];

/// How much a page says of it; `None` where it says nothing.
type Measure = fn(&BTreeMap<String, f64>) -> Option<f64>;

fn queued(values: &BTreeMap<String, f64>) -> Option<f64> {
    let found = values.iter().filter(|(name, _)| is_queue(name));
    found.map(|(_, value)| *value).reduce(|a, b| a + b)
}

/// `queue_length`, `docdb_queue_depth`, `jobs_queued`; not a time spent in one.
fn is_queue(series: &str) -> bool {
    let name = series.split('{').next().unwrap_or(series);
    let length = [
        "queue_length",
        "queue_depth",
        "queue_size",
        "queued",
        "backlog",
    ];
    length.iter().any(|end| name.ends_with(end))
}

/// None if no sample has the series.
fn peak(case: Case<'_>, instance: &str, held: Measure, outside: Measure) -> Option<Peak> {
    let mut most: Option<Peak> = None;
    let observations = case.record.observations.iter();
    for observation in observations.filter(|observation| observation.tier == instance) {
        let Seen::Metrics(sample) = &observation.seen else {
            continue;
        };
        let Some(now) = held(&sample.values) else {
            continue;
        };
        let peak = most.get_or_insert_default();
        peak.held = peak.held.max(now);
        peak.outside = peak.outside.max(outside(&sample.values).unwrap_or(0.0));
    }
    most
}

fn words(tier: &str, name: &str, peak: Peak) -> String {
    let Peak {
        held,
        outside,
        limit,
    } = peak;
    let outside = if outside > 0.0 {
        format!(", and up to {outside:.0} waited for it")
    } else {
        String::new()
    };
    format!("the {name} of {tier} held {held:.0} of {limit:.0}{outside}")
}
