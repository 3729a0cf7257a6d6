//! Gates 1 to 4: do the flows close? Little's law, accounting, work per success, the wire.

use plimsoll_core::record::{Record, Seen};
use plimsoll_core::step::{Phase, StepLoad};
use plimsoll_core::units::three_digits;
use plimsoll_core::verdict::{Gate, GateId, GateState};
use plimsoll_core::{Outcome, Tally};

use super::change::{Change, Side};
use super::{Case, deviation, gate, laws, levels_of, stores, with_figures, with_note};

/// Little's law and work per success agree within this (capacity-science D.3, gate 0).
const TOLERANCE: f64 = 0.05;
const TOLERANCE_TEXT: &str = "5 %";

/// Gate 1: X·R against the measured mean in flight, over everything the record holds: what ended
/// brought its residence, what ran was counted by the in-flight integral, independently.
pub(super) fn little(case: Case<'_>) -> Gate {
    let compared = "X·R against the mean number in flight";
    let flows = residence_and_in_flight(case.record);
    let unfinished = case
        .record
        .windows
        .last()
        .map_or(0, |window| window.in_flight_end);
    let Some((left, right)) = flows else {
        return gate(GateId::Little, GateState::Unknown, compared);
    };
    let off = deviation(left, right);
    // What never ended has residence that no outcome carries; an interrupted run has such attempts.
    let excused = unfinished > 0 && left < right;
    let state = match off < TOLERANCE {
        true => GateState::Pass,
        false if excused => GateState::Warning,
        false => GateState::Fail,
    };
    let result = gate(GateId::Little, state, compared);
    let result = with_figures(
        result,
        three_digits(left),
        three_digits(right),
        TOLERANCE_TEXT,
    );
    match state {
        GateState::Fail => with_note(
            result,
            "attempts or their times were lost: report this as a fault of plimsoll",
        ),
        GateState::Warning => with_note(
            result,
            format!("{unfinished} attempts had not ended when the run was stopped"),
        ),
        _ => result,
    }
}

/// X·R and the mean number in flight, each over everything that the record holds; none of an empty one.
pub(crate) fn residence_and_in_flight(record: &Record) -> Option<(f64, f64)> {
    let mut residence = 0.0;
    let mut in_flight = 0.0;
    let mut seconds = 0.0;
    for window in &record.windows {
        let length = window.length_ns.as_secs_f64();
        seconds += length;
        in_flight += window.in_flight_mean * length;
        // What was in flight between two levels is in no window's mean, and its ends are carried.
        in_flight += window
            .carried
            .iter()
            .map(|carried| carried.in_flight_seconds)
            .sum::<f64>();
        let carried = window.carried.iter().map(|carried| &carried.tally);
        residence += window
            .operations
            .iter()
            .chain(carried)
            .map(residence_seconds)
            .sum::<f64>();
    }
    let is_empty = seconds == 0.0 || (in_flight == 0.0 && residence == 0.0);
    (!is_empty).then(|| (residence / seconds, in_flight / seconds))
}

fn residence_seconds(tally: &Tally) -> f64 {
    tally.residence_ns() as f64 / 1e9
}

/// Gate 2: Attempts that fell due against outcomes, exactly, and whatever else the figures of a record say twice.
pub(super) fn accounting(case: Case<'_>) -> Gate {
    let mut due = 0;
    let mut ended = 0;
    for window in &case.record.windows {
        due += window.due_count + window.carried.iter().map(|c| c.due_count).sum::<u64>();
        ended += window.total().attempts();
        ended += window
            .carried
            .iter()
            .map(|carried| carried.tally.attempts())
            .sum::<u64>();
    }
    let unfinished = case
        .record
        .windows
        .last()
        .map_or(0, |window| window.in_flight_end);
    let broken = laws::broken(case.record);
    let state = if due == ended + unfinished && broken.is_empty() {
        GateState::Pass
    } else {
        GateState::Fail
    };
    let result = gate(
        GateId::Accounting,
        state,
        "attempts against the sum of outcome classes",
    );
    let result = with_figures(
        result,
        due.to_string(),
        (ended + unfinished).to_string(),
        "0",
    );
    match (state, unfinished) {
        (GateState::Fail, _) if broken.is_empty() => {
            with_note(result, "the record lacks lines; was it cut or edited?")
        }
        (GateState::Fail, _) => with_note(
            result,
            format!("{}: was the record cut or edited?", broken.join("; ")),
        ),
        (_, 0) => result,
        _ => with_note(
            result,
            format!("{unfinished} of them were still in flight when the run ended"),
        ),
    }
}

