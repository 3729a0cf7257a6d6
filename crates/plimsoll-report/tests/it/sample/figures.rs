//! Verdicts computed from the windows of a sample, as the analysis would.

use plimsoll_core::record::Record;
use plimsoll_core::step::{Phase, StepLoad};
use plimsoll_core::verdict::{
    Advice, Bounds, Cause, Collapse, Confidence, Evidence, Gate, GateId, GateState, Judgement,
    LevelResult, LevelState, Limit, NextLimit, ObjectiveResult, Recovery, Resource, ResourceKind,
    SearchResult, Signal, Times, Verdict,
};
use plimsoll_core::{Nanos, Outcome, Tally};

/// Every level judged by the share of attempts that were not good, against 1 %.
pub(super) fn judge(record: &mut Record, void: u32) {
    let discarded_windows = 2;
    let results = record
        .levels
        .iter()
        .map(|start| {
            let level = start.step.level;
            let mut tally = Tally::default();
            for window in record.windows_of(level).skip(discarded_windows as usize) {
                tally.merge(&window.total());
            }
            let n = tally.attempts() as f64;
            let bad = 1.0 - tally.good() as f64 / n;
            let half = 1.96 * (bad * (1.0 - bad) / n).sqrt();
            let state = match start.step.phase {
                _ if level == void => LevelState::Void,
                Phase::Bracket | Phase::Bisect | Phase::Soak if bad < 0.01 => LevelState::Pass,
                Phase::Bracket | Phase::Bisect | Phase::Soak => LevelState::Fail,
                _ => LevelState::Observed,
            };
            LevelResult {
                level,
                state,
                clause: (state == LevelState::Fail).then(|| "p99 < 250 ms".to_owned()),
                bad_ratio: Some(Bounds {
                    estimate: bad,
                    lower: Some((bad - half).max(0.0)),
                    upper: Some(bad + half),
                }),
                reason: if level == void {
                    "generator lag p99 38 ms".to_owned()
                } else {
                    String::new()
                },
                discarded_windows,
            }
        })
        .collect();
    record.level_results = results;
}

fn rate_of(record: &Record, level: u32) -> f64 {
    match record.level(level).unwrap().step.load {
        StepLoad::Open { profile, .. } => profile.constant_rate().unwrap(),
        StepLoad::Closed { .. } => 0.0,
    }
}

pub(super) fn find_verdict(record: &Record) -> Verdict {
    let rate = |level| rate_of(record, level);
    let goodput = |level: u32| {
        let windows: Vec<_> = record.windows_of(level).skip(2).collect();
        let good: u64 = windows.iter().map(|window| window.total().good()).sum();
        good as f64 / windows.len() as f64
    };
    let peak = [3, 5, 6, 7].map(goodput).into_iter().fold(0.0, f64::max);
    let mut verdict = verdict_of(record, super::SOAK);
    verdict.verdict = Judgement::Pass;
    verdict.found = SearchResult {
        capacity_per_s: Some(Bounds {
            estimate: rate(7),
            lower: Some(rate(7)),
            upper: Some(rate(6)),
        }),
        knee_per_s: Some(Bounds {
            estimate: 0.89 * rate(7),
            lower: Some(rate(4)),
            upper: Some(rate(5)),
        }),
        knee_in_flight: Some(8.0),
        peak_goodput_per_s: Some(Bounds {
            estimate: peak,
            lower: Some(0.98 * peak),
            upper: Some(1.02 * peak),
        }),
        collapse_per_s: Some(collapse(record, rate(10), goodput(10), peak)),
        recovery_seconds: Some(Recovery {
            seconds: Some(4.0),
            watched_seconds: 40.0,
            base_rate_per_s: rate(11),
            pulse_rate_per_s: rate(12),
            pulse_seconds: 10.0,
        }),
        binding_clause: Some("p99 < 250 ms".to_owned()),
        soak_seconds: Some(120.0),
        capacity_level: Some(super::SOAK),
        capacity_levels: vec![super::SOAK],
        converged: true,
        ..SearchResult::default()
    };
    explain(&mut verdict, rate(7));
    verdict
}

fn collapse(record: &Record, highest: f64, there: f64, peak: f64) -> Collapse {
    if there < 0.9 * peak {
        let held = rate_of(record, 3);
        let bounds = Bounds {
            estimate: f64::midpoint(held, highest),
            lower: Some(held),
            upper: Some(highest),
        };
        return Collapse::At(bounds);
    }
    Collapse::NoneUpTo {
        rate_per_s: highest,
        goodput_ratio: there / peak,
    }
}

