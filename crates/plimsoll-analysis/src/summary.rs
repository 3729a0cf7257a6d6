//! From a record to its verdict: the figures of the quoted level, the objectives, the gates.

use std::collections::BTreeMap;

use plimsoll_core::histogram::Histogram;
use plimsoll_core::judge::{self, Bad, Lateness};
use plimsoll_core::objective::{Clause, percentile_name};
use plimsoll_core::record::Record;
use plimsoll_core::statistics::ratio;
use plimsoll_core::tally::Quantile;
use plimsoll_core::units::three_digits;
use plimsoll_core::verdict::{
    GateId, GateState, Judgement, ObjectiveResult, SearchResult, Times, Verdict,
};
use plimsoll_core::window::Disturbed;
use plimsoll_core::{Objectives, Tally};

use crate::{crowded, gates};

/// Where so many attempts are bad, even those that met no wait for a processor are.
const MISSED_BY_FAR: f64 = 0.9;

/// Judges a plain run: the figures of its only level against its objectives.
pub fn of_run(record: &Record) -> Verdict {
    let level = record.levels.first().map_or(0, |start| start.step.level);
    let mut verdict = figures(record, level, &[level]);
    verdict.gates = gates::evaluate(record, level);
    verdict.valid = gates::passed(&verdict.gates);
    verdict.objectives = objectives(
        record,
        &[level],
        crowded::by_others(record, level).as_deref(),
    );
    verdict.verdict = match judge_run(&verdict) {
        Judgement::Invalid => Judgement::Invalid,
        judged => with_thresholds(judged, record, level),
    };
    unless_interrupted(record, verdict)
}

/// Of a run that was stopped only what was seen is said: what the rest would have shown nobody knows.
fn unless_interrupted(record: &Record, mut verdict: Verdict) -> Verdict {
    if record.interrupted_at().is_some() {
        verdict.verdict = Judgement::None;
        for objective in &mut verdict.objectives {
            objective.judgement = Judgement::None;
        }
    }
    verdict
}

/// Judges a search: the figures of the level that carries the capacity.
pub fn of_search(record: &Record, found: SearchResult) -> Verdict {
    let level = found
        .capacity_level
        .unwrap_or_else(|| last_judged_level(record));
    let pooled = match found.capacity_levels.as_slice() {
        [] => &[level][..],
        pooled => pooled,
    };
    let mut verdict = figures(record, level, pooled);
    verdict.gates = gates::evaluate(record, level);
    verdict.valid = gates::passed(&verdict.gates);
    verdict.objectives = objectives(record, pooled, None);
    let carried = found
        .capacity()
        .is_some_and(|bounds| bounds.lower.is_some());
    verdict.verdict = match (verdict.valid, found.converged && carried) {
        (false, _) => Judgement::Invalid,
        (true, _) if found.is_hopeless() || found.is_refuted() => Judgement::Fail,
        (true, true) => Judgement::Pass,
        (true, false) => Judgement::Inconclusive,
    };
    verdict.found = found;
    unless_interrupted(record, verdict)
}

fn last_judged_level(record: &Record) -> u32 {
    record.level_results.last().map_or(0, |result| result.level)
}

fn judge_run(verdict: &Verdict) -> Judgement {
    if !verdict.valid {
        return Judgement::Invalid;
    }
    let all = |judgement| verdict.objectives.iter().all(|o| o.judgement == judgement);
    let any = |judgement| verdict.objectives.iter().any(|o| o.judgement == judgement);
    if verdict.objectives.is_empty() {
        Judgement::None
    } else if any(Judgement::Fail) {
        Judgement::Fail
    } else if all(Judgement::Pass) {
        // Growing in-flight: it passes now, and would not in a longer run.
        let unsteady = verdict
            .gates
            .iter()
            .any(|gate| gate.id == GateId::Steady && gate.state == GateState::Warning);
        if unsteady {
            Judgement::Inconclusive
        } else {
            Judgement::Pass
        }
    } else {
        Judgement::Inconclusive
    }
}

