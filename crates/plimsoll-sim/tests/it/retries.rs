//! Requests that are sent again: what they add, what is counted, and when a service no longer comes back.

use plimsoll_core::{Nanos, Outcome, Tally, Window};
use plimsoll_sim::Simulator;
use plimsoll_sim::model::{Condition, Model, Retries, ServiceTime};

use crate::behaviour::{closed, open, throughput, windows};

const MEAN: Nanos = Nanos::from_millis(8);
const DAY: Nanos = Nanos::from_secs(86_400);

fn retries(max: u32, patience: Nanos) -> Retries {
    Retries {
        max,
        patience,
        delay: Nanos::ZERO,
    }
}

/// Four servers of 8 ms: 500/s.
fn service(retries: Option<Retries>) -> Model {
    Model {
        retries,
        ..Model::station(4, ServiceTime::Exponential { mean: MEAN })
    }
}

fn total(windows: &[Window]) -> Tally {
    let mut total = Tally::default();
    for window in windows {
        total.merge(&window.total());
    }
    total
}

#[test]
fn failures_are_multiplied_as_a_geometric_series() {
    // Half of the answers fail: 1 + ½ + ¼ + ⅛ tries a request, and 1 of 16 requests fails four times.
    let model = Model {
        failure_ratio: 0.5,
        ..service(Some(retries(3, DAY)))
    };
    let mut simulator = Simulator::new(model, Vec::new(), 1).unwrap();
    let total = total(&windows(&mut simulator, &closed(1, 16, 200)));
    let attempts = total.attempts() as f64;
    let rate = attempts / 200.0;
    assert!((rate / (500.0 / 1.875) - 1.0).abs() < 0.02, "{rate}");
    let failed = total.failed_ratio().unwrap();
    assert!((failed - 0.0625).abs() < 0.004, "{failed}");
}

#[test]
fn a_request_is_counted_once_with_its_last_outcome() {
    // A try takes 100 ms and is given up after 40; the next goes out 10 ms later. Tries of one request begin
    // at 0, 50 and 100 ms; the last is given up at 140 ms.
    let model = Model {
        retries: Some(Retries {
            max: 2,
            patience: Nanos::from_millis(40),
            delay: Nanos::from_millis(10),
        }),
        ..Model::station(
            1_000,
            ServiceTime::Fixed {
                mean: Nanos::from_millis(100),
            },
        )
    };
    let play = |client_timeout| {
        let model = Model {
            client_timeout,
            ..model.clone()
        };
        let mut simulator = Simulator::new(model, Vec::new(), 1).unwrap();
        let played = windows(&mut simulator, &closed(1, 1, 7));
        let total = total(&played);
        let timeout = total.class(Outcome::Timeout);
        assert_eq!(timeout.count, total.attempts(), "no try was good in time");
        let due: u64 = played.iter().map(|window| window.due_count).sum();
        let pending = played.last().unwrap().in_flight_end;
        assert_eq!(due, timeout.count + pending, "tries are not attempts");
        (
            timeout.count,
            timeout.response.sum_ns() / u128::from(timeout.count),
        )
    };
    // The 50th ends with the seventh second, which it no longer belongs to.
    assert_eq!(play(None), (49, 140_000_000));
    // A client that leaves after 120 ms sees the same service; 7 s ÷ 120 ms.
    assert_eq!(play(Some(Nanos::from_millis(120))), (58, 120_000_000));
}

#[test]
fn the_first_good_answer_ends_a_request_and_costs_the_service_the_others() {
    // Odd ones out: half of the tries take longer than the patience, so the mean number of tries is 2 with
    // many allowed, and each keeps a server busy to its end.
    let patience = Nanos(MEAN.0 * 693_147 / 1_000_000);
    let model = Model {
        servers: 1_000,
        ..service(Some(retries(30, patience)))
    };
    let mut simulator = Simulator::new(model, Vec::new(), 1).unwrap();
    let total = total(&windows(&mut simulator, &open(1, 500.0, 100)));
    assert_eq!(total.failures(), 0);
    // One give-up on average, then a try of an exponential below its median: ln 2 · E(give-ups) + (1 − ln 2).
    let ok = total.answers_only();
    let response = ok.sum_ns() as f64 / ok.count() as f64 / MEAN.0 as f64;
    let ln2 = std::f64::consts::LN_2;
    assert!(
        (response / (ln2 + (1.0 - ln2)) - 1.0).abs() < 0.02,
        "{response}"
    );
}

/// Good answers a second in the last minute of five, after a pause of 3 s in the first.
fn after_a_pause(retries: Option<Retries>, rate: f64) -> f64 {
    let model = Model {
        conditions: vec![Condition::Pause {
            earliest: Nanos::from_secs(30),
            latest: Nanos::from_secs(30),
            length: Nanos::from_secs(3),
        }],
        client_timeout: Some(Nanos::from_secs(1)),
        ..service(retries)
    };
    let mut simulator = Simulator::new(model, Vec::new(), 7).unwrap();
    let before = total(&windows(&mut simulator, &open(1, rate, 29)));
    assert_eq!(before.failures(), 0, "{rate}/s is no load before the pause");
    windows(&mut simulator, &open(2, rate, 211));
    throughput(&mut simulator, &open(3, rate, 60))
}

#[test]
fn three_retries_keep_a_service_down_that_would_come_back() {
    let three = Some(retries(3, Nanos::from_millis(150)));
    // Once nothing is in time, four tries a request: 300/s make 1,200/s of the 500/s there are.
    let stuck = after_a_pause(three, 300.0);
    assert!(stuck < 30.0, "{stuck}");
    for (retries, rate) in [(None, 300.0), (three, 100.0)] {
        let back = after_a_pause(retries, rate);
        assert!((back / rate - 1.0).abs() < 0.05, "{retries:?}: {back}");
    }
}

#[test]
fn the_published_retry_storm_is_stuck_between_its_edges() {
    // One server of 10/s, 100 places, 4 s of patience, 3 retries, 30/s for 5 s at 120 s. Stuck: less than half of
    // the load is answered in time 800 to 1,000 s from the start (capacity-science F.4). Below 10 ÷ (1 + 3) = 2.5/s
    // it must come back.
    let model = Model {
        queue_max: Some(100),
        ..Model::station(
            1,
            ServiceTime::Exponential {
                mean: Nanos::from_millis(100),
            },
        )
    };
    let model = Model {
        retries: Some(retries(3, Nanos::from_secs(4))),
        ..model
    };
    for (rate, expected) in [(2.0, 0), (2.4, 0), (4.0, 10), (7.0, 10)] {
        let is_stuck = |seed: &u64| {
            let mut simulator = Simulator::new(model.clone(), Vec::new(), *seed).unwrap();
            windows(&mut simulator, &open(1, rate, 120));
            windows(&mut simulator, &open(2, 30.0, 5));
            windows(&mut simulator, &open(3, rate, 675));
            throughput(&mut simulator, &open(4, rate, 200)) < 0.5 * rate
        };
        let stuck = (0..10).filter(is_stuck).count();
        assert_eq!(stuck, expected, "at {rate}/s");
    }
}