/// Gate 3: Bytes per success at the quoted level against the lowest load of the same record.
pub(super) fn work(case: Case<'_>) -> Gate {
    if case.record.header.test.workload().is_some() {
        return stores::work(case);
    }
    let compared = "bytes per success, quoted level against the lowest load";
    let (here, reference, which) = if let Some(level) = reference_level(case) {
        (
            Side::of_windows(case.windows(), bytes_per_success),
            Side::of_windows(case.record.judged_windows(level), bytes_per_success),
            "quoted level against the lowest load",
        )
    } else {
        let count = case.windows().count();
        let half = count.div_ceil(2);
        // A single window is like itself.
        let from = if count < 2 { 0 } else { half };
        (
            Side::of_windows(case.windows().skip(from), bytes_per_success),
            Side::of_windows(case.windows().take(half), bytes_per_success),
            "second half of the run against the first",
        )
    };
    let (Some(here), Some(reference)) = (here, reference) else {
        let result = gate(GateId::Work, GateState::Unknown, compared);
        return with_note(
            result,
            "no successes to compare; a level that succeeds would decide",
        );
    };
    // Bodies vary: 5 % that chance explains are no other work.
    let state = match Change::between(reference, here).surely_exceeds(TOLERANCE) {
        Some(false) => GateState::Pass,
        // An error page with status 200 is smaller than the answer, and so is one that was cut short. Lists grow, and a
        // script may ask for other things later.
        Some(true) if here.value < reference.value && !case.record.header.test.is_script() => {
            GateState::Fail
        }
        Some(true) => GateState::Warning,
        None => GateState::Unknown,
    };
    let compared = format!("bytes per success, {which}");
    let result = gate(GateId::Work, state, &compared);
    let result = with_figures(
        result,
        format!("{:.0} B", here.value),
        format!("{:.0} B", reference.value),
        TOLERANCE_TEXT,
    );
    if state == GateState::Unknown {
        let note = "the bodies differ, and so few seconds do not tell whether by chance; a longer run would decide";
        return with_note(result, note);
    }
    if state == GateState::Warning {
        let note = if case.record.header.test.is_script() {
            "the script's answers are not as large as before: if it asks for the same things, look at one, and at the figures by name"
        } else {
            "answers grow: if they are lists, the work for each grows too, and an earlier figure does not hold later"
        };
        return with_note(result, note);
    }
    if state == GateState::Fail {
        return with_note(
            result,
            "answers under load differ from answers without load: look at one with curl -i while the load is on; it may be an error page with status 200, or cut short",
        );
    }
    result
}

fn bytes_per_success(tally: &Tally) -> Option<f64> {
    let ok = tally.class(Outcome::Ok);
    (ok.count > 0).then(|| ok.bytes as f64 / ok.count as f64)
}

/// The bracket level with the lowest rate, or with the fewest virtual users, if there is one besides the
/// quoted level.
fn reference_level(case: Case<'_>) -> Option<u32> {
    let rate_of = |level: u32| match case.record.level(level)?.step.load {
        StepLoad::Open { profile, .. } => profile.constant_rate(),
        StepLoad::Closed { in_flight } => Some(f64::from(in_flight)),
    };
    levels_of(case.record, Phase::Bracket)
        .filter(|&level| level != case.level)
        .filter_map(|level| Some((level, rate_of(level)?)))
        .min_by(|a, b| a.1.total_cmp(&b.1))
        .map(|(level, _)| level)
}

/// Gate 4: Concurrency on the wire against what was configured, and against what the target's listener saw.
pub(super) fn wire(case: Case<'_>) -> Gate {
    if case.record.header.test.is_script() {
        let compared = "mean in flight against the configured connections";
        let result = gate(GateId::Wire, GateState::NotApplicable, compared);
        return with_note(
            result,
            "virtual users also pause and compute, so their number says nothing about the requests in flight",
        );
    }
    if let Some(workload) = case.record.header.test.workload() {
        return stores::wire(case, workload);
    }
    match case.load() {
        Some(StepLoad::Closed { in_flight }) => closed_wire(case, f64::from(in_flight)),
        _ => open_wire(case),
    }
}

fn closed_wire(case: Case<'_>, configured: f64) -> Gate {
    let compared = "mean in flight against the configured connections";
    let seconds = case.seconds();
    let weighted: f64 = case
        .windows()
        .map(|window| window.in_flight_mean * window.length_ns.as_secs_f64())
        .sum();
    if seconds == 0.0 {
        return gate(GateId::Wire, GateState::Unknown, compared);
    }
    let mean = weighted / seconds;
    let failing = case.tally().failures() > 0;
    // Slots whose connection failed pause before they try again: fewer in flight, and known why.
    let state = match deviation(mean, configured) < TOLERANCE {
        true => GateState::Pass,
        false if failing || seconds < 2.0 => GateState::Warning,
        false => GateState::Fail,
    };
    let result = gate(GateId::Wire, state, compared);
    let result = with_figures(
        result,
        three_digits(mean),
        three_digits(configured),
        TOLERANCE_TEXT,
    );
    match state {
        GateState::Warning => with_note(
            result,
            "slots paused after failures, or the run was too short to fill them",
        ),
        GateState::Fail => with_note(
            result,
            "requests did not overlap as configured; use fewer connections or more --workers",
        ),
        _ => result,
    }
}

fn open_wire(case: Case<'_>) -> Gate {
    let compared = "connections we hold open against those the target's listener sees";
    let ours = case
        .windows()
        .map(|window| window.health.connections_open)
        .max()
        .unwrap_or(0);
    let seen = listener_connections(case);
    let Some(seen) = seen else {
        let result = gate(GateId::Wire, GateState::NotApplicable, compared);
        return with_note(
            result,
            "an open model configures no concurrency; the target's listener was not observed",
        );
    };
    // Opened and closed between two samples: a few more or less is the sampling, not the topology.
    let close = f64::from(seen.abs_diff(ours)) <= 2.0 + 0.05 * f64::from(ours);
    let state = if close {
        GateState::Pass
    } else {
        GateState::Warning
    };
    let result = gate(GateId::Wire, state, compared);
    let result = with_figures(result, ours.to_string(), seen.to_string(), "5 % + 2");
    if close {
        return result;
    }
    with_note(
        result,
        "other clients use the target too, or something between closes connections",
    )
}

fn listener_connections(case: Case<'_>) -> Option<u32> {
    let start = case.windows().next()?.start_ns;
    let end = case.windows().last()?.end_ns();
    case.record
        .observations
        .iter()
        .filter(|observation| observation.at_ns >= start && observation.at_ns <= end)
        .filter(|observation| observation.tier == case.target())
        .filter_map(|observation| match &observation.seen {
            Seen::Listener(listener) => Some(listener.established),
            _ => None,
        })
        .max()
}
