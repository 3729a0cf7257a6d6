//! Lines of every kind in which every optional field is present.

use std::collections::BTreeMap;
use std::num::{NonZeroU32, NonZeroU64};

use plimsoll_core::health::Reading;
use plimsoll_core::metrics::{BuiltIn, Contains, Kind, Names, Store};
use plimsoll_core::record::{
    AbsentSample, After, Anchor, CgroupSample, Event, EventKind, Fault, FaultKind, Guarded, Header,
    HostSample, Iteration, LabSetup, LeftOut, LevelStart, Line, ListenerSample, MetricsSample,
    NameCounts, NeighbourSample, Observation, ProcessSample, ProxySample, Published, Scope,
    ScriptCounts, SearchStart, Seen, SelfCheck, ThreadSample, ThreadState, TierSetup, Verified,
    WaitSample,
};
use plimsoll_core::schedule::{Arrivals, Leg, RateProfile};
use plimsoll_core::step::{Phase, Step, StepLoad};
use plimsoll_core::test::workload::{Client, Consistency, Database, Keys, Mix};
use plimsoll_core::test::{
    How, Http, Load, MixPhase, Over, Request, RequestMix, Script, ScriptSetup, SearchSettings,
    Until, Url, Variation, What, Workload,
};
use plimsoll_core::threshold::{Phase as JudgedAt, Thresholds};
use plimsoll_core::verdict::{
    Bounds, Cause, CeilingKind, Collapse, Confidence, GateState, Judgement, LevelState, LoadSize,
    NotProbed, RareStalls, ResourceKind, ScriptFault, SearchRemark, SearchResult,
};
use plimsoll_core::window::{Carried, Disturbed, Effects, Health};
use plimsoll_core::{Nanos, Outcome, Tally, Window};
use serde_json::Value;

use crate::sample;

/// One line per kind and variant.
pub(super) fn lines() -> Vec<Line> {
    let mut lines = headers();
    let find = sample::find();
    lines.push(Line::Level(find.levels[0].clone()));
    let closed = StepLoad::Closed { in_flight: 8 };
    let step = Step {
        level: 2,
        phase: Phase::Anchor,
        load: closed,
        windows_max: 3,
    };
    lines.push(Line::Level(LevelStart {
        start_ns: Nanos(1),
        step: step.clone(),
    }));
    let leg = Leg {
        from_per_s: 5.0,
        to_per_s: 7.0,
        length_ns: Nanos(1),
    };
    let load = StepLoad::Open {
        profile: RateProfile::course(&[leg]).unwrap(),
        arrivals: Arrivals::Uniform,
    };
    lines.push(Line::Level(LevelStart {
        start_ns: Nanos(1),
        step: Step { load, ..step },
    }));
    lines.push(Line::Window(window()));
    lines.extend(observations().map(Line::Observation));
    let mut result = find.level_results[2].clone();
    "a reason".clone_into(&mut result.reason);
    assert!(result.clause.is_some() && result.bad_ratio.is_some());
    lines.push(Line::LevelEnd(result));
    lines.extend(events().map(Line::Event));
    lines.push(Line::After(After {
        at_ns: Nanos(6),
        taken_count: Some(98),
        backlog_count: Some(7),
        backlog_left_count: Some(0),
        drained_ns: Some(Nanos(3)),
        stored_at_end_count: Some(90),
        stored_count: Some(97),
        killed: vec!["worker at 40 s".to_owned()],
        uncounted: [("taken".to_owned(), "connection refused".to_owned())].into(),
        verified: Some(Verified::default()),
    }));
    lines.push(Line::Script(script_counts()));
    lines.extend(verdicts());
    lines
}

