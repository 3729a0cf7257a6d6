//! Searches over the number of virtual users, on a closed network whose figures are known in closed form.

use plimsoll_control::search::{Config, Over};
use plimsoll_core::Nanos;
use plimsoll_core::step::{Phase, Step, StepLoad};
use plimsoll_core::verdict::{Collapse, LevelResult, LevelState};
use plimsoll_sim::model::{Model, ServiceTime};

use crate::played::{Played, config, play};

const DEMAND: Nanos = Nanos::from_millis(10);
const THINK: Nanos = Nanos::from_secs(1);
/// N* = (Z + D) ÷ D = (1 s + 10 ms) ÷ 10 ms.
const KNEE: f64 = 101.0;
const BOUND: f64 = 0.5;
const SLO: &str = "p99<500ms,errors<0.1%";

/// One server, exponential work, exponential thought: the machine-repair model.
pub(crate) fn shop() -> Model {
    Model {
        think_mean: THINK,
        ..Model::station(1, ServiceTime::Exponential { mean: DEMAND })
    }
}

pub(crate) fn over_vus() -> Config {
    Config {
        over: Over::Vus {
            iteration: THINK + DEMAND,
        },
        ..config(SLO)
    }
}

/// P(R > bound) with `n` virtual users: an arrival sees the network as it is with one of them less, k at the
/// server with a weight of (n−1)! ÷ (n−1−k)! · (D ÷ Z)^k, and then needs k + 1 exponential services, which are not
/// over by `bound` if at most k ends of a Poisson process fall into it.
fn late_share(n: u32) -> f64 {
    let ratio = DEMAND.as_secs_f64() / THINK.as_secs_f64();
    let passes = BOUND / DEMAND.as_secs_f64();
    let (mut weight, mut sum, mut late) = (1.0, 0.0, 0.0);
    let (mut ends, mut at_most) = ((-passes).exp(), 0.0);
    for k in 0..n {
        at_most += ends;
        ends *= passes / f64::from(k + 1);
        sum += weight;
        late += weight * at_most;
        weight *= f64::from(n - 1 - k) * ratio;
    }
    late / sum
}

/// Served per second with `n` virtual users: the server is idle when all of them think, with the probability
/// 1 ÷ Σ n! ÷ (n − k)! · (D ÷ Z)^k, and else serves 1 ÷ D.
fn throughput(n: u32) -> f64 {
    let demand = DEMAND.as_secs_f64();
    let ratio = demand / THINK.as_secs_f64();
    let (mut weight, mut sum) = (1.0, 0.0);
    for k in 0..=n {
        sum += weight;
        weight *= f64::from(n - k) * ratio;
    }
    (1.0 - 1.0 / sum) / demand
}

/// The most virtual users of whom at most one attempt in a hundred is late.
fn truth() -> f64 {
    let fails = |n: &u32| late_share(*n) > 0.01;
    f64::from((1..400).find(fails).unwrap() - 1)
}

