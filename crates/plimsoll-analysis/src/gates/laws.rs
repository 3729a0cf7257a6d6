//! Laws that every record keeps because its figures count one and the same thing in several ways: windows follow each other,
//! what falls due ends or is in flight, a response takes no less than its service, a thread has no more time than there is.
//!
//! A record that breaks one was cut, edited or written wrongly: nothing is concluded from it.

mod script;
mod time;

use plimsoll_core::record::{Observation, ProcessSample, Record, Remark, Seen};
use plimsoll_core::schedule::Arrivals;
use plimsoll_core::step::{Phase, StepLoad};
use plimsoll_core::test::How;
use plimsoll_core::window::Window;
use plimsoll_core::{Nanos, Outcome, Tally};

/// A window begins where the one before it ends, but for the time that it takes to look at a clock.
const BEFORE_MOST: f64 = 0.005;
/// Within a level nothing is between two windows; less than this is no window that was left out.
const BETWEEN_MOST: f64 = 0.4;
/// A thread's time is read at other moments than a window ends.
const READ_LATE_SECONDS: f64 = 0.25;
const OWN_TIME_MOST: f64 = 1.05;
/// Arrivals by chance: six standard deviations, one level in a billion.
const DEVIATIONS_MOST: f64 = 6.0;
/// A level ends and begins a little late, and more arrives meanwhile.
const CHANGE_SECONDS: f64 = 0.1;
/// Responses are later than services by what the generator was late itself; less than this share of it is not.
const LAG_SHARE_LEAST: f64 = 0.2;
/// As many contradictions are told.
const TOLD_MOST: usize = 3;

/// What a record contradicts itself in, the first of each kind.
pub(super) fn broken(record: &Record) -> Vec<String> {
    let mut found: Vec<String> = record.remarks.iter().filter_map(remark).collect();
    found.extend(order(record));
    found.extend(time::broken(record));
    found.extend(balance(record));
    found.extend(sent(record));
    found.extend(within(record));
    found.extend(disturbed(record));
    found.extend(clocks(record));
    found.extend(own_time(record));
    found.extend(arrivals(record));
    found.extend(script::broken(record));
    found.extend(threads(record));
    found.extend(set_up(record));
    found.truncate(TOLD_MOST);
    found
}

fn remark(remark: &Remark) -> Option<String> {
    match remark {
        Remark::Altered { first, count: 1 } => {
            Some(format!("line {first} is not as it was written"))
        }
        Remark::Altered { first, count } => Some(format!(
            "{count} lines are not as they were written, the first is line {first}"
        )),
        Remark::SecondVerdict { line } => Some(format!("line {line} is a second verdict")),
        Remark::Departs { why } => Some(why.clone()),
        Remark::TornLastLine { .. }
        | Remark::UnknownKind { .. }
        | Remark::NoVerdict
        | Remark::FoundAsStored
        | Remark::Says(_) => None,
    }
}

/// `3.0 s`: where in the run a window begins.
fn place(window: &Window) -> String {
    format!(
        "of level {} at {:.1} s",
        window.level,
        window.start_ns.as_secs_f64()
    )
}

/// Windows belong to levels that began before them, and follow each other.
fn order(record: &Record) -> Option<String> {
    let mut before: Option<&Window> = None;
    for window in &record.windows {
        let Some(level) = record.level(window.level) else {
            return Some(format!(
                "the window {} belongs to a level that never began",
                place(window)
            ));
        };
        let start = window.start_ns.as_secs_f64();
        if start + BEFORE_MOST < level.start_ns.as_secs_f64() {
            return Some(format!(
                "the window {} begins before its level",
                place(window)
            ));
        }
        let since = before.map(|before| (before, start - before.end_ns().as_secs_f64()));
        if let Some((_, seconds)) = since.filter(|(_, seconds)| *seconds < -BEFORE_MOST) {
            return Some(format!(
                "the window {} begins {:.3} s before the one before it ends",
                place(window),
                -seconds
            ));
        }
        let gap = since
            .filter(|(before, seconds)| before.level == window.level && *seconds > BETWEEN_MOST);
        if let Some((_, seconds)) = gap {
            return Some(format!(
                "{seconds:.1} s are missing before the window {}",
                place(window)
            ));
        }
        before = Some(window);
    }
    None
}

/// Everything that ended in a window, of whatever level.
fn ends(window: &Window) -> impl Iterator<Item = &Tally> {
    let carried = window.carried.iter().map(|carried| &carried.tally);
    window.operations.iter().chain(carried)
}

