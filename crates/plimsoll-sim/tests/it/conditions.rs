//! Every condition against what it must come to: totals of work, shares of time, moments of the speed.

use std::f64::consts::TAU;

use plimsoll_core::step::Step;
use plimsoll_core::{Nanos, Window};
use plimsoll_sim::Simulator;
use plimsoll_sim::model::{Condition, Model, ServiceTime};

use crate::behaviour::{closed, open, throughput, windows};

const MEAN: Nanos = Nanos::from_millis(5);
/// Four servers of 5 ms.
const FULL: f64 = 800.0;

/// Four servers that always need 5 ms, under one condition.
fn four(condition: Condition) -> Model {
    Model {
        conditions: vec![condition],
        ..Model::station(4, ServiceTime::Fixed { mean: MEAN })
    }
}

fn simulator(model: Model, seed: u64) -> Simulator {
    Simulator::new(model, Vec::new(), seed).unwrap()
}

/// Good answers in each second.
fn served(model: Model, step: &Step, seed: u64) -> Vec<f64> {
    let windows = windows(&mut simulator(model, seed), step);
    let ok = |window: &Window| window.total().ok() as f64;
    windows.iter().map(ok).collect()
}

/// Good answers in each second of a closed loop that keeps all servers busy.
fn saturated(model: Model, seconds: u32, seed: u64) -> Vec<f64> {
    served(model, &closed(1, 16, seconds), seed)
}