fn searches() -> Vec<Played> {
    (0..25)
        .map(|seed| play(&shop(), over_vus(), seed))
        .collect()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[test]
fn the_most_virtual_users_and_the_knee_are_those_of_the_closed_form() {
    let truth = truth();
    assert!((110.0..140.0).contains(&truth), "{truth}");
    let played = searches();
    let lower = |one: &Played| one.found.capacity_vus.and_then(|bounds| bounds.lower);
    let held: Vec<f64> = played.iter().filter_map(lower).collect();
    assert!(held.len() >= 22, "{} of 25 searches claimed", held.len());
    let errors: Vec<f64> = held.iter().map(|held| held / truth - 1.0).collect();
    let far_off = errors.iter().filter(|error| error.abs() > 0.1).count();
    assert!(far_off <= 2, "{held:?} of {truth}");
    let too_high = errors.iter().filter(|error| **error > 0.05).count();
    assert_eq!(too_high, 0, "{errors:?} of {truth}");
    // Shown by `--nocapture`.
    eprintln!("held {held:?} of {truth}");
    let off = median(errors.iter().map(|error| error.abs()).collect());
    assert!(off <= 0.04, "{off}: {errors:?}");
    let knees: Vec<f64> = played
        .iter()
        .filter_map(|one| one.found.knee_vus.map(|knee| knee.estimate / KNEE - 1.0))
        .collect();
    assert_eq!(knees.len(), 25);
    assert!(knees.iter().all(|error| error.abs() < 0.1), "{knees:?}");
    assert!(median(knees.clone()).abs() < 0.04, "{knees:?}");
}

#[test]
fn the_request_rate_that_the_virtual_users_come_to_is_said() {
    let found = play(&shop(), over_vus(), 3).found;
    let vus = found.capacity_vus.unwrap().estimate;
    let (reached, truth) = (
        found.reached_per_s.unwrap().estimate,
        throughput(vus as u32),
    );
    assert!(
        (reached / truth - 1.0).abs() < 0.025,
        "{reached} instead of {truth} with {vus}"
    );
    assert_eq!(
        found.capacity_per_s, None,
        "what users come to is no rate that was offered"
    );
    assert_eq!((found.knee_per_s, found.collapse_per_s), (None, None));
    assert_eq!(found.recovery_seconds, None);
    // Twice the virtual users still get as many answers, but nearly all of them too late.
    match found.collapse_vus.unwrap() {
        Collapse::At(bounds) => assert!(bounds.estimate > KNEE, "{bounds:?}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_level_is_closed_and_within_the_time() {
    let played = play(&shop(), over_vus(), 5);
    for (step, _) in &played.levels {
        assert!(matches!(step.load, StepLoad::Closed { .. }), "{step:?}");
        assert_ne!(step.phase, Phase::Anchor);
    }
    assert!(played.seconds + 20.0 <= played.plan_seconds);
}

#[test]
fn without_thought_one_is_the_knee() {
    let model = Model::station(1, ServiceTime::Exponential { mean: DEMAND });
    let config = Config {
        over: Over::Vus { iteration: DEMAND },
        ..config("p99<100ms,errors<0.1%")
    };
    let found = play(&model, config, 1).found;
    // (0 + D) ÷ D.
    let knee = found.knee_vus.unwrap();
    assert!((0.85..1.2).contains(&knee.estimate), "{knee:?}");
    // All but one wait, so R is Erlang(n, D): its p99 is 84 ms for 3, 100.5 ms for 4.
    let capacity = found.capacity_vus.unwrap();
    assert!((3.0..=4.0).contains(&capacity.estimate), "{capacity:?}");
    assert!(found.converged, "{found:?}");
}

#[test]
fn a_service_that_is_too_slow_for_one_says_so() {
    let config = Config {
        over: Over::Vus { iteration: DEMAND },
        ..config("p99<5ms,errors<0.1%")
    };
    let model = Model::station(1, ServiceTime::Exponential { mean: DEMAND });
    let played = play(&model, config, 1);
    assert_eq!(played.found.capacity_vus, None);
    let remarks: Vec<String> = played
        .found
        .remarks
        .iter()
        .map(ToString::to_string)
        .collect();
    let remarks = remarks.join(" ");
    assert!(remarks.contains("even at 1 VU"), "{remarks}");
}

#[test]
fn more_virtual_users_than_are_allowed_are_not_played() {
    let config = Config {
        connections_max: std::num::NonZeroU32::new(40).unwrap(),
        ..over_vus()
    };
    let played = play(&shop(), config, 2);
    let most = played.levels.iter().map(|(step, _)| match step.load {
        StepLoad::Closed { in_flight } => in_flight,
        StepLoad::Open { .. } => u32::MAX,
    });
    assert_eq!(most.max(), Some(40));
    let capacity = played.found.capacity_vus.unwrap();
    assert_eq!((capacity.lower, capacity.upper), (Some(40.0), None));
    assert_eq!(
        played.found.knee_vus, None,
        "40 hardly wait: no knee was seen"
    );
    assert!(played.found.converged);
    let remarks: Vec<String> = played
        .found
        .remarks
        .iter()
        .map(ToString::to_string)
        .collect();
    let remarks = remarks.join(" ");
    assert!(remarks.contains("at least 40 VUs"), "{remarks}");
}

#[test]
fn only_one_number_of_virtual_users_is_checked() {
    for (vus, state) in [(100, LevelState::Pass), (200, LevelState::Fail)] {
        let config = Config {
            check_vus: std::num::NonZeroU32::new(vus),
            within: Nanos::from_secs(120),
            ..over_vus()
        };
        let played = play(&shop(), config, 4);
        let is_soak = |level: &&(Step, LevelResult)| level.0.phase == Phase::Soak;
        let (step, result) = played.levels.iter().find(is_soak).unwrap();
        assert_eq!(result.state, state, "{result:?}");
        assert_eq!(step.load, StepLoad::Closed { in_flight: vus });
    }
}
