//! What one page says of a record agrees with itself: what is ruled out is named by nothing else, and no figure comes twice.

use std::collections::BTreeMap;

use plimsoll_base::random::Rng;
use plimsoll_core::Nanos;
use plimsoll_core::outcome::Outcome;
use plimsoll_core::record::{
    CgroupSample, HostSample, Line, ListenerSample, Observation, Record, Seen, ThreadState,
};
use plimsoll_core::verdict::{
    Bounds, Cause, Confidence, Gate, GateId, GateState, Limit, SearchResult, Signal,
};

use super::build::{Service, ThreadLoad, search};
use super::concurrency::over_connections;
use super::{explained, idle, pinned, service, sick};
use crate::explain::{Explanation, explain};
use crate::gates;

/// A resource as a line begins that rules it out, words of a gate that finds it near its end, signals that speak for it.
type Named = (&'static str, &'static [&'static str], &'static [Signal]);

const NAMED: &[Named] = &[
    (
        "connection slots",
        &["accept queue", "overflow", "slots"],
        &[
            Signal::AcceptQueue,
            Signal::ListenerDrops,
            Signal::DeclaredSlots,
            Signal::NoAnswer,
        ],
    ),
    ("rate rule", &["429", "503"], &[Signal::Refusals]),
    (
        "disk",
        &["disk", "fsync"],
        &[Signal::DiskState, Signal::Fsync, Signal::Writes],
    ),
    ("CPU quota", &["quota", "throttle"], &[Signal::Throttling]),
    (
        "memory",
        &["memory", "garbage"],
        &[Signal::Faults, Signal::Collector],
    ),
    ("processors", &["processor is full"], &[Signal::RunQueue]),
    ("one thread", &["one thread"], &[]),
];

/// Each line that rules something out, against everything else that is said of the record.
fn contradictions(record: &Record, explanation: &Explanation) -> Vec<String> {
    let levels = record.levels.iter().map(|start| start.step.level);
    let gates: Vec<_> = levels
        .flat_map(|level| gates::evaluate(record, level))
        .filter(|gate| matches!(gate.state, GateState::Fail | GateState::Warning))
        .collect();
    let limit = &explanation.limit;
    let mut found = Vec::new();
    found.extend(limit_of_generator(record, limit, &gates));
    for line in &limit.ruled_out {
        let (subject, _) = line.split_once(':').unwrap();
        let Some((_, words, signals)) = NAMED.iter().find(|(name, ..)| subject.starts_with(name))
        else {
            continue;
        };
        for gate in &gates {
            let note = gate.note.to_lowercase();
            if words.iter().any(|word| note.contains(word)) {
                found.push(format!("{line}, and gate {}: {note}", gate.id.number()));
            }
        }
        for evidence in &limit.evidence {
            let says = evidence
                .text
                .starts_with(&format!("not ruled out: {subject}"));
            if signals.contains(&evidence.signal) || says {
                found.push(format!("{line}, and: {}", evidence.text));
            }
        }
        if limit.cause.word() == subject {
            found.push(format!("{line}, and it is what gives way first"));
        }
    }
    found
}

/// A number at once that is sure to be the service's, where gate 10 says that the generator let no more through.
fn limit_of_generator(record: &Record, limit: &Limit, gates: &[Gate]) -> Option<String> {
    let is_number = matches!(limit.cause, Cause::Concurrency | Cause::Lock);
    let is_sure = limit.confidence >= Confidence::Supported;
    let mut path = gates.iter().filter(|gate| gate.id == GateId::Path);
    let full = path.find(|gate| gate.note.contains("of the generator's"))?;
    let mut texts = limit.evidence.iter().map(|line| line.text.as_str());
    let (_, at_once) = texts.find_map(|text| text.split_once("without load: "))?;
    let count: f64 = at_once.split(' ').next()?.parse().ok()?;
    let room = f64::from(record.header.test.in_flight_max().get());
    let same = (count / room - 1.0).abs() <= 0.2;
    (is_number && is_sure && same).then(|| format!("{at_once}, and gate 10: {}", full.note))
}

#[test]
fn a_number_at_once_that_is_the_generators_own_is_not_the_services() {
    for connections in [1, 2, 8, 16, 64] {
        let mut eight = service(idle);
        eight.base = Nanos::from_millis(20);
        let record = over_connections(sick(&eight), connections);
        let found = contradictions(&record, &explained(&record));
        assert!(found.is_empty(), "{found:#?}");
    }
}

const THREADS: [fn(f64) -> Vec<ThreadLoad>; 4] = [
    pinned,
    idle,
    |rate| vec![ThreadLoad::new("main", rate * 0.0015, rate * 0.001)],
    |_| {
        vec![
            ThreadLoad::new("main", 0.7, 0.1),
            ThreadLoad::new("other", 0.5, 0.2),
        ]
    },
];
const STATES: [fn(f64) -> BTreeMap<ThreadState, f64>; 3] = [
    |_| BTreeMap::new(),
    |share| [(ThreadState::Disk, 0.15 + share)].into(),
    |share| [(ThreadState::Futex, 10.0 * share)].into(),
];
const EXCESS: [Outcome; 6] = [
    Outcome::Timeout,
    Outcome::Eof,
    Outcome::Refused,
    Outcome::Shed,
    Outcome::Http5xx,
    Outcome::Reset,
];

/// A service of some kind, and things that were seen beside it, at any time and of any size.
fn drawn(seed: u64) -> Record {
    let mut rng = Rng::new(seed, 0);
    let mut pick = |n: u64| rng.below(n) as usize;
    let service = Service {
        capacity: [40.0, 200.0, 400.0][pick(3)],
        base: Nanos::from_millis([1, 5, 50][pick(3)]),
        excess: EXCESS[pick(6)],
        excess_time: Nanos::from_millis([1, 100, 1000][pick(3)]),
        threads: THREADS[pick(4)],
        states: STATES[pick(3)],
        behind: [None, Some(THREADS[pick(4)])][pick(2)],
        descriptors: pick(2) == 0,
        disk_pressure: [|_| 0.0, |share: f64| share.min(0.9)][pick(2)],
        ..Service::default()
    };
    let written = [None, Some(200_000)][pick(2)];
    let shares: &[f64] = [
        &[0.1, 0.2, 0.4, 0.8, 1.6, 1.2, 1.5][..],
        &[0.1, 0.5, 1.004, 1.05],
        &[1.3],
        &[0.3, 0.6],
    ][pick(4)];
    let mut record = search(&service, shares, pick(2) == 0);
    for look in &mut record.observations {
        if let Seen::Process(process) = &mut look.seen {
            process.written_bytes = written;
        }
    }
    let ends: Vec<Nanos> = record
        .windows
        .iter()
        .map(plimsoll_core::Window::end_ns)
        .collect();
    for at_ns in ends {
        let seen = match pick(12) {
            0 => Seen::Listener(ListenerSample {
                port: 80,
                accept_queue: [0, 1, 4096][pick(3)],
                accept_queue_max: 4096,
                established: 8,
                ..ListenerSample::default()
            }),
            1 => Seen::Host(HostSample {
                cores: 2,
                listen_overflows: [0, 1, 354][pick(3)],
                ..HostSample::default()
            }),
            2 => Seen::Cgroup(CgroupSample {
                quota_cores: Some(0.5),
                periods: 10,
                throttled_periods: [0, 1, 9][pick(3)],
                ..CgroupSample::default()
            }),
            _ => continue,
        };
        record.push(Line::Observation(Observation {
            at_ns,
            length_ns: Nanos::from_secs(1),
            tier: "target".to_owned(),
            seen,
        }));
    }
    record
}

#[test]
fn what_is_ruled_out_is_named_by_nothing_else() {
    let mut lines = 0;
    for seed in 0..400 {
        let record = drawn(seed);
        let explanation = explained(&record);
        lines += explanation.limit.ruled_out.len();
        let found = contradictions(&record, &explanation);
        assert!(
            found.is_empty(),
            "seed {seed}: {found:#?}\n{:#?}",
            explanation.limit
        );
    }
    assert!(lines > 400, "hardly anything is ruled out: {lines} lines");
}

/// 354 connections were turned away at the door: the limit on connections is not ruled out by an empty queue a second later.
#[test]
fn an_accept_queue_that_overflowed_is_not_ruled_out() {
    let says_slots = |record: &Record| {
        let ruled_out = explained(record).limit.ruled_out;
        ruled_out
            .iter()
            .any(|line| line.starts_with("connection slots"))
    };
    let mut record = sick(&service(pinned));
    assert!(says_slots(&record));
    let at_ns = record.windows[3].end_ns();
    record.push(Line::Observation(Observation {
        at_ns,
        length_ns: Nanos::from_secs(1),
        tier: "host".to_owned(),
        seen: Seen::Host(HostSample {
            cores: 2,
            listen_overflows: 354,
            ..HostSample::default()
        }),
    }));
    assert!(!says_slots(&record));
}

/// A group that could not be read may have a quota, a queue nobody looked at may be full, and a kernel without pressure has said
/// nothing of it.
#[test]
fn what_nobody_looked_at_is_not_ruled_out() {
    let lines = |record: &Record| explained(record).limit.ruled_out;
    let says = |record: &Record, subject: &str| {
        let lines = lines(record);
        lines.into_iter().find(|line| line.starts_with(subject))
    };
    let mut record = sick(&service(pinned));
    assert_eq!(says(&record, "CPU quota"), None);
    let disk = says(&record, "disk").unwrap();
    assert!(disk.contains("pressure"), "{disk}");
    for observation in &mut record.observations {
        if let Seen::Host(host) = &mut observation.seen {
            host.psi_io_some_ratio = None;
        }
    }
    let disk = says(&record, "disk").unwrap();
    assert!(!disk.contains("pressure"), "{disk}");
    record
        .observations
        .retain(|observation| !matches!(observation.seen, Seen::Listener(_)));
    assert_eq!(says(&record, "connection slots"), None);
    let ends = record.windows.iter().map(plimsoll_core::Window::end_ns);
    for at_ns in ends.collect::<Vec<_>>() {
        record.push(Line::Observation(Observation {
            at_ns,
            length_ns: Nanos::from_secs(1),
            tier: "target".to_owned(),
            seen: Seen::Cgroup(CgroupSample::default()),
        }));
    }
    let quota = says(&record, "CPU quota");
    assert_eq!(quota.as_deref(), Some("CPU quota: none is set"));
}

/// A peak that the search counts a little lower, for it counts what was in time, is one peak on the page.
#[test]
fn search_and_explanation_show_one_peak() {
    let record = sick(&service(pinned));
    for (searched, shown) in [
        (391.0, "measured peak 391/s"),
        (240.0, "at most 400/s were answered"),
    ] {
        let found = SearchResult {
            peak_goodput_per_s: Some(Bounds {
                estimate: searched,
                lower: None,
                upper: None,
            }),
            ..SearchResult::default()
        };
        let explanation = explain(&record, &found);
        let mut texts = explanation.limit.evidence.iter().map(|line| &line.text);
        assert!(
            texts.any(|text| text.contains(shown)),
            "{:#?}",
            explanation.limit
        );
    }
}

/// Too few failures to name a limit are no proof that there is none.
#[test]
fn a_load_that_was_not_held_is_not_called_held_up_to_nothing() {
    let mut record = search(&service(idle), &[0.04], false);
    record.level_results.clear();
    for window in &mut record.windows {
        let bounds = [Nanos::from_millis(250)];
        window.operations[0].record(Outcome::Eof, Nanos(1), None, 0, &bounds);
    }
    let limit = explained(&record).limit;
    assert_eq!(limit.cause, Cause::Unknown, "{limit:#?}");
    let text = &limit.evidence[0].text;
    assert!(
        text.starts_with("no load was held: ") && text.contains("attempts failed (6 %)"),
        "{text}"
    );
}

/// A closed loop queues by its nature: where the objective is met nothing has given way.
#[test]
fn a_closed_loop_that_met_its_objective_has_not_given_way() {
    let quick = Service {
        capacity: 20_000.0,
        base: Nanos::from_millis(5),
        ..Service::default()
    };
    let mut record = search(&quick, &[], true);
    record.levels.retain(|level| level.step.level == 4);
    record.windows.retain(|window| window.level == 4);
    let bounds = [Nanos::from_millis(250)];
    for window in &mut record.windows {
        for _ in 0..window.due_count {
            window.operations[0].record(Outcome::Ok, Nanos::from_millis(60), None, 0, &bounds);
        }
    }
    assert_eq!(explained(&record).limit.cause, Cause::NotReached);
    record.header.test.how = plimsoll_core::test::How::endless(plimsoll_core::test::Load::Closed {
        in_flight: std::num::NonZeroU32::MIN,
    });
    let limit = explained(&record).limit;
    assert_eq!(limit.cause, Cause::Unknown, "{limit:#?}");
    assert!(
        limit.evidence[0].text.starts_with("requests wait"),
        "{limit:#?}"
    );
}

/// Advice stays near what was measured, and times are those of the load line itself.
#[test]
fn advice_is_of_the_load_line_and_within_reach() {
    let record = sick(&service(pinned));
    let found = SearchResult {
        capacity_per_s: Some(Bounds {
            estimate: 320.0,
            lower: Some(320.0),
            upper: Some(400.0),
        }),
        // 0.8 of the capacity, after seven levels of the anchor and three lower ones.
        capacity_level: Some(11),
        ..SearchResult::default()
    };
    let explanation = explain(&record, &found);
    let advice = &explanation.advice;
    let timeout = advice
        .iter()
        .find(|one| one.action.starts_with("client timeout"));
    let timeout = timeout.unwrap_or_else(|| panic!("{advice:#?}"));
    // Every answer there took 2.5 ms.
    assert_eq!(
        timeout.action, "client timeout of at least 2.50 ms",
        "{timeout:?}"
    );
    assert!(
        timeout
            .because
            .starts_with("p99.9 at the load line of 320/s is 2.5"),
        "{timeout:?}"
    );
    let most = record
        .windows
        .iter()
        .map(|window| window.in_flight_max)
        .max()
        .unwrap();
    for one in advice {
        let numbers = one.action.split(|c: char| !c.is_ascii_digit());
        let largest = numbers
            .filter_map(|number| number.parse::<u64>().ok())
            .max();
        if one.action.contains("requests") {
            assert!(largest <= Some(5 * most), "{one:?} beyond 5 × {most}");
        }
    }
    if let Some(next) = &explanation.next_limit {
        assert!(next.full_at_per_s <= 5.0 * 400.0, "{next:?}");
    }
}
