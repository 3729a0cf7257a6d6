//! Gates 11 and 12: taken in is not done, and what was acknowledged is stored. Only where a run says anything about it.

use plimsoll_core::record::After;
use plimsoll_core::verdict::{Gate, GateId, GateState};

use super::{Case, gate, stores, with_figures, with_note};

/// Gate 11: Answers that say "taken in" against those that say "done". Absent if there were none of the former.
pub(super) fn accepted(case: Case<'_>) -> Option<Gate> {
    let (ok, accepted) = case.record.acknowledged();
    if accepted == 0 {
        return None;
    }
    let after = case.record.after.as_ref();
    let waiting = after.and_then(|after| after.backlog_count);
    let left = after.and_then(|after| after.backlog_left_count);
    let state = match left {
        None => GateState::Unknown,
        Some(0) => GateState::Pass,
        Some(_) => GateState::Warning,
    };
    let compared =
        "answers of 202, which are never goodput, against answers that say the work is done";
    let result = gate(GateId::Accepted, state, compared);
    let result = with_figures(
        result,
        accepted.to_string(),
        ok.to_string(),
        "counted apart",
    );
    let note = match (waiting, left) {
        (Some(waiting), Some(left)) => backlog_words(waiting, left, after),
        _ => match after.and_then(|after| after.uncounted.get("backlog")) {
            Some(problem) => uncounted_words(problem),
            None => {
                "what became of them was not looked at; `backlog` of the lab's [test] would tell"
                    .to_owned()
            }
        },
    };
    Some(with_note(result, note))
}

fn uncounted_words(problem: &str) -> String {
    format!(
        "it could not be counted when the load had ended ({problem}); a run in which it can be would decide"
    )
}

fn backlog_words(waiting: u64, left: u64, after: Option<&After>) -> String {
    let drained = after.and_then(|after| after.drained_ns);
    match drained {
        Some(drained) if left == 0 => {
            format!("{waiting} were not done when the load ended, and done {drained} later")
        }
        _ => format!(
            "{waiting} were not done when the load ended, and {left} still not when the wait was over: wait longer (`drain_within`), or offer less"
        ),
    }
}

/// Gate 12: What was acknowledged against what is stored. Absent if nobody looked.
pub(super) fn stored(case: Case<'_>) -> Option<Gate> {
    if case
        .record
        .header
        .test
        .workload()
        .is_some_and(|workload| workload.verify)
    {
        return Some(stores::stored(case));
    }
    let after = case.record.after.as_ref()?;
    let compared = "what was acknowledged or taken in, against what is stored or still waits";
    let Some(stored) = after.stored_count else {
        let problem = after.uncounted.get("stored")?;
        let result = gate(GateId::Stored, GateState::Unknown, compared);
        return Some(with_note(result, uncounted_words(problem)));
    };
    let (ok, accepted) = case.record.acknowledged();
    let there = stored + after.backlog_left_count.unwrap_or(0);
    let owed = (ok + accepted).max(after.taken_count.unwrap_or(0));
    let lost = after.lost_count(ok + accepted)?;
    // What was only taken in was not promised; an answer that says "done" was.
    let broken = ok.saturating_sub(there);
    let state = match (lost, broken) {
        (0, _) => GateState::Pass,
        (_, 0) => GateState::Warning,
        _ => GateState::Fail,
    };
    let result = gate(GateId::Stored, state, compared);
    let result = with_figures(result, owed.to_string(), there.to_string(), "0 lost");
    let killed = match after.killed.as_slice() {
        [] => String::new(),
        killed => format!(" ({} was killed)", killed.join(", ")),
    };
    Some(match state {
        GateState::Pass => with_note(result, format!("nothing is missing{killed}")),
        GateState::Warning => with_note(
            result,
            format!(
                "at least {lost} that were taken in are lost{killed}: an item that is popped without an acknowledgement is lost with the process that popped it"
            ),
        ),
        _ => with_note(
            result,
            format!(
                "at least {broken} answers said that the work was done, and nothing is stored for them{killed}: the true goodput is lower"
            ),
        ),
    })
}
