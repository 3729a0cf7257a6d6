//! The worked number of a soak that is given up, and what an answer of 202 counts for.

use plimsoll_core::judge::Lateness;
use plimsoll_core::{Nanos, Objectives, Outcome, Tally, Window};

use super::*;

/// Seconds of 500 arrivals each, so many of them late, the others answered in 10 ms.
fn played(late: &[u64], answer: Outcome) -> Measured {
    disturbed(late, answer, |_| 0)
}

/// The same, with a stall of so many milliseconds of our own in each second.
fn disturbed(late: &[u64], answer: Outcome, stall_ms: impl Fn(usize) -> u64) -> Measured {
    let objectives = Objectives::parse("p99<100ms,errors<1%").unwrap();
    let bounds = objectives.bounds();
    let mut level = Measured::new(Load::Open(500.0), &objectives, 0);
    let mut lateness = Lateness::default();
    for (second, &late) in late.iter().enumerate() {
        let mut tally = Tally::default();
        for index in 0..500 {
            let time = Nanos::from_millis(if index < late { 150 } else { 10 });
            tally.record(answer, time, Some(time), 100, &bounds);
        }
        let mut window = Window {
            length_ns: Nanos::from_secs(1),
            due_count: 500,
            operations: vec![tally],
            ..Window::default()
        };
        window.health.stall_max_ns = Nanos::from_millis(stall_ms(second));
        lateness.next(&window);
        level.add(&window, &window.total(), lateness);
    }
    level
}

#[test]
fn a_soak_is_given_up_when_its_budget_is_used_up() {
    let spread = |bad: u64| {
        let mut late = vec![111; 6];
        late[5] = bad - 5 * 111;
        played(&late, Outcome::Ok)
    };
    assert!(!check_is_lost(&spread(665), 120.0));
    assert!(check_is_lost(&spread(666), 120.0));
}

#[test]
fn an_answer_of_202_within_the_bound_holds_and_a_late_one_does_not() {
    for answer in [Outcome::Ok, Outcome::Accepted] {
        let holds = played(&[0; 60], answer);
        assert_eq!(by_share(&holds).decision, Decision::Pass, "{answer:?}");
        assert_eq!(by_interval(&holds).decision, Decision::Pass);
        let fails = played(&[6; 60], answer);
        assert_eq!(by_share(&fails).decision, Decision::Fail, "{answer:?}");
        assert_eq!(by_share(&fails).clause, 0);
    }
}

/// Late by 50 ms under a bound of 100 ms: a stall of 25 ms explains it, one of 20 ms does not.
#[test]
fn what_our_own_stall_explains_is_set_aside_and_nothing_else() {
    let mut late = [0; 20];
    late[7] = 300;
    let alone = |stall| {
        disturbed(
            &late,
            Outcome::Ok,
            move |second| if second == 7 { stall } else { 0 },
        )
    };
    assert_eq!(
        by_share(&alone(0)).decision,
        Decision::Fail,
        "300 of 10,000 are 3 %"
    );
    assert_eq!(by_share(&alone(20)).decision, Decision::Fail);
    let ours = alone(25);
    assert_eq!(by_share(&ours).decision, Decision::Pass);
    assert_eq!(ours.attempts(), 9_700);
    assert!(!ours.is_turned_by_us(), "nineteen seconds tell enough");
}

/// With a stall in every second nothing else is left to judge by: what would fail with the late ones is no pass.
#[test]
fn a_level_that_our_stalls_decide_says_nothing() {
    let level = |late, stall| disturbed(&[late; 20], Outcome::Ok, move |_| stall);
    assert!(level(20, 30).is_turned_by_us(), "4 % might all be ours");
    assert!(!level(2, 30).is_turned_by_us(), "0.4 % pass despite it");
    assert!(!level(20, 0).is_turned_by_us());
    assert_eq!(
        by_share(&level(20, 20)).decision,
        Decision::Fail,
        "they are later than we were"
    );
}
