//! What a script counted in its own words: thresholds, checks, groups, metrics, iterations and requests by name.
//!
//! One line speaks for one level, from its start to `at_ns`; the last line of a level counts. Everything in it merges, so
//! that levels which are pooled can be shown together.

use serde::{Deserialize, Serialize};

use crate::metrics::{BuiltIn, Check, Contains, Names, Sink, Store};
use crate::tally::Tally;
use crate::threshold::Judgement;
use crate::units::Nanos;

/// Rows of each kind that a line holds; of the rest it says how many there are, and their sum.
const METRICS_MAX: usize = 300;
const GROUPS_MAX: usize = 300;
const CHECKS_MAX: usize = 200;
const NAMES_MAX: usize = 100;

/// A line of a run of a script.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ScriptCounts {
    pub level: u32,
    /// Up to when it was counted.
    pub at_ns: Nanos,
    /// The time in which it was counted: rates are per second of it.
    pub elapsed_ns: Nanos,
    /// False while more was to come: then thresholds are judged as far as the run had got.
    pub is_final: bool,
    pub iterations: Iterations,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vus: Option<VuSpan>,
    /// Thresholds of the script with what was observed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub thresholds: Vec<Judgement>,
    /// Groups in the order in which they were first entered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<Check>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<NameCounts>,
    /// Metrics that counted something, or that a threshold names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub metrics: Vec<MetricCounts>,
    /// The same of metrics with tags.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub submetrics: Vec<SubmetricCounts>,
    /// What there was no room for; absent if there was room for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_out: Option<LeftOut>,
}

/// How iterations ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Iterations {
    pub completed_count: u64,
    /// Cut off by the end of the test.
    pub interrupted_count: u64,
    /// Due and never begun.
    pub dropped_count: u64,
}

/// Virtual users at work, and the most that existed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VuSpan {
    pub min: u32,
    pub max: u32,
    pub existing_max: u32,
}

/// A metric of the script or of the engine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MetricCounts {
    pub name: String,
    /// What its numbers are.
    pub contains: Contains,
    #[serde(flatten)]
    pub sink: Sink,
}

/// A metric with tags that a threshold names.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SubmetricCounts {
    /// `http_req_duration{name:login}`.
    pub key: String,
    #[serde(flatten)]
    pub sink: Sink,
}

/// Requests of one `name` tag.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NameCounts {
    pub name: String,
    pub tally: Tally,
}

/// Rows beyond the most that a line holds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LeftOut {
    #[serde(default)]
    pub metrics_count: u64,
    #[serde(default)]
    pub groups_count: u64,
    #[serde(default)]
    pub checks_count: u64,
    /// How often those checks held and failed.
    #[serde(default)]
    pub checks_passes: u64,
    #[serde(default)]
    pub checks_fails: u64,
    #[serde(default)]
    pub names_count: u64,
    /// What became of the requests of those names.
    #[serde(default)]
    pub names_tally: Tally,
}

/// What a line is about.
#[derive(Debug, Clone, Copy, Default)]
pub struct Scope {
    pub level: u32,
    pub at_ns: Nanos,
    pub elapsed_ns: Nanos,
    pub is_final: bool,
    /// Iterations that were cut off.
    pub interrupted_count: u64,
}

impl ScriptCounts {
    /// What `store` and `names` hold, judged by `thresholds`.
    pub fn new(scope: Scope, store: &Store, names: &Names, thresholds: &[Judgement]) -> Self {
        let mut left = LeftOut::default();
        let (rows, rest) = names.top(NAMES_MAX);
        left.names_count = rest.count;
        left.names_tally = rest.tally;
        let names = rows.into_iter().map(|(name, tally)| NameCounts {
            name: name.to_owned(),
            tally: tally.clone(),
        });
        let all = store.groups();
        left.groups_count = all.len().saturating_sub(GROUPS_MAX) as u64;
        Self {
            level: scope.level,
            at_ns: scope.at_ns,
            elapsed_ns: scope.elapsed_ns,
            is_final: scope.is_final,
            iterations: iterations(store, scope.interrupted_count),
            vus: vus(store),
            thresholds: thresholds.to_vec(),
            groups: all.iter().take(GROUPS_MAX).cloned().collect(),
            checks: checks(store, &mut left),
            names: names.collect(),
            metrics: metrics(store, thresholds, &mut left),
            submetrics: submetrics(store),
            left_out: (left != LeftOut::default()).then_some(left),
        }
    }

