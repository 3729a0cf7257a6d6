//! A small queue played into records, so that every figure in the tests follows from one model.
//!
//! One thread serves Poisson arrivals first come, first served, in 2.14 ms on average, behind a
//! limit of 112 in flight that answers 503. Its load line follows from the queue, not from us.

mod figures;
mod queue;
mod script;

pub(crate) use script::scripted;

use std::num::NonZeroU32;
use std::sync::LazyLock;

use plimsoll_core::objective::Objectives;
use plimsoll_core::record::{Header, LevelStart, Line, Machine, Record, SCHEMA, Writer};
use plimsoll_core::schedule::{Arrivals, RateProfile};
use plimsoll_core::step::{Phase, Step, StepLoad};
use plimsoll_core::test::{Generator, How, Load, Request, Test, Until};
use plimsoll_core::verdict::{
    Bounds, CeilingKind, Judgement, LevelState, LoadSize, SearchRemark, SearchResult, Verdict,
};
use plimsoll_core::{Histogram, Nanos};

use queue::Queue;

pub(crate) const BOUND: Nanos = Nanos::from_millis(250);

/// Levels of the search as (phase, rate, seconds); the queue decides what becomes of them.
const SEARCH: [(Phase, f64, u64); 14] = [
    (Phase::Bracket, 120.0, 30),
    (Phase::Bracket, 240.0, 30),
    (Phase::Bracket, 480.0, 30),
    (Phase::Bisect, 360.0, 30),
    (Phase::Bisect, 420.0, 60),
    (Phase::Bisect, 471.0, 60),
    (Phase::Soak, 457.0, 120),
    (Phase::Overshoot, 640.0, 30),
    (Phase::Settle, 120.0, 5),
    (Phase::Overshoot, 900.0, 30),
    (Phase::RecoveryBefore, 320.0, 20),
    (Phase::RecoveryPulse, 914.0, 10),
    (Phase::RecoveryAfter, 320.0, 40),
    (Phase::Repeat, 120.0, 20),
];
/// The level whose generator fell behind.
const VOID: u32 = 8;
pub(crate) const SOAK: u32 = 7;

pub(crate) fn objectives() -> Objectives {
    Objectives::parse("p99<250ms,errors<0.1%").unwrap()
}

fn header(how: How) -> Header {
    let mut request = Request::get("http://127.0.0.1:8080/cart?user=7&full=1");
    request.headers = vec![("accept".to_owned(), "application/json".to_owned())];
    Header {
        schema: SCHEMA.to_owned(),
        test: Test {
            what: request.into(),
            how,
            generator: Generator {
                connections_max: NonZeroU32::new(1_000).unwrap(),
                timeout: Nanos::from_secs(1),
                seed: 7,
                ..Generator::default()
            },
        },
        started_at: "2026-03-12T10:12:09Z".to_owned(),
        machine: Machine {
            host: "bench-1".to_owned(),
            kernel: "6.1.0-18-amd64".to_owned(),
            cpu: "Example CPU @ 3.00GHz".to_owned(),
            cores_count: 2,
            memory_bytes: 8_000_000_000,
        },
        plimsoll_version: "0.1.0".to_owned(),
        title: "shop-api".to_owned(),
        note: String::new(),
        lab: None,
    }
}

/// A search that came to its end.
pub(crate) fn find() -> Record {
    static FIND: LazyLock<Record> = LazyLock::new(|| find_at(2_140_000.0, 7));
    FIND.clone()
}

/// The same search against a service of another speed, in nanoseconds per request.
pub(crate) fn find_at(service_ns: f64, seed: u64) -> Record {
    let mut record = Record::new(header(How::search(objectives())));
    let mut queue = Queue::new(service_ns, seed);
    let scale = 2_140_000.0 / service_ns;
    for (index, (phase, rate, seconds)) in SEARCH.into_iter().enumerate() {
        let level = index as u32 + 1;
        let profile = RateProfile::constant((rate * scale).round()).unwrap();
        let load = StepLoad::Open {
            profile,
            arrivals: Arrivals::Poisson,
        };
        let step = Step {
            level,
            phase,
            load,
            windows_max: seconds as u32,
        };
        record.push(Line::Level(LevelStart {
            start_ns: queue.now(),
            step,
        }));
        queue.play(level, (rate * scale).round(), seconds, &mut record.windows);
    }
    queue.finish(&mut record.windows);
    make_void(&mut record, VOID);
    figures::judge(&mut record, VOID);
    record.verdict = Some(figures::find_verdict(&record));
    record
}

