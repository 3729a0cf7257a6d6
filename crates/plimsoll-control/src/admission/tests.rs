//! Laws of admission that hold whatever arrives.

use proptest::prelude::*;

use super::*;

fn ms(value: u64) -> Nanos {
    Nanos::from_millis(value)
}

fn fixed(limit: u32) -> Admission {
    let config = Config {
        rule: Rule::Fixed(limit),
        ..Config::default()
    };
    Admission::new(config, Nanos::ZERO)
}

fn decisions(admission: &mut Admission) -> Vec<Decision> {
    std::iter::from_fn(|| admission.next_decision()).collect()
}

/// What a world of clients and an upstream may do.
#[derive(Debug, Clone)]
enum Act {
    Arrive(u8, u8),
    Leave(u8),
    End(u8, u8),
    Pass(u16),
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        4 => (any::<u8>(), any::<u8>()).prop_map(|(class, tenant)| Act::Arrive(class, tenant)),
        1 => any::<u8>().prop_map(Act::Leave),
        3 => (any::<u8>(), any::<u8>()).prop_map(|(which, how)| Act::End(which, how)),
        2 => (0..400_u16).prop_map(Act::Pass),
    ]
}

/// The tickets as somebody outside sees them.
#[derive(Default)]
struct Outside {
    waiting: Vec<Ticket>,
    admitted: Vec<Ticket>,
    refused: u64,
    ended: u64,
    left: u64,
}

impl Outside {
    fn learn(&mut self, admission: &mut Admission) {
        for decision in decisions(admission) {
            let (Decision::Admitted(ticket) | Decision::Refused(ticket, _)) = decision;
            let at = self.waiting.iter().position(|waiting| *waiting == ticket);
            self.waiting
                .remove(at.expect("decided twice, or of nobody"));
            if matches!(decision, Decision::Admitted(_)) {
                self.admitted.push(ticket);
            } else {
                self.refused += 1;
            }
        }
    }
}

fn rule() -> impl Strategy<Value = Rule> {
    prop_oneof![
        Just(Rule::HalfLoad),
        Just(Rule::Fixed(3)),
        Just(Rule::Aimd),
        Just(Rule::Vegas),
        Just(Rule::Gradient2),
        Just(Rule::Envoy),
    ]
}

proptest! {
    /// Every ticket is decided once, never more in flight than the limit allowed when they were let in (and what may be lent
    /// beside those that are stuck), nobody is lost, and when all are gone no permit is missing.
    #[test]
    fn nobody_is_lost_and_no_permit_leaks(
        rule in rule(),
        acts in proptest::collection::vec(act(), 0..400),
    ) {
        let mut now = ms(1);
        let mut admission = Admission::new(Config { rule, ..Config::default() }, now);
        let mut outside = Outside::default();
        for act in acts {
            let before = admission.in_flight();
            match act {
                Act::Arrive(class, tenant) => {
                    let request = Request {
                        class: Class::ALL[usize::from(class % 4)],
                        tenant: u64::from(tenant % 5),
                        route: u64::from(tenant % 3),
                        session: u64::from(class),
                        deadline: (tenant > 200).then(|| now + ms(300)),
                        is_retry: tenant % 7 == 0,
                    };
                    let ticket = admission.arrives(now, &request);
                    outside.waiting.push(ticket);
                }
                Act::Leave(which) if !outside.waiting.is_empty() => {
                    let at = usize::from(which) % outside.waiting.len();
                    let ticket = outside.waiting.remove(at);
                    prop_assert!(admission.left(now, ticket));
                    outside.left += 1;
                }
                Act::End(which, how) if !outside.admitted.is_empty() => {
                    let at = usize::from(which) % outside.admitted.len();
                    let ticket = outside.admitted.swap_remove(at);
                    let ended = [
                        Ended::Served,
                        Ended::Left,
                        Ended::Failed,
                        Ended::Busy,
                        Ended::Aside,
                    ];
                    admission.ended(now, ticket, ended[usize::from(how % 5)]);
                    outside.ended += 1;
                }
                Act::Pass(time) => {
                    now += ms(u64::from(time));
                    admission.turn(now);
                }
                Act::Leave(_) | Act::End(..) => {}
            }
            outside.learn(&mut admission);
            prop_assert_eq!(admission.waiting(), outside.waiting.len());
            prop_assert!(admission.in_flight() >= outside.admitted.len() as u32);
            let limit = admission.limit();
            prop_assert!(admission.in_flight() <= before.max(limit) + (limit / 4).max(1));
        }
        for ticket in std::mem::take(&mut outside.admitted) {
            admission.ended(now, ticket, Ended::Served);
            outside.ended += 1;
        }
        outside.learn(&mut admission);
        // Whoever still waits was let in by that, or is let go.
        for _ in 0..1000 {
            now += ms(10);
            admission.turn(now);
            outside.learn(&mut admission);
            for ticket in std::mem::take(&mut outside.admitted) {
                admission.ended(now, ticket, Ended::Served);
                outside.ended += 1;
            }
        }
        let counts = admission.counts();
        prop_assert_eq!(admission.in_flight(), 0);
        prop_assert_eq!(admission.waiting(), 0);
        prop_assert_eq!(counts.refused(), outside.refused);
        prop_assert_eq!(counts.left_waiting, outside.left);
        prop_assert_eq!(counts.arrived, outside.refused + outside.left + outside.ended);
    }
}

