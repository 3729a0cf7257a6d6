//! Which figures void a level, which only say that the generator was late, and what a single blip may do.

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

const BOUND: Option<Nanos> = Some(Nanos::from_millis(20));

/// A script of a moment computes, and sends three requests.
#[test]
fn a_thread_that_was_full_for_a_moment_is_no_limit() {
    let of = |seconds: u64, due_count: u64| {
        let mut window = Window {
            length_ns: Nanos::from_secs(seconds),
            due_count,
            ..Window::default()
        };
        window.health.worker_run_ns = vec![Nanos::from_secs(seconds)];
        assess(Loop::Closed, None, [&window]).condition
    };
    assert_eq!(of(1, 1_000), Condition::Clean);
    assert_eq!(of(10, 3), Condition::Clean);
    assert_eq!(of(10, 1_000), Condition::GeneratorBound);
}

#[test]
fn what_an_open_loop_says_about_its_generator() {
    type Change = fn(usize, &mut Window);
    let cases: [(&str, Change, &[Figure], Condition); 9] = [
        ("a calm generator", |_, _| {}, &[], Condition::Clean),
        (
            "2 % of the sends lag 2 ms",
            |_, window| window.health.lag.record_n(Nanos::from_millis(2), 20),
            &[Figure::LagP99],
            Condition::Late,
        ),
        (
            "0.3 % of the sends are 20 ms late in every second",
            |_, window| window.health.lag.record_n(Nanos::from_millis(20), 3),
            &[Figure::LateSends],
            Condition::Late,
        ),
        (
            "more than half of the sends lag 2 ms",
            |_, window| window.health.lag.record_n(Nanos::from_millis(2), 1_100),
            &[Figure::LagP99, Figure::LagP50],
            Condition::Breached,
        ),
        (
            "two in a thousand dropped by us",
            |_, window| window.health.dropped_ours_count = 2,
            &[Figure::DroppedOurs],
            Condition::Breached,
        ),
        (
            "one worker ran full",
            |_, window| window.health.worker_run_ns[1] = Nanos::from_millis(810),
            &[Figure::WorkerBusy],
            Condition::GeneratorBound,
        ),
        (
            "one worker is full, but waits for half of it",
            |_, window| {
                window.health.worker_run_ns[1] = Nanos::from_millis(450);
                window.health.worker_wait_ns[1] = Nanos::from_millis(540);
            },
            &[Figure::WorkerWait],
            Condition::Late,
        ),
        (
            "one worker waits for a processor",
            |_, window| window.health.worker_wait_ns[0] = Nanos::from_millis(60),
            &[Figure::WorkerWait],
            Condition::Late,
        ),
        (
            "one stall longer than the bound",
            |index, window| {
                if index == 3 {
                    window.health.stall_max_ns = Nanos::from_millis(30);
                }
            },
            &[Figure::Stall],
            Condition::Late,
        ),
    ];
    for (name, change, expected, condition) in cases {
        let windows = level(change);
        let open = assess(Loop::Open, BOUND, &windows);
        assert_eq!(exceeded(&open), expected, "{name}");
        assert_eq!(open.condition, condition, "{name}");
    }
}

#[test]
fn lateness_means_nothing_in_a_closed_loop_and_lost_attempts_void_it() {
    let full = level(|_, window| window.health.worker_run_ns[0] = Nanos::from_millis(990));
    let closed = |windows: &[Window]| assess(Loop::Closed, BOUND, windows);
    assert_eq!(closed(&full).condition, Condition::GeneratorBound);
    let late = level(|_, window| window.health.lag.record_n(Nanos::from_millis(50), 900));
    assert_eq!(closed(&late).condition, Condition::Clean);
    let lost = level(|_, window| window.health.dropped_ours_count = 5);
    assert_eq!(closed(&lost).condition, Condition::Breached);
    let stopped = level(|_, window| window.health.stall_max_ns = Nanos::from_millis(300));
    assert_eq!(closed(&stopped).condition, Condition::Late);
}

/// 100 attempts have a p99 that is their worst launch but one: a single late one is no p99, and neither are two.
#[test]
fn a_few_late_sends_of_a_short_level_are_no_p99() {
    let with_late = |late: u64| {
        let mut window = Window {
            length_ns: SECOND,
            due_count: 100,
            ..Window::default()
        };
        let lag = &mut window.health.lag;
        lag.record_n(Nanos::from_micros(20), 100 - late);
        lag.record_n(Nanos::from_millis(5), late);
        assess(Loop::Open, None, [&window])
    };
    assert_eq!(with_late(1).condition, Condition::Clean);
    assert_eq!(with_late(2).condition, Condition::Clean);
    assert_eq!(with_late(6).condition, Condition::Late);
}

#[test]
fn one_blip_is_stated_and_voids_nothing() {
    let blip = level(|index, window| {
        if index == 4 {
            window.health.lag.record_n(Nanos::from_millis(30), 30);
            window.health.worker_wait_ns[0] = Nanos::from_millis(300);
        }
    });
    let assessment = assess(Loop::Open, BOUND, &blip);
    assert!(!assessment.breached(), "{assessment:?}");
    let lag = assessment.readings[0];
    assert!(!lag.exceeds() && lag.worst_window > 29e6, "{lag}");
}

#[test]
fn the_tolerated_lag_follows_the_bound_or_the_service_time() {
    let mut slow = second(100);
    slow.health.lag.record_n(Nanos::from_millis(4), 500);
    let over = |bound, window: &Window| exceeded(&assess(Loop::Open, bound, [window]));
    assert_eq!(over(None, &slow), [], "4 ms is below 5 % of 100 ms");
    assert_eq!(over(BOUND, &slow), [Figure::LagP99], "5 % of 20 ms");
    assert_eq!(over(Some(Nanos::from_millis(250)), &slow), []);
    slow.health.lag.record_n(Nanos::from_millis(6), 500);
    assert_eq!(over(None, &slow), [Figure::LagP99]);
}

#[test]
fn nothing_measured_is_unknown_and_the_worst_reading_is_found() {
    assert_eq!(assess(Loop::Open, BOUND, []).condition, Condition::Unknown);
    let windows = level(|_, window| window.health.worker_wait_ns[0] = Nanos::from_millis(200));
    let assessment = assess(Loop::Open, BOUND, &windows);
    let worst = assessment.worst().unwrap();
    assert_eq!(worst.figure, Figure::WorkerWait);
    assert_eq!(
        worst.to_string(),
        "worker thread waiting for a processor 20.0 %, tolerated 5.00 %, worst second 20.0 %"
    );
}
