//! How long goodput stays away after a fault that an experiment made, or an overload of its own, is over: the difference between a system that was hit and
//! one that stays down although nothing is wrong with it any more.

use plimsoll_core::experiment::{Recovery, Variant};
use plimsoll_core::record::{EventKind, FaultKind, Record};
use plimsoll_core::test::{How, Load};
use plimsoll_core::{Nanos, Window};

use super::spread::spread;

/// So much of the goodput before the fault is as before: what seconds of a steady load differ by is less.
const AS_BEFORE_RATIO: f64 = 0.9;
/// It counts as back when it stays so for as many windows, so that one lucky second is no recovery.
const STAYS_WINDOWS: usize = 3;
/// Fewer windows before the fault say nothing about what was normal.
const BEFORE_WINDOWS_LEAST: usize = 2;
/// The first window has connections that are being opened, and empty caches.
const WARM_UP_WINDOWS: usize = 1;

/// Windows are cut some microseconds late, and faults are made up to 20 ms late: what a window shares with a fault for less
/// than this does not count.
const SLACK: Nanos = Nanos::from_millis(50);

/// What one run shows.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Seen {
    /// From the end of the fault; none if it did not come back.
    seconds: Option<f64>,
    watched_seconds: f64,
}

pub(super) fn of_variant(variant: &Variant<'_>) -> Option<Recovery> {
    let runs = variant.shown().filter_map(|run| seen(run.record));
    let runs: Vec<Seen> = runs.collect();
    let watched = runs.iter().map(|run| run.watched_seconds);
    let watched_seconds = watched.fold(f64::INFINITY, f64::min);
    (!runs.is_empty()).then(|| Recovery {
        seconds: spread(runs.iter().filter_map(|run| run.seconds)),
        lost_count: runs.iter().filter(|run| run.seconds.is_none()).count() as u64,
        runs_count: runs.len() as u64,
        watched_seconds,
    })
}

/// When the first fault, or an overload by the load itself, began and the last was over. What is stopped for good is never over; what is ended for good is at
/// once, because the others can go on without it.
fn fault(record: &Record) -> Option<(Nanos, Nanos)> {
    let faults = record.events.iter().filter_map(|event| match &event.what {
        EventKind::Fault(fault) => Some((event.at_ns, fault)),
        _ => None,
    });
    let faults: Vec<_> = faults.collect();
    let goes_on = |instance: &str| {
        let mut later = faults.iter();
        later.any(|(_, it)| it.instance == instance && it.what == FaultKind::Continued)
    };
    let mut stopped = faults.iter();
    if stopped.any(|(_, it)| it.what == FaultKind::Stopped && !goes_on(&it.instance)) {
        return None;
    }
    let began = record.levels.first()?.start_ns;
    let pulse = match record.header.test.how {
        How::Set {
            load: Load::Open { profile, .. },
            ..
        } => profile.pulse(),
        _ => None,
    };
    let pulse = pulse.map(|(from, to)| [began + from, began + to]);
    let times = || {
        faults
            .iter()
            .map(|(at, _)| *at)
            .chain(pulse.into_iter().flatten())
    };
    times().min().zip(times().max())
}

fn seen(record: &Record) -> Option<Seen> {
    let (from, to) = fault(record)?;
    // The one that was set; a search has levels of its own, and no fault is made in it.
    let level = record.levels.first()?.step.level;
    let windows = record.windows.iter().filter(|it| it.level == level);
    let windows: Vec<&Window> = windows.collect();
    let end = |window: &Window| window.start_ns + window.length_ns;
    let before = windows.iter().skip(WARM_UP_WINDOWS);
    let before: Vec<f64> = before
        .filter(|window| end(window) <= from + SLACK)
        .map(|window| good_per_s(window))
        .collect();
    if before.len() < BEFORE_WINDOWS_LEAST {
        return None;
    }
    let usual = before.iter().sum::<f64>() / before.len() as f64;
    let after: Vec<&Window> = windows
        .into_iter()
        .filter(|it| it.start_ns + SLACK >= to)
        .collect();
    let is_back = |window: &&Window| good_per_s(window) >= AS_BEFORE_RATIO * usual;
    let mut runs = after.windows(STAYS_WINDOWS);
    let back = runs
        .find(|run| run.iter().all(is_back))
        .and_then(|run| run.first());
    let last = after.get(STAYS_WINDOWS - 1).and(after.last())?;
    (usual > 0.0).then(|| Seen {
        seconds: back.map(|window| window.start_ns.saturating_sub(to).as_secs_f64()),
        watched_seconds: end(last).saturating_sub(to).as_secs_f64(),
    })
}