#[test]
fn a_free_permit_is_given_at_once_and_without_one_it_is_waited_for() {
    let mut admission = fixed(1);
    let first = admission.arrives(ms(0), &Request::default());
    let second = admission.arrives(ms(1), &Request::default());
    assert_eq!(decisions(&mut admission), [Decision::Admitted(first)]);
    admission.ended(ms(5), first, Ended::Served);
    assert_eq!(decisions(&mut admission), [Decision::Admitted(second)]);
}

/// A browser opens six connections at once, and an idle service has done a dozen quick requests before anybody minds.
#[test]
fn a_burst_that_finds_an_idle_service_is_not_refused() {
    let mut admission = Admission::new(Config::default(), Nanos::ZERO);
    for second in 0..10 {
        let ticket = admission.arrives(ms(1_000 * second), &Request::default());
        decisions(&mut admission);
        admission.ended(ms(1_000 * second + 5), ticket, Ended::Served);
    }
    for _ in 0..12 {
        admission.arrives(ms(10_000), &Request::default());
    }
    let mut served = 0;
    let mut now = ms(10_000);
    loop {
        let mut under_way = Vec::new();
        for decision in decisions(&mut admission) {
            match decision {
                Decision::Admitted(ticket) => under_way.push(ticket),
                refused @ Decision::Refused(..) => panic!("{refused:?} after {served}"),
            }
        }
        if under_way.is_empty() {
            break;
        }
        for ticket in under_way {
            now += ms(5);
            served += 1;
            admission.ended(now, ticket, Ended::Served);
        }
    }
    assert_eq!(served, 12);
}

/// Whenever it comes: also if a window ends in the middle of it, and right after another one.
#[test]
fn every_burst_that_can_be_done_in_time_is_done() {
    let mut admission = Admission::new(Config::default(), Nanos::ZERO);
    let mut now = Nanos::ZERO;
    for burst in 0..40_u64 {
        let begun = now;
        // Four at once of 50 ms each: sixteen take 200 ms.
        for _ in 0..16 {
            admission.arrives(now, &Request::default());
        }
        let mut served = 0;
        let mut flying: Vec<(Nanos, Ticket)> = Vec::new();
        while served < 16 {
            for decision in decisions(&mut admission) {
                match decision {
                    Decision::Admitted(ticket) => flying.push((now + ms(50), ticket)),
                    refused @ Decision::Refused(..) => panic!("{refused:?}, burst {burst}"),
                }
            }
            now += ms(5);
            admission.turn(now);
            let (over, going) = flying.into_iter().partition(|(end, _)| *end <= now);
            flying = going;
            let over: Vec<(Nanos, Ticket)> = over;
            for (_, ticket) in over {
                served += 1;
                admission.ended(now, ticket, Ended::Served);
            }
        }
        while now < begun + ms(900 + 7 * burst) {
            now += ms(5);
            admission.turn(now);
        }
    }
}