/// Every kind of metric, with and without tags, and what there was no room for.
fn script_counts() -> ScriptCounts {
    let mut store = Store::default();
    let kinds = [Kind::Counter, Kind::Gauge, Kind::Rate, Kind::Trend];
    let names = ["orders", "stock", "happy", "price"];
    let tags = [("group", "::shop"), ("check", "is 200"), ("name", "pay")];
    for (name, kind) in names.into_iter().zip(kinds) {
        let id = store.register(name, kind, Contains::Default).unwrap();
        store.submetric(&format!("{name}{{name:pay}}")).unwrap();
        let tags = store.tag_set(&tags);
        for value in [-1.0, 0.0, 2.0] {
            store.record(id, tags, Nanos(1), value);
        }
    }
    let tags = store.tag_set(&tags);
    store.record(BuiltIn::Checks.into(), tags, Nanos(1), 1.0);
    store.record(BuiltIn::Vus.into(), tags, Nanos(1), 3.0);
    let thresholds = Thresholds::from_json(
        "thresholds",
        &serde_json::json!({ "price": ["avg<1"], "data_sent": ["count>=0"] }),
    );
    let judged = thresholds
        .unwrap()
        .evaluate(&store, Nanos(9), JudgedAt::Final);
    let mut counts =
        ScriptCounts::new(Scope::default(), &store, &Names::default(), &judged.results);
    let tally = window().total();
    counts.names.push(NameCounts {
        name: "pay".to_owned(),
        tally: tally.clone(),
    });
    counts.left_out = Some(LeftOut {
        names_tally: tally,
        ..LeftOut::default()
    });
    counts
}

fn headers() -> Vec<Line> {
    let mut open = sample::run(100.0, 1).header;
    open.note.push_str("proxy slots scaled down");
    open.lab = Some(LabSetup {
        probe: true,
        about: "two servers".to_owned(),
        base: Some("A".to_owned()),
        scale: Some(0.5),
        changes: vec!["tiers.app.instances: 1 → 2".to_owned()],
        tiers: vec![TierSetup {
            cpu_cores: Some(0.5),
            memory_bytes: Some(1 << 28),
            limits: [("slots".to_owned(), 1024.0)].into(),
            ..TierSetup::default()
        }],
        published: Some(Published {
            differs: "Its clients waited.".to_owned(),
            ..Published::default()
        }),
        ..LabSetup::default()
    });
    let mut closed = open.clone();
    let mut request = Request::get("http://127.0.0.1:8080/");
    request.body = b"x".to_vec();
    let mut url = Url::new(request.clone(), Http::two(10).unwrap());
    url.variation = Variation {
        requests: vec![request],
        mix: Some(RequestMix {
            names: vec!["list".to_owned(), "buy".to_owned()],
            shares: vec![90.0, 10.0],
            phases: vec![MixPhase {
                name: "sale".to_owned(),
                length_ns: Nanos::from_secs(5),
                mix: Some(vec![80.0, 20.0]),
                mix_to: Some(vec![0.0, 100.0]),
            }],
        }),
        rows: Some("users.csv".to_owned()),
        bodies: vec!["1 bytes, sha256 2d711642".to_owned()],
        literal: true,
        redirects_max: 3,
        addresses: vec!["127.0.0.1:8080".to_owned()],
    };
    closed.test.what = What::Url(url);
    closed.test.how = How::Set {
        load: Load::Closed {
            in_flight: NonZeroU32::new(4).unwrap(),
        },
        until: NonZeroU64::new(10).map(Until::AttemptsCount),
        objectives: None,
    };
    let mut stored = sample::run(100.0, 1).header;
    stored.test.what = What::Workload(Box::new(loaded()));
    let mut headers = vec![open, closed, stored, sample::find().header];
    headers.extend(searches());
    headers.into_iter().map(Line::Header).collect()
}

/// With everything said.
fn loaded() -> Workload {
    let mix = Mix::default();
    Workload {
        store: "mongodb://127.0.0.1:27017".to_owned(),
        databases: vec![Database {
            name: "plimsoll_1".to_owned(),
            mix,
            documents: 1000,
            document_bytes: 1024,
        }],
        connections: NonZeroU32::MIN,
        sessions: NonZeroU32::MIN,
        keys: Keys::Zipf { exponent: 0.99 },
        batch: NonZeroU32::MIN,
        phases: vec![MixPhase {
            name: "1".to_owned(),
            length_ns: Nanos(5),
            mix: Some(mix),
            mix_to: Some(mix),
        }],
        client: Client {
            try_timeout_ns: Some(Nanos(1)),
            pool_wait_ns: Some(Nanos(1)),
            closes_given_up: true,
            per_connection: Some(NonZeroU32::MIN),
            consistency: Some(Consistency::Quorum),
            shares_connections: true,
            ..Client::default()
        },
        replicas: Some(NonZeroU32::MIN),
        keep: true,
        verify: true,
    }
}