/// In flight before, and due, less what ended, is in flight after: exactly, window by window.
fn balance(record: &Record) -> Option<String> {
    let mut before: i128 = 0;
    for window in &record.windows {
        let carried = window.carried.iter().map(|carried| carried.due_count);
        let due = i128::from(window.due_count) + carried.map(i128::from).sum::<i128>();
        let ended: i128 = ends(window).map(|tally| i128::from(tally.attempts())).sum();
        let after = i128::from(window.in_flight_end);
        if before + due - ended != after {
            return Some(format!(
                "in the window {} {} attempts are in flight at the end, and {} follow from what was due and what ended",
                place(window),
                after,
                before + due - ended
            ));
        }
        if window.in_flight_end > window.in_flight_max
            || window.in_flight_mean > window.in_flight_max as f64 + 0.5
        {
            return Some(format!(
                "in the window {} more attempts are in flight than the most that ever were",
                place(window)
            ));
        }
        before = after;
    }
    None
}

/// What has a service time was sent. What waited or fell due between two levels was sent in no window.
fn sent(record: &Record) -> Option<String> {
    let (mut seen, mut sent, mut served) = (0, 0, 0);
    let mut before: Option<&Window> = None;
    for window in &record.windows {
        seen += window.sent_count;
        sent += window.sent_count;
        sent += window
            .carried
            .iter()
            .map(|carried| carried.due_count)
            .sum::<u64>();
        let changed = before.filter(|before| before.level != window.level);
        sent += changed.map_or(0, |before| before.in_flight_end);
        before = Some(window);
        let classes = ends(window).flat_map(Tally::occurred);
        served += classes.map(|(_, class)| class.service.count()).sum::<u64>();
        if served > sent || seen > served + window.in_flight_end {
            return Some(format!(
                "up to the window {} {served} attempts have a service time and {} were sent",
                place(window),
                if served > sent { sent } else { seen }
            ));
        }
    }
    None
}

/// No more can have been met by stalls than ended, and none before there was one.
fn disturbed(record: &Record) -> Option<String> {
    let mut stalled = Nanos::ZERO;
    for window in &record.windows {
        stalled = stalled.max(window.health.stall_max_ns);
        let met = &window.health.disturbed;
        let ended: u64 = ends(window).map(Tally::attempts).sum();
        let most = met.late_counts.iter().chain([&met.failures_count]).max();
        let is_true = met.attempts_count <= ended
            && most.is_none_or(|most| *most <= met.attempts_count)
            && (met.is_none() || stalled > Nanos::ZERO);
        if !is_true {
            return Some(format!(
                "in the window {} stalls of the generator met {} of {ended} attempts, and the longest until then took {stalled}",
                place(window),
                met.attempts_count
            ));
        }
    }
    None
}

/// Answers within a bound are counted by themselves, and stand in the histogram too.
fn within(record: &Record) -> Option<String> {
    let bounds = record.header.test.objectives()?.bounds();
    for window in &record.windows {
        for tally in ends(window) {
            let ok = tally.class(Outcome::Ok);
            for (index, bound) in bounds.iter().enumerate() {
                let Some(counted) = tally.within(index) else {
                    continue;
                };
                let (fewest, most) = ok.response.count_within(*bound);
                if !(fewest..=most).contains(&counted) {
                    return Some(format!(
                        "in the window {} {counted} answers are said to be within {bound}, and {most} of the times are",
                        place(window)
                    ));
                }
            }
        }
    }
    None
}

/// A response begins no later than its service, and earlier where the generator was late.
fn clocks(record: &Record) -> Option<String> {
    let (mut later, mut lag, mut comparable) = (0.0, 0.0, true);
    for window in &record.windows {
        for (outcome, class) in ends(window).flat_map(Tally::occurred) {
            let (response, service) = (&class.response, &class.service);
            if response.count() != service.count() {
                comparable = false;
                continue;
            }
            let (response, service) = (response.sum_ns() as f64, service.sum_ns() as f64);
            // Sums are written as doubles.
            if response < service * (1.0 - 1e-9) {
                return Some(format!(
                    "in the window {} responses ({}) took less time than their services",
                    place(window),
                    outcome.name()
                ));
            }
            later += response - service;
        }
        if is_open(record, window) {
            lag += window.health.lag.sum_ns() as f64;
        }
    }
    let test = &record.header.test;
    (comparable && !test.is_script() && later < LAG_SHARE_LEAST * lag).then(|| {
        format!(
            "the generator was late by {} in all, and the responses are longer than their services by {} only",
            Nanos(lag as u64),
            Nanos(later as u64)
        )
    })
}

fn is_open(record: &Record, window: &Window) -> bool {
    let level = record.level(window.level);
    level.is_some_and(|start| matches!(start.step.load, StepLoad::Open { .. }))
}