/// Eight thousand a second at a service with six places that stands still for a while, may be slow for a while after that, and has
/// made up for it within a second.
fn stands_still(usual: Nanos, still: u64, slow: u64) {
    let (from, until) = (ms(3_000), ms(3_000 + still));
    let mut admission = fixed(6);
    let mut ends: Vec<(Nanos, Ticket)> = Vec::new();
    for step in 0..32_000_u64 {
        let now = Nanos::from_micros(125 * step);
        admission.arrives(now, &Request::default());
        let over: Vec<_> = ends.extract_if(.., |(end, _)| *end <= now).collect();
        for (_, ticket) in over {
            admission.ended(now, ticket, Ended::Served);
        }
        for decision in decisions(&mut admission) {
            let Decision::Admitted(ticket) = decision else {
                panic!("{decision:?} at {now}, {usual} each");
            };
            let end = if (from..until).contains(&now) {
                until
            } else if (until..until + ms(slow)).contains(&now) {
                now + ms(10)
            } else {
                now + usual
            };
            ends.push((end, ticket));
        }
    }
}

#[test]
fn all_that_came_while_a_fast_service_stood_still_is_done() {
    // Twice as many as may wait by number;
    stands_still(Nanos::from_micros(300), 100, 0);
    // and the mean of the last answers is that of the slow ones;
    stands_still(Nanos::from_micros(300), 100, 60);
    // and somebody waits for most of half a second.
    stands_still(Nanos::from_micros(500), 120, 0);
    stands_still(Nanos::from_micros(625), 150, 0);
}

/// Two hundred at once, of which some thirty can be done while they wait: the others know at once.
#[test]
fn who_would_wait_in_vain_is_refused_at_once() {
    let mut admission = Admission::new(Config::default(), Nanos::ZERO);
    for index in 0..50 {
        let ticket = admission.arrives(ms(100 * index), &Request::default());
        decisions(&mut admission);
        admission.ended(ms(100 * index + 50), ticket, Ended::Served);
    }
    for _ in 0..200 {
        admission.arrives(ms(10_000), &Request::default());
    }
    let decided = decisions(&mut admission);
    let is_refused = |decision: &&Decision| matches!(decision, Decision::Refused(..));
    let refused = decided.iter().filter(is_refused).count();
    assert_eq!(decided.len() - refused, 4);
    assert!((160..=180).contains(&refused), "{refused}");
}

/// Long polls hold every permit: a quarter of the limit is lent to the others, and not to more of the same kind.
#[test]
fn beside_long_polls_others_are_let_in() {
    let learned = Config {
        start: Some(8.0),
        ..Config::default()
    };
    let mut admission = Admission::new(learned, Nanos::ZERO);
    let of = |route| Request {
        route,
        ..Request::default()
    };
    for _ in 0..8 {
        admission.arrives(ms(0), &of(1));
    }
    assert_eq!(decisions(&mut admission).len(), 8);
    admission.turn(ms(300));
    let quick = admission.arrives(ms(300), &of(2));
    assert_eq!(decisions(&mut admission), []);
    admission.turn(ms(400));
    assert_eq!(decisions(&mut admission), [Decision::Admitted(quick)]);
    let others: Vec<_> = (0..4).map(|_| admission.arrives(ms(401), &of(2))).collect();
    admission.arrives(ms(401), &of(1));
    assert_eq!(decisions(&mut admission), [Decision::Admitted(others[0])]);
    admission.ended(ms(405), quick, Ended::Served);
    assert_eq!(decisions(&mut admission), [Decision::Admitted(others[1])]);
    // What hangs although it was lent its permit is lent none again.
    admission.turn(ms(1_000));
    decisions(&mut admission);
    for lent in &others[..2] {
        admission.ended(ms(1_010), *lent, Ended::Left);
    }
    admission.arrives(ms(1_020), &of(2));
    assert_eq!(decisions(&mut admission), []);
}

#[test]
fn a_chosen_number_is_never_lent_beyond() {
    let mut admission = fixed(8);
    let of = |route| Request {
        route,
        ..Request::default()
    };
    for _ in 0..8 {
        admission.arrives(ms(0), &of(1));
    }
    admission.turn(ms(600));
    admission.arrives(ms(600), &of(2));
    admission.turn(ms(700));
    assert_eq!(admission.in_flight(), 8);
}