/// A threshold of the script counts as the objectives do: one that was crossed fails the run. Those of a run that was cut off
/// were not judged at its end, and decide nothing.
fn with_thresholds(judged: Judgement, record: &Record, level: u32) -> Judgement {
    let script = record.script_of(&[level]);
    let script = script.filter(|script| script.is_final && !script.thresholds.is_empty());
    match (script, judged) {
        (Some(script), _) if script.has_crossed() => Judgement::Fail,
        (Some(_), Judgement::None) => Judgement::Pass,
        (_, judged) => judged,
    }
}

fn judged_tally(record: &Record, levels: &[u32]) -> Tally {
    let mut tally = Tally::default();
    for level in levels {
        tally.merge(&record.judged_tally(*level));
    }
    tally
}

/// Rates over the windows of the levels, all at the same load; outcomes and times of every attempt that fell due in them.
/// `level` is the one that stands for them.
fn figures(record: &Record, level: u32, levels: &[u32]) -> Verdict {
    let tally = judged_tally(record, levels);
    let mut inside = Tally::default();
    let (mut seconds, mut due, mut in_flight) = (0.0, 0, 0.0);
    for window in levels
        .iter()
        .flat_map(|level| record.judged_windows(*level))
    {
        let length = window.length_ns.as_secs_f64();
        seconds += length;
        due += window.due_count;
        in_flight += window.in_flight_mean * length;
        inside.merge(&window.total());
    }
    let per_second = |count: u64| ratio(count as f64, seconds);
    let outcomes: BTreeMap<_, _> = tally
        .occurred()
        .map(|(outcome, class)| (outcome, class.count))
        .collect();
    Verdict {
        valid: false,
        verdict: Judgement::None,
        level,
        duration_seconds: seconds,
        attempts_count: tally.attempts(),
        offered_per_s: per_second(due),
        throughput_per_s: per_second(inside.answers()),
        goodput_per_s: per_second(inside.good()),
        outcomes,
        response_time_ns: times(
            &tally,
            Tally::response_quantile,
            &tally.class(plimsoll_core::Outcome::Ok).response,
        ),
        service_time_ns: times(
            &tally,
            Tally::service_quantile,
            &tally.class(plimsoll_core::Outcome::Ok).service,
        ),
        in_flight_mean: ratio(in_flight, seconds),
        bytes_received: tally.bytes(),
        objectives: Vec::new(),
        found: SearchResult::default(),
        limit: None,
        next_limit: None,
        resources: Vec::new(),
        advice: Vec::new(),
        script_faults: Vec::new(),
        gates: Vec::new(),
    }
}

fn times(
    tally: &Tally,
    quantile: fn(&Tally, f64) -> Option<Quantile>,
    answers: &Histogram,
) -> Times {
    Times {
        mean: answers.mean(),
        p50: quantile(tally, 0.5),
        p90: quantile(tally, 0.9),
        p95: quantile(tally, 0.95),
        p99: quantile(tally, 0.99),
        p99_9: quantile(tally, 0.999),
        max: answers.max(),
    }
}

