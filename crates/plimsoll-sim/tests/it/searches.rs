//! Searches on simulated services, fixed seeds: how far off, how long, and what else they find.

use plimsoll_control::search::Config;
use plimsoll_core::Nanos;
use plimsoll_core::step::Phase;
use plimsoll_core::verdict::{Collapse, SearchRemark};
use plimsoll_sim::model::{Model, RateRule, ServiceTime, Slots};
use proptest::prelude::*;

use crate::families::{Family, four};
use crate::played::{Case, Played, config, play};
use crate::reference;
use crate::worlds::{self, Answer, Promise};

const MEAN: Nanos = Nanos::from_millis(5);
/// Searches per family: 25, or the 200 that the bars of DESIGN section 7 are stated for.
fn seeds() -> u64 {
    if full() { 200 } else { 25 }
}

/// `make soak` asks for everything.
fn full() -> bool {
    std::env::var_os("PLIMSOLL_SOAK").is_some()
}

fn family(name: &str) -> Family {
    four()
        .into_iter()
        .find(|family| family.name == name)
        .unwrap()
}

/// Relative errors of the rates that held a soak, sorted, and how many searches held none.
fn errors(family: &Family) -> (Vec<f64>, usize) {
    let mut errors = Vec::new();
    for seed in 0..seeds() {
        let played = play(&family.model, config(family.slo), seed);
        inside_the_printed_time(&played, &format!("{} seed {seed}", family.name));
        if let Some(lower) = played.found.capacity_per_s.and_then(|bounds| bounds.lower) {
            errors.push(lower / family.capacity_per_s.unwrap() - 1.0);
        }
    }
    errors.sort_by(f64::total_cmp);
    let none = seeds() as usize - errors.len();
    (errors, none)
}

/// A search of twelve minutes, which probes recovery too.
fn long(slo: &str) -> Config {
    Config {
        within: Nanos::from_secs(720),
        ..config(slo)
    }
}

fn inside_the_printed_time(played: &Played, name: &str) {
    let total = played.seconds + 20.0;
    assert!(
        total <= played.plan_seconds,
        "{name}: {total} s of {} s",
        played.plan_seconds
    );
    assert!(played.events > 1_000, "{name}: {} events", played.events);
}

fn median(sorted: &[f64]) -> f64 {
    sorted[sorted.len() / 2]
}

#[test]
fn plain_and_heavy_tailed_services_are_not_overstated() {
    for name in ["plain", "heavy"] {
        let (errors, none) = errors(&family(name));
        let over = errors.iter().filter(|&&error| error > 0.05).count();
        assert!(
            over as u64 * 100 <= seeds() * 2,
            "{name}: more than 2 % are more than 5 % too high: {errors:?}"
        );
        // Five minutes are not always enough beside a service with a long tail; then nothing is claimed: in three of ten
        // searches (`worlds`), and chance adds to that.
        assert!(
            none as u64 * 100 <= seeds() * 44,
            "{name}: {none} claimed nothing"
        );
        // 200 seeds have a median of about −1 and −0.5 %; 25 of them scatter around it.
        assert!(median(&errors).abs() < 0.03, "{name}: {errors:?}");
    }
}

#[test]
fn speed_noise_is_survived() {
    // A speed that differs by 3 % from level to level is seen; what is held for it is put lower by as much.
    let (errors, none) = errors(&family("noise"));
    let over = errors.iter().filter(|&&error| error > 0.05).count();
    let allowed = seeds() as usize * 8 / 100;
    assert!(
        over <= allowed && 10 * none <= 4 * seeds() as usize,
        "{over} over, {none} claimed nothing: {errors:?}"
    );
    // Slow levels weigh more than fast ones, which costs 2 % of the capacity without noise; another 3 % is what it is put lower by.
    let typical = median(&errors);
    assert!((-0.06..0.01).contains(&typical), "{errors:?}");
}

#[test]
fn rare_stalls_are_reported_and_not_guessed_at() {
    let family = family("stalls");
    let mut reported = 0;
    let mut intervals = Vec::new();
    for seed in 0..seeds() {
        let played = play(&family.model, long(family.slo), seed);
        inside_the_printed_time(&played, &format!("stalls seed {seed}"));
        if let Some(stalls) = played.found.rare_stalls {
            reported += 1;
            let remarks = &played.found.remarks;
            let is_set = |remark: &SearchRemark| matches!(remark, SearchRemark::SetByStalls { .. });
            assert!(remarks.iter().any(is_set), "{remarks:?}");
            intervals.push(stalls.interval_seconds);
        }
    }
    // One search sees two to fifteen of them, some at a load too low to notice: a rough figure.
    intervals.sort_by(f64::total_cmp);
    let typical = median(&intervals);
    assert!((10.0..35.0).contains(&typical), "every 20 s: {intervals:?}");
    assert!(reported * 100 >= seeds() * 95, "{reported} of {}", seeds());
}

