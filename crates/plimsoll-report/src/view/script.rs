//! What a script says of its run in its own words: thresholds, checks, requests by name, metrics, iterations, VUs.

use std::cmp::Reverse;

use plimsoll_core::Tally;
use plimsoll_core::metrics::{Check, Store};
use plimsoll_core::record::{MetricCounts, Record, ScriptCounts};
use plimsoll_core::threshold::Judgement;

use crate::format;
use crate::k6;

/// The script's part of a view.
#[derive(Debug)]
pub(crate) struct ScriptView {
    pub(crate) counts: ScriptCounts,
    store: Store,
    /// Of a search: whose figures these are, and that others are not among them.
    pub(crate) scope: String,
}

/// One row of requests by name.
pub(crate) struct NameRow<'a> {
    pub(crate) name: String,
    pub(crate) tally: &'a Tally,
    pub(crate) is_rest: bool,
}

impl NameRow<'_> {
    pub(crate) fn failed_ratio(&self) -> f64 {
        self.tally.failed_ratio().unwrap_or(0.0)
    }

    /// `12 http_5xx, 3 timeout`
    pub(crate) fn kinds(&self) -> String {
        let kinds = self.tally.occurred().filter(|(kind, _)| kind.is_failure());
        let kinds: Vec<String> = kinds
            .map(|(kind, class)| {
                format!(
                    "{}{}{}",
                    format::count(class.count),
                    format::NBSP,
                    kind.name()
                )
            })
            .collect();
        kinds.join(", ")
    }
}

impl ScriptView {
    /// None where no script played, or where an older version wrote the record.
    pub(super) fn new(record: &Record) -> Option<Self> {
        let counts = record.script()?;
        let store = counts.store();
        Some(Self {
            scope: scope(record, &counts),
            store,
            counts,
        })
    }

    /// `p(95)=46.81ms`, as the summary of the run said it.
    pub(crate) fn observed(&self, threshold: &Judgement) -> String {
        if threshold.is_without_data {
            return "nothing".to_owned();
        }
        k6::observed(&self.store, self.counts.elapsed_ns, threshold)
    }

    /// Crossed ones first.
    pub(crate) fn thresholds(&self) -> Vec<&Judgement> {
        let mut all: Vec<&Judgement> = self.counts.thresholds.iter().collect();
        all.sort_by_key(|threshold| threshold.ok);
        all
    }

    pub(crate) fn crossed(&self) -> Vec<String> {
        let crossed = self.counts.thresholds.iter().filter(|one| !one.ok);
        crossed
            .map(|one| {
                let (key, source) = (one.key.trim(), one.source.trim());
                format!("{key} {source} (observed {})", self.observed(one))
            })
            .collect()
    }

    /// Worst first.
    pub(crate) fn checks(&self) -> Vec<&Check> {
        let mut all: Vec<&Check> = self.counts.checks.iter().collect();
        all.sort_by_key(|check| Reverse(millionths(check.fails, check.passes + check.fails)));
        all
    }

    /// Those that fail most first, then the slow ones; last what there was no room for.
    pub(crate) fn names(&self) -> Vec<NameRow<'_>> {
        let row = |name: &str, tally| NameRow {
            name: name.to_owned(),
            tally,
            is_rest: false,
        };
        let rows = self.counts.names.iter();
        let mut rows: Vec<NameRow<'_>> = rows.map(|one| row(&one.name, &one.tally)).collect();
        rows.sort_by_key(|row| {
            let share = millionths(row.tally.failures(), row.tally.decided());
            Reverse((share, row.tally.response_quantile(0.95)))
        });
        let rest = self.counts.left_out.as_ref();
        rows.extend(
            rest.filter(|left| left.names_count > 0)
                .map(|left| NameRow {
                    name: more(left.names_count, "name", "names"),
                    tally: &left.names_tally,
                    is_rest: true,
                }),
        );
        rows
    }

    /// Checks, groups and metrics that the record had no room for.
    pub(crate) fn left_out(&self) -> Vec<String> {
        let Some(left) = &self.counts.left_out else {
            return Vec::new();
        };
        let mut words = Vec::new();
        if left.checks_count > 0 {
            let checks = more(left.checks_count, "check", "checks");
            let (held, failed) = (left.checks_passes, left.checks_fails);
            words.push(format!(
                "{checks}, which held {} and failed {}",
                format::plural(held, "time", "times"),
                format::plural(failed, "time", "times")
            ));
        }
        if left.groups_count > 0 {
            words.push(more(left.groups_count, "group", "groups"));
        }
        if left.metrics_count > 0 {
            words.push(more(left.metrics_count, "metric", "metrics"));
        }
        words
    }

    /// `240 completed, 3 cut off`
    pub(crate) fn iterations(&self) -> String {
        let iterations = &self.counts.iterations;
        let mut words = format!(
            "{} completed",
            format::plural(iterations.completed_count, "iteration", "iterations")
        );
        for (count, what) in [
            (iterations.interrupted_count, "cut off by the end"),
            (iterations.dropped_count, "due and never begun"),
        ] {
            if count > 0 {
                put!(words, ", {} {what}", format::count(count));
            }
        }
        words
    }

    /// `1 to 20 VUs at work, 20 existed`
    pub(crate) fn vus(&self) -> Option<String> {
        let vus = self.counts.vus?;
        let most = format::plural(u64::from(vus.max), "VU", "VUs");
        let at_work = if vus.min == vus.max {
            format!("{most} at work")
        } else {
            format!("{} to {most} at work", format::count(u64::from(vus.min)))
        };
        let existed = format::count(u64::from(vus.existing_max));
        Some(format!("{at_work}, {existed} existed"))
    }

    /// `97.5 % of 400 checks held`; none without any.
    pub(crate) fn check_words(&self) -> Option<String> {
        let (held, failed) = self.counts.check_totals();
        let all = held + failed;
        (all > 0).then(|| {
            format!(
                "{} of {} held",
                format::percent(held as f64 / all as f64),
                format::plural(all, "check", "checks")
            )
        })
    }

    /// Figures of a metric as the summary of the run showed them.
    pub(crate) fn figures(&self, metric: &MetricCounts) -> String {
        k6::cells(
            &self.store,
            self.counts.elapsed_ns,
            metric.contains,
            &metric.sink,
        )
        .join("  ")
    }
}

/// A group as it is shown: `outer › inner`, `(no group)`.
pub(crate) fn group_name(path: &str) -> String {
    let path = path.trim_start_matches("::");
    if path.is_empty() {
        return "(no group)".to_owned();
    }
    path.replace("::", " › ")
}

fn more(count: u64, one: &str, many: &str) -> String {
    let noun = if count == 1 { one } else { many };
    format!("{} more {noun}", format::count(count))
}

fn millionths(part: u64, all: u64) -> u64 {
    part.saturating_mul(1_000_000) / all.max(1)
}

/// A search plays many loads: whose figures these are.
fn scope(record: &Record, counts: &ScriptCounts) -> String {
    let end = if counts.is_final {
        String::new()
    } else {
        format!(
            "Counted until {} of the run; it did not come to its end. ",
            format::duration(counts.elapsed_ns)
        )
    };
    if !record.header.test.is_search() {
        return end;
    }
    let over = format::duration(counts.elapsed_ns);
    let of_claim = record
        .verdict
        .as_ref()
        .is_some_and(|verdict| verdict.found.capacity_level == Some(verdict.level));
    let whose = if of_claim {
        "at the load line"
    } else {
        "in the level that the key figures describe"
    };
    format!(
        "{end}Only what was counted {whose}, over {over}; levels with other loads are not mixed in."
    )
}