/// Searches with a script and with everything said that has a default.
fn searches() -> [Header; 2] {
    let over_rate = Over::Rate {
        arrivals: Arrivals::Uniform,
        max_per_s: Some(900.0),
        only_per_s: Some(400.0),
    };
    let over_vus = Over::Vus {
        only: NonZeroU32::new(50),
    };
    [over_rate, over_vus].map(|over| {
        let mut header = sample::find().header;
        header.test.what = What::Script(Script {
            name: "shop.js".to_owned(),
            setup: Some(ScriptSetup {
                sha256: "5f".repeat(32),
                files_count: 2,
                scenarios: vec!["default: up to 10 looping VUs for 30s over 2 stages".to_owned()],
                options: [("noConnectionReuse".to_owned(), "true".to_owned())].into(),
                environment: [("BASE".to_owned(), "http://127.0.0.1:3001".to_owned())].into(),
            }),
        });
        header.test.how = How::Search {
            settings: SearchSettings {
                over,
                within: Nanos::from_secs(240),
                goal_width: 0.1,
                overshoot: false,
            },
            objectives: sample::objectives(),
        };
        header
    })
}

fn window() -> Window {
    let mut tally = Tally::default();
    tally.record(Outcome::Ok, Nanos(7), Some(Nanos(5)), 100, &[sample::BOUND]);
    tally.note_status(Outcome::Ok, 200);
    Window {
        resent_count: 1,
        followed_count: 1,
        vus: Some(8),
        operations: vec![tally.clone()],
        databases: vec![Effects::default()],
        carried: vec![Carried {
            level: 1,
            due_count: 0,
            in_flight_seconds: 0.5,
            tally,
        }],
        health: Health {
            stall_max_ns: Nanos(1),
            stalled_ns: Some(Nanos(1)),
            disturbed: Disturbed {
                attempts_count: 1,
                ..Disturbed::default()
            },
            ..Health::default()
        },
        ..Window::default()
    }
}

fn observations() -> impl Iterator<Item = Observation> {
    let process = ProcessSample {
        threads: vec![ThreadSample::default()],
        open_files: Some(1),
        open_files_max: Some(2),
        written_bytes: Some(3),
        threads_by_state: BTreeMap::from([(ThreadState::Poll, 1.0)]),
        connections_out: Some(BTreeMap::from([(5432, 8)])),
        connections_unnamed: 2,
        cores_named: vec![1],
        ..ProcessSample::default()
    };
    let host = HostSample {
        psi_cpu_some_ratio: Some(0.1),
        psi_io_full_ratio: Some(0.1),
        psi_memory_some_ratio: Some(0.1),
        psi_io_some_ratio: Some(0.1),
        neighbours: vec![NeighbourSample::default()],
        ..HostSample::default()
    };
    let cgroup = CgroupSample {
        quota_cores: Some(1.0),
        quota_path: Some("/box".to_owned()),
        memory_bytes: Some(1),
        memory_max_bytes: Some(2),
        ..CgroupSample::default()
    };
    [
        Seen::Process(process),
        Seen::Host(host),
        Seen::Cgroup(cgroup),
        Seen::Listener(ListenerSample {
            waits: Some(WaitSample::default()),
            ..ListenerSample::default()
        }),
        Seen::Proxy(ProxySample::default()),
        Seen::Metrics(MetricsSample::default()),
        Seen::Absent(AbsentSample::default()),
    ]
    .into_iter()
    .map(|seen| Observation {
        at_ns: Nanos(9),
        length_ns: Nanos(9),
        tier: "target".to_owned(),
        seen,
    })
}

fn events() -> [Event; 8] {
    [
        EventKind::Interrupted,
        EventKind::SelfCheck(SelfCheck::default()),
        EventKind::Anchor(Anchor::default()),
        EventKind::Search(SearchStart {
            anchor: Some(Anchor::default()),
            iteration_ns: Some(Nanos(1)),
            ..SearchStart::default()
        }),
        EventKind::Iteration(Iteration::default()),
        EventKind::Guarded(Guarded::default()),
        EventKind::Fault(Fault {
            instance: "db".to_owned(),
            what: FaultKind::Stopped,
        }),
        EventKind::Other {
            event: "other".to_owned(),
        },
    ]
    .map(|what| Event {
        at_ns: Nanos(5),
        what,
        detail: "more".to_owned(),
    })
}