/// A worker thread runs for no longer than there is time. How long it waited is counted when the wait is over, and may have
/// begun long before.
fn own_time(record: &Record) -> Option<String> {
    for start in &record.levels {
        let level = start.step.level;
        let windows = || record.windows_of(level);
        let seconds: f64 = windows().map(|window| window.length_ns.as_secs_f64()).sum();
        let workers = windows()
            .map(|window| window.health.worker_run_ns.len())
            .max();
        for worker in 0..workers.unwrap_or(0) {
            let of = |times: &[Nanos]| times.get(worker).map_or(0.0, |time| time.as_secs_f64());
            let health = windows().map(|window| &window.health);
            let own: f64 = health.map(|health| of(&health.worker_run_ns)).sum();
            if own > seconds * OWN_TIME_MOST + READ_LATE_SECONDS {
                return Some(format!(
                    "a worker thread ran for {own:.2} s in the {seconds:.2} s of level {level}"
                ));
            }
        }
    }
    None
}

/// What falls due in a level is what its rate asks for.
fn arrivals(record: &Record) -> Option<String> {
    if record.header.test.is_script() {
        // Its iterations arrive at the rate, and send as many requests as they like.
        return None;
    }
    record.levels.iter().find_map(|start| {
        let step = &start.step;
        let StepLoad::Open { profile, arrivals } = step.load else {
            return None;
        };
        let rate = profile.constant_rate().filter(|_| step.phase != Phase::Drain)?;
        let windows = || record.windows_of(step.level);
        let seconds: f64 = windows().map(|window| window.length_ns.as_secs_f64()).sum();
        let due: u64 = windows().map(|window| window.due_count).sum();
        let stall = windows().map(|window| window.health.latest().as_secs_f64());
        let stall = stall.fold(0.0, f64::max);
        let asked = rate * seconds;
        let chance = match arrivals {
            Arrivals::Poisson => DEVIATIONS_MOST * asked.sqrt(),
            Arrivals::Uniform => 0.0,
        };
        let most = chance + rate * (CHANGE_SECONDS + stall) + 3.0;
        ((due as f64 - asked).abs() > most).then(|| {
            format!(
                "{due} attempts fell due in level {}, and its rate asks for {asked:.0} in {seconds:.1} s",
                step.level
            )
        })
    })
}

/// The plan, the level and what was seen are of one run.
fn set_up(record: &Record) -> Option<String> {
    let header = &record.header;
    let workers = header.test.generator.workers.get();
    let windows = record.windows.iter();
    let seen = windows
        .map(|window| window.health.worker_run_ns.len())
        .max();
    if let Some(seen) = seen.filter(|seen| *seen > 0 && *seen != workers as usize) {
        return Some(format!(
            "the plan has {workers} worker threads, and the windows have {seen}"
        ));
    }
    let cores = record
        .observations
        .iter()
        .find_map(|observation| match &observation.seen {
            Seen::Host(host) => Some(host.core_busy_ratio.len()),
            _ => None,
        });
    let said = header.machine.cores_count as usize;
    if let Some(cores) = cores.filter(|cores| said > 0 && *cores != said) {
        return Some(format!(
            "the machine has {said} cores, and {cores} were watched"
        ));
    }
    if let How::Set { load, .. } = &header.test.how {
        let mut played = record.levels.iter().map(|start| &start.step);
        let other = played.find(|step| step.phase == Phase::Run && step.load != (*load).into());
        if let Some(step) = other {
            return Some(format!(
                "the load of level {} is not that of the plan",
                step.level
            ));
        }
    }
    None
}

/// A thread of a tier runs for no longer than it was watched.
fn threads(record: &Record) -> Option<String> {
    let processes = record.observations.iter().filter_map(|observation| {
        let Seen::Process(process) = &observation.seen else {
            return None;
        };
        Some((observation, process))
    });
    let mut too_long = processes.filter_map(|(observation, process)| thread(observation, process));
    too_long.next()
}

fn thread(observation: &Observation, process: &ProcessSample) -> Option<String> {
    let seconds = observation.length_ns.as_secs_f64();
    let most = seconds * OWN_TIME_MOST + READ_LATE_SECONDS;
    let mut threads = process.threads.iter();
    let thread = threads.find(|thread| thread.run_ns.as_secs_f64() > most)?;
    Some(format!(
        "thread {} of {} ran for {:.2} s in the {seconds:.2} s up to {:.1} s",
        thread.name,
        observation.tier,
        thread.run_ns.as_secs_f64(),
        observation.at_ns.as_secs_f64()
    ))
}
