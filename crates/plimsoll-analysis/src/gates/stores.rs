//! Gates 3, 4 and 12 of a workload: what the store says that it did, what its connections carried, what it has in the end.

use plimsoll_core::Outcome;
use plimsoll_core::record::Verified;
use plimsoll_core::step::StepLoad;
use plimsoll_core::test::Workload;
use plimsoll_core::units::three_digits;
use plimsoll_core::verdict::{Gate, GateId, GateState};
use plimsoll_core::window::{Effects, merge_effects};

use super::{Case, gate, with_figures, with_note};

/// Documents that acknowledged operations did not touch although they were asked to: more than this share is other work
/// (capacity-science D.3, gate 0).
const WORK_MISSING_MOST: f64 = 0.05;
/// Commands on the wire in the mean, as a share of those that the plan lets go out at once. What is missing is time that
/// sessions spend inside of the client: its processor time between an answer and the next command.
const WIRE_SHARE_GOOD: f64 = 0.8;
/// Below this the client holds its own operations back most of the time: what was measured is the client.
const WIRE_SHARE_LEAST: f64 = 0.5;

/// What each database came to in the judged windows of the level.
fn effects(case: Case<'_>) -> Vec<Effects> {
    let mut all = Vec::new();
    for window in case.windows() {
        merge_effects(&mut all, &window.databases);
    }
    all
}

/// Gate 3: Documents that acknowledged operations did something to, against those that they were asked for.
pub(super) fn work(case: Case<'_>) -> Gate {
    let compared = "documents that acknowledged operations returned, stored, matched or removed, against those asked for";
    let mut total = Effects::default();
    for database in &effects(case) {
        total.merge(database);
    }
    if total.asked_count == 0 {
        let result = gate(GateId::Work, GateState::Unknown, compared);
        return with_note(
            result,
            "no operation was acknowledged; a level that succeeds would decide",
        );
    }
    let missing = 1.0 - total.done() as f64 / total.asked_count as f64;
    let state = match missing {
        missing if missing.abs() > WORK_MISSING_MOST => GateState::Fail,
        0.0 => GateState::Pass,
        _ => GateState::Warning,
    };
    let result = gate(GateId::Work, state, compared);
    let result = with_figures(
        result,
        total.done().to_string(),
        total.asked_count.to_string(),
        "5 %",
    );
    let words = format!(
        "{} returned, {} stored, {} matched, {} removed",
        total.returned_count, total.inserted_count, total.matched_count, total.deleted_count
    );
    match state {
        GateState::Pass => with_note(result, words),
        _ => with_note(
            result,
            format!(
                "{words}: the store acknowledged operations that had no effect, which count as failures (check_failed); look at \
                 its log, and for another client that changes the same documents"
            ),
        ),
    }
}

/// The most commands of one database at once: more than operations are under way where callers give up, because what they
/// gave up is still on the wire.
fn allowed(case: Case<'_>, workload: &Workload) -> u64 {
    let gives_up =
        workload.client.try_timeout_ns.is_some() || case.tally().class(Outcome::Timeout).count > 0;
    u64::from(if gives_up {
        workload.wire_of_each_max()
    } else {
        workload.wire_of_each()
    })
}

/// Gate 4: Commands on the wire of each database, counted at the connections, against what the plan lets go out at once.
pub(super) fn wire(case: Case<'_>, workload: &Workload) -> Gate {
    let planned = u64::from(workload.wire_of_each());
    let configured = planned as f64;
    let allowed = allowed(case, workload);
    let compared = "commands on the wire of the database with the fewest, in the mean and at most, against the configured";
    let seconds = case.seconds();
    let databases = effects(case);
    if seconds == 0.0 || databases.is_empty() {
        return gate(GateId::Wire, GateState::Unknown, compared);
    }
    let mean = |database: &Effects| database.wire_seconds / seconds;
    let least = databases.iter().map(mean).fold(f64::INFINITY, f64::min);
    let most = databases.iter().map(|database| database.wire_max);
    let (fewest, most) = (most.clone().min().unwrap_or(0), most.max().unwrap_or(0));
    if !matches!(case.load(), Some(StepLoad::Closed { .. })) {
        let state = if most > allowed {
            GateState::Fail
        } else {
            GateState::Pass
        };
        let result = gate(
            GateId::Wire,
            state,
            "most commands on the wire of a database against the configured connections",
        );
        return with_figures(
            result,
            most.to_string(),
            three_digits(configured),
            "no more",
        );
    }
    let failing = case.tally().failures() > 0;
    let share = least / configured;
    let is_reached = fewest >= planned && most <= allowed;
    let state = match share {
        _ if most > allowed => GateState::Fail,
        share if share >= WIRE_SHARE_GOOD && is_reached => GateState::Pass,
        share if share >= WIRE_SHARE_LEAST && is_reached => GateState::Warning,
        _ if failing || seconds < 2.0 => GateState::Warning,
        _ => GateState::Fail,
    };
    let result = gate(GateId::Wire, state, compared);
    let figures = format!("{} (at most {fewest})", three_digits(least));
    let result = with_figures(
        result,
        figures,
        three_digits(configured),
        "equal at most; 20 % in the mean",
    );
    match state {
        GateState::Pass => result,
        GateState::Warning if is_reached && !failing => with_note(
            result,
            "the rest of the time operations were inside of the client, between an answer and the next command: its own processor \
             time is a part of what was measured",
        ),
        GateState::Warning => with_note(
            result,
            "operations failed, or the run was too short to fill the connections",
        ),
        _ => with_note(
            result,
            format!(
                "{configured} operations of each database were to be on the wire at once, and were not: the client holds them back. \
                 What was measured is the client, and says nothing of the store"
            ),
        ),
    }
}

/// Gate 12: Every document that was read after the load, against what was acknowledged for it.
pub(super) fn stored(case: Case<'_>) -> Gate {
    let compared = "documents with every acknowledged write, against those that had to be there";
    let verified = case.record.after.as_ref().and_then(|after| after.verified);
    let Some(verified) = verified else {
        let result = gate(GateId::Stored, GateState::Unknown, compared);
        return with_note(
            result,
            "what is stored could not be read when the load had ended; a store that answers then would decide",
        );
    };
    let broken = verified.broken_count();
    let state = if broken == 0 {
        GateState::Pass
    } else {
        GateState::Fail
    };
    let result = gate(GateId::Stored, state, compared);
    let result = with_figures(
        result,
        verified.intact_count.to_string(),
        verified.expected_count.to_string(),
        "0 missing",
    );
    with_note(result, words(&verified, broken))
}

fn words(verified: &Verified, broken: u64) -> String {
    let unknown = match verified.unknown_count {
        0 => String::new(),
        count => format!("; {count} are left out, whose last operation ended without an answer"),
    };
    if broken == 0 {
        return format!("nothing is missing, nothing that was deleted is there{unknown}");
    }
    let kinds = [
        (verified.missing_count, "missing"),
        (verified.stale_count, "without an acknowledged update"),
        (
            verified.undead_count,
            "there although their deletion was acknowledged",
        ),
        (
            verified.unasked_count,
            "there or changed although nobody asked for it",
        ),
    ];
    let kinds = kinds.iter().filter(|(count, _)| *count > 0);
    let kinds: Vec<String> = kinds
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    format!(
        "{}{unknown}: the store lost what it acknowledged, and its throughput counts work that was not done",
        kinds.join(", ")
    )
}

#[cfg(test)]
mod tests;