#[rustfmt::skip]
fn remarks() -> Vec<SearchRemark> {
    use SearchRemark as R;
    let size = LoadSize::PerS(1.0);
    let reading = Reading {
        figure: plimsoll_core::health::Figure::LagP99, measured: 1.0, tolerance: 1.0, worst_window: 1.0,
    };
    vec![
        R::DidNotComeBack { after: size, seconds: 1.0, at: LoadSize::Vus(2.0) },
        R::GeneratorTooWeak { at: Some(size), reading: Some(reading) },
        R::WarmUpFailed { failures_count: 1 },
        R::AnchorGeneratorBound,
        R::AnchorFailed,
        R::FailsEvenAt { at: size },
        R::BoundsApart { ratio: 0.1 },
        R::NothingHeld { at: size, seconds: 34.0, budgets_ratio: 1.2, least_seconds: 50.0 },
        R::RecoveryNotProbed { because: NotProbed::NoTime },
        R::DidNotRecover,
        R::SlowRecovery { seconds: 1.0, expected_seconds: 1.0 },
        R::Drifted { ratio: 0.1 },
        R::SlowsDown {
            ratio: 0.1,
            over_seconds: 250.0,
        },
        R::StaysOverloaded {
            after: size,
            at: size,
            seconds: 4.0,
            expected_seconds: 1.0,
        },
        R::PaceVaries {
            least_per_s: 450.0,
            most_per_s: 500.0,
            over_seconds: 250.0,
            lower_ratio: Some(0.02),
        },
        R::NoTimeForSoak { seconds: 60.0 },
        R::Changed { at_seconds: 151.0, before: size, now: size },
        R::NoLoadMeets {
            clause: "p99 < 250 ms".to_owned(),
            bad_ratio: 0.02,
            lowest: size,
            highest: size,
        },
        R::SlowSpells {
            count: 2,
            longest_seconds: 3.0,
            first_at_seconds: 146.0,
            apart_seconds: Some(60.0),
            rarer_than_seconds: 206.0,
            watched_seconds: 110.0,
            outside: Some(size),
        },
        R::Watched {
            at: size,
            seconds: 75.0,
            over_seconds: 110.0,
            is_enough: true,
        },
        R::SetByStalls { interval_seconds: 1.0, lower: Some(size), upper: Some(size), soak_intervals: 50.0 },
        R::AtLeast { held: size, limited_by: CeilingKind::MaxRate },
        R::Iterations { requests_mean: 2.0, capacity_per_s: Some(1.0) },
    ]
}

/// Words by which remarks tell what they are about.
fn abouts() -> Vec<String> {
    let found = SearchResult {
        remarks: remarks(),
        ..SearchResult::default()
    };
    let written = serde_json::to_value(&found).unwrap();
    let all = written["remarks"].as_array().unwrap();
    all.iter()
        .map(|remark| remark["about"].as_str().unwrap().to_owned())
        .collect()
}

fn script_faults() -> Vec<ScriptFault> {
    let (load, held_at) = (LoadSize::PerS(300.0), Some(LoadSize::PerS(100.0)));
    vec![
        ScriptFault::Threshold {
            metric: "checks".to_owned(),
            threshold: "rate>0.9".to_owned(),
            observed: Some(0.5),
            contains: Contains::Default,
        },
        ScriptFault::Check {
            group: "::shop".to_owned(),
            check: "is 200".to_owned(),
            failed_count: 1,
            evaluated_count: 2,
            load,
            held_at,
        },
        ScriptFault::Name {
            name: "pay".to_owned(),
            failed_count: 1,
            attempts_count: 2,
            outcome: Outcome::CheckFailed,
            load,
            held_at,
        },
    ]
}