/// Delays of our own in every window of the level.
fn make_void(record: &mut Record, level: u32) {
    for window in record
        .windows
        .iter_mut()
        .filter(|window| window.level == level)
    {
        let mut lag = Histogram::new();
        lag.record_n(Nanos::from_millis(38), window.sent_count);
        window.health.lag = lag;
        window.health.dropped_ours_count = 3;
    }
}

/// A plain run at one rate.
pub(crate) fn run(rate: f64, seconds: u64) -> Record {
    let profile = RateProfile::constant(rate).unwrap();
    let arrivals = Arrivals::Poisson;
    let mut record = Record::new(header(How::Set {
        load: Load::Open { profile, arrivals },
        until: Some(Until::DurationNs(Nanos::from_secs(seconds))),
        objectives: Some(objectives()),
    }));
    let mut queue = Queue::new(2_140_000.0, 11);
    let load = StepLoad::Open { profile, arrivals };
    let step = Step {
        level: 1,
        phase: Phase::Run,
        load,
        windows_max: seconds as u32,
    };
    record.push(Line::Level(LevelStart {
        start_ns: queue.now(),
        step,
    }));
    queue.play(1, rate, seconds, &mut record.windows);
    queue.finish(&mut record.windows);
    record.verdict = Some(figures::run_verdict(&record));
    record
}

/// A search whose generator fell behind from the first level on.
pub(crate) fn invalid() -> Record {
    let mut record = find();
    for level in 1..=SEARCH.len() as u32 {
        make_void(&mut record, level);
    }
    for result in &mut record.level_results {
        result.state = LevelState::Void;
    }
    let verdict = verdict_mut(&mut record);
    verdict.valid = false;
    verdict.verdict = Judgement::Invalid;
    verdict.found.capacity_per_s = None;
    verdict.limit = None;
    verdict.next_limit = None;
    verdict.advice.clear();
    figures::fail_gate_6(verdict);
    record
}

/// A search that was not allowed to offer more than the service carries.
pub(crate) fn not_reached() -> Record {
    let mut record = find();
    let keep = |level: u32| matches!(level, 1 | 2 | 5);
    record.levels.retain(|start| keep(start.step.level));
    record.windows.retain(|window| keep(window.level));
    record.level_results.retain(|result| keep(result.level));
    let verdict = verdict_mut(&mut record);
    verdict.level = 5;
    verdict.found.capacity_per_s = Some(Bounds {
        estimate: 420.0,
        lower: Some(420.0),
        upper: None,
    });
    verdict.found.remarks.push(SearchRemark::AtLeast {
        held: LoadSize::PerS(420.0),
        limited_by: CeilingKind::MaxRate,
    });
    verdict.found.capacity_level = Some(5);
    verdict.found.peak_goodput_per_s = None;
    verdict.found.collapse_per_s = None;
    verdict.found.recovery_seconds = None;
    verdict.found.knee_per_s = None;
    verdict.found.binding_clause = None;
    verdict.limit = None;
    verdict.next_limit = None;
    verdict.advice.clear();
    record
}

/// A search that ran out of time before any load was held.
pub(crate) fn undecided() -> Record {
    let mut record = find();
    let verdict = verdict_mut(&mut record);
    verdict.verdict = Judgement::Inconclusive;
    verdict.found.converged = false;
    verdict.found.soak_seconds = None;
    verdict.found.capacity_per_s.as_mut().unwrap().lower = None;
    verdict.found.remarks.push(SearchRemark::NothingHeld {
        at: LoadSize::PerS(457.0),
        seconds: 34.0,
        budgets_ratio: 0.2,
        least_seconds: 50.0,
    });
    record
}