fn is_near(value: f64, truth: f64, tolerance: f64) {
    let error = (value / truth - 1.0).abs();
    assert!(error <= tolerance, "{value} instead of {truth}");
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Correlation of the values with those `lag` later.
fn correlation(values: &[f64], lag: usize) -> f64 {
    let mean = mean(values);
    let product = |a: &f64, b: &f64| (a - mean) * (b - mean);
    let pairs = values.iter().zip(&values[lag..]);
    let covariance: f64 = pairs.map(|(a, b)| product(a, b)).sum();
    let variance: f64 = values.iter().map(|a| product(a, a)).sum();
    covariance / variance
}

/// The logarithm of the speed in each second, of a service that does 1,000 a second at speed 1.
fn speeds(condition: Condition, seconds: u32, seed: u64) -> Vec<f64> {
    let mean = Nanos::from_millis(1);
    let model = Model {
        conditions: vec![condition],
        ..Model::station(1, ServiceTime::Fixed { mean })
    };
    let served = served(model, &closed(1, 2, seconds), seed);
    served.iter().map(|count| (count / 1000.0).ln()).collect()
}

#[test]
fn nothing_ends_in_a_pause_and_everything_is_served_after_it() {
    let start = Nanos::from_secs(10);
    let model = four(Condition::Pause {
        earliest: start,
        latest: start,
        length: Nanos::from_secs(3),
    });
    let windows = windows(&mut simulator(model, 1), &open(1, 200.0, 40));
    let ok: Vec<u64> = windows.iter().map(|window| window.total().ok()).collect();
    assert_eq!(ok[10..13], [0, 0, 0], "{ok:?}");
    assert!(ok[9] > 100 && ok[13] > 700, "{ok:?}");
    let due: u64 = windows.iter().map(|window| window.due_count).sum();
    let last = windows.last().unwrap();
    assert_eq!(due, ok.iter().sum::<u64>() + last.in_flight_end);
    assert!(last.in_flight_end < 20);
    // The first that arrived in it waits for all of it: 3 s, and its own 5 ms.
    let slowest = windows[13].total().answers_only().max().unwrap();
    assert!(
        slowest > Nanos::from_millis(2_950) && slowest < Nanos::from_millis(3_010),
        "{slowest}"
    );
}

#[test]
fn a_pause_begins_anywhere_between_its_bounds() {
    let model = four(Condition::Pause {
        earliest: Nanos::from_secs(10),
        latest: Nanos::from_secs(30),
        length: Nanos::from_secs(2),
    });
    let first_empty = |seed| {
        let served = saturated(model.clone(), 40, seed);
        served.iter().position(|&count| count == 0.0).unwrap()
    };
    let starts: Vec<usize> = (0..40).map(first_empty).collect();
    let (least, most) = (starts.iter().min().unwrap(), starts.iter().max().unwrap());
    assert!(
        (10..14).contains(least) && (27..=31).contains(most),
        "{starts:?}"
    );
}

#[test]
fn a_neighbour_takes_its_share_of_the_time_that_it_is_busy() {
    let model = four(Condition::Neighbour {
        share: 0.5,
        busy: Nanos::from_secs(8),
        period: Nanos::from_secs(180),
    });
    let served = saturated(model.clone(), 540, 1);
    is_near(mean(&served), FULL * (1.0 - 0.5 * 8.0 / 180.0), 0.001);
    let slow = served.iter().filter(|&&count| count < 0.55 * FULL).count();
    assert!(
        (21..=24).contains(&slow),
        "{slow} of 540 s at half the speed"
    );
    let first = |seed| {
        let served = saturated(model.clone(), 180, seed);
        served.iter().position(|&count| count < 0.9 * FULL).unwrap()
    };
    let phases: Vec<usize> = (0..12).map(first).collect();
    let spread = phases.iter().max().unwrap() - phases.iter().min().unwrap();
    assert!(spread > 60, "the phase comes from the seed: {phases:?}");
}

#[test]
fn a_wandering_speed_has_its_variance_and_correlation() {
    let condition = Condition::Wander {
        sd: 0.05,
        correlation: 0.9,
        step: Nanos::from_secs(1),
    };
    let speeds = speeds(condition, 4_000, 3);
    let middle = mean(&speeds);
    let square = speeds.iter().map(|speed| (speed - middle).powi(2));
    let variance = square.sum::<f64>() / speeds.len() as f64;
    // Standard errors with a correlation of 0.9 and 4,000 values: 0.0034 of the mean, 7 % of the variance.
    assert!(middle.abs() < 0.0105, "{middle}");
    is_near(variance, 0.0025, 0.2);
    is_near(correlation(&speeds, 1), 0.9, 0.03);
    let ten = correlation(&speeds, 10);
    assert!((ten - 0.9f64.powi(10)).abs() < 0.12, "{ten}");
}

#[test]
fn a_swinging_speed_is_a_sine_around_one() {
    let condition = Condition::Swing {
        amplitude: 0.3,
        period: Nanos::from_secs(60),
    };
    let speeds: Vec<f64> = speeds(condition, 600, 2).iter().map(|x| x.exp()).collect();
    is_near(mean(&speeds), 1.0, 0.001);
    let part = |function: fn(f64) -> f64| {
        let values = speeds.iter().enumerate();
        let values = values.map(|(at, speed)| speed * function(TAU * (at as f64 + 0.5) / 60.0));
        values.sum::<f64>() * 2.0 / 600.0
    };
    is_near(part(f64::sin).hypot(part(f64::cos)), 0.3, 0.01);
    let steepest = speeds.windows(2).map(|pair| (pair[1] - pair[0]).abs());
    assert!(steepest.fold(0.0, f64::max) < 0.035, "no jumps");
}

#[test]
fn a_leak_over_time_serves_the_integral_of_the_speed() {
    // One service time more each minute: ∫ 800 ÷ (1 + t ÷ 60 s) dt over 120 s = 800 · 60 · ln 3.
    let model = four(Condition::Leak {
        per_hour: 60.0,
        per_million: 0.0,
    });
    let total: f64 = saturated(model, 120, 1).iter().sum();
    is_near(total, FULL * 60.0 * 3.0f64.ln(), 0.002);
}

#[test]
fn a_leak_per_request_slows_down_by_what_was_served() {
    // n' = 800 ÷ (1 + bn) with b = 20 ÷ 1,000,000: n + bn² ÷ 2 = 800 t, so 60,000 after 120 s.
    let model = four(Condition::Leak {
        per_hour: 0.0,
        per_million: 20.0,
    });
    let total: f64 = saturated(model, 120, 1).iter().sum();
    is_near(total, 60_000.0, 0.01);
}

#[test]
fn credits_are_spent_and_then_only_what_is_earned() {
    let condition = Condition::Credits {
        baseline: 0.25,
        start: 100.0,
        most: 1000.0,
    };
    let served = saturated(four(condition), 100, 1);
    // 100 at the start and 1 earned a second, 4 spent a second: gone after 33.3 s.
    is_near(mean(&served[5..32]), FULL, 0.005);
    is_near(mean(&served[36..]), FULL / 4.0, 0.005);
    // All that was ever there, at 200 requests a server second.
    is_near(served.iter().sum(), (100.0 + 100.0) * 200.0, 0.005);
}

#[test]
fn credits_are_earned_while_idle_and_not_beyond_the_most() {
    let condition = Condition::Credits {
        baseline: 0.25,
        start: 0.0,
        most: 30.0,
    };
    let mut simulator = simulator(four(condition), 1);
    windows(&mut simulator, &open(1, 0.1, 60));
    let total = throughput(&mut simulator, &closed(2, 16, 20)) * 20.0;
    is_near(total, (30.0 + 20.0) * 200.0, 0.01);
}

#[test]
fn below_the_baseline_credits_cost_nothing() {
    let condition = Condition::Credits {
        baseline: 0.5,
        start: 1.0,
        most: 1000.0,
    };
    let mut simulator = simulator(four(condition), 1);
    let windows = windows(&mut simulator, &open(1, 0.4 * FULL, 60));
    let slowest = windows
        .iter()
        .filter_map(|w| w.total().answers_only().max());
    let slowest = slowest.max().unwrap();
    assert!(slowest < Nanos::from_millis(30), "{slowest}");
}

#[test]
fn a_cold_service_is_slow_for_its_first_requests() {
    let model = four(Condition::Cold {
        slower: 3.0,
        requests: 2_000,
    });
    // 2,000 at a third of the speed last 7.5 s; 12.5 s are left for the full one.
    let served = saturated(model, 20, 1);
    is_near(mean(&served[..7]), FULL / 3.0, 0.02);
    is_near(served.iter().sum(), 2_000.0 + 12.5 * FULL, 0.005);
}

/// Two servers of 5 ms, four after 5 s above 90 % and 10 s more.
fn scaling(back_below: Option<f64>) -> Model {
    let condition = Condition::ScaleOut {
        servers: 4,
        above: 0.9,
        hold: Nanos::from_secs(5),
        delay: Nanos::from_secs(10),
        back_below,
    };
    Model {
        servers: 2,
        ..four(condition)
    }
}

#[test]
fn load_scales_out_after_the_hold_and_the_delay() {
    let served = served(scaling(None), &open(1, 450.0, 60), 1);
    is_near(mean(&served[1..15]), 400.0, 0.005);
    // The backlog of about 800 is worked off at twice the speed.
    is_near(mean(&served[15..17]), FULL, 0.01);
    is_near(mean(&served[25..]), 450.0, 0.03);
}

#[test]
fn little_load_scales_nothing_and_lets_go_of_what_was_scaled() {
    let first = |simulator: &mut Simulator, level| {
        let before = throughput(simulator, &closed(level, 16, 10));
        (before, throughput(simulator, &closed(level + 1, 16, 10)))
    };
    for (back_below, again) in [(None, FULL), (Some(0.3), FULL / 2.0)] {
        let mut simulator = simulator(scaling(back_below), 1);
        // A service time is at work at either edge of a level.
        windows(&mut simulator, &open(1, 200.0, 60));
        let (before, after) = first(&mut simulator, 2);
        is_near(before, FULL / 2.0, 0.01);
        assert!(after > 1.4 * before, "{before} then {after}");
        windows(&mut simulator, &open(4, 100.0, 30));
        is_near(first(&mut simulator, 5).0, again, 0.01);
    }
}

#[test]
fn conditions_multiply() {
    let cold = Condition::Cold {
        slower: 2.0,
        requests: u64::MAX,
    };
    let neighbour = Condition::Neighbour {
        share: 0.5,
        busy: Nanos::from_secs(5),
        period: Nanos::from_secs(10),
    };
    let model = Model {
        conditions: vec![cold, neighbour],
        ..four(cold)
    };
    let mut served = saturated(model, 100, 4);
    served.sort_by(f64::total_cmp);
    is_near(mean(&served[..40]), FULL / 4.0, 0.01);
    is_near(mean(&served[60..]), FULL / 2.0, 0.01);
}

#[test]
fn the_same_seed_plays_the_same_conditions() {
    let model = Model {
        conditions: vec![
            Condition::Wander {
                sd: 0.1,
                correlation: 0.5,
                step: Nanos::from_millis(100),
            },
            Condition::Swing {
                amplitude: 0.2,
                period: Nanos::from_secs(7),
            },
            Condition::Credits {
                baseline: 0.5,
                start: 5.0,
                most: 10.0,
            },
        ],
        ..four(Condition::LevelNoise { sd: 0.1 })
    };
    let play = |seed| windows(&mut simulator(model.clone(), seed), &open(1, 500.0, 20));
    assert_eq!(play(5), play(5));
    assert_ne!(play(5), play(6));
}

#[test]
fn visits_take_their_share_of_the_time_and_have_no_period() {
    let visits = Condition::Visits {
        share: 0.5,
        busy: Nanos::from_secs(4),
        gap: Nanos::from_secs(12),
    };
    let speeds = speeds(visits, 40_000, 3);
    let busy = speeds.iter().filter(|speed| **speed < -0.35).count();
    is_near(busy as f64 / speeds.len() as f64, 0.25, 0.08);
    // Busy one moment, busy again soon after, and nothing after a mean gap and visit: 16 s.
    assert!(correlation(&speeds, 1) > 0.6);
    assert!(correlation(&speeds, 16).abs() < 0.1);
}

#[test]
fn collections_come_with_the_requests_that_were_served() {
    let collection = Condition::Collection {
        every_requests: 500,
        length: Nanos::from_millis(200),
    };
    // 500 requests take 625 ms of four full servers, and then nothing is served for 200 ms.
    let served = saturated(four(collection), 200, 1);
    is_near(mean(&served), 500.0 / 0.825, 0.02);
    let at = |rate: f64| {
        let bounds = vec![Nanos::from_millis(50)];
        let mut simulator = Simulator::new(four(collection), bounds, 1).unwrap();
        let windows = windows(&mut simulator, &open(1, rate, 200));
        let late = |window: &Window| {
            let total = window.total();
            total.attempts() - total.within(0).unwrap()
        };
        let late: u64 = windows.iter().map(late).sum();
        late as f64 / 200.0
    };
    // Four times as many requests: four times as many collections, and four times as many meet each.
    assert!(at(400.0) > 10.0 * at(100.0), "{} {}", at(400.0), at(100.0));
}

#[test]
fn a_warming_service_is_half_as_cold_after_each_half_life() {
    let warming = Condition::Warming {
        slower: 3.0,
        half_life: Nanos::from_secs(20),
    };
    let served = saturated(four(warming), 200, 1);
    for (second, slower) in [(0, 3.0), (20, 2.0), (40, 1.5), (60, 1.25)] {
        is_near(served[second], FULL / slower, 0.03);
    }
    is_near(mean(&served[190..]), FULL, 0.01);
}

#[test]
fn a_step_changes_the_speed_once_and_for_good() {
    let (earliest, latest) = (Nanos::from_secs(20), Nanos::from_secs(30));
    let step = Condition::Step {
        earliest,
        latest,
        speed: 0.7,
    };
    for seed in 0..5 {
        let served = saturated(four(step), 100, seed);
        is_near(mean(&served[..20]), FULL, 0.01);
        is_near(mean(&served[31..]), 0.7 * FULL, 0.01);
    }
}
