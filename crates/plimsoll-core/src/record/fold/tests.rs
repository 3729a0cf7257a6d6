//! A long run stays small in memory and loses nothing but resolution in time.

use std::num::NonZeroU32;

use super::*;
use crate::record::{
    AbsentSample, CgroupSample, Header, HostSample, LevelStart, Line, ListenerSample, Machine,
    MetricsSample, NeighbourSample, ProcessSample, ProxySample, Record, SCHEMA, ThreadSample,
    ThreadState, WaitSample, Writer,
};
use crate::step::{Phase, Step, StepLoad};
use crate::test::{Generator, How, Load, Request, Test};
use crate::{Nanos, Outcome, Tally};

fn record(phase: Phase) -> Record {
    let test = Test {
        what: Request::get("http://127.0.0.1:1/").into(),
        how: How::endless(Load::Closed {
            in_flight: NonZeroU32::MIN,
        }),
        generator: Generator::default(),
    };
    let header = Header {
        schema: SCHEMA.into(),
        test,
        started_at: String::new(),
        machine: Machine::default(),
        plimsoll_version: String::new(),
        title: String::new(),
        note: String::new(),
        lab: None,
    };
    let mut record = Record::new(header);
    let load = StepLoad::Closed { in_flight: 1 };
    let step = Step {
        level: 0,
        phase,
        load,
        windows_max: 10_000,
    };
    record.push(Line::Level(LevelStart {
        start_ns: Nanos::ZERO,
        step,
    }));
    record
}

fn window(second: u64) -> Window {
    let mut tally = Tally::default();
    for n in 0..10 + second % 7 {
        let time = Nanos::from_micros(100 + 37 * (second + n));
        tally.record(Outcome::Ok, time, Some(time), 10, &[]);
    }
    Window {
        start_ns: Nanos::from_secs(second),
        length_ns: Nanos::from_secs(1),
        due_count: tally.attempts(),
        in_flight_mean: second as f64,
        in_flight_end: second,
        operations: vec![tally],
        ..Window::default()
    }
}

fn lines(seconds: u64) -> Vec<Line> {
    let observed = |second| Observation {
        at_ns: Nanos::from_secs(second),
        length_ns: Nanos::from_secs(1),
        tier: "target".into(),
        seen: if second == 7 {
            Seen::Absent(AbsentSample::default())
        } else {
            Seen::Host(HostSample::default())
        },
    };
    (0..seconds)
        .flat_map(|second| {
            [
                Line::Window(window(second)),
                Line::Observation(observed(second)),
            ]
        })
        .collect()
}

#[test]
fn a_long_run_is_bounded_and_its_sums_are_exact() {
    for seconds in [1, 59, 60, 61, 119, 120, 121, 600, 3601] {
        let mut folded = record(Phase::Run);
        let mut whole = Tally::default();
        for line in lines(seconds) {
            if let Line::Window(window) = &line {
                whole.merge(&window.total());
            }
            folded.push(line);
        }
        assert!(
            folded.windows.len() <= WINDOWS_MAX,
            "{seconds}: {}",
            folded.windows.len()
        );
        assert!(
            folded.observations.len() <= 2 * WINDOWS_MAX + 1,
            "{seconds}"
        );
        assert_eq!(folded.judged_tally(0), whole, "{seconds}");
        let length: u64 = folded.windows.iter().map(|window| window.length_ns.0).sum();
        assert_eq!(length, Nanos::from_secs(seconds).0);
        let in_flight: f64 = folded
            .windows
            .iter()
            .map(|w| w.in_flight_mean * w.length_ns.as_secs_f64())
            .sum();
        let expected: f64 = (0..seconds).map(|second| second as f64).sum();
        assert!(
            (in_flight - expected).abs() <= 1e-6 * expected.max(1.0),
            "{seconds}"
        );
        assert_eq!(folded.windows.last().unwrap().in_flight_end, seconds - 1);
        assert!(folded.windows.is_sorted_by_key(|window| window.start_ns));
        let absences = folded
            .observations
            .iter()
            .filter(|o| matches!(o.seen, Seen::Absent(_)));
        assert_eq!(
            absences.count(),
            usize::from(seconds > 7),
            "absences are never let go"
        );
    }
}

