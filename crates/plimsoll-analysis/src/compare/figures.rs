//! The figures of one run that can be compared, from its record or from another tool's result.

use std::collections::BTreeMap;

use plimsoll_core::comparison::{Counted, Figure, NamedFigures, Run};
use plimsoll_core::record::{EventKind, Record, Remark, Seen};
use plimsoll_core::step::StepLoad;
use plimsoll_core::tally::Quantile;
use plimsoll_core::verdict::{GateState, LevelState, Times, Verdict};
use plimsoll_core::{Nanos, Outcome, Window};

use crate::import::{self, Declared};
use crate::steal;
use crate::watched::Watched;

/// The lowest level that failed is no further from the highest that passed.
const CLOSE: f64 = 1.1;

/// The run of a record; `verdict` is the record's own or was computed from it.
pub fn of_record(name: &str, record: &Record, verdict: &Verdict) -> Run {
    let (mut figures, mut named) = (BTreeMap::new(), NamedFigures::default());
    let mut counts = BTreeMap::new();
    // A search plays many rates: percentiles and shares over them are nobody's.
    if record.header.test.is_search() {
        let found = &verdict.found;
        let lower =
            |bounds: plimsoll_core::verdict::Bounds| bounds.lower.unwrap_or(bounds.estimate);
        figures.extend(found.capacity_per_s.map(|at| (Figure::Capacity, lower(at))));
        figures.extend(
            found
                .capacity_vus
                .map(|at| (Figure::CapacityVus, lower(at))),
        );
    } else {
        figures.insert(Figure::Goodput, verdict.goodput_per_s);
        figures.insert(Figure::Throughput, verdict.throughput_per_s);
        figures.extend(times(&verdict.response_time_ns));
        counts = counted(&verdict.outcomes);
        if let Some(script) = record.script() {
            let (held, failed) = script.check_totals();
            let of_checks = Counted {
                failed_count: failed,
                attempts_count: held + failed,
            };
            counts.extend((held + failed > 0).then_some((Figure::ChecksFailed, of_checks)));
            named = super::named::figures(&script);
        }
    }
    figures.extend(counts.iter().map(|(figure, of)| (*figure, share(*of))));
    let processor = processor_time(record, verdict.level);
    figures.extend(processor.map(|seconds| (Figure::ProcessorTime, seconds)));
    let end = record.windows.iter().map(Window::end_ns).max();
    Run {
        name: name.to_owned(),
        started_at: record.header.started_at.clone(),
        excluded: unusable(record, verdict),
        length_seconds: end.map(Nanos::as_secs_f64),
        figures,
        counts,
        named,
    }
}

/// Why the figures of a record are not used.
pub(crate) fn unusable(record: &Record, verdict: &Verdict) -> Option<String> {
    let mut events = record.events.iter();
    let stopped = events.any(|event| event.what == EventKind::Interrupted);
    if stopped || record.remarks.contains(&Remark::NoVerdict) {
        return Some("it was interrupted".to_owned());
    }
    if !verdict.valid {
        let failed = verdict.gates.iter().filter(|g| g.state == GateState::Fail);
        let named: Vec<String> = failed
            .map(|gate| format!("gate {} ({})", gate.id.number(), gate.name))
            .collect();
        return Some(format!("not valid: {} failed", named.join(", ")));
    }
    let capacity = verdict.found.capacity();
    let held = capacity.is_some_and(|bounds| bounds.lower.is_some());
    let found = held && (verdict.found.converged || is_close(levels(record)));
    if record.header.test.is_search() && !found {
        if verdict.found.is_refuted() {
            return Some("it checked one load only, which did not hold".to_owned());
        }
        let void = levels(record).filter(|(_, state)| *state == LevelState::Void);
        let taken = steal::worst(record, Nanos::ZERO, Nanos(u64::MAX));
        return Some(not_converged(void.count(), taken));
    }
    (verdict.attempts_count == 0).then(|| "nothing was attempted".to_owned())
}

/// With the reason where the generator, not the service, is why; `taken` is what others took of the machine.
fn not_converged(void_levels: usize, taken: Option<String>) -> String {
    let why = match void_levels {
        0 => return "its search did not converge".to_owned(),
        1 => "one level that the generator could not sustain".to_owned(),
        count => format!("{count} levels that the generator could not sustain"),
    };
    let taken = taken.map_or_else(String::new, |text| format!("; {text}"));
    format!("its search did not converge: {why}{taken}")
}

