//! Writes the record of a search against a service described by a few functions of its load.

use std::collections::BTreeMap;

use plimsoll_core::outcome::Outcome;
use plimsoll_core::record::{
    Header, HostSample, LevelStart, Line, ListenerSample, Machine, Observation, ProcessSample,
    Record, SCHEMA, Seen, ThreadSample, ThreadState,
};
use plimsoll_core::schedule::{Arrivals, RateProfile};
use plimsoll_core::step::{Phase, Step, StepLoad};
use plimsoll_core::test::{Generator, How, Request, Test};
use plimsoll_core::verdict::{LevelResult, LevelState};
use plimsoll_core::{Nanos, Objectives, Tally, Window};

const WINDOWS: u64 = 8;

/// A thread's share of a core when the service answers at its capacity.
#[derive(Debug, Clone)]
pub(in crate::explain) struct ThreadLoad {
    name: &'static str,
    run: f64,
    wait: f64,
}

impl ThreadLoad {
    pub(in crate::explain) fn new(name: &'static str, run: f64, wait: f64) -> Self {
        Self { name, run, wait }
    }
}

/// What a queue does to the answers that still come.
#[derive(Debug, Clone, Copy)]
pub(in crate::explain) enum OkTime {
    Queued,
    Unchanged,
}

#[derive(Debug, Clone)]
pub(in crate::explain) struct Service {
    pub(in crate::explain) capacity: f64,
    pub(in crate::explain) base: Nanos,
    /// How attempts below the capacity end.
    pub(in crate::explain) answer: Outcome,
    /// How attempts above the capacity end, and after how long.
    pub(in crate::explain) excess: Outcome,
    pub(in crate::explain) excess_time: Nanos,
    pub(in crate::explain) ok_time: OkTime,
    /// Share of the capacity that is still answered at a share of the capacity offered.
    pub(in crate::explain) overload_ok: fn(f64) -> f64,
    pub(in crate::explain) threads: fn(f64) -> Vec<ThreadLoad>,
    pub(in crate::explain) behind: Option<fn(f64) -> Vec<ThreadLoad>>,
    pub(in crate::explain) states: fn(f64) -> BTreeMap<ThreadState, f64>,
    pub(in crate::explain) switches: fn(f64) -> f64,
    pub(in crate::explain) disk_pressure: fn(f64) -> f64,
    pub(in crate::explain) extra: fn(f64, f64) -> Vec<Seen>,
    pub(in crate::explain) unread: u32,
    pub(in crate::explain) descriptors: bool,
    pub(in crate::explain) observed: bool,
    pub(in crate::explain) stalls: bool,
    pub(in crate::explain) process: &'static str,
    /// Share of the time of a busy core that the hypervisor takes.
    pub(in crate::explain) steal: f64,
}

impl Default for Service {
    fn default() -> Self {
        Self {
            capacity: 400.0,
            base: Nanos::from_millis(2),
            answer: Outcome::Ok,
            excess: Outcome::Timeout,
            excess_time: Nanos::from_secs(1),
            ok_time: OkTime::Queued,
            overload_ok: |_| 1.0,
            threads: |_| Vec::new(),
            behind: None,
            states: |_| BTreeMap::new(),
            switches: |_| 2.0,
            disk_pressure: |_| 0.0,
            extra: |_, _| Vec::new(),
            unread: 10_000,
            descriptors: true,
            observed: true,
            stalls: false,
            process: "app",
            steal: 0.0,
        }
    }
}

/// A record with one open level per share of the capacity. With `searched` a closed-loop anchor
/// comes first and levels that break the objective are marked as failed.
pub(in crate::explain) fn search(service: &Service, shares: &[f64], searched: bool) -> Record {
    let mut record = Record::new(header(service));
    let mut at = Nanos::from_secs(5);
    let mut number = 0;
    if searched {
        for in_flight in [1_u32, 2, 4, 8, 16, 32, 64] {
            let limit = f64::from(in_flight) / service.base.as_secs_f64();
            let share = (limit / service.capacity).min(1.0);
            let load = StepLoad::Closed { in_flight };
            let in_flight = f64::from(in_flight);
            number += 1;
            let level = Played {
                number,
                load,
                share,
                in_flight,
                state: LevelState::Observed,
            };
            at = play(&mut record, service, &level, at);
        }
    }
    for share in shares {
        number += 1;
        let profile = RateProfile::constant(share * service.capacity).unwrap();
        let state = if searched && (*share > 1.0 || service.stalls) {
            LevelState::Fail
        } else {
            LevelState::Pass
        };
        let level = Played {
            number,
            load: StepLoad::Open {
                profile,
                arrivals: Arrivals::Poisson,
            },
            share: *share,
            in_flight: if *share > 1.0 {
                share * 0.5 * service.capacity
            } else {
                share * service.capacity * service.base.as_secs_f64()
            },
            state,
        };
        at = play(&mut record, service, &level, at);
    }
    record
}

struct Played {
    number: u32,
    load: StepLoad,
    share: f64,
    in_flight: f64,
    state: LevelState,
}

