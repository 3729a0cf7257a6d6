//! Which upstream comes next: gates that are used differently, and requests beside the limit.

use plimsoll_base::random::Rng;
use plimsoll_control::balance::{Balance, choose};

use super::*;

#[test]
fn polls_are_spread_over_all_and_keep_nobody_else_away() {
    let clock = Clock::start();
    let gate = |limit| Gate::new(clock, Rule::Fixed(limit), None, Nanos::from_secs(10));
    let gates = [gate(4), gate(5)];
    let mut rng = Rng::new(1, 1);
    let mut polls: [Vec<Permit>; 2] = Default::default();
    for _ in 0..900 {
        let candidates = gates.each_ref().map(|gate| gate.candidate(true));
        let place = choose(&candidates, Balance::Least, 0.5, &mut rng).unwrap();
        polls[place].push(gates[place].beside(false));
    }
    let counts = polls.each_ref().map(Vec::len);
    // As the limits are to each other.
    assert!((398..=402).contains(&counts[0]), "{counts:?}");
    let busy = |waits| {
        gates
            .each_ref()
            .map(|gate| gate.candidate(waits).busy as usize)
    };
    assert_eq!(busy(true), counts.map(|count| count + 1));
    assert_eq!(busy(false), [1, 1]);
    // Whatever became of them, they are there until they are dropped.
    polls[1].iter().for_each(|poll| poll.end(Ended::Served));
    polls[0].clear();
    assert_eq!(busy(true), [1, counts[1] + 1]);
    polls[1].clear();
    assert_eq!(busy(true), [1, 1]);
}

/// A tunnel needs a permit until it is one, and is there all the same afterwards.
#[test]
fn what_goes_on_without_its_permit_counts_for_its_like() {
    let clock = Clock::start();
    let gate = Gate::new(clock, Rule::Fixed(4), None, Nanos::from_secs(10));
    let busy = |stays| gate.candidate(stays).busy as usize;
    let request = Request::default();
    let holder = || Holder {
        route: String::new(),
        client: [127, 0, 0, 1].into(),
        tenant: None,
        since: clock.now(),
    };
    let Entry::Decided(Ok(permit)) = gate.enter(clock.now(), &request, holder) else {
        panic!("there is room");
    };
    assert_eq!([busy(false), busy(true)], [2, 2]);
    permit.end_early(Ended::Served);
    permit.end_early(Ended::Served);
    assert_eq!([busy(false), busy(true)], [1, 2]);
    drop(permit);
    assert_eq!([busy(false), busy(true)], [1, 1]);
}