/// Rates, or numbers of users, with what came of them.
fn levels(record: &Record) -> impl Iterator<Item = (f64, LevelState)> {
    record.level_results.iter().filter_map(|result| {
        let at = match record.level(result.level)?.step.load {
            StepLoad::Open { profile, .. } => profile.constant_rate()?,
            StepLoad::Closed { in_flight } => f64::from(in_flight),
        };
        Some((at, result.state))
    })
}

/// With time for one soak alone, a search takes it a tenth lower, and so it never converges. It has found the edge all
/// the same if its shorter levels lie close about it.
fn is_close(levels: impl Iterator<Item = (f64, LevelState)>) -> bool {
    let (mut passed, mut failed) = (0.0, f64::INFINITY);
    for (at, state) in levels {
        match state {
            LevelState::Pass => passed = f64::max(passed, at),
            LevelState::Fail => failed = f64::min(failed, at),
            _ => {}
        }
    }
    passed < failed && failed <= CLOSE * passed
}

fn times(times: &Times) -> impl Iterator<Item = (Figure, f64)> {
    [
        (Figure::P50, times.p50),
        (Figure::P90, times.p90),
        (Figure::P95, times.p95),
        (Figure::P99, times.p99),
        (Figure::P999, times.p99_9),
    ]
    .into_iter()
    .filter_map(|(figure, quantile)| {
        Some(match quantile? {
            Quantile::At(at) => (figure, at.as_secs_f64()),
            Quantile::Never => (figure, f64::INFINITY),
        })
    })
}

/// Failed attempts, in all and by class, of the attempts that came to an end.
fn counted(outcomes: &BTreeMap<Outcome, u64>) -> BTreeMap<Figure, Counted> {
    let ended = |outcome: &Outcome| *outcome != Outcome::Interrupted;
    let attempts_count: u64 = outcomes
        .iter()
        .filter_map(|(outcome, count)| ended(outcome).then_some(count))
        .sum();
    if attempts_count == 0 {
        return BTreeMap::new();
    }
    let of = |failed_count| Counted {
        failed_count,
        attempts_count,
    };
    let failed = outcomes.iter().filter(|(outcome, _)| outcome.is_failure());
    let all = failed.clone().map(|(_, count)| count).sum();
    let mut counts = BTreeMap::from([(Figure::Failures, of(all))]);
    for (outcome, count) in failed {
        counts.insert(Figure::Class(*outcome), of(*count));
    }
    counts
}

fn share(of: Counted) -> f64 {
    of.failed_count as f64 / of.attempts_count as f64
}

/// Processor seconds of every process that was watched, per good answer, over the judged windows.
fn processor_time(record: &Record, level: u32) -> Option<f64> {
    let start = record.level(level)?.start_ns;
    let length: u64 = record
        .windows_of(level)
        .map(|window| window.length_ns.0)
        .sum();
    let judged: u64 = record
        .judged_windows(level)
        .map(|window| window.length_ns.0)
        .sum();
    let end = Nanos(start.0.saturating_add(length));
    let begin = Nanos(end.0.saturating_sub(judged));
    let good: u64 = record
        .judged_windows(level)
        .map(|window| window.total().good())
        .sum();
    let mut tiers: BTreeMap<&str, Watched> = BTreeMap::new();
    for look in &record.observations {
        if let Seen::Process(process) = &look.seen
            && look.at_ns > begin
            && look.at_ns <= end
        {
            tiers.entry(&look.tier).or_default().add(look, process);
        }
    }
    let judged = Nanos(judged).as_secs_f64();
    let watched: f64 = tiers.values().map(Watched::seconds).sum();
    let share = watched / (judged * tiers.len() as f64);
    // A tier that was watched for a part of the time speaks for that part.
    let cores: f64 = tiers.values().filter_map(Watched::cores).sum();
    (good > 0 && cores > 0.0 && share > 0.5).then(|| cores * judged / good as f64)
}