/// Each clause with what was measured over attempts. A level that has ended has none in flight that could be overdue: what
/// was due in it has ended since, or was cut off by us. Where others held the processors that the service needed, what is
/// missed is not decided, unless it is missed by nearly all.
fn objectives(record: &Record, levels: &[u32], crowd: Option<&str>) -> Vec<ObjectiveResult> {
    let Some(asked) = record.header.test.objectives() else {
        return Vec::new();
    };
    let tally = judged_tally(record, levels);
    let turned = turned(record, asked, levels);
    let disturbed = disturbed(record, asked, levels);
    let each = judge::bad_of_each(asked, &tally).zip(turned).zip(disturbed);
    each.map(|(((clause, bad), turned_count), disturbed)| {
        let mut judgement = judge::verdict_despite(clause, bad, turned_count, disturbed);
        let is_by_far = bad.ratio().is_some_and(|ratio| ratio >= MISSED_BY_FAR);
        let held_up = crowd.filter(|_| judgement == Judgement::Fail && !is_by_far);
        if held_up.is_some() {
            judgement = Judgement::Inconclusive;
        }
        let is_without = judgement == Judgement::Pass && bad.exceeds(clause);
        ObjectiveResult {
            clause: clause.to_string(),
            judgement,
            measured: measured(clause, bad, &tally),
            turned_count,
            left_out_count: if is_without { disturbed.attempts } else { 0 },
            held_up: held_up.map(str::to_owned),
        }
    })
    .collect()
}

/// Attempts of the judged windows that the generator's own stalls met, and those of them that are bad under each clause.
fn disturbed(record: &Record, asked: &Objectives, levels: &[u32]) -> Vec<Bad> {
    let mut all = Disturbed::default();
    for window in levels
        .iter()
        .flat_map(|level| record.judged_windows(*level))
    {
        all.merge(&window.health.disturbed);
    }
    judge::disturbed_of_each(asked, &all).collect()
}

/// Of the attempts of the judged windows of `levels`, those that are bad under each clause and might not be if the generator
/// had been on time.
fn turned(record: &Record, asked: &Objectives, levels: &[u32]) -> Vec<u64> {
    let mut sums = vec![0; asked.clauses().len()];
    let mut add = |counts: Vec<u64>| sums.iter_mut().zip(counts).for_each(|(sum, n)| *sum += n);
    for &level in levels {
        let discarded = record.windows_of(level).count() - record.judged_windows(level).count();
        let mut lateness = Lateness::default();
        for (index, window) in record.windows_of(level).enumerate() {
            lateness.next(window);
            if index >= discarded {
                let dropped = window.health.dropped_ours_count;
                add(lateness.turned(asked, &window.total(), dropped));
            }
        }
        for window in &record.windows {
            if let Some(carried) = window.carried.iter().find(|one| one.level == level) {
                lateness.next(window);
                add(lateness.turned(asked, &carried.tally, 0));
            }
        }
    }
    sums
}

fn measured(clause: Clause, bad: Bad, tally: &Tally) -> String {
    match clause {
        Clause::ResponseTime { quantile, .. } => match tally.response_quantile(quantile) {
            None => "nothing".to_owned(),
            Some(Quantile::Never) => "never".to_owned(),
            Some(Quantile::At(time)) => format!("{} {time}", percentile_name(quantile)),
        },
        Clause::Errors { .. } => {
            let ratio = bad.ratio().unwrap_or(0.0);
            format!("{} %", three_digits(ratio * 100.0))
        }
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_core::verdict::Bounds;

    use super::*;

    /// `find -q 132/s` of a service that does not carry it was inconclusive, with exit code 6.
    #[test]
    fn a_load_that_was_checked_and_does_not_hold_fails() {
        let checked = |lower, upper, converged| SearchResult {
            capacity_per_s: Some(Bounds {
                estimate: 132.0,
                lower,
                upper,
            }),
            capacity_level: Some(0),
            converged,
            ..SearchResult::default()
        };
        let of = |found| of_search(&gates::tests::clean(), found).verdict;
        assert_eq!(of(checked(None, Some(132.0), true)), Judgement::Fail);
        assert_eq!(of(checked(Some(132.0), None, true)), Judgement::Pass);
        let short = checked(None, Some(132.0), false);
        assert_eq!(of(short), Judgement::Inconclusive);
        let users = SearchResult {
            capacity_vus: checked(None, Some(8.0), true).capacity_per_s,
            converged: true,
            ..SearchResult::default()
        };
        assert_eq!(of(users), Judgement::Fail);
    }
}
