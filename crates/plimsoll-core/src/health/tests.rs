//! Which figures void a level, which only label it, and what a single blip may do.

use super::*;
use crate::outcome::Outcome;
use crate::tally::Tally;

const SECOND: Nanos = Nanos::from_secs(1);

/// A second with 1,000 attempts of `service_ms` each, sent 20 µs late by a thread 30 % busy.
fn second(service_ms: u64) -> Window {
    let mut tally = Tally::default();
    let service = Nanos::from_millis(service_ms);
    for _ in 0..1000 {
        tally.record(Outcome::Ok, service, Some(service), 100, &[]);
    }
    let mut window = Window {
        length_ns: SECOND,
        due_count: 1000,
        sent_count: 1000,
        operations: vec![tally],
        ..Window::default()
    };
    window.health.lag.record_n(Nanos::from_micros(20), 1000);
    window.health.worker_run_ns = vec![Nanos::from_millis(300), Nanos::from_millis(100)];
    window.health.worker_wait_ns = vec![Nanos::from_millis(10), Nanos::from_millis(10)];
    window
}

fn level(change: impl Fn(usize, &mut Window)) -> Vec<Window> {
    (0..10)
        .map(|index| {
            let mut window = second(10);
            change(index, &mut window);
            window
        })
        .collect()
}

fn exceeded(assessment: &Assessment) -> Vec<Figure> {
    let over = assessment
        .readings
        .iter()
        .filter(|reading| reading.exceeds());
    over.map(|reading| reading.figure).collect()
}

#[test]
fn what_breaches_an_open_loop() {
    type Change = fn(usize, &mut Window);
    let cases: [(&str, Change, &[Figure]); 6] = [
        ("a calm generator", |_, _| {}, &[]),
        (
            "2 % of the sends lag 2 ms",
            |_, window| window.health.lag.record_n(Nanos::from_millis(2), 20),
            &[Figure::LagP99],
        ),
        (
            "0.3 % of the sends are 20 ms late in every second",
            |_, window| window.health.lag.record_n(Nanos::from_millis(20), 3),
            &[Figure::LateSends],
        ),
        (
            "two in a thousand dropped by us",
            |_, window| window.health.dropped_ours_count = 2,
            &[Figure::DroppedOurs],
        ),
        (
            "one worker full",
            |_, window| window.health.worker_run_ns[1] = Nanos::from_millis(810),
            &[Figure::WorkerBusy],
        ),
        (
            "one worker waits for a processor",
            |_, window| window.health.worker_wait_ns[0] = Nanos::from_millis(60),
            &[Figure::WorkerWait],
        ),
    ];
    for (name, change, expected) in cases {
        let windows = level(change);
        let open = assess(Loop::Open, &windows);
        assert_eq!(exceeded(&open), expected, "{name}");
        assert_eq!(open.breached(), !expected.is_empty(), "{name}");
    }
}

#[test]
fn a_full_thread_labels_a_closed_loop_and_lost_attempts_void_it() {
    let full = level(|_, window| window.health.worker_run_ns[0] = Nanos::from_millis(990));
    assert_eq!(
        assess(Loop::Closed, &full).condition,
        Condition::GeneratorBound
    );
    assert_eq!(assess(Loop::Open, &full).condition, Condition::Breached);
    let lost = level(|_, window| window.health.dropped_ours_count = 5);
    assert_eq!(assess(Loop::Closed, &lost).condition, Condition::Breached);
}

#[test]
fn one_blip_in_ten_seconds_is_stated_and_forgiven() {
    let blip = level(|index, window| {
        if index == 4 {
            window.health.lag.record_n(Nanos::from_millis(30), 30);
            window.health.worker_wait_ns[0] = Nanos::from_millis(300);
        }
    });
    let assessment = assess(Loop::Open, &blip);
    assert_eq!(assessment.condition, Condition::Clean, "{assessment:?}");
    let late = assessment.readings[1];
    assert!((late.worst_window - 0.03).abs() < 1e-9, "{late}");
    let twice = level(|index, window| {
        if index % 5 == 4 {
            window.health.lag.record_n(Nanos::from_millis(30), 30);
        }
    });
    assert_eq!(exceeded(&assess(Loop::Open, &twice)), [Figure::LateSends]);
}

#[test]
fn the_tolerated_lag_follows_the_service_time() {
    let mut slow = second(100);
    slow.health.lag.record_n(Nanos::from_millis(4), 500);
    let assessment = assess(Loop::Open, [&slow]);
    assert!(
        !assessment.breached(),
        "4 ms is below 5 % of 100 ms: {assessment:?}"
    );
    slow.health.lag.record_n(Nanos::from_millis(6), 500);
    assert_eq!(exceeded(&assess(Loop::Open, [&slow])), [Figure::LagP99]);
}

#[test]
fn nothing_measured_is_unknown_and_the_worst_reading_is_found() {
    assert_eq!(assess(Loop::Open, []).condition, Condition::Unknown);
    let windows = level(|_, window| window.health.worker_wait_ns[0] = Nanos::from_millis(200));
    let assessment = assess(Loop::Open, &windows);
    let worst = assessment.worst().unwrap();
    assert_eq!(worst.figure, Figure::WorkerWait);
    assert_eq!(
        worst.to_string(),
        "worker thread waiting for a processor 20.0 %, tolerated 5.00 %, worst second 20.0 %"
    );
}

#[test]
fn at_a_low_rate_one_hiccup_does_not_void_a_short_level() {
    let quiet = |hiccups: &[usize]| -> Vec<Window> {
        let window = |index| {
            let mut window = Window {
                length_ns: SECOND,
                due_count: 60,
                ..Window::default()
            };
            window.health.lag.record_n(Nanos::from_micros(20), 56);
            let lag = if hiccups.contains(&index) { 60_000 } else { 20 };
            window.health.lag.record_n(Nanos::from_micros(lag), 4);
            window
        };
        (0..7).map(window).collect()
    };
    let once = assess(Loop::Open, &quiet(&[0]));
    assert_eq!(once.condition, Condition::Clean, "{once:?}");
    assert!(
        (once.readings[0].worst_window - 6e7).abs() < 1e5,
        "stated all the same: {once:?}"
    );
    assert!(assess(Loop::Open, &quiet(&[2, 5])).breached());
    assert!(
        assess(Loop::Open, quiet(&[0]).iter().take(3)).breached(),
        "too short to forgive"
    );
}