    /// The store that it was written from, as far as there was room for it.
    pub fn store(&self) -> Store {
        let mut store = Store::default();
        for metric in &self.metrics {
            store.add_sink(&metric.name, metric.contains, &metric.sink);
        }
        for submetric in &self.submetrics {
            store.add_submetric(&submetric.key, &submetric.sink);
        }
        for group in &self.groups {
            store.add_group(group);
        }
        for check in &self.checks {
            store.add_check(check);
        }
        store
    }

    fn names(&self) -> Names {
        let mut names = Names::default();
        for row in &self.names {
            names.add(&row.name, &row.tally);
        }
        names
    }

    /// Several levels as one: counts add up, thresholds are judged over all of it. None without any.
    pub fn pooled<'a>(all: impl IntoIterator<Item = &'a Self>) -> Option<Self> {
        let mut all = all.into_iter();
        let mut pooled = all.next()?.clone();
        for other in all {
            pooled = pooled.with(other);
        }
        Some(pooled)
    }

    fn with(&self, other: &Self) -> Self {
        let (mut store, mut names) = (self.store(), self.names());
        store.merge(&other.store());
        names.merge(&other.names());
        let scope = Scope {
            level: self.level,
            at_ns: self.at_ns.max(other.at_ns),
            elapsed_ns: self.elapsed_ns + other.elapsed_ns,
            is_final: self.is_final && other.is_final,
            interrupted_count: self.iterations.interrupted_count
                + other.iterations.interrupted_count,
        };
        let judged: Vec<Judgement> = self
            .thresholds
            .iter()
            .map(|threshold| threshold.again(&store, scope.elapsed_ns))
            .collect();
        let mut both = Self::new(scope, &store, &names, &judged);
        for left in self.left_out.iter().chain(&other.left_out) {
            both.left_out.get_or_insert_default().add(left);
        }
        both
    }

    /// What follows from its metrics, counted and judged again.
    #[must_use]
    pub fn again(&self) -> Self {
        let store = self.store();
        let judged = self.thresholds.iter();
        Self {
            iterations: iterations(&store, self.iterations.interrupted_count),
            vus: vus(&store),
            thresholds: judged
                .map(|threshold| threshold.again(&store, self.elapsed_ns))
                .collect(),
            ..self.clone()
        }
    }

    /// A threshold was crossed.
    pub fn has_crossed(&self) -> bool {
        self.thresholds.iter().any(|threshold| !threshold.ok)
    }

    /// How often checks held and failed, all together.
    pub fn check_totals(&self) -> (u64, u64) {
        let left = self.left_out.iter();
        let start = left.fold((0, 0), |(held, failed), left| {
            (held + left.checks_passes, failed + left.checks_fails)
        });
        self.checks.iter().fold(start, |(held, failed), check| {
            (held + check.passes, failed + check.fails)
        })
    }

    pub fn metric(&self, name: &str) -> Option<&MetricCounts> {
        self.metrics.iter().find(|metric| metric.name == name)
    }

    /// Metrics that the script declared itself.
    pub fn custom(&self) -> impl Iterator<Item = &MetricCounts> {
        let is_built_in = |name: &str| {
            crate::metrics::BUILT_IN
                .iter()
                .any(|spec| spec.name == name)
        };
        self.metrics
            .iter()
            .filter(move |metric| !is_built_in(&metric.name))
    }

    /// Plain counts with the name of their field; sums over a record must not overflow.
    pub(super) fn counts(&self) -> Vec<(&'static str, u64)> {
        let iterations = &self.iterations;
        let mut counts = vec![
            ("completed_count", iterations.completed_count),
            ("interrupted_count", iterations.interrupted_count),
            ("dropped_count", iterations.dropped_count),
        ];
        if let Some(left) = &self.left_out {
            counts.extend([
                ("checks_count", left.checks_count),
                ("checks_passes", left.checks_passes),
                ("checks_fails", left.checks_fails),
                ("names_count", left.names_count),
            ]);
        }
        for check in &self.checks {
            counts.extend([("passes", check.passes), ("fails", check.fails)]);
        }
        let sinks = self.metrics.iter().map(|metric| &metric.sink);
        let sinks = sinks.chain(self.submetrics.iter().map(|submetric| &submetric.sink));
        for sink in sinks {
            counts.push(("samples", sink.samples()));
            if let Sink::Rate(rate) = sink {
                counts.push(("passes", rate.passes));
            }
        }
        counts
    }
}