/// The run of another tool's result, as far as its fields go.
pub fn of_result(name: &str, result: &import::Figures) -> Run {
    let audit = import::audit(result, None, &Declared::default());
    let failed: Vec<String> = audit
        .gates
        .iter()
        .filter(|gate| gate.state == GateState::Fail)
        .map(|gate| format!("gate {} ({})", gate.id.number(), gate.name))
        .collect();
    let mut figures = BTreeMap::new();
    figures.extend(result.goodput_per_s().map(|at| (Figure::Goodput, at)));
    figures.extend(result.attempts_per_s().map(|at| (Figure::Throughput, at)));
    figures.extend(result.failure_ratio().map(|at| (Figure::Failures, at)));
    let counted = result.failures.total.zip(result.attempts);
    let counted = counted.filter(|_| figures.contains_key(&Figure::Failures));
    let counts = counted.map(|(failed_count, attempts_count)| {
        let of = Counted {
            failed_count,
            attempts_count,
        };
        (Figure::Failures, of)
    });
    // Other tools time failures as if they were answers, so only without failures are their
    // percentiles over attempts.
    if result.failure_ratio() == Some(0.0) {
        for (figure, percent) in [
            (Figure::P50, 50.0),
            (Figure::P90, 90.0),
            (Figure::P95, 95.0),
            (Figure::P99, 99.0),
            (Figure::P999, 99.9),
        ] {
            let millis = result.all.percentile(percent);
            let millis = millis.or(result.successes.percentile(percent));
            figures.extend(millis.map(|millis| (figure, millis / 1e3)));
        }
    }
    let excluded = match (failed.is_empty(), figures.is_empty()) {
        (false, _) => Some(format!("not valid: {} failed", failed.join(", "))),
        (true, true) => Some("it holds no figure that can be compared".to_owned()),
        (true, false) => None,
    };
    Run {
        name: name.to_owned(),
        excluded,
        figures,
        counts: counts.into_iter().collect(),
        ..Run::default()
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_core::record::{Line, Observation, ProcessSample, ThreadSample};
    use plimsoll_core::schedule::RateProfile;

    use super::*;
    use crate::gates::tests::{RATE, record_with, window};

    #[test]
    fn a_search_that_others_disturbed_says_so() {
        let taken = || Some("the hypervisor".to_owned());
        assert_eq!(not_converged(0, taken()), "its search did not converge");
        let void = "its search did not converge: 2 levels that the generator could not sustain";
        assert_eq!(not_converged(2, None), void);
        assert_eq!(not_converged(2, taken()), format!("{void}; the hypervisor"));
    }

    /// One process that runs for 0.4 s of every second, and from the middle on another one in its place.
    #[test]
    fn the_processor_time_of_a_good_answer_is_known_however_long_the_run() {
        for seconds in [20, 61, 130, 400] {
            let mut record = record_with(RateProfile::constant(RATE as f64).unwrap());
            for second in 1..=seconds {
                record.push(Line::Window(window(second - 1)));
                let others = ThreadSample {
                    run_ns: Nanos::from_millis(400),
                    ..ThreadSample::default()
                };
                record.push(Line::Observation(Observation {
                    at_ns: Nanos::from_secs(second),
                    length_ns: Nanos::from_secs(1),
                    tier: "target".to_owned(),
                    seen: Seen::Process(ProcessSample {
                        pid: if second * 2 > seconds { 2 } else { 1 },
                        others,
                        ..ProcessSample::default()
                    }),
                }));
            }
            let run = of_record("A", &record, &crate::summary::of_run(&record));
            let each = run.figures[&Figure::ProcessorTime];
            assert!((each / 0.0004 - 1.0).abs() < 1e-6, "{seconds} s: {each}");
        }
    }

    #[test]
    fn an_edge_is_found_if_levels_lie_close_about_it() {
        let close = |levels: &[(f64, LevelState)]| is_close(levels.iter().copied());
        let (pass, fail) = (LevelState::Pass, LevelState::Fail);
        let soaked_lower = [
            (400.0, pass),
            (464.0, pass),
            (502.0, fail),
            (544.0, fail),
            (405.0, pass),
        ];
        assert!(close(&soaked_lower));
        assert!(!close(&[(400.0, pass), (502.0, fail)]), "too far apart");
        assert!(!close(&[(400.0, pass), (410.0, pass)]), "none failed");
        assert!(!close(&[(400.0, fail)]), "none passed");
        assert!(!close(&[(420.0, pass), (400.0, fail)]), "not in order");
        assert!(close(&[
            (464.0, pass),
            (480.0, LevelState::Void),
            (502.0, fail)
        ]));
    }
}
