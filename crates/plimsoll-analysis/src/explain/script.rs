//! What a script itself calls wrong, and from which load on.

use std::cmp::Reverse;

use plimsoll_core::metrics::{Check, Contains};
use plimsoll_core::record::{NameCounts, Record, ScriptCounts};
use plimsoll_core::step::{Phase, StepLoad};
use plimsoll_core::threshold::Judgement;
use plimsoll_core::verdict::{LoadSize, ScriptFault};
use plimsoll_core::{Outcome, Window};

use crate::facts::level::FAILING;

/// Faults of each kind that are told; the tables of a report hold all.
const TOLD_MAX: usize = 5;

/// One load that was played, and what the script counted at it.
struct Played<'a> {
    load: LoadSize,
    counts: &'a ScriptCounts,
}

/// Crossed thresholds, then the checks and the names that fail, worst first; `judged` is what was counted at the load that
/// the verdict is about.
pub(super) fn faults(record: &Record, judged: Option<&ScriptCounts>) -> Vec<ScriptFault> {
    let mut faults = Vec::new();
    if let Some(judged) = judged {
        let crossed = judged.thresholds.iter().filter(|threshold| !threshold.ok);
        faults.extend(crossed.map(|threshold| crossed_threshold(threshold, judged)));
    }
    let played = played(record);
    faults.extend(failing_checks(&played));
    faults.extend(failing_names(&played));
    faults
}

/// From the lightest to the heaviest.
fn played(record: &Record) -> Vec<Played<'_>> {
    let is_load = |phase| {
        !matches!(
            phase,
            Phase::SelfCheck | Phase::WarmUp | Phase::Settle | Phase::Drain
        )
    };
    let mut played: Vec<(f64, Played<'_>)> = Vec::new();
    for counts in &record.scripts {
        let start = record.level(counts.level);
        let Some(start) = start.filter(|start| is_load(start.step.phase)) else {
            continue;
        };
        let windows = record.judged_windows(counts.level);
        let (due, seconds) = windows.fold((0, 0.0), |(due, seconds), window: &Window| {
            (
                due + window.due_count,
                seconds + window.length_ns.as_secs_f64(),
            )
        });
        if seconds <= 0.0 {
            continue;
        }
        let per_s = due as f64 / seconds;
        let load = match start.step.load {
            StepLoad::Closed { in_flight } if record.header.test.is_search() => {
                LoadSize::Vus(f64::from(in_flight))
            }
            _ => LoadSize::PerS(per_s),
        };
        played.push((per_s, Played { load, counts }));
    }
    played.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    played.into_iter().map(|(_, played)| played).collect()
}

fn crossed_threshold(threshold: &Judgement, counts: &ScriptCounts) -> ScriptFault {
    let name = threshold.key.split('{').next().unwrap_or_default().trim();
    let metric = counts.metric(name);
    ScriptFault::Threshold {
        metric: threshold.key.trim().to_owned(),
        threshold: threshold.source.clone(),
        observed: (!threshold.is_without_data).then_some(threshold.value),
        contains: metric.map_or(Contains::Default, |metric| metric.contains),
    }
}

/// How often something failed, of how many.
#[derive(Clone, Copy)]
struct Share {
    failed: u64,
    all: u64,
}

impl Share {
    fn is_failing(self) -> bool {
        self.failed > 0 && self.failed as f64 >= FAILING * self.all as f64
    }
}

/// Where it fails first on the way up, and the largest load below at which it did not: loads that are closed and open are
/// not put in one row.
fn onset<'a, 'p>(
    played: &'p [Played<'a>],
    share: impl Fn(&'a ScriptCounts) -> Option<Share>,
) -> Option<(&'p Played<'a>, Share, Option<LoadSize>)> {
    let seen: Vec<_> = played
        .iter()
        .filter_map(|one| Some((one, share(one.counts)?)))
        .collect();
    let first = seen.iter().position(|(_, share)| share.is_failing())?;
    let (at, share) = seen[first];
    let alike = |load: LoadSize| {
        matches!(
            (load, at.load),
            (LoadSize::PerS(_), LoadSize::PerS(_)) | (LoadSize::Vus(_), LoadSize::Vus(_))
        )
    };
    let below = seen[..first].iter().rev().map(|(one, _)| one.load);
    Some((at, share, below.into_iter().find(|load| alike(*load))))
}

fn failing_checks(played: &[Played<'_>]) -> Vec<ScriptFault> {
    let mut keys: Vec<(&str, &str)> = Vec::new();
    for check in played.iter().flat_map(|one| &one.counts.checks) {
        let key = (check.group.as_str(), check.name.as_str());
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    let found = keys.into_iter().filter_map(|(group, name)| {
        let is_it = |check: &&Check| check.group == group && check.name == name;
        let (at, share, held_at) = onset(played, |counts| {
            let check = counts.checks.iter().find(is_it)?;
            let all = check.passes + check.fails;
            Some(Share {
                failed: check.fails,
                all,
            })
        })?;
        let fault = ScriptFault::Check {
            group: group.to_owned(),
            check: name.to_owned(),
            failed_count: share.failed,
            evaluated_count: share.all,
            load: at.load,
            held_at,
        };
        Some((share, fault))
    });
    worst(found.collect())
}

fn failing_names(played: &[Played<'_>]) -> Vec<ScriptFault> {
    let mut names: Vec<&str> = Vec::new();
    for row in played.iter().flat_map(|one| &one.counts.names) {
        if !names.contains(&row.name.as_str()) {
            names.push(&row.name);
        }
    }
    let found = names.into_iter().filter_map(|name| {
        let row_of = |counts: &'_ ScriptCounts| -> Option<NameCounts> {
            counts.names.iter().find(|row| row.name == name).cloned()
        };
        let (at, share, held_at) = onset(played, |counts| {
            let row = row_of(counts)?;
            Some(Share {
                failed: row.tally.failures(),
                all: row.tally.decided(),
            })
        })?;
        let kinds = row_of(at.counts)?;
        let kinds = kinds.tally.occurred().filter(|(kind, _)| kind.is_failure());
        let outcome: Outcome = kinds.max_by_key(|(_, class)| class.count)?.0;
        let fault = ScriptFault::Name {
            name: name.to_owned(),
            failed_count: share.failed,
            attempts_count: share.all,
            outcome,
            load: at.load,
            held_at,
        };
        Some((share, fault))
    });
    worst(found.collect())
}

/// The largest shares first, so many of them.
fn worst(mut found: Vec<(Share, ScriptFault)>) -> Vec<ScriptFault> {
    let millionths = |share: &Share| share.failed.saturating_mul(1_000_000) / share.all.max(1);
    found.sort_by_key(|(share, _)| Reverse(millionths(share)));
    found.truncate(TOLD_MAX);
    found.into_iter().map(|(_, fault)| fault).collect()
}