fn verdicts() -> Vec<Line> {
    let mut verdict = sample::find().verdict.unwrap();
    verdict.found.remarks = remarks();
    verdict.objectives[0].turned_count = 1;
    verdict.objectives[0].left_out_count = 1;
    verdict.objectives[0].held_up = Some("the service waited".to_owned());
    verdict.script_faults = script_faults();
    verdict.found.rare_stalls = Some(RareStalls {
        interval_seconds: 20.0,
        variance_to_mean: 9.0,
        bad_seconds_ratio: 0.02,
    });
    let mut other = verdict.clone();
    let bounds = Bounds {
        estimate: 1.0,
        lower: Some(1.0),
        upper: Some(2.0),
    };
    verdict.found.collapse_per_s = Some(Collapse::At(bounds));
    other.found.collapse_per_s = Some(Collapse::NoneUpTo {
        rate_per_s: 1.0,
        goodput_ratio: 1.0,
    });
    let mut over_vus = other.clone();
    over_vus.found.capacity_vus = Some(bounds);
    over_vus.found.reached_per_s = Some(bounds);
    over_vus.found.knee_vus = Some(bounds);
    over_vus.found.collapse_vus = Some(Collapse::NoneUpToVus {
        vus: 1.0,
        goodput_ratio: 1.0,
    });
    [verdict, other, over_vus].map(Line::Verdict).into()
}

/// Words that enumerated fields hold, as they are written.
pub(super) fn words() -> Vec<String> {
    let lists = levels_and_gates().into_iter().chain(causes_and_sources());
    let words = lists.flat_map(|list| list.as_array().unwrap().clone());
    words
        .map(|word| word.as_str().unwrap().to_owned())
        .chain(abouts())
        .collect()
}

#[rustfmt::skip]
fn levels_and_gates() -> [Value; 4] {
    [
        serde_json::to_value([
            Phase::Run, Phase::SelfCheck, Phase::WarmUp, Phase::Anchor, Phase::Bracket,
            Phase::Bisect, Phase::Soak, Phase::Overshoot, Phase::RecoveryBefore,
            Phase::RecoveryPulse, Phase::RecoveryAfter, Phase::Repeat, Phase::Settle, Phase::Drain,
        ]).unwrap(),
        serde_json::to_value([
            LevelState::Pass, LevelState::Fail, LevelState::Undecided, LevelState::Void,
            LevelState::Observed,
        ]).unwrap(),
        serde_json::to_value([
            Judgement::Pass, Judgement::Fail, Judgement::Inconclusive, Judgement::Invalid,
            Judgement::None,
        ]).unwrap(),
        serde_json::to_value([
            GateState::Pass, GateState::Warning, GateState::Fail, GateState::Unknown,
            GateState::NotApplicable,
        ]).unwrap(),
    ]
}

#[rustfmt::skip]
fn causes_and_sources() -> [Value; 7] {
    [
        serde_json::to_value([
            Cause::PinnedThread, Cause::Cpu, Cause::CpuQuota, Cause::ConnectionSlots, Cause::Pool,
            Cause::Downstream, Cause::Lock, Cause::Concurrency, Cause::Disk, Cause::EventLoop, Cause::Memory,
            Cause::Stalls, Cause::Rule, Cause::NotReached, Cause::Unknown,
        ]).unwrap(),
        serde_json::to_value([
            Confidence::Unknown, Confidence::Suspected, Confidence::Supported, Confidence::Confirmed,
        ]).unwrap(),
        serde_json::to_value([
            ResourceKind::Thread, ResourceKind::Processors, ResourceKind::Pool, ResourceKind::Disk,
            ResourceKind::Other,
        ]).unwrap(),
        serde_json::to_value([NotProbed::NoOverload, NotProbed::NoTime, NotProbed::NotNormal]).unwrap(),
        serde_json::to_value([CeilingKind::MaxRate, CeilingKind::Generator, CeilingKind::MaxVus]).unwrap(),
        serde_json::to_value([Arrivals::Poisson, Arrivals::Uniform]).unwrap(),
        serde_json::to_value([
            ThreadState::Running, ThreadState::Disk, ThreadState::Futex, ThreadState::Socket,
            ThreadState::Poll, ThreadState::Timer, ThreadState::Asleep,
        ]).unwrap(),
    ]
}