fn play(record: &mut Record, service: &Service, level: &Played, start: Nanos) -> Nanos {
    record.push(Line::Level(LevelStart {
        start_ns: start,
        step: Step {
            level: level.number,
            phase: Phase::Bracket,
            load: level.load,
            windows_max: 30,
        },
    }));
    let second = Nanos::from_secs(1);
    let mut at = start;
    for index in 0..WINDOWS {
        record.push(Line::Window(window(service, level, at, index)));
        at += second;
        if service.observed {
            for (tier, seen) in observations(service, level) {
                record.push(Line::Observation(Observation {
                    // Sampling is not aligned with windows.
                    at_ns: at + Nanos::from_millis(130),
                    length_ns: second,
                    tier: tier.to_owned(),
                    seen,
                }));
            }
        }
    }
    record.push(Line::LevelEnd(LevelResult {
        level: level.number,
        state: level.state,
        clause: None,
        bad_ratio: None,
        reason: String::new(),
        discarded_windows: 1,
    }));
    at
}

fn answered(service: &Service, level: &Played) -> f64 {
    let carried = service.capacity * (service.overload_ok)(level.share);
    (level.share * service.capacity).min(carried)
}

fn window(service: &Service, level: &Played, start_ns: Nanos, index: u64) -> Window {
    let due = (level.share * service.capacity).round() as u64;
    let ok = answered(service, level).round() as u64;
    let bounds = [Nanos::from_millis(if service.stalls { 50 } else { 250 })];
    let mut tally = Tally::default();
    let mut record = |outcome, time: Nanos, service_time: Nanos, count: u64| {
        for _ in 0..count {
            tally.record(outcome, time, Some(service_time), 100, &bounds);
        }
    };
    let queued = match service.ok_time {
        OkTime::Queued if level.share > 1.0 => Nanos::from_millis(500),
        OkTime::Queued | OkTime::Unchanged => Nanos::ZERO,
    };
    let time = service.base + queued;
    // A pause meets few of the answers of a closed loop, which come so fast between pauses.
    let is_open = matches!(level.load, StepLoad::Open { .. });
    let stalled = if service.stalls && is_open && index % 4 == 3 {
        ok / 10
    } else {
        0
    };
    record(service.answer, time, time, ok - stalled);
    let late = Nanos::from_millis(180);
    record(service.answer, late, service.base, stalled);
    let excess = due.saturating_sub(ok);
    record(
        service.excess,
        service.excess_time,
        service.excess_time,
        excess,
    );
    let in_flight_max = level.in_flight.ceil() as u64 + stalled;
    Window {
        level: level.number,
        start_ns,
        length_ns: Nanos::from_secs(1),
        due_count: due,
        sent_count: due,
        in_flight_mean: level.in_flight,
        in_flight_max,
        operations: vec![tally],
        ..Window::default()
    }
}

fn observations(service: &Service, level: &Played) -> Vec<(&'static str, Seen)> {
    let rate = answered(service, level).max(
        // A full thread stays full when its answers come too late.
        level.share.min(1.0) * service.capacity,
    );
    let mut process = process(&(service.threads)(rate), 10, service.process);
    process.threads_by_state = (service.states)(level.share);
    let per_answer = (service.switches)(level.share);
    process.voluntary_switches = (per_answer * answered(service, level)) as u64;
    process.connections_out = service.descriptors.then(BTreeMap::new);
    let in_flight = level.in_flight.ceil() as u32;
    let listener = ListenerSample {
        port: 80,
        established: in_flight + 1,
        unread: service.unread.min(in_flight),
        ..ListenerSample::default()
    };
    let pressure = (service.disk_pressure)(level.share);
    let stolen = 0.9 * service.steal;
    let host = HostSample {
        cores: 2,
        core_busy_ratio: vec![0.5, 0.4],
        steal_ratio: stolen / 2.0,
        psi_io_some_ratio: Some(pressure),
        ..HostSample::default()
    };
    let mut seen = vec![
        ("host", Seen::Host(host)),
        ("target", Seen::Process(process)),
        ("target", Seen::Listener(listener)),
    ];
    let extra = (service.extra)(level.share, level.share * service.capacity);
    seen.extend(extra.into_iter().map(|seen| ("target", seen)));
    if let Some(threads) = service.behind {
        let behind = self::process(&threads(rate), 20, "other");
        seen.push(("behind", Seen::Process(behind)));
    }
    seen
}

fn process(threads: &[ThreadLoad], pid: u32, name: &str) -> ProcessSample {
    let thread = |(index, load): (usize, &ThreadLoad)| ThreadSample {
        tid: pid + index as u32,
        name: load.name.to_owned(),
        run_ns: Nanos::from_secs_f64(load.run),
        wait_ns: Nanos::from_secs_f64(load.wait),
    };
    ProcessSample {
        pid,
        name: name.to_owned(),
        cores_allowed: 2,
        threads: threads.iter().enumerate().map(thread).collect(),
        threads_count: threads.len() as u32,
        ..ProcessSample::default()
    }
}

fn header(service: &Service) -> Header {
    let slo = if service.stalls {
        "p99<50ms"
    } else {
        "p99<250ms,errors<0.1%"
    };
    Header {
        schema: SCHEMA.to_owned(),
        test: Test {
            what: Request::get("http://127.0.0.1:80/").into(),
            how: How::search(Objectives::parse(slo).unwrap()),
            generator: Generator {
                timeout: Nanos::from_secs(1),
                ..Generator::default()
            },
        },
        started_at: "2026-01-01T00:00:00Z".to_owned(),
        machine: Machine::default(),
        plimsoll_version: "0.0.0".to_owned(),
        title: "synthetic".to_owned(),
        note: String::new(),
        lab: None,
    }
}