fn explain(verdict: &mut Verdict, capacity: f64) {
    use ResourceKind::{Other, Pool, Processors, Thread};
    let ceiling = 467.0 * capacity / 457.0;
    verdict.limit = Some(limit(ceiling));
    verdict.next_limit = Some(NextLimit {
        tier: "proxy".to_owned(),
        resource: "connection slots, 1,024".to_owned(),
        full_at_per_s: 1_880.0,
    });
    verdict.resources = [
        (Thread, "generator", "1 worker", 0.31, 0.03, None),
        (
            Thread,
            "proxy",
            "worker, 1 thread",
            0.135,
            0.01,
            Some(3_330.0),
        ),
        (
            Other,
            "proxy",
            "connection slots, 1,024",
            0.22,
            0.0,
            Some(1_880.0),
        ),
        (
            Thread,
            "shop-api",
            "main thread (pid 4711)",
            0.97,
            0.02,
            Some(ceiling),
        ),
        (Other, "shop-api", "other threads, 11", 0.06, 0.0, None),
        (Processors, "database", "4 cores", 0.22, 0.03, Some(2_120.0)),
        (
            Pool,
            "database",
            "pool, 50 connections",
            0.18,
            0.0,
            Some(2_290.0),
        ),
    ]
    .map(resource)
    .to_vec();
    verdict.advice = [
        (
            "Run a second process: expect 720–790/s.",
            "1.75 to 1.92 times the load line. Needs no state shared in the process.",
        ),
        (
            "Limit in-flight to 16.",
            "In-flight at the knee is 8; twice that keeps the p99 below 120 ms in a pulse.",
        ),
        (
            "Set the client timeout to at least 400 ms.",
            "The p99.9 at the load line is 329 ms; margin 21 %. A shorter one turns late answers into retries.",
        ),
    ]
    .map(|(action, because)| Advice { action: action.to_owned(), because: because.to_owned() })
    .to_vec();
}

fn limit(ceiling: f64) -> Limit {
    let demand =
        format!("2.14 ms of that thread per request: ceiling {ceiling:.0}/s, answered 466/s");
    let evidence = [
        (
            Signal::Thread,
            "main thread 99 % busy: 97 running, 2 waiting",
        ),
        (Signal::Demand, &demand),
        (
            Signal::Connections,
            "96 % of the added in-flight (3 to 38) sits in shop-api",
        ),
    ]
    .map(|(signal, text)| Evidence {
        signal,
        text: text.to_owned(),
    });
    Limit {
        cause: Cause::PinnedThread,
        tier: Some("shop-api".to_owned()),
        process: Some("node (pid 4711) main thread".to_owned()),
        confidence: Confidence::Supported,
        ceiling_per_s: Some(ceiling),
        evidence: evidence.to_vec(),
        ruled_out: [
            "database 22 % busy, no waiter in the pool",
            "proxy thread 14 % busy",
        ]
        .map(str::to_owned)
        .to_vec(),
    }
}

fn resource(
    (kind, tier, resource, run_ratio, wait_ratio, full_at_per_s): (
        ResourceKind,
        &str,
        &str,
        f64,
        f64,
        Option<f64>,
    ),
) -> Resource {
    Resource {
        tier: tier.to_owned(),
        resource_kind: kind,
        resource: resource.to_owned(),
        size: (kind == ResourceKind::Pool).then_some(50.0),
        run_ratio,
        wait_ratio,
        demand_seconds: full_at_per_s.map(|full| 1.0 / full),
        full_at_per_s,
    }
}

pub(super) fn run_verdict(record: &Record) -> Verdict {
    let mut verdict = verdict_of(record, 1);
    let failed = verdict
        .objectives
        .iter()
        .any(|objective| objective.judgement == Judgement::Fail);
    verdict.verdict = if failed {
        Judgement::Fail
    } else {
        Judgement::Pass
    };
    verdict
}

/// The figures of one level, without what a search found.
fn verdict_of(record: &Record, level: u32) -> Verdict {
    let windows: Vec<_> = record.judged_windows(level).collect();
    let tally = record.judged_tally(level);
    let mut answers = 0;
    let mut good = 0;
    for window in &windows {
        answers += window.total().answers();
        good += window.total().good();
    }
    let seconds = windows.len() as f64;
    Verdict {
        valid: true,
        verdict: Judgement::Pass,
        level,
        duration_seconds: seconds,
        attempts_count: tally.attempts(),
        offered_per_s: rate_of(record, level),
        throughput_per_s: answers as f64 / seconds,
        goodput_per_s: good as f64 / seconds,
        outcomes: tally
            .occurred()
            .map(|(outcome, class)| (outcome, class.count))
            .collect(),
        response_time_ns: times(&tally, false),
        service_time_ns: times(&tally, true),
        in_flight_mean: windows
            .iter()
            .map(|window| window.in_flight_mean)
            .sum::<f64>()
            / seconds,
        bytes_received: tally.bytes(),
        objectives: objectives(&tally),
        found: SearchResult::default(),
        limit: None,
        next_limit: None,
        resources: Vec::new(),
        advice: Vec::new(),
        script_faults: Vec::new(),
        gates: gates(&tally),
    }
}