/// Uploads that keep the service waiting say nothing about it; clients that leave say that the limit is too high.
#[test]
fn what_ends_aside_moves_no_limit() {
    let level_after = |ended| {
        let config = Config {
            start: Some(16.0),
            ..Config::default()
        };
        let mut admission = Admission::new(config, Nanos::ZERO);
        for index in 0..200 {
            let at = ms(10 * index);
            let ticket = admission.arrives(at, &Request::default());
            decisions(&mut admission);
            let ended = if index % 4 == 0 { Ended::Served } else { ended };
            admission.ended(at + ms(5), ticket, ended);
        }
        admission.explain().level
    };
    assert!(level_after(Ended::Left) < 8.0);
    assert!((level_after(Ended::Aside) - 16.0).abs() < 1e-9);
}

#[test]
fn nobody_waits_longer_than_is_worth_it() {
    let mut admission = fixed(1);
    admission.arrives(ms(0), &Request::default());
    let second = admission.arrives(ms(1), &Request::default());
    decisions(&mut admission);
    admission.turn(ms(250));
    assert_eq!(decisions(&mut admission), []);
    admission.turn(ms(251));
    let late = Decision::Refused(second, Refusal::TooLong);
    assert_eq!(decisions(&mut admission), [late]);
}

#[test]
fn who_would_leave_before_the_answer_is_not_begun() {
    let mut admission = fixed(1);
    let first = admission.arrives(ms(0), &Request::default());
    admission.ended(ms(40), first, Ended::Served);
    admission.arrives(ms(50), &Request::default());
    let hurried = Request {
        deadline: Some(ms(150)),
        ..Request::default()
    };
    let hurried = admission.arrives(ms(60), &hurried);
    decisions(&mut admission);
    // 40 ms of work are left until 150 ms: after 110 ms it is too late to begin.
    admission.turn(ms(109));
    assert_eq!(decisions(&mut admission), []);
    admission.turn(ms(110));
    let refused = Decision::Refused(hurried, Refusal::Deadline);
    assert_eq!(decisions(&mut admission), [refused]);
}

/// Also one that stands behind others that have more time, and when the newest are served first.
#[test]
fn who_would_leave_is_refused_wherever_it_waits() {
    let mut admission = fixed(1);
    admission.arrives(ms(0), &Request::default());
    let patient = admission.arrives(ms(1), &Request::default());
    let hurried = Request {
        deadline: Some(ms(60)),
        ..Request::default()
    };
    let hurried = admission.arrives(ms(2), &hurried);
    let last = admission.arrives(ms(3), &Request::default());
    decisions(&mut admission);
    admission.turn(ms(60));
    let refused = Decision::Refused(hurried, Refusal::Deadline);
    assert_eq!(decisions(&mut admission), [refused]);
    admission.turn(ms(251));
    let late = |ticket| Decision::Refused(ticket, Refusal::TooLong);
    assert_eq!(decisions(&mut admission), [late(patient)]);
    admission.turn(ms(253));
    assert_eq!(decisions(&mut admission), [late(last)]);
}

#[test]
fn who_waits_for_much_less_than_it_takes_is_refused_although_permits_are_free() {
    let mut admission = fixed(4);
    let first = admission.arrives(ms(0), &Request::default());
    admission.ended(ms(200), first, Ended::Served);
    let mut asks = |patience: u64| {
        let request = Request {
            deadline: Some(ms(1_000 + patience)),
            ..Request::default()
        };
        decisions(&mut admission);
        let ticket = admission.arrives(ms(1_000), &request);
        (ticket, decisions(&mut admission))
    };
    let (ticket, decided) = asks(40);
    assert_eq!(decided, [Decision::Refused(ticket, Refusal::Deadline)]);
    let (ticket, decided) = asks(150);
    assert_eq!(decided, [Decision::Admitted(ticket)]);
}

#[test]
fn the_timeout_of_clients_is_learned_from_those_that_leave() {
    let mut admission = fixed(1);
    admission.arrives(ms(0), &Request::default());
    for index in 1..60 {
        let at = ms(index * 3000);
        let ticket = admission.arrives(at, &Request::default());
        assert!(admission.left(at + ms(200), ticket));
    }
    let (clients, upstream) = admission.timeouts(ms(60 * 3000));
    let learned = clients.unwrap();
    assert!(learned <= ms(200) && learned > ms(185), "{learned}");
    assert_eq!(upstream, None);
}

