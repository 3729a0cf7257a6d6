//! Two tiers in series and answers that fail, against queueing theory.

use plimsoll_core::{Nanos, Outcome, Tally};
use plimsoll_sim::Simulator;
use plimsoll_sim::model::{Behind, Model, ServiceTime, Slots};

use crate::behaviour::{closed, open as steps, throughput, windows};
use crate::closed_forms::{Run, UNIT, agrees, open};

fn exponential(servers: u32, mean: Nanos) -> Model {
    Model::station(servers, ServiceTime::Exponential { mean })
}

fn behind(servers: u32, mean: Nanos, queue_max: Option<u64>) -> Behind {
    Behind {
        servers,
        service: ServiceTime::Exponential { mean },
        queue_max,
    }
}

#[test]
fn two_queues_in_series_take_the_sum_of_both() {
    // Burke (1956): what leaves an M/M/1 is Poisson, so 1 ÷ (1 − 0.7) + 1 ÷ (1.25 − 0.7) = 5.151515 (F.3).
    let model = Model {
        behind: Some(behind(1, Nanos(UNIT.0 * 4 / 5), None)),
        ..exponential(1, UNIT)
    };
    agrees("tandem", 5.151_515, 120, &model, open(0.7), Run::response);
    agrees(
        "in flight",
        0.7 * 5.151_515,
        120,
        &model,
        open(0.7),
        |run| run.in_flight,
    );
}

#[test]
fn a_full_queue_behind_refuses_what_theory_says() {
    // Servers without end before it leave the arrivals Poisson: M/M/1/10 at a load of 1.5 (F.3).
    let model = Model {
        behind: Some(behind(1, UNIT, Some(9))),
        ..exponential(1_000, UNIT)
    };
    agrees("loss behind", 0.337_232, 30, &model, open(1.5), Run::lost);
}

#[test]
fn a_slot_is_held_to_the_end_of_the_second_tier() {
    let fixed = |millis| ServiceTime::Fixed {
        mean: Nanos::from_millis(millis),
    };
    let model = Model {
        behind: Some(Behind {
            servers: 8,
            service: fixed(15),
            queue_max: None,
        }),
        slots: Some(Slots {
            max: 2,
            waiting_max: 100,
        }),
        ..Model::station(8, fixed(5))
    };
    let mut simulator = Simulator::new(model, Vec::new(), 1).unwrap();
    // Two slots of 20 ms.
    let rate = throughput(&mut simulator, &closed(1, 32, 10));
    assert!((rate - 100.0).abs() < 0.5, "{rate}");
}

#[test]
fn who_waits_for_a_slot_may_still_find_the_queue_full() {
    let model = Model {
        slots: Some(Slots {
            max: 4,
            waiting_max: 100,
        }),
        queue_max: Some(0),
        ..Model::station(2, ServiceTime::Fixed { mean: UNIT })
    };
    let mut simulator = Simulator::new(model, Vec::new(), 1).unwrap();
    let played = windows(&mut simulator, &steps(1, 3_000.0, 5));
    let refused: u64 = played
        .iter()
        .map(|window| window.total().class(Outcome::Refused).count)
        .sum();
    assert!(
        refused > 3_000,
        "{refused} of 15,000, and 10,000 can be served"
    );
}

#[test]
fn answers_fail_as_often_at_any_rate_and_take_as_long() {
    let model = Model {
        failure_ratio: 0.02,
        ..exponential(4, UNIT)
    };
    for (rate, seconds) in [(200.0, 200), (3_000.0, 20)] {
        let mut simulator = Simulator::new(model.clone(), Vec::new(), 2).unwrap();
        let mut total = Tally::default();
        for window in windows(&mut simulator, &steps(1, rate, seconds)) {
            total.merge(&window.total());
        }
        let failed = total.class(Outcome::Http5xx);
        let (count, attempts) = (failed.count as f64, total.attempts() as f64);
        let error = (0.02 * 0.98 / attempts).sqrt();
        let ratio = count / attempts;
        assert!(
            (ratio - 0.02).abs() < 3.0 * error,
            "{rate}/s: {ratio} ± {error}"
        );
        let mean = |sum_ns: u128, count: f64| sum_ns as f64 / count;
        let ok = total.answers_only();
        let good = mean(ok.sum_ns(), ok.count() as f64);
        let bad = mean(failed.response.sum_ns(), count);
        // Exponential at least: a standard error of 1 ÷ √800 of the mean.
        assert!(
            (bad / good - 1.0).abs() < 0.15,
            "{rate}/s: {bad} and {good}"
        );
    }
}