/// What searches of five minutes said of every world with a promise: some seeds each, or a hundred.
fn answers(promise: Promise, seeds: u64) -> Vec<Answer> {
    let seeds = if full() { 100 } else { seeds };
    let mut answers = Vec::new();
    for world in worlds::all() {
        if world.promise != promise {
            continue;
        }
        for seed in 0..seeds {
            let played = play(&world.model, config(world.slo), seed);
            inside_the_printed_time(&played, &format!("{} seed {seed}", world.name));
            let answer = world.answer(&played);
            let name = world.name;
            assert!(
                answer.watched || !answer.held,
                "{name} seed {seed}: {answer:?}"
            );
            answers.push(answer);
        }
    }
    answers
}

/// How many of a hundred.
fn percent(answers: &[Answer], is: impl Fn(&Answer) -> bool) -> f64 {
    answers.iter().filter(|answer| is(answer)).count() as f64 * 100.0 / answers.len() as f64
}

fn median_size(answers: &[Answer]) -> f64 {
    let mut sizes: Vec<f64> = answers
        .iter()
        .filter_map(|answer| Some(answer.error?.abs()))
        .collect();
    sizes.sort_by(f64::total_cmp);
    median(&sizes)
}

#[test]
fn what_a_steady_service_carries_is_found_and_held() {
    let answers = answers(Promise::Held, 4);
    let size = median_size(&answers);
    assert!(size <= 0.035, "{size}");
    let high = percent(&answers, Answer::is_too_high);
    let low = percent(&answers, Answer::is_too_low);
    // A hundred seeds of each have 3 % too high and 87 % held; four of each scatter around that.
    let (most, least) = if full() { (4.0, 80.0) } else { (7.5, 72.0) };
    assert!(
        high <= most && low <= 5.0,
        "{high} % too high, {low} % too low"
    );
    let held = percent(&answers, |answer| answer.held);
    assert!(held >= least, "{held} % held");
}

#[test]
fn a_pause_slow_answers_retries_and_more_servers_move_the_capacity_by_little() {
    let answers = answers(Promise::Found, 4);
    let size = median_size(&answers);
    assert!(size <= 0.05, "{size}");
    let high = percent(&answers, Answer::is_too_high);
    let low = percent(&answers, Answer::is_too_low);
    assert!(
        high <= 5.0 && low <= 10.0,
        "{high} % too high, {low} % too low"
    );
}

#[test]
fn an_objective_that_no_rate_meets_is_said() {
    let answers = answers(Promise::Hopeless, 4);
    let said = percent(&answers, |answer| answer.said);
    assert!(said >= 85.0, "{said} %");
    assert!(!answers.iter().any(|answer| answer.held));
}

#[test]
fn neighbours_that_come_and_go_are_seen_or_nothing_is_held() {
    let answers = answers(Promise::Careful, 16);
    let high = percent(&answers, Answer::is_too_high);
    // A hundred seeds of each have 0 to 8 %.
    assert!(high <= 12.5, "{high} % sure and wrong");
    let said = percent(&answers, |answer| answer.said);
    assert!(said >= 80.0, "{said} %");
}

#[test]
fn what_the_time_cannot_show_is_bounded_by_what_was_watched() {
    let answers = answers(Promise::Watched, 2);
    assert!(answers.iter().any(|answer| answer.held && answer.watched));
}

/// What searches of five minutes said of one world: some seeds, or a hundred.
fn answers_of(name: &str, seeds: u64) -> Vec<(Answer, Played)> {
    let world = worlds::all().into_iter().find(|world| world.name == name);
    let world = world.unwrap();
    let seeds = if full() { 100 } else { seeds };
    (0..seeds)
        .map(|seed| {
            let played = play(&world.model, config(world.slo), seed);
            (world.answer(&played), played)
        })
        .collect()
}

fn share(answers: &[(Answer, Played)], is: impl Fn(&(Answer, Played)) -> bool) -> f64 {
    answers.iter().filter(|answer| is(answer)).count() as f64 / answers.len() as f64
}