#[test]
fn a_folded_run_takes_no_more_than_when_it_was_first_folded() {
    let mut folded = record(Phase::Run);
    let mut random = plimsoll_base::random::Rng::new(1, 0);
    let mut most = 0;
    for second in 0..3600 {
        let mut tally = Tally::default();
        for _ in 0..400 {
            let time = Nanos((1e5 * (1.0 + random.unit().powi(8))) as u64);
            tally.record(Outcome::Ok, time, Some(time), 10, &[]);
        }
        let mut window = window(second);
        window.operations = vec![tally];
        folded.push(Line::Window(window));
        let bytes: usize = folded.windows.iter_mut().map(Window::pack).sum();
        if second < WINDOWS_MAX as u64 {
            most = most.max(bytes);
        } else {
            // One window more than allowed may be there, and few are kept whatever they take.
            let allowed = most + bytes / folded.windows.len() * 2;
            let few = folded.windows.len() <= 2 * WINDOWS_MIN;
            assert!(few || bytes <= allowed, "{second}: {bytes} of {most}");
        }
        if second > WINDOWS_MAX as u64 {
            assert!((WINDOWS_MIN..=WINDOWS_MAX).contains(&folded.windows.len()));
        }
    }
}

#[test]
fn the_file_keeps_every_second_and_reads_back_as_it_was_kept() {
    let mut kept = record(Phase::Run);
    let mut file = Vec::new();
    let mut writer = Writer::start(&mut file, kept.header.clone()).unwrap();
    writer.append(&Line::Level(kept.levels[0].clone())).unwrap();
    for line in lines(300) {
        writer.append(&line).unwrap();
        kept.push(line);
    }
    let text = String::from_utf8(file.clone()).unwrap();
    assert_eq!(text.matches(r#""kind":"window""#).count(), 300);
    let read = Record::read(file.as_slice()).unwrap();
    assert_eq!(read.windows, kept.windows);
    assert_eq!(read.observations, kept.observations);
}

#[test]
fn levels_of_a_search_are_never_folded() {
    let mut soak = record(Phase::Soak);
    for line in lines(200) {
        soak.push(line);
    }
    assert_eq!(soak.windows.len(), 200);
    assert_eq!(soak.observations.len(), 200);
}

/// A run of so many seconds, at whose ends this was seen.
fn run(seconds: u64, seen: impl Fn(u64) -> Vec<(&'static str, Seen)>) -> Record {
    let mut record = record(Phase::Run);
    for second in 1..=seconds {
        record.push(Line::Window(window(second - 1)));
        for (tier, seen) in seen(second) {
            record.push(look(second, 1, tier, seen));
        }
    }
    record
}

fn look(second: u64, length: u64, tier: &str, seen: Seen) -> Line {
    Line::Observation(Observation {
        at_ns: Nanos::from_secs(second),
        length_ns: Nanos::from_secs(length),
        tier: tier.into(),
        seen,
    })
}

/// That ran for half a second, on one thread and on all that are not listed.
fn process(pid: u32) -> Seen {
    let ran = |tid| ThreadSample {
        tid,
        run_ns: Nanos::from_millis(250),
        ..ThreadSample::default()
    };
    Seen::Process(ProcessSample {
        pid,
        threads: vec![ran(pid)],
        others: ran(0),
        voluntary_switches: 10,
        resident_bytes: 4096,
        threads_by_state: [(ThreadState::Running, 1.0)].into(),
        ..ProcessSample::default()
    })
}

/// Every look of one kind with its length in seconds.
fn seen<T>(record: &Record, of: fn(&Seen) -> Option<&T>) -> Vec<(f64, &T)> {
    let looks = record.observations.iter();
    looks
        .filter_map(|look| Some((look.length_ns.as_secs_f64(), of(&look.seen)?)))
        .collect()
}

fn of_host(seen: &Seen) -> Option<&HostSample> {
    match seen {
        Seen::Host(host) => Some(host),
        _ => None,
    }
}

fn of_process(seen: &Seen) -> Option<&ProcessSample> {
    match seen {
        Seen::Process(process) => Some(process),
        _ => None,
    }
}

fn of_metrics(seen: &Seen) -> Option<&MetricsSample> {
    match seen {
        Seen::Metrics(metrics) => Some(metrics),
        _ => None,
    }
}

fn close(one: f64, other: f64) -> bool {
    (one - other).abs() < 1e-9
}

#[test]
fn what_one_second_counted_is_counted_however_long_the_run() {
    for seconds in [77, 130, 500, 1000] {
        let folded = run(seconds, |second| {
            let is_it = second == 77;
            let neighbour = NeighbourSample {
                pid: 9,
                name: "loop".into(),
                cores: if is_it { 2.0 } else { 0.0 },
            };
            let host = HostSample {
                core_busy_ratio: vec![if is_it { 1.0 } else { 0.5 }],
                psi_io_some_ratio: Some(0.25),
                listen_overflows: if is_it { 500 } else { 0 },
                neighbours: vec![neighbour],
                ..HostSample::default()
            };
            vec![("host", Seen::Host(host))]
        });
        let hosts = seen(&folded, of_host);
        let overflows: u64 = hosts.iter().map(|(_, host)| host.listen_overflows).sum();
        assert_eq!(overflows, 500, "{seconds}");
        let length: f64 = hosts.iter().map(|(length, _)| length).sum();
        assert!(close(length, seconds as f64), "{seconds}: {length}");
        let busy = |host: &HostSample| host.core_busy_ratio[0];
        let all: f64 = hosts.iter().map(|(length, host)| length * busy(host)).sum();
        assert!(close(all, 0.5 * (seconds + 1) as f64), "{seconds}: {all}");
        let cores = |host: &HostSample| host.neighbours[0].cores;
        let all: f64 = hosts
            .iter()
            .map(|(length, host)| length * cores(host))
            .sum();
        assert!(close(all, 2.0), "{seconds}: {all}");
        assert!(
            hosts
                .iter()
                .all(|(_, host)| host.psi_io_some_ratio == Some(0.25))
        );
        if seconds > WINDOWS_MAX as u64 {
            assert!(hosts.len() <= WINDOWS_MAX + 2, "{seconds}: {}", hosts.len());
        }
    }
}

#[test]
fn a_process_that_ended_has_run_and_all_of_an_instant_have_one_length() {
    let folded = run(301, |second| {
        let mut all = vec![("target", process(1))];
        all.extend((second <= 77).then(|| ("target", process(2))));
        all
    });
    let mut lengths = std::collections::BTreeMap::new();
    let (mut ran, mut switches) = ([0.0; 3], 0);
    for look in &folded.observations {
        let process = of_process(&look.seen).unwrap();
        let threads = process.threads.iter().chain([&process.others]);
        let run: f64 = threads.map(|thread| thread.run_ns.as_secs_f64()).sum();
        ran[process.pid as usize] += run;
        switches += process.voluntary_switches;
        assert_eq!(process.resident_bytes, 4096);
        assert_eq!(process.threads.len(), 1);
        assert!(close(process.threads_by_state[&ThreadState::Running], 1.0));
        let known = *lengths.entry(look.at_ns).or_insert(look.length_ns);
        assert_eq!(known, look.length_ns, "at {}", look.at_ns);
    }
    assert!(close(ran[1], 150.5) && close(ran[2], 38.5), "{ran:?}");
    assert_eq!(switches, 10 * (301 + 77));
    let whole: f64 = lengths.values().map(|length| length.as_secs_f64()).sum();
    assert!(close(whole, 301.0), "{whole}");
    assert!(folded.observations.is_sorted_by_key(|look| look.at_ns));
}

#[test]
fn only_the_busiest_threads_stay_by_themselves() {
    let folded = run(130, |second| {
        let thread = |tid: u32| ThreadSample {
            tid,
            run_ns: Nanos::from_millis(u64::from(tid)),
            ..ThreadSample::default()
        };
        // Others at every instant.
        let from = 16 * (second % 2) as u32;
        vec![(
            "target",
            Seen::Process(ProcessSample {
                threads: (from + 1..=from + 16).map(thread).collect(),
                ..ProcessSample::default()
            }),
        )]
    });
    let looks = seen(&folded, of_process);
    let ran = |thread: &ThreadSample| thread.run_ns.0 / 1_000_000;
    let threads = looks.iter().flat_map(|(_, look)| look.threads.iter());
    let others = looks.iter().map(|(_, look)| &look.others);
    let whole: u64 = threads.chain(others).map(ran).sum();
    assert_eq!(whole, 65 * (1..=32).sum::<u64>());
    let (_, first) = looks[0];
    assert_eq!(first.threads.len(), 16);
    assert_eq!(first.threads[0].tid, 32, "the busiest");
}

#[test]
fn a_queue_that_was_full_is_not_forgotten() {
    let folded = run(130, |second| {
        let listener = ListenerSample {
            port: 80,
            accept_queue: if second == 77 { 8 } else { 0 },
            accept_queue_max: 8,
            waits: Some(WaitSample {
                looks: 10,
                inside: second as f64,
                ..WaitSample::default()
            }),
            ..ListenerSample::default()
        };
        vec![("target", Seen::Listener(listener))]
    });
    let listeners = seen(&folded, |seen| match seen {
        Seen::Listener(listener) => Some(listener),
        _ => None,
    });
    let full = listeners
        .iter()
        .filter(|(_, it)| it.was_full || it.is_full());
    assert_eq!(full.count(), 1);
    assert!(listeners.iter().all(|(_, it)| it.accept_queue == 0));
    let waits = || listeners.iter().filter_map(|(_, it)| it.waits);
    assert_eq!(waits().map(|it| it.looks).sum::<u32>(), 1300);
    let inside: f64 = waits().map(|it| it.inside * f64::from(it.looks)).sum();
    assert!(close(inside / 1300.0, 65.5), "{inside}");
}

#[test]
fn groups_proxies_and_counters_of_endpoints_add_up() {
    let folded = run(130, |second| {
        let group = CgroupSample {
            path: "/a".into(),
            periods: 10,
            throttled_periods: 1,
            ..CgroupSample::default()
        };
        let mut proxy = ProxySample {
            requests: 3,
            status: [(2, 2), (5, 1)].into(),
            ..ProxySample::default()
        };
        proxy.request_time.record(Nanos(second));
        // Two endpoints of one tier.
        let page = |served: f64| {
            let values = [("served_total{a=\"b\"}", served), ("limit", second as f64)];
            let values = values.map(|(name, value)| (name.to_owned(), value));
            Seen::Metrics(MetricsSample {
                values: values.into(),
            })
        };
        vec![
            ("target", Seen::Cgroup(group)),
            ("target", Seen::Proxy(proxy)),
            ("target", page(5.0)),
            ("target", page(7.0)),
        ]
    });
    let (mut periods, mut requests, mut times) = ((0, 0), (0, 0), 0);
    for look in &folded.observations {
        match &look.seen {
            Seen::Cgroup(group) => {
                periods.0 += group.periods;
                periods.1 += group.throttled_periods;
            }
            Seen::Proxy(proxy) => {
                requests.0 += proxy.requests;
                requests.1 += proxy.status[&5];
                times += proxy.request_time.count();
            }
            _ => {}
        }
    }
    assert_eq!((periods, requests, times), ((1300, 130), (390, 130), 130));
    let pages = seen(&folded, of_metrics);
    for served in [5.0, 7.0] {
        let is_of = |(length, page): &&(f64, &MetricsSample)| {
            close(page.values["served_total{a=\"b\"}"], served * length)
        };
        let own: Vec<_> = pages.iter().filter(is_of).collect();
        let length: f64 = own.iter().map(|(length, _)| length).sum();
        assert!(close(length, 130.0), "{served}: {length}");
        assert!(
            close(own[0].1.values["limit"], 4.0),
            "the last that was read"
        );
    }
}

/// Its counters grew over three seconds, and nothing of that belongs to the ones before.
#[test]
fn an_endpoint_that_answers_late_keeps_its_own_time() {
    let mut folded = record(Phase::Run);
    for second in 1..=130 {
        folded.push(Line::Window(window(second - 1)));
        folded.push(look(second, 1, "host", Seen::Host(HostSample::default())));
        if second % 3 == 0 {
            let values = [("served_total".to_owned(), 9.0)].into();
            let page = Seen::Metrics(MetricsSample { values });
            folded.push(look(second, 3, "target", page));
        }
    }
    let pages = seen(&folded, of_metrics);
    assert!(pages.len() < 43, "{}", pages.len());
    for (length, page) in &pages {
        assert!(close(page.values["served_total"], 3.0 * length), "{length}");
    }
    let length: f64 = pages.iter().map(|(length, _)| length).sum();
    assert!(close(length, 129.0), "{length}");
    let hosts = seen(&folded, of_host);
    let length: f64 = hosts.iter().map(|(length, _)| length).sum();
    assert!(close(length, 130.0), "{length}");
}

#[test]
fn what_was_seen_before_the_level_is_not_mixed_with_it() {
    let mut folded = record(Phase::Run);
    folded.levels[0].start_ns = Nanos::from_millis(5_500);
    for second in 1..=135 {
        if second > 6 {
            folded.push(Line::Window(window(second - 1)));
        }
        let host = HostSample {
            listen_overflows: u64::from(second <= 6),
            ..HostSample::default()
        };
        folded.push(look(second, 1, "host", Seen::Host(host)));
    }
    let hosts = seen(&folded, of_host);
    let of_before = hosts.iter().filter(|(_, host)| host.listen_overflows > 0);
    let of_before: Vec<_> = of_before.collect();
    assert_eq!(of_before.len(), 6);
    assert!(
        of_before
            .iter()
            .all(|(length, host)| { close(*length, 1.0) && host.listen_overflows == 1 })
    );
}
