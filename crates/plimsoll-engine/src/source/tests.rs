//! Shares of the load, and closed loops: who joins when, and who starts again.

use super::*;

fn closed(running: u32, target: u32, join: Nanos) -> Source {
    let level = Level {
        end: None,
        number: 1,
        load: StepLoad::Closed { in_flight: target },
        start: Nanos::from_secs(1),
        join,
    };
    let part = Part {
        index: 0,
        workers: 1,
    };
    Source::from_level(&level, part, 7, running)
}

#[test]
fn shares_add_up() {
    for (total, workers) in [(0, 3), (1, 3), (64, 3), (7, 7), (5, 8)] {
        let share = |index| Part { index, workers }.share_of(total);
        assert_eq!((0..workers).map(share).sum::<u64>(), total);
    }
}

#[test]
fn nobody_has_more_in_flight_than_its_connections_carry() {
    let each = |workers| {
        let streams = (1..=4).map(move |streams| (workers, streams));
        streams.flat_map(|(workers, streams)| (workers..=12).map(move |it| (workers, streams, it)))
    };
    for (workers, streams, connections) in (1..=5).flat_map(each) {
        for total in 0..=connections * streams {
            let mut sum = 0;
            for index in 0..workers {
                let part = Part { index, workers };
                let share = part.share_on(total, connections, streams);
                assert!(share <= part.share_of(connections) * streams, "{part:?}");
                let is_even = share == part.share_of(total);
                assert!(is_even || streams > 1, "over HTTP/1.1");
                sum += share;
            }
            assert_eq!(sum, total);
        }
    }
    let of_two = |total, connections, streams| {
        [0, 1].map(|index| Part { index, workers: 2 }.share_on(total, connections, streams))
    };
    assert_eq!(of_two(6, 3, 2), [4, 2]);
    assert_eq!(of_two(50, 3, 100), [25, 25], "with room for all it is even");
    assert_eq!(of_two(9, 3, 2), [7, 2], "more than there is room for");
    assert_eq!(of_two(3, 1, 8), [2, 1], "each opens a connection");
}

#[test]
fn each_worker_of_a_closed_loop_goes_round_all_targets() {
    for (workers, targets) in [(2, 2), (4, 2), (2, 3), (3, 6), (1, 4)] {
        for index in 0..workers {
            let part = Part { index, workers };
            let places = (0..targets).map(|count| part.place_of(count, true) % targets);
            let places: std::collections::BTreeSet<u64> = places.collect();
            assert_eq!(places.len() as u64, targets, "{part:?}");
        }
    }
    // The first of all workers together do, too.
    let first = [0, 1, 2].map(|index| Part { index, workers: 3 }.place_of(0, true));
    assert_eq!(first, [0, 1, 2]);
}

#[test]
fn virtual_users_join_evenly_and_at_once_where_nobody_thinks() {
    let second = Nanos::from_secs(1);
    let mut source = closed(4, 100, second);
    source.free(3, second);
    assert!(
        source.take_due(second, 3, 1).is_some(),
        "one of those that were there goes on"
    );
    let mut times = Vec::new();
    for running in 4..100 {
        times.push(source.next(running));
        assert!(source.take_due(Nanos::MAX, running, 1).is_some());
    }
    assert!(times.is_sorted());
    let gap = |pair: &[Nanos]| pair[1] - pair[0];
    let widest = times.windows(2).map(gap).max();
    assert!(widest < Some(Nanos::from_millis(30)), "{widest:?}");
    assert!(times.last() < Some(&Nanos::from_secs(2)));
    assert_eq!(source.next(100), Nanos::MAX);
    assert_eq!(closed(0, 3, Nanos::ZERO).next(2), second);
}

#[test]
fn a_closed_loop_never_runs_more_than_its_target() {
    let start = Nanos::from_secs(1);
    let mut source = closed(0, 2, Nanos::ZERO);
    assert!(source.take_due(start, 0, 1).is_some());
    assert!(source.take_due(start, 1, 1).is_some());
    assert_eq!(source.take_due(start, 2, 1), None);
    // One ends and pauses; the other goes on at once.
    source.free(1, start + Nanos::from_millis(20));
    source.free(0, start);
    assert!(source.take_due(start, 0, 1).is_some());
    assert_eq!(source.take_due(start, 1, 1), None);
    assert_eq!(source.next(1), start + Nanos::from_millis(20));
    // Of an earlier, wider level: nobody follows it.
    source.free(2, start);
    assert_eq!(source.take_due(start, 2, 1), None);
}