impl LeftOut {
    /// The same rows may be left out of both: there are at least as many as in either.
    fn add(&mut self, other: &Self) {
        self.metrics_count = self.metrics_count.max(other.metrics_count);
        self.groups_count = self.groups_count.max(other.groups_count);
        self.checks_count = self.checks_count.max(other.checks_count);
        self.names_count = self.names_count.max(other.names_count);
        self.checks_passes += other.checks_passes;
        self.checks_fails += other.checks_fails;
        self.names_tally.merge(&other.names_tally);
    }
}

fn sum_of(store: &Store, metric: BuiltIn) -> u64 {
    match store.built_in(metric) {
        Sink::Counter(counter) => counter.sum() as u64,
        _ => 0,
    }
}

fn iterations(store: &Store, interrupted_count: u64) -> Iterations {
    Iterations {
        completed_count: sum_of(store, BuiltIn::Iterations),
        interrupted_count,
        dropped_count: sum_of(store, BuiltIn::DroppedIterations),
    }
}

fn vus(store: &Store) -> Option<VuSpan> {
    let gauge = |metric| match store.built_in(metric) {
        Sink::Gauge(gauge) => (gauge.min() as u32, gauge.max() as u32),
        _ => (0, 0),
    };
    let (min, max) = gauge(BuiltIn::Vus);
    let is_known = !store.built_in(BuiltIn::Vus).is_empty();
    is_known.then(|| VuSpan {
        min,
        max,
        existing_max: gauge(BuiltIn::VusMax).1,
    })
}

/// In the order in which they came; where there is no room for all, those that failed most are kept.
fn checks(store: &Store, left: &mut LeftOut) -> Vec<Check> {
    let all = store.checks();
    if all.len() <= CHECKS_MAX {
        return all.to_vec();
    }
    let mut worst: Vec<&Check> = all.iter().collect();
    worst.sort_by_key(|check| std::cmp::Reverse((check.fails, check.passes)));
    for check in worst.split_off(CHECKS_MAX) {
        left.checks_count += 1;
        left.checks_passes += check.passes;
        left.checks_fails += check.fails;
    }
    worst.into_iter().cloned().collect()
}

fn metrics(store: &Store, judged: &[Judgement], left: &mut LeftOut) -> Vec<MetricCounts> {
    let is_judged = |name: &str| {
        let keys = judged.iter().map(|judgement| judgement.key.trim());
        keys.into_iter()
            .any(|key| key.split('{').next().is_some_and(|of| of.trim() == name))
    };
    let mut kept: Vec<MetricCounts> = store
        .metrics()
        .filter(|(metric, sink)| !sink.is_empty() || is_judged(&metric.name))
        .map(|(metric, sink)| MetricCounts {
            name: metric.name.clone(),
            contains: metric.contains,
            sink: sink.clone(),
        })
        .collect();
    if kept.len() > METRICS_MAX {
        // Built-in ones come first.
        kept.sort_by_key(|metric| !is_judged(&metric.name));
        left.metrics_count = (kept.len() - METRICS_MAX) as u64;
        kept.truncate(METRICS_MAX);
    }
    kept
}

fn submetrics(store: &Store) -> Vec<SubmetricCounts> {
    let all = store.submetrics().iter();
    let kept = all.map(|submetric| SubmetricCounts {
        key: submetric.key.clone(),
        sink: submetric.sink.clone(),
    });
    kept.collect()
}

#[cfg(test)]
mod tests;
