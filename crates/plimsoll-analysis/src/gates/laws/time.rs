//! Laws of the time that a record covers: when its windows begin, and how long they are.

use plimsoll_core::record::Record;
use plimsoll_core::window::Window;

use super::{ends, place};

/// A level's first window begins as soon as its workers know of it: after 5 ms, and a thread waits for a processor.
const LATE_MOST: f64 = 0.25;
/// Early versions left out the first window of a level here and there.
const LATE_MOST_EARLY: f64 = 2.0;
/// Both sums are of whole nanoseconds, and a mean is a double: they agree to the last digits.
const ROUNDING: f64 = 1e-6;
/// A script's request that meets its timeout is given up a moment before it is counted out: of 36,000 seconds of them 14.
const ROUNDING_SCRIPT: f64 = 2e-3;

pub(super) fn broken(record: &Record) -> Vec<String> {
    // Early versions, which did not look at stalls, had no place for what is in flight between two levels.
    let mut windows = record.windows.iter();
    let is_early = windows.any(|window| window.health.stalled_ns.is_none());
    let both = [
        late_begun(record, is_early),
        residence(record).filter(|_| !is_early),
    ];
    both.into_iter().flatten().collect()
}

/// A level's first window begins with it.
fn late_begun(record: &Record, is_early: bool) -> Option<String> {
    if record.header.test.is_script() {
        // What a script sets up comes first.
        return None;
    }
    let most = if is_early { LATE_MOST_EARLY } else { LATE_MOST };
    record.levels.iter().find_map(|start| {
        let first = record.windows_of(start.step.level).next()?;
        let began = start.start_ns.as_secs_f64();
        let late = first.start_ns.as_secs_f64() - began;
        let stalled = first.health.stall_max_ns.as_secs_f64();
        (late > most + stalled).then(|| {
            format!(
                "level {} began at {began:.1} s, and its first window {late:.1} s later",
                start.step.level
            )
        })
    })
}

/// What the attempts that ended spent inside is the time integral of those inside: exactly, whenever nobody is inside. Until
/// then it is less, by what those who are inside have spent so far.
fn residence(record: &Record) -> Option<String> {
    let share = if record.header.test.is_script() {
        ROUNDING_SCRIPT
    } else {
        ROUNDING
    };
    let (mut inside, mut spent, mut since) = (0.0, 0.0, 0.0);
    for window in &record.windows {
        inside += integral(window);
        spent += ends(window)
            .map(|tally| tally.residence_ns() as f64 / 1e9)
            .sum::<f64>();
        let end = window.end_ns().as_secs_f64();
        let rounding = share * (1.0 + inside.max(spent));
        let most = window.in_flight_end as f64 * (end - since).max(0.0);
        let ahead = inside - spent;
        if ahead < -rounding || ahead > most + rounding {
            return Some(format!(
                "up to the window {} attempts were in flight for {inside:.3} s in all, and those that ended for {spent:.3} s",
                place(window)
            ));
        }
        if window.in_flight_end == 0 {
            (inside, spent, since) = (0.0, 0.0, end);
        }
    }
    None
}

/// Attempts times seconds: in the window, and before it between two levels.
fn integral(window: &Window) -> f64 {
    let between = window
        .carried
        .iter()
        .map(|carried| carried.in_flight_seconds);
    window.in_flight_mean * window.length_ns.as_secs_f64() + between.sum::<f64>()
}
