//! Services that once misled a search: each was found by reading, and decided it wrongly.

use std::num::NonZeroU32;

use plimsoll_control::search::Config;
use plimsoll_core::Nanos;
use plimsoll_core::verdict::SearchRemark;
use plimsoll_sim::model::{Condition, Model, ServiceTime};

use crate::played::{Played, config, play};
use crate::worlds::{self, P99, ms, s, under};

fn at_most(slo: &str, max_rate: f64) -> Config {
    Config {
        max_rate_per_s: Some(max_rate),
        ..config(slo)
    }
}

fn is_held(played: &Played) -> bool {
    let capacity = played.found.capacity_per_s;
    played.found.converged && capacity.is_some_and(|bounds| bounds.lower.is_some())
}

fn says(played: &Played, is: impl Fn(&SearchRemark) -> bool) -> bool {
    played.found.remarks.iter().any(is)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// 1.5 of a thousand requests hang until the client gives up, and one may: most of them end behind the level they belong to.
#[test]
fn what_hangs_is_counted_although_its_level_is_over() {
    let hanging = ServiceTime::Mixed {
        mean: ms(1_500),
        slow_ratio: 0.0015,
        times: 100_000.0,
    };
    let model = Model::station(4096, hanging);
    let held = (0..20)
        .filter(|seed| is_held(&play(&model, at_most("errors<0.1%", 200.0), *seed)))
        .count();
    assert!(held <= 2, "{held} of 20");
}

/// The client must not give up on answers that the bound allows: 8 s in the mean, and a fifth of them take more than 10 s.
#[test]
fn a_bound_beyond_ten_seconds_is_waited_for() {
    let eight = ServiceTime::Erlang {
        mean: s(8),
        shape: 8,
    };
    for seed in 0..3 {
        let played = play(&Model::station(64, eight), config("p90<20s"), seed);
        assert!(!played.found.is_hopeless(), "{:?}", played.found.remarks);
        assert!(played.found.capacity_per_s.is_some());
    }
}

/// Four seconds in which nothing is answered, while two are in flight in the closed loop.
#[test]
fn a_pause_in_the_closed_loop_decides_nothing() {
    let paused = under(Condition::Pause {
        earliest: s(9),
        latest: s(10),
        length: s(4),
    });
    let played: Vec<Played> = (0..12)
        .map(|seed| play(&paused, config(P99), seed))
        .collect();
    let changed =
        |one: &&Played| says(one, |remark| matches!(remark, SearchRemark::Changed { .. }));
    assert_eq!(played.iter().filter(changed).count(), 0);
    let held = played.iter().filter(|one| is_held(one)).count();
    let errors: Vec<f64> = played
        .iter()
        .filter_map(|one| Some((one.found.capacity_per_s?.estimate / 451.3 - 1.0).abs()))
        .collect();
    assert_eq!(errors.len(), 12);
    let error = median(errors.clone());
    assert!(error <= 0.05 && held >= 6, "{held} held, {errors:?}");
}

/// A rate is claimed after forty times as long as an answer takes, and not given up before.
#[test]
fn a_slow_service_is_held_for_as_long_as_its_claim_wants() {
    let three = ServiceTime::Erlang {
        mean: s(3),
        shape: 8,
    };
    let mut held = Vec::new();
    for seed in 0..8 {
        let config = at_most("p95<8s,errors<1%", 20.0);
        let played = play(&Model::station(400, three), config, seed);
        let lower = played.found.capacity_per_s.unwrap().lower;
        let at_least = |remark: &SearchRemark| matches!(remark, SearchRemark::AtLeast { .. });
        assert_eq!(lower == Some(20.0), says(&played, at_least), "{lower:?}");
        held.push(lower);
    }
    // In some searches what is in flight happens to grow for a level at the highest rate.
    let full = held.iter().filter(|lower| **lower == Some(20.0)).count();
    let some = held.iter().flatten().count();
    assert!(full >= 4 && some >= 6, "{held:?}");
}

/// Every answer takes 30 ms: two levels show it, and less load shows nothing else.
#[test]
fn an_objective_that_every_answer_breaks_is_said_soon() {
    let thirty = ServiceTime::Fixed { mean: ms(30) };
    for seed in 0..3 {
        let played = play(&Model::station(4, thirty), at_most("p99<20ms", 200.0), seed);
        assert!(played.found.is_hopeless(), "{:?}", played.found);
        assert!(played.seconds <= 60.0, "{} s", played.seconds);
    }
}

/// A service that carries two a second is slow at ten because they wait: that is no objective that fails.
#[test]
fn a_service_of_two_a_second_is_looked_for_below_five() {
    let half = ServiceTime::Exponential { mean: ms(300) };
    for seed in 0..3 {
        let played = play(&Model::station(1, half), at_most("p90<3s", 200.0), seed);
        assert!(!played.found.is_hopeless(), "{:?}", played.found.remarks);
    }
}

/// With a closed loop the whole of it, its self-check included, takes a minute.
#[test]
fn an_objective_that_no_rate_meets_is_said_within_a_minute() {
    let world = worlds::all()
        .into_iter()
        .find(|world| world.name == "always-late")
        .unwrap();
    let seconds = (0..12).map(|seed| {
        let played = play(&world.model, config(world.slo), seed);
        assert!(played.found.is_hopeless(), "{:?}", played.found);
        played.seconds + 20.0
    });
    let seconds = median(seconds.collect());
    assert!(seconds <= 60.0, "{seconds}");
}

/// 3 of 1,000 fail at any rate, 1 may: the six hundred attempts of five minutes hold none of them in one search of six.
#[test]
fn too_few_attempts_do_not_pass() {
    let model = Model {
        failure_ratio: 0.003,
        ..worlds::four()
    };
    for seed in 0..40 {
        let played = play(&model, at_most("p99<100ms,errors<0.1%", 5.0), seed);
        assert!(!is_held(&played), "seed {seed}: {:?}", played.found);
    }
    let check = Config {
        check_rate_per_s: Some(5.0),
        within: Nanos::from_secs(120),
        connections_max: NonZeroU32::MIN,
        ..config("p99<100ms,errors<0.1%")
    };
    assert!(!is_held(&play(&worlds::four(), check, 1)));
}

/// A service that is slower the more wait tips over and stays so: that ended the search long before its time was over.
#[test]
fn a_search_that_its_target_ended_does_not_ask_for_more_time() {
    let lock = worlds::all().into_iter().find(|world| world.name == "lock");
    let lock = lock.unwrap();
    for seed in 0..3 {
        let played = play(&lock.model, config(lock.slo), seed);
        let gone = |remark: &SearchRemark| matches!(remark, SearchRemark::DidNotComeBack { .. });
        let late = |remark: &SearchRemark| matches!(remark, SearchRemark::BoundsApart { .. });
        assert!(says(&played, gone), "{:?}", played.found.remarks);
        assert!(!says(&played, late), "{:?}", played.found.remarks);
    }
}

/// Whoever is told of no load that holds is told why, also where the bounds are close.
#[test]
fn a_search_that_holds_nothing_says_why() {
    let lacks = |remark: &SearchRemark| matches!(remark, SearchRemark::NothingHeld { .. });
    let explains = |remark: &SearchRemark| {
        let unsteady = matches!(
            remark,
            SearchRemark::SlowSpells { .. }
                | SearchRemark::SlowsDown { .. }
                | SearchRemark::PaceVaries { .. }
                | SearchRemark::StaysOverloaded { .. }
                | SearchRemark::Changed { .. }
        );
        unsteady || lacks(remark) || matches!(remark, SearchRemark::BoundsApart { .. })
    };
    let all = worlds::all();
    let mut lacking = 0;
    for name in ["slow-many", "heavy"] {
        let world = all.iter().find(|world| world.name == name).unwrap();
        for seed in 0..6 {
            let played = play(&world.model, config(world.slo), seed);
            let is_said = is_held(&played) || says(&played, explains);
            assert!(is_said, "{name}, {seed}: {:?}", played.found.remarks);
            lacking += u32::from(says(&played, lacks));
        }
    }
    assert!(lacking > 0);
}

/// One attempt in five hundred fails at any load, and by chance fewer do at the first levels: the search goes on near the limit.
#[test]
fn failures_at_any_load_are_seen_near_the_limit_too() {
    let all = worlds::all();
    let failing = all.iter().find(|world| world.name == "fail0.2").unwrap();
    let config = Config {
        spent: s(7),
        ..config(failing.slo)
    };
    let played = play(&failing.model, config, 90_011);
    assert!(played.found.is_hopeless(), "{:?}", played.found.remarks);
}
