//! What failed: counted at all, by kind, and apart from what was only taken in.

use plimsoll_core::verdict::{Gate, GateId, GateState};

use super::{grouped, state};
use crate::gates::{gate, with_figures, with_note};
use crate::import::figures::{Counting, Figures, Tool};

/// Gate 2: every attempt succeeded or failed.
pub(super) fn accounting(figures: &Figures) -> Gate {
    let compared = "attempts with successes and failures";
    let line = |state| gate(GateId::Accounting, state, compared);
    match figures.counting {
        Counting::Counted => {}
        Counting::Never => {
            let note = "the file has no failures at all: what failed is counted as done";
            return with_note(line(GateState::Fail), note);
        }
        Counting::NotHere(why) => return with_note(line(GateState::Unknown), why),
    }
    if figures.attempts == Some(0) {
        return with_note(line(GateState::Fail), nothing_ended(figures));
    }
    if let Some((sent, ended)) = lost(figures) {
        let note = format!(
            "{} requests were sent and neither answered nor counted as failed: look at the target's own log for \
             connections that it closed",
            grouped(sent - ended)
        );
        let line = with_figures(
            line(GateState::Fail),
            grouped(sent),
            grouped(ended),
            "in flight",
        );
        return with_note(line, note);
    }
    let counted = figures.counted_successes.zip(figures.failures.total);
    let counted = counted.map(|(successes, failures)| successes + failures);
    let Some((attempts, counted)) = figures.attempts.zip(counted) else {
        return with_note(
            line(GateState::Unknown),
            "needs successes and failures, counted apart",
        );
    };
    // A request of k6 whose `responseCallback` is null is counted and never judged.
    let unjudged = attempts.checked_sub(counted).filter(|left| *left > 0);
    if let Some(unjudged) = unjudged.filter(|_| figures.tool == Tool::K6) {
        let note = format!(
            "{} requests were not judged by k6, as those whose `responseCallback` is null: nobody knows whether they failed, and \
             goodput counts them as done",
            grouped(unjudged)
        );
        let line = line(GateState::Unknown);
        let line = with_figures(line, grouped(attempts), grouped(counted), "0");
        return with_note(line, note);
    }
    let line = line(state(attempts == counted));
    with_figures(line, grouped(attempts), grouped(counted), "0")
}

fn nothing_ended(figures: &Figures) -> String {
    match figures.unfinished {
        0 => "nothing was attempted".to_owned(),
        waiting => format!(
            "no request was answered: {} were still waiting when the time was up",
            grouped(waiting)
        ),
    }
}

/// Requests that were sent and those that ended, if more are missing than can have been on their way.
fn lost(figures: &Figures) -> Option<(u64, u64)> {
    let (sent, ended) = (figures.sent?, figures.attempts?);
    let on_their_way = figures.in_flight? as u64;
    (sent > ended.saturating_add(on_their_way)).then_some((sent, ended))
}

/// Gate 7: every failure has a kind; and what the kinds rule out.
pub(super) fn by_kind(figures: &Figures) -> Gate {
    let compared = "failures against those with a kind";
    let line = |state| gate(GateId::Failures, state, compared);
    match figures.counting {
        Counting::Counted => {}
        Counting::Never => {
            let note = "the tool writes down no failure; count the target's own errors";
            return with_note(line(GateState::Unknown), note);
        }
        Counting::NotHere(why) => {
            let mut notes = vec![why.to_owned()];
            notes.extend(figures.remarks.iter().cloned());
            return with_note(line(GateState::Unknown), notes.join("; "));
        }
    }
    let Some(total) = figures.failures.total else {
        return with_note(line(GateState::Unknown), "the file does not count failures");
    };
    let answered = figures.failures.answered();
    let unanswered: u64 = figures.failures.unanswered.values().sum();
    let with_kind = answered + unanswered;
    let state = match with_kind {
        all if all >= total => GateState::Pass,
        0 => GateState::Unknown,
        _ => GateState::Fail,
    };
    let line = with_figures(line(state), grouped(total), grouped(with_kind), "0");
    let mut notes = figures.remarks.clone();
    if figures.unfinished > 0 {
        notes.push(format!(
            "{} requests were on their way when the time was up: no failures, and not counted",
            grouped(figures.unfinished)
        ));
    }
    if total == 0 {
        return with_note(line, notes.join("; "));
    }
    let kinds = match with_kind {
        0 => "no failure has a kind; keep the tool's log of every request, or count statuses"
            .to_owned(),
        _ => kinds(figures, total, answered, unanswered),
    };
    notes.insert(0, kinds);
    with_note(line, notes.join("; "))
}

fn kinds(figures: &Figures, total: u64, answered: u64, unanswered: u64) -> String {
    if !figures.tool.is_http() {
        let kinds = figures.failures.unanswered.iter();
        let kinds: Vec<String> = kinds
            .map(|(kind, n)| format!("{} {kind}", grouped(*n)))
            .collect();
        return kinds.join(", ");
    }
    let silent = figures.failures.without_answer().unwrap_or(unanswered);
    let mut notes = vec![format!(
        "{} of {} failures without any HTTP response",
        grouped(silent),
        grouped(total)
    )];
    let statuses = figures.failures.by_status.iter();
    notes.extend(statuses.map(|(status, n)| format!("{} HTTP {status}", grouped(*n))));
    if figures.failures.other_answers > 0 {
        let others = grouped(figures.failures.other_answers);
        notes.push(format!("{others} answers that were refused, of any status"));
    }
    let kinds = figures.failures.unanswered.iter();
    notes.extend(kinds.map(|(kind, n)| format!("{} {kind}", grouped(*n))));
    let mut note = notes.join(", ");
    if silent > 10 * answered {
        note += "; a cause behind the application, such as pool exhaustion, is unsupported: it \
                 would answer with an error. Look at connections: proxy slots, listen backlog, \
                 ports";
    }
    note
}

/// Gate 11: "taken in" is not "done". Absent where nothing points at it.
pub(super) fn accepted(figures: &Figures) -> Option<Gate> {
    let compared =
        "answers of 202, which say that work was taken in, with answers that say it is done";
    let line = gate(GateId::Accepted, GateState::Warning, compared);
    let fix = "Count them apart, and after the load compare what is stored with what was taken in, and how long \
               that took";
    if figures.accepted_count > 0 {
        let done = figures
            .successes()
            .unwrap_or(0)
            .saturating_sub(figures.accepted_count);
        let line = with_figures(
            line,
            grouped(figures.accepted_count),
            grouped(done),
            "counted apart",
        );
        let note = format!("answers of 202 are no goodput until the work is done. {fix}");
        return Some(with_note(line, note));
    }
    let why = figures.accepts.as_ref()?;
    let note = format!(
        "{why}, and how many of the successes were only taken in is not in the file. {fix}"
    );
    Some(with_note(line, note))
}
