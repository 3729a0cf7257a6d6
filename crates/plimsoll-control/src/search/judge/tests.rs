//! The worked number of a soak that is given up, and what an answer of 202 counts for.

use plimsoll_core::{Nanos, Objectives, Outcome, Tally, Window};

use super::*;

/// Seconds of 500 arrivals each, so many of them late, the others answered in 10 ms.
fn played(late: &[u64], answer: Outcome) -> Measured {
    let objectives = Objectives::parse("p99<100ms,errors<1%").unwrap();
    let bounds = objectives.bounds();
    let mut level = Measured::new(Load::Open(500.0), &objectives, 0);
    for &late in late {
        let mut tally = Tally::default();
        for index in 0..500 {
            let time = Nanos::from_millis(if index < late { 150 } else { 10 });
            tally.record(answer, time, Some(time), 100, &bounds);
        }
        let window = Window {
            length_ns: Nanos::from_secs(1),
            due_count: 500,
            operations: vec![tally],
            ..Window::default()
        };
        level.add(&window, &window.total());
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