/// `find -q 457/s` of a service that does not carry it: the rate lies above what it is asked about, and nothing below was tried.
pub(crate) fn refuted() -> Record {
    let mut record = find();
    let verdict = verdict_mut(&mut record);
    verdict.verdict = Judgement::Fail;
    verdict.found = SearchResult {
        capacity_per_s: Some(Bounds {
            estimate: 457.0,
            lower: None,
            upper: Some(457.0),
        }),
        capacity_level: verdict.found.capacity_level,
        converged: true,
        ..SearchResult::default()
    };
    record
}

/// What is left on disk when the machine goes away: no verdict, and half a line at the end.
pub(crate) fn interrupted() -> Record {
    let bytes = bytes_of(&find());
    let cut = bytes.len() * 2 / 5;
    Record::read(&bytes[..cut]).unwrap()
}

/// The record as it lies on disk, lines in the order of a run.
pub(crate) fn bytes_of(record: &Record) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = Writer::start(&mut bytes, record.header.clone()).unwrap();
    for start in &record.levels {
        writer.append(&Line::Level(start.clone())).unwrap();
        for window in record.windows_of(start.step.level) {
            writer.append(&Line::Window(window.clone())).unwrap();
        }
        if let Some(result) = record.level_result(start.step.level) {
            writer.append(&Line::LevelEnd(result.clone())).unwrap();
        }
    }
    if let Some(verdict) = &record.verdict {
        writer.append(&Line::Verdict(verdict.clone())).unwrap();
    }
    bytes
}

pub(crate) fn verdict_mut(record: &mut Record) -> &mut Verdict {
    record.verdict.as_mut().unwrap()
}

/// What a target or a file could be called by somebody who means no good.
pub(crate) const EVIL: &str = "</title><script src=http://evil.example/x.js></script><img onerror='x'>\"&\u{1b}[31m\u{202e}| `x`";

/// A record whose every text is written by somebody who wants to be markup, or to be obeyed.
pub(crate) fn hostile() -> Record {
    let mut record = find();
    EVIL.clone_into(&mut record.header.title);
    let mut request = Request::get(format!("http://evil.example/{EVIL}"));
    request.headers = vec![(EVIL.to_owned(), EVIL.to_owned())];
    record.header.test.what = request.into();
    EVIL.clone_into(&mut record.header.machine.host);
    EVIL.clone_into(&mut record.header.started_at);
    for result in &mut record.level_results {
        EVIL.clone_into(&mut result.reason);
        result.clause = result.clause.as_ref().map(|_| EVIL.to_owned());
    }
    let verdict = verdict_mut(&mut record);
    verdict.found.remarks = vec![SearchRemark::Other(EVIL.to_owned())];
    verdict.found.binding_clause = Some(EVIL.to_owned());
    for gate in &mut verdict.gates {
        EVIL.clone_into(&mut gate.note);
        EVIL.clone_into(&mut gate.compared);
        EVIL.clone_into(&mut gate.name);
        gate.left = Some(EVIL.to_owned());
    }
    for objective in &mut verdict.objectives {
        EVIL.clone_into(&mut objective.clause);
        EVIL.clone_into(&mut objective.measured);
    }
    for resource in &mut verdict.resources {
        EVIL.clone_into(&mut resource.tier);
        EVIL.clone_into(&mut resource.resource);
    }
    let limit = verdict.limit.as_mut().unwrap();
    limit.process = Some(EVIL.to_owned());
    limit.tier = Some(EVIL.to_owned());
    limit.ruled_out = vec![EVIL.to_owned()];
    EVIL.clone_into(&mut limit.evidence[0].text);
    EVIL.clone_into(&mut verdict.advice[0].action);
    EVIL.clone_into(&mut verdict.advice[0].because);
    let next = verdict.next_limit.as_mut().unwrap();
    EVIL.clone_into(&mut next.tier);
    EVIL.clone_into(&mut next.resource);
    record
}