/// A probe with a short timeout drops its requests; everybody else waits for longer and is answered.
#[test]
fn a_few_that_leave_early_set_nobody_elses_patience() {
    let mut admission = fixed(1);
    let mut now = ms(0);
    for _ in 0..25 {
        let ticket = admission.arrives(now, &Request::default());
        assert!(!admission.left(now + ms(11), ticket));
        admission.ended(now + ms(11), ticket, Ended::Left);
        now += ms(200);
    }
    for _ in 0..30 {
        let ticket = admission.arrives(now, &Request::default());
        admission.ended(now + ms(50), ticket, Ended::Served);
        now += ms(200);
    }
    decisions(&mut admission);
    let first = admission.arrives(now, &Request::default());
    let second = admission.arrives(now, &Request::default());
    admission.turn(now + ms(20));
    assert_eq!(decisions(&mut admission), [Decision::Admitted(first)]);
    admission.ended(now + ms(50), first, Ended::Served);
    assert_eq!(decisions(&mut admission), [Decision::Admitted(second)]);
}

#[test]
fn retries_beyond_their_budget_wait_with_the_background() {
    let mut admission = fixed(1);
    let retry = Request {
        is_retry: true,
        ..Request::default()
    };
    for _ in 0..50 {
        admission.arrives(ms(0), &retry);
    }
    // A burst of ten is allowed; the first let through earned a fifth of another.
    assert_eq!(admission.counts().retries_demoted, 40);
}

/// Of two tenants one asks for ten times what can be done: it is told that it has had its share, and the other is not.
#[test]
fn a_tenant_with_more_than_its_share_is_told_so_at_the_door() {
    let mut admission = fixed(1);
    let mut told = [0_u32; 2];
    let mut flying = None;
    for now in 0..6_000 {
        let modest = (now % 100 == 50).then_some(1);
        for tenant in std::iter::once(0).chain(modest) {
            let request = Request {
                tenant: tenant as u64,
                session: now,
                ..Request::default()
            };
            match admission.turns_away(ms(now), &request) {
                // Before the first have been served, nobody has had anything.
                Some(refusal) if now >= 1_000 => {
                    told[tenant] += u32::from(refusal == Refusal::Share);
                    assert_eq!(refusal == Refusal::Share, tenant == 0, "at {now} ms");
                }
                Some(_) => {}
                None => _ = admission.arrives(ms(now), &request),
            }
        }
        if now % 10 == 0
            && let Some(ticket) = flying.take()
        {
            admission.ended(ms(now), ticket, Ended::Served);
        }
        for decision in decisions(&mut admission) {
            if let Decision::Admitted(ticket) = decision {
                flying = Some(ticket);
            }
        }
    }
    assert!(told[0] > 100 && told[1] == 0, "{told:?}");
}

/// Ten times too much, so that few wait: of their places the most important have most, and each other class what it is owed.
#[test]
fn of_few_places_too_every_class_has_some() {
    let mut admission = fixed(1);
    let mut served = [0_u32; 4];
    let mut flying = None;
    let mut classes = std::collections::BTreeMap::new();
    for now in 0..20_000 {
        let class = Class::ALL[(now % 4) as usize];
        let request = Request {
            class,
            session: now,
            ..Request::default()
        };
        let ticket = admission.arrives(ms(now), &request);
        classes.insert(ticket, class);
        if now % 10 == 0
            && let Some(ticket) = flying.take()
        {
            admission.ended(ms(now), ticket, Ended::Served);
        }
        for decision in decisions(&mut admission) {
            if let Decision::Admitted(ticket) = decision {
                served[classes[&ticket] as usize] += 1;
                flying = Some(ticket);
            }
        }
    }
    let all: u32 = served.iter().sum();
    let share = |class: Class| f64::from(served[class as usize]) / f64::from(all);
    assert!(share(Class::Critical) > 0.5, "{served:?}");
    for class in [Class::Default, Class::Sheddable, Class::Background] {
        assert!(share(class) > 0.8 * class.floor_ratio(), "{served:?}");
    }
}
