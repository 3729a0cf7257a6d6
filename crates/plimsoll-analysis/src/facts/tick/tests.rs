//! Shares of a long run, whose looks were folded, are those of its seconds.

use plimsoll_core::record::{AbsentSample, Line, MetricsSample, ThreadSample};
use plimsoll_core::schedule::RateProfile;

use super::super::gauges::{Gauge, gauges};
use super::super::level::levels;
use super::*;
use crate::gates::tests::{RATE, record_with, window};

fn look(at: u64, length: u64, seen: Seen) -> Line {
    Line::Observation(Observation {
        at_ns: Nanos::from_secs(at),
        length_ns: Nanos::from_secs(length),
        tier: "target".to_owned(),
        seen,
    })
}

fn process(pid: u32, run_ms: u64) -> Seen {
    Seen::Process(ProcessSample {
        pid,
        cores_allowed: 2,
        threads: vec![ThreadSample {
            tid: pid,
            run_ns: Nanos::from_millis(run_ms),
            ..ThreadSample::default()
        }],
        ..ProcessSample::default()
    })
}

/// A thread that runs for 0.9 s of every second, an endpoint that answers every third, and one that is missing now and then.
fn record(seconds: u64) -> Record {
    let mut record = record_with(RateProfile::constant(RATE as f64).unwrap());
    for second in 1..=seconds {
        record.push(Line::Window(window(second - 1)));
        record.push(look(second, 1, process(7, 900)));
        // Its first look is that of a process that came in the middle of a stride.
        if second > 78 {
            record.push(look(second, 1, process(8, 0)));
        }
        if second % 3 == 0 {
            let values = [("gc_seconds_total".to_owned(), 0.3)].into();
            record.push(look(second, 3, Seen::Metrics(MetricsSample { values })));
        }
        if second % 10 == 0 {
            let absent = AbsentSample::default();
            record.push(look(second, 1, Seen::Absent(absent)));
        }
    }
    record
}

#[test]
fn shares_do_not_grow_with_the_run() {
    for seconds in [30, 77, 130, 400] {
        let record = record(seconds);
        let levels = levels(&record);
        let ticks = ticks(&record, &levels);
        // Beside what could not be seen, which has an instant of its own.
        let seen = ticks.iter().filter(|tick| !tick.tiers.is_empty());
        let whole: f64 = seen.map(|tick| tick.seconds).sum();
        assert!((whole - seconds as f64).abs() < 1.5, "{seconds}: {whole}");
        let ticks: Vec<&Tick> = ticks.iter().collect();
        let facts = tier_facts(&ticks, "target");
        assert!((facts.run - 0.9).abs() < 0.01, "{seconds}: {}", facts.run);
        let thread = facts.thread.unwrap();
        assert!((thread.run - 0.9).abs() < 0.02, "{seconds}: {thread:?}");
        let gauges = gauges(&ticks, "target");
        let collected = gauges.value(Gauge::GcSeconds).unwrap();
        assert!((collected - 0.1).abs() < 1e-6, "{seconds}: {collected}");
    }
}

#[test]
fn seconds_in_which_everything_stood_still_leave_a_full_thread_full() {
    // A level that a pause spoilt is one of three: 20 of 60 seconds at 0.6 of a core, the others at 0.99.
    let shares = |share: fn(u64) -> u64| {
        let mut record = record_with(RateProfile::constant(RATE as f64).unwrap());
        for second in 1..=60 {
            record.push(Line::Window(window(second - 1)));
            record.push(look(second, 1, process(7, share(second))));
        }
        let levels = levels(&record);
        let ticks = ticks(&record, &levels);
        let facts = tier_facts(&ticks.iter().collect::<Vec<_>>(), "target");
        (facts.run, facts.thread.unwrap())
    };
    let (tier, thread) = shares(|second| if second <= 20 { 600 } else { 990 });
    assert!((thread.run - 0.99).abs() < 1e-9, "{thread:?}");
    assert!((thread.run - tier).abs() < 1e-9, "{tier}");
    // Full for less than half of the time is not full.
    let (_, thread) = shares(|second| if second <= 32 { 600 } else { 990 });
    assert!(thread.run < 0.8, "{thread:?}");
}