fn times(tally: &Tally, service: bool) -> Times {
    let of = |q| {
        if service {
            tally.service_quantile(q)
        } else {
            tally.response_quantile(q)
        }
    };
    let ok = tally.class(Outcome::Ok);
    let histogram = if service { &ok.service } else { &ok.response };
    Times {
        mean: histogram.mean(),
        p50: of(0.5),
        p90: of(0.9),
        p95: of(0.95),
        p99: of(0.99),
        p99_9: of(0.999),
        max: histogram.max(),
    }
}

fn objectives(tally: &Tally) -> Vec<ObjectiveResult> {
    let p99 = tally.response_quantile(0.99).unwrap();
    let late = p99
        .finite()
        .is_none_or(|value| value >= Nanos::from_millis(250));
    let failed = tally.failures() as f64 / tally.attempts() as f64;
    let of = |failed| {
        if failed {
            Judgement::Fail
        } else {
            Judgement::Pass
        }
    };
    vec![
        ObjectiveResult {
            clause: "p99 < 250 ms".to_owned(),
            judgement: of(late),
            measured: p99
                .finite()
                .map_or("never".to_owned(), |value| value.to_string()),
            turned_count: 0,
            left_out_count: 0,
            held_up: None,
        },
        ObjectiveResult {
            clause: "errors < 0.1 %".to_owned(),
            judgement: of(failed >= 0.001),
            measured: format!("{:.2} %", failed * 100.0),
            turned_count: 0,
            left_out_count: 0,
            held_up: None,
        },
    ]
}

type GateRow = (
    u8,
    &'static str,
    &'static str,
    [&'static str; 2],
    &'static str,
);

#[rustfmt::skip]
const GATES: [GateRow; 9] = [
    (1, "Little", "throughput times residence against in-flight seen", ["18.55", "18.61"], "±5 %"),
    (3, "work", "bytes per success against the first level", ["6,412 B", "6,409 B"], "±5 %"),
    (4, "concurrency", "connections opened against configured", ["112", "112"], "0"),
    (5, "steady", "p50 of the first level, start against end", ["7.82 ms", "7.79 ms"], "±5 %"),
    (6, "generator", "worst lag p99 of a valid level against its bound", ["0.21 ms", "1 ms"], "≤ 1 ms"),
    (7, "failures by kind", "failed against classified", ["34", "34"], "0"),
    (8, "mean and tail", "mean against p95", ["45 ms", "140 ms"], "below"),
    (10, "limits on the path", "peak in flight against generator connections", ["112", "1,000"], "≤ 80 %"),
    (13, "one change", "fingerprint before against after", ["c41f9a07", "c41f9a07"], "equal"),
];

fn gates(tally: &Tally) -> Vec<Gate> {
    let mut gates: Vec<Gate> = GATES
        .into_iter()
        .map(|(number, name, compared, [left, right], tolerance)| Gate {
            id: number.into(),
            name: name.to_owned(),
            state: if number == 13 {
                GateState::NotApplicable
            } else {
                GateState::Pass
            },
            compared: compared.to_owned(),
            left: Some(left.to_owned()),
            right: Some(right.to_owned()),
            tolerance: Some(tolerance.to_owned()),
            note: String::new(),
        })
        .collect();
    let attempts = tally.attempts().to_string();
    let mut accounting = gates[0].clone();
    accounting.id = GateId::Accounting;
    "accounting".clone_into(&mut accounting.name);
    "attempts against the sum of classes".clone_into(&mut accounting.compared);
    accounting.left = Some(attempts.clone());
    accounting.right = Some(attempts);
    accounting.tolerance = Some("0".to_owned());
    gates.insert(1, accounting);
    "640/s: lag p99 38 ms against 1 ms; the level is void and not used."
        .clone_into(&mut gates[5].note);
    gates[8].state = GateState::Warning;
    "the target's listen backlog is not known; watch the port to learn it"
        .clone_into(&mut gates[8].note);
    gates
}

pub(super) fn fail_gate_6(verdict: &mut Verdict) {
    let gate = verdict
        .gates
        .iter_mut()
        .find(|gate| gate.id == GateId::Generator)
        .unwrap();
    gate.state = GateState::Fail;
    gate.left = Some("38 ms".to_owned());
    "every level was sent late; give the generator a core of its own".clone_into(&mut gate.note);
}