fn good_per_s(window: &Window) -> f64 {
    window.total().good() as f64 / window.length_ns.as_secs_f64()
}

#[cfg(test)]
mod tests {
    use plimsoll_core::Outcome;
    use plimsoll_core::Tally;
    use plimsoll_core::record::{Event, Fault};

    use super::*;

    /// One window a second with that many good answers each; faults at these seconds.
    fn record(good: &[u64], faults: &[(u64, FaultKind)]) -> Record {
        let text = include_str!("../../tests/fixtures/lock-healthy.plimsoll.jsonl");
        let mut record = Record::read(text.as_bytes()).unwrap();
        record.levels.truncate(1);
        let level = record.levels[0].step.level;
        let windows = (0..).zip(good).map(|(second, good)| {
            let mut tally = Tally::default();
            for _ in 0..*good {
                tally.record(Outcome::Ok, Nanos(1), Some(Nanos(1)), 1, &[]);
            }
            Window {
                level,
                // Cut a little late, as real ones are.
                start_ns: Nanos::from_secs(second) + Nanos(30_000),
                length_ns: Nanos::from_secs(1),
                operations: vec![tally],
                ..Window::default()
            }
        });
        record.windows = windows.collect();
        record.events = faults
            .iter()
            .map(|(second, what)| Event {
                at_ns: Nanos::from_secs(*second),
                what: EventKind::Fault(Fault {
                    instance: "db".to_owned(),
                    what: *what,
                }),
                detail: String::new(),
            })
            .collect();
        record
    }

    const STALL: [(u64, FaultKind); 2] = [(4, FaultKind::Stopped), (6, FaultKind::Continued)];

    fn after_a_stall(after: &[u64]) -> Option<Seen> {
        let good = [&[10, 100, 100, 100, 5, 0][..], after].concat();
        seen(&record(&good, &STALL))
    }

    #[test]
    fn what_comes_back_has_a_time_and_what_does_not_has_none() {
        let seconds = |after: &[u64]| after_a_stall(after).unwrap().seconds;
        let whole = |after: &[u64]| seconds(after).map(f64::round);
        assert_eq!(whole(&[100, 95, 100, 100]), Some(0.0));
        assert_eq!(whole(&[20, 60, 91, 95, 100, 90]), Some(2.0));
        assert_eq!(seconds(&[20, 20, 0, 30, 20]), None);
        // One second as before among others that are not.
        assert_eq!(seconds(&[20, 100, 20, 100, 20, 100]), None);
        assert_eq!(after_a_stall(&[100, 100]), None, "too short a look");
    }

    #[test]
    fn a_fault_that_does_not_end_has_no_recovery_and_an_ended_tier_has() {
        let good = [0, 100, 100, 100, 50, 100, 100, 100, 100];
        let played = |faults: &[(u64, FaultKind)]| seen(&record(&good, faults));
        assert_eq!(played(&[]), None);
        assert_eq!(played(&[(4, FaultKind::Stopped)]), None);
        let ended = played(&[(4, FaultKind::Ended)]).unwrap();
        let whole = (ended.seconds.map(f64::round), ended.watched_seconds.round());
        assert_eq!(whole, (Some(1.0), 5.0));
        assert_eq!(played(&[(1, FaultKind::Restarted)]), None, "nothing before");
    }
}
