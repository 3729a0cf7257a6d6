//! Laws of the choice between upstreams and of their health.

use plimsoll_core::Nanos;
use proptest::prelude::{Just, Strategy, any, prop_assert, prop_assert_eq, prop_oneof, proptest};

use super::*;

fn ms(value: u64) -> Nanos {
    Nanos::from_millis(value)
}

fn candidate(busy: f64, room: f64) -> Candidate {
    Candidate {
        busy,
        room,
        out: None,
    }
}

fn health() -> Health {
    Health::new(Nanos::from_secs(10))
}

fn out() -> impl Strategy<Value = Option<Out>> {
    prop_oneof![
        Just(None),
        Just(Some(Out::Failing)),
        Just(Some(Out::Unreachable)),
        Just(Some(Out::Unwell)),
    ]
}

proptest! {
    /// Whatever is out, one is chosen; and one that cannot be reached only where all are out.
    #[test]
    fn somebody_is_always_chosen(
        outs in proptest::collection::vec((out(), 0.0..100.0_f64), 1..12),
        two in any::<bool>(),
        ratio in 0.0..1.0_f64,
        seed in any::<u64>(),
    ) {
        let all: Vec<Candidate> = outs
            .iter()
            .map(|(out, busy)| Candidate { busy: *busy, room: 4.0, out: *out })
            .collect();
        let balance = if two { Balance::TwoChoices } else { Balance::Least };
        let chosen = choose(&all, balance, ratio, &mut Rng::new(seed, 1)).unwrap();
        if all.iter().any(|one| one.out.is_none()) {
            prop_assert!(matches!(all[chosen].out, None | Some(Out::Failing)));
        }
    }

    /// However requests end, one is never out for longer than a minute, and gets all of its share again in the end.
    #[test]
    fn whoever_is_out_comes_back(replies in proptest::collection::vec((0..4_u8, 0..3000_u64), 0..300)) {
        let mut one = health();
        let mut now = ms(1);
        for (reply, pause) in replies {
            now += ms(pause);
            let kinds = [Reply::Good, Reply::Poor, Reply::Bad, Reply::Unreachable];
            one.replied(now, kinds[usize::from(reply)]);
            prop_assert!(one.weight(now) >= 0.1);
        }
        now += Nanos::from_secs(60);
        prop_assert_eq!(one.out(now), None);
        prop_assert!(one.weight(now + Nanos::from_secs(10)) >= 1.0);
    }
}

#[test]
fn the_least_used_share_of_its_room_is_chosen() {
    let mut rng = Rng::new(1, 1);
    let all = [
        candidate(5.0, 10.0),
        candidate(3.0, 4.0),
        candidate(9.0, 20.0),
    ];
    for _ in 0..20 {
        assert_eq!(choose(&all, Balance::Least, 0.5, &mut rng), Some(2));
    }
    let alike = [candidate(1.0, 4.0); 3];
    let mut counts = [0; 3];
    for _ in 0..300 {
        counts[choose(&alike, Balance::Least, 0.5, &mut rng).unwrap()] += 1;
    }
    assert!(counts.iter().all(|count| *count > 60), "{counts:?}");
    // Of two that are drawn the worst of three never wins.
    let three = [
        candidate(1.0, 4.0),
        candidate(2.0, 4.0),
        candidate(3.0, 4.0),
    ];
    for _ in 0..100 {
        assert_ne!(choose(&three, Balance::TwoChoices, 0.5, &mut rng), Some(2));
    }
    assert_eq!(choose(&[], Balance::Least, 0.5, &mut rng), None);
}

#[test]
fn at_most_a_share_is_left_out_for_bad_answers() {
    let mut rng = Rng::new(1, 1);
    let mut all = [candidate(1.0, 4.0); 4];
    all[0].out = Some(Out::Failing);
    all[1].out = Some(Out::Failing);
    for _ in 0..50 {
        assert!(choose(&all, Balance::Least, 0.5, &mut rng).unwrap() >= 2);
    }
    // Three of four fail: that is the service, and not they.
    all[2].out = Some(Out::Failing);
    let chosen = (0..100).map(|_| choose(&all, Balance::Least, 0.5, &mut rng).unwrap());
    assert!(chosen.min() == Some(0));
    // Who cannot be reached is left out however many they are.
    all.iter_mut()
        .take(3)
        .for_each(|one| one.out = Some(Out::Unreachable));
    assert!((0..50).all(|_| choose(&all, Balance::Least, 0.5, &mut rng) == Some(3)));
}

#[test]
fn failures_in_a_row_take_one_out_for_longer_each_time() {
    let mut one = health();
    let mut now = ms(1);
    for round in [1_u64, 2, 4] {
        while one.out(now).is_none() {
            one.replied(now, Reply::Bad);
        }
        assert_eq!(one.out(now + ms(round * 1000 - 1)), Some(Out::Failing));
        now += ms(round * 1000);
        assert_eq!(one.out(now), None);
        assert!(one.weight(now) <= 0.1);
    }
    // Good for longer than it was out: the next time begins anew.
    now += Nanos::from_secs(5);
    one.replied(now, Reply::Good);
    for _ in 0..4 {
        one.replied(now, Reply::Bad);
    }
    assert_eq!(one.out(now), None);
    one.replied(now, Reply::Bad);
    assert_eq!(one.out(now + ms(1000)), None);
    assert_eq!(one.ejected(), 4);
}

#[test]
fn refusals_of_an_upstream_alone_do_not_take_it_out() {
    let mut one = health();
    for _ in 0..100 {
        one.replied(ms(1), Reply::Poor);
    }
    assert_eq!(one.out(ms(1)), None);
}

#[test]
fn one_that_fails_much_more_than_the_others_is_taken_out() {
    let (mut sick, mut well, mut third) = (health(), health(), health());
    for index in 0..40 {
        // Never five in a row.
        sick.replied(
            ms(1),
            if index % 2 == 0 {
                Reply::Good
            } else {
                Reply::Poor
            },
        );
        well.replied(ms(1), Reply::Good);
        third.replied(ms(1), Reply::Good);
    }
    compare(ms(2), &mut [&mut sick, &mut well, &mut third]);
    assert_eq!(sick.out(ms(2)), Some(Out::Failing));
    assert_eq!(well.out(ms(2)), None);
    // All alike: nobody.
    let (mut one, mut two) = (health(), health());
    for _ in 0..40 {
        one.replied(ms(1), Reply::Poor);
        two.replied(ms(1), Reply::Poor);
    }
    compare(ms(2), &mut [&mut one, &mut two]);
    assert_eq!((one.out(ms(2)), two.out(ms(2))), (None, None));
}

#[test]
fn a_check_takes_out_and_brings_back() {
    let mut one = health();
    one.checked(ms(1), false);
    assert_eq!(one.out(ms(1)), None);
    one.checked(ms(2), false);
    assert_eq!(one.out(Nanos::from_secs(3600)), Some(Out::Unwell));
    one.checked(Nanos::from_secs(3601), true);
    assert_eq!(one.out(Nanos::from_secs(3601)), None);
    assert!(one.weight(Nanos::from_secs(3601)) < 0.2);
}