fn has(played: &Played, is: impl Fn(&SearchRemark) -> bool) -> bool {
    played.found.remarks.iter().any(is)
}

/// 7 % in the time of a search, and a swing of 10 % that takes twice as long, are seen by the same closed loop at four
/// times: of a hundred each, at most ten are held (49 and 53 with the beginning and the end alone).
#[test]
fn a_leak_and_a_swing_of_some_per_cent_are_mostly_seen() {
    for name in ["leak", "sine600"] {
        let answers = answers_of(name, 16);
        let moves = |played: &Played| {
            has(played, |remark| {
                matches!(
                    remark,
                    SearchRemark::SlowsDown { .. }
                        | SearchRemark::PaceVaries {
                            lower_ratio: None,
                            ..
                        }
                )
            })
        };
        for (seed, (answer, played)) in answers.iter().enumerate() {
            assert!(!(moves(played) && answer.held), "{name} seed {seed}");
        }
        let high = share(&answers, |(answer, _)| answer.is_too_high());
        assert!(high <= 0.2, "{name}: {high}");
        let said = share(&answers, |(_, played)| moves(played));
        assert!(said >= 0.7, "{name}: {said}");
    }
}

/// Its queue takes as long as forty answers to show; five minutes at two a second hold too few of them.
#[test]
fn a_service_of_two_answers_a_second_is_not_passed_for_luck() {
    let answers = answers_of("tiny", 24);
    let high = share(&answers, |(answer, _)| answer.is_too_high());
    assert!(high <= 0.05, "{high}");
    let low = share(&answers, |(answer, _)| answer.is_too_low());
    assert!(low <= 0.3, "{low}");
}

/// Retries keep it overloaded at half of the load: what it carried before something tips it over is no promise.
#[test]
fn a_service_that_tips_over_is_told_by_how_it_comes_back() {
    let answers = answers_of("retry", 12);
    let stays = |remark: &SearchRemark| matches!(remark, SearchRemark::StaysOverloaded { .. });
    let said = share(&answers, |(_, played)| has(played, stays));
    assert!(said >= 0.9, "{said}");
    let high = share(&answers, |(answer, _)| answer.is_too_high());
    assert!(high <= 0.05, "{high}");
    // A plain service comes back as fast as its backlog says.
    let plain = answers_of("exp", 12);
    let said = share(&plain, |(_, played)| has(played, stays));
    assert!(said <= 0.1, "{said}");
}

/// Failures that come at any rate are seen in the closed loop already: half of the searches end within a minute, where one in
/// twelve did.
#[test]
fn an_objective_that_errors_break_at_any_rate_ends_the_search_soon() {
    let answers = answers_of("fail0.2", 12);
    let soon = share(&answers, |(_, played)| played.seconds <= 60.0);
    assert!(soon >= 0.33, "{soon} within a minute");
    let said = share(&answers, |(answer, _)| answer.said);
    assert!(said >= 0.9, "{said}");
}

/// The closed loop is played until a slow target is full, so that its levels begin near the boundary.
#[test]
fn a_slow_service_is_found_within_some_per_cent() {
    for (name, most) in [("slow", 0.09), ("slow-many", 0.12)] {
        let answers = answers_of(name, 12);
        let answers: Vec<Answer> = answers.into_iter().map(|(answer, _)| answer).collect();
        let size = median_size(&answers);
        assert!(size <= most, "{name}: {size}");
    }
}

#[test]
fn the_reference_capacities_are_those_of_the_recursion() {
    for (name, servers, mean, cv, bound) in [
        ("plain", 4, 0.005, 1.0, 0.040),
        ("heavy", 16, 0.010, 3.0, 0.200),
    ] {
        let rate = family(name).capacity_per_s.unwrap();
        let share = |rate| {
            let service = reference::lognormal(mean, cv);
            reference::slow_share(servers, rate, bound, 1_000_000, service, 5)
        };
        let near = reference::capacity(0.01, rate * 0.9, rate * 1.08, share);
        assert!(
            (near / rate - 1.0).abs() < 0.02,
            "{name}: {near} for {rate}"
        );
    }
}

/// Erlang's loss formula by its recursion.
fn erlang_b(servers: u32, load: f64) -> f64 {
    (1..=servers).fold(1.0, |loss, n| load * loss / (f64::from(n) + load * loss))
}

