//! A long run stays small in memory and loses nothing but resolution in time.

use std::num::NonZeroU32;

use super::*;
use crate::record::{AbsentSample, Header, LevelStart, Line, Machine, Record, SCHEMA, Writer};
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
            Seen::Host(crate::record::HostSample::default())
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