#[test]
fn slots_that_refuse_bind_by_the_error_clause() {
    let model = Model {
        slots: Some(Slots {
            max: 16,
            waiting_max: 0,
        }),
        ..Model::station(64, ServiceTime::Exponential { mean: MEAN })
    };
    let per_server = 1.0 / MEAN.as_secs_f64();
    let mut truth = 0.0;
    while erlang_b(16, truth / per_server) < 0.001 {
        truth += 1.0;
    }
    let mut claims = 0;
    for seed in 0..5 {
        let played = play(&model, config("p99<40ms,errors<0.1%"), seed);
        let capacity = played.found.capacity_per_s.unwrap();
        claims += usize::from(capacity.lower.is_some());
        let error = capacity.estimate / truth - 1.0;
        assert!(
            (-0.15..0.05).contains(&error),
            "seed {seed}: {capacity:?} for {truth}"
        );
        assert_eq!(
            played.found.binding_clause.as_deref(),
            Some("errors < 0.1 %")
        );
    }
    assert!(claims >= 3, "{claims} of 5 claimed a rate");
}

#[test]
fn a_rate_rule_is_the_boundary() {
    let model = Model {
        rate_rule: Some(RateRule {
            per_s: 500.0,
            burst: 100.0,
        }),
        ..Model::station(16, ServiceTime::Exponential { mean: MEAN })
    };
    let mut probed = 0;
    for seed in 0..4 {
        let found = play(&model, config("p99<80ms,errors<0.1%"), seed).found;
        let lower = found.capacity_per_s.unwrap().lower.unwrap();
        assert!((450.0..505.0).contains(&lower), "seed {seed}: {lower}");
        assert_eq!(found.binding_clause.as_deref(), Some("errors < 0.1 %"));
        // What is refused costs nothing: goodput stays at the rule's rate. Five minutes do not always leave time to see it.
        let collapse = found.collapse_per_s;
        let none = |collapse: &Collapse| matches!(collapse, Collapse::NoneUpTo { .. });
        assert!(collapse.as_ref().is_none_or(none), "{collapse:?}");
        probed += u32::from(collapse.is_some());
    }
    assert!(probed > 0, "no search was overloaded");
}

/// Found live: the service answers in 0.1 ms and refuses what is beyond 320/s, so one client alone is refused 90,000 times a second.
/// ‘No load meets p99 < 250 ms: 99.5 % of the attempts break it at 40/s as at 86422/s’, said a search that had seen 282/s hold.
#[test]
fn a_rule_that_refuses_quickly_does_not_make_an_objective_hopeless() {
    let model = Model {
        rate_rule: Some(RateRule {
            per_s: 320.0,
            burst: 32.0,
        }),
        ..Model::station(
            2,
            ServiceTime::Exponential {
                mean: Nanos::from_micros(20),
            },
        )
    };
    for seed in 0..8 {
        let asked = Config {
            within: Nanos::from_secs(180),
            ..config("p99<250ms,errors<0.1%")
        };
        let found = play(&model, asked, seed).found;
        assert!(!found.is_hopeless(), "seed {seed}: {:?}", found.remarks);
        let estimate = found.capacity_per_s.unwrap().estimate;
        assert!(
            (240.0..340.0).contains(&estimate),
            "seed {seed}: {estimate}"
        );
    }
}

#[test]
fn an_event_loop_collapses_and_a_bounded_queue_does_not() {
    let slice = ServiceTime::Fixed {
        mean: Nanos::from_millis(1),
    };
    let event_loop = Model {
        passes: 5,
        ..Model::station(1, slice)
    };
    let played = play(&event_loop, long("p99<200ms,errors<0.1%"), 1);
    let capacity = played.found.capacity_per_s.unwrap().lower.unwrap();
    assert!((160.0..200.0).contains(&capacity), "{capacity}");
    let Some(Collapse::At(bounds)) = played.found.collapse_per_s else {
        panic!("no collapse: {:?}", played.found);
    };
    let upper = bounds.upper.unwrap();
    assert!(
        (capacity..=250.0).contains(&upper),
        "beyond 200/s goodput is lost: {bounds:?}"
    );

    let bounded = Model {
        queue_max: Some(16),
        ..Model::station(4, ServiceTime::Exponential { mean: MEAN })
    };
    let played = play(&bounded, long("p99<60ms,errors<1%"), 1);
    let Some(Collapse::NoneUpTo {
        rate_per_s,
        goodput_ratio,
    }) = played.found.collapse_per_s
    else {
        panic!("{:?}", played.found);
    };
    assert!(
        rate_per_s > 1400.0 && goodput_ratio > 0.9,
        "{rate_per_s} {goodput_ratio}"
    );
    let recovery = played.found.recovery_seconds.unwrap();
    assert!(
        recovery.seconds.unwrap() <= 2.0,
        "a short queue is gone at once: {recovery:?}"
    );
    assert!(
        played
            .found
            .knee_per_s
            .is_some_and(|knee| knee.lower < knee.upper)
    );
}

#[test]
fn a_service_that_slows_down_under_its_backlog_does_not_come_back() {
    // At 1,000 waiting each request takes fifty times as long: 16/s are served, more arrive.
    let model = Model {
        contention: 0.05,
        ..Model::station(4, ServiceTime::Exponential { mean: MEAN })
    };
    let found = play(&model, config("p99<100ms,errors<1%"), 2).found;
    assert!(!found.converged && found.recovery_seconds.is_none());
    assert!(
        found
            .remarks
            .iter()
            .any(|remark| matches!(remark, SearchRemark::DidNotComeBack { .. })),
        "{found:?}"
    );
    assert!(
        found
            .capacity_per_s
            .is_some_and(|capacity| capacity.lower.is_none()),
        "{found:?}"
    );
}

#[test]
fn a_service_that_takes_seconds_is_not_judged_by_its_fastest_answers() {
    let model = Model::station(
        64,
        ServiceTime::Erlang {
            mean: Nanos::from_secs(2),
            shape: 8,
        },
    );
    let slo = "p90<5s,errors<1%";
    let mut claims = 0;
    for seed in 0..10 {
        let within = if seed < 5 { config(slo) } else { long(slo) };
        let found = play(&model, within, seed).found;
        let capacity = found.capacity_per_s.unwrap();
        claims += usize::from(capacity.lower.is_some());
        assert!(
            (22.0..34.0).contains(&capacity.estimate),
            "64 servers of 2 s: {found:?}"
        );
    }
    // What is held must be forty times as long as an answer takes: five minutes are mostly too few.
    assert!(claims >= 1, "{claims} of 10 claimed a rate");
}

#[test]
fn less_time_drops_recovery_then_overshoot_then_precision_then_all_but_one_rate() {
    let family = family("plain");
    for (minutes, recovery, overshoot) in [(12, true, true), (5, false, true), (3, false, false)] {
        let mut config = config(family.slo);
        config.within = Nanos::from_secs(minutes * 60);
        let played = play(&family.model, config, 4);
        inside_the_printed_time(&played, &format!("{minutes} minutes"));
        let has = |phase| played.levels.iter().any(|(step, _)| step.phase == phase);
        assert_eq!(has(Phase::RecoveryPulse), recovery, "{minutes} minutes");
        // In five minutes an overload is played only where the boundary is known by then.
        if minutes != 5 {
            assert_eq!(has(Phase::Overshoot), overshoot, "{minutes} minutes");
        }
        let capacity = played.found.capacity_per_s.unwrap();
        assert!(
            capacity.upper.unwrap() < 1000.0,
            "{minutes} minutes: {capacity:?}"
        );
    }
    for (rate, passes) in [(500.0, true), (780.0, false)] {
        let mut config = config(family.slo);
        config.within = Nanos::from_secs(120);
        config.check_rate_per_s = Some(rate);
        let played = play(&family.model, config, 4);
        inside_the_printed_time(&played, "a check");
        let capacity = played.found.capacity_per_s.unwrap();
        assert_eq!(capacity.lower.is_some(), passes, "{rate}: {capacity:?}");
        assert_eq!(capacity.upper.is_some(), !passes, "{rate}: {capacity:?}");
        assert!(played.found.converged);
    }
}

/// Cases that random ones came upon.
#[test]
fn promises_that_were_broken_once_are_kept() {
    let case = Case {
        seed: 447,
        servers: 3,
        mean_ms: 33,
        contention: 0.0,
        within: 639,
        ceiling: Some(200.41),
        closed_loop: false,
    };
    assert_eq!(case.broken_promise(&case.play()), None, "{case:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: if full() { 2000 } else { 24 }, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_search_breaks_its_promises(
        seed in 0u64..1000,
        servers in 1u32..6,
        mean_ms in 5u64..60,
        contention in prop_oneof![Just(0.0), 0.0f64..0.02],
        within in 180u64..900,
        ceiling in prop_oneof![Just(None), (20.0f64..800.0).prop_map(Some)],
        closed_loop: bool,
    ) {
        let case = Case { seed, servers, mean_ms, contention, within, ceiling, closed_loop };
        let played = case.play();
        prop_assert_eq!(case.broken_promise(&played), None);
    }
}
