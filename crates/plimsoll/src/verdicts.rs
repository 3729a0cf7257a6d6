//! The verdict of a record: computed from its windows, whatever its last line says.

use anyhow::Result;
use plimsoll_analysis::explain::{explain, script_faults};
use plimsoll_analysis::{stored, summary};
use plimsoll_control::search::{self, Config, Over, Replayed};
use plimsoll_core::record::{EventKind, Record, Remark, SearchStart, SelfCheck};
use plimsoll_core::verdict::{GateId, GateState, SearchRemark, SearchResult, Verdict};
use plimsoll_report::view::stored_words;

/// Of a record without a verdict: a run that is told to end writes one.
pub(crate) const NO_END: &str = "its end is missing: the run was killed, or is still going on";

/// Gives a record that was read the verdict that its windows come to; what the stored one says otherwise is remarked.
pub(crate) fn evaluate(record: &mut Record) {
    let said = record.verdict.take();
    let found = record
        .header
        .test
        .is_search()
        .then(|| found_again(record, said.as_ref()));
    let mut computed = compute(record, found.as_ref());
    if record.remarks.contains(&Remark::NoVerdict) {
        warn(&mut computed, NO_END);
    }
    let said = said.map(|said| without_causes(said, &computed));
    let differences = said.map_or_else(Vec::new, |said| stored::differences(&said, &computed));
    if !differences.is_empty() {
        warn(&mut computed, &stored_words(&differences));
        record.remarks.push(Remark::Says(differences));
    }
    record.verdict = Some(computed);
}

/// Figures that carry no verdict carry no cause: that it is gone follows, and is not said again.
fn without_causes(said: Verdict, computed: &Verdict) -> Verdict {
    if computed.valid {
        return said;
    }
    Verdict {
        limit: computed.limit.clone(),
        next_limit: computed.next_limit.clone(),
        advice: computed.advice.clone(),
        ..said
    }
}

/// Gate 2 says it, too: whoever looks at the gates alone has to know.
fn warn(verdict: &mut Verdict, words: &str) {
    let mut gates = verdict.gates.iter_mut();
    if let Some(gate) = gates.find(|gate| gate.id == GateId::Accounting) {
        if gate.state == GateState::Pass {
            gate.state = GateState::Warning;
        }
        let before = std::mem::take(&mut gate.note);
        let notes = [before.as_str(), words].into_iter();
        let notes: Vec<&str> = notes.filter(|note| !note.is_empty()).collect();
        gate.note = notes.join("; ");
    }
}

/// What a search found, by playing it again on its windows; as stored where the record does not hold what that takes.
fn found_again(record: &mut Record, said: Option<&Verdict>) -> SearchResult {
    let found = match started(record).map(|start| replay(record, start)) {
        Some(Ok(replayed)) => {
            let why = replayed.departure.map(|departure| departure.to_string());
            record
                .remarks
                .extend(why.map(|why| Remark::Departs { why }));
            return in_iterations(replayed.found, record);
        }
        Some(Err(error)) => {
            let why = format!("no search begins as this record says: {error}");
            record.remarks.push(Remark::Departs { why });
            said.map(|said| said.found.clone())
        }
        None => {
            let found = said.map(|said| said.found.clone());
            let remark = found.as_ref().map(|_| Remark::FoundAsStored);
            record.remarks.extend(remark);
            found
        }
    };
    found.unwrap_or_default()
}

/// What the search started from, if it went by the rules of this version.
fn started(record: &Record) -> Option<(SearchStart, SelfCheck)> {
    let events = || record.events.iter().map(|event| &event.what);
    let start = events().find_map(|what| match what {
        EventKind::Search(start) => Some(*start),
        _ => None,
    });
    let check = events().find_map(|what| match what {
        EventKind::SelfCheck(check) => Some(*check),
        _ => None,
    });
    start
        .filter(|start| start.revision == search::REVISION)
        .zip(check)
}

fn replay(record: &Record, (start, check): (SearchStart, SelfCheck)) -> Result<Replayed> {
    let config = Config::from_test(&record.header.test);
    let mut config = config.ok_or_else(|| anyhow::anyhow!("its load is set"))?;
    config.spent = start.spent_ns;
    config.generator_max_per_s = Some(check.max_per_s);
    config.anchor = start.anchor;
    if let (Over::Vus { .. }, Some(iteration)) = (config.over, start.iteration_ns) {
        config.over = Over::Vus { iteration };
    }
    Ok(search::replay(config, record)?)
}

/// Says what the rates of a script's search are rates of, and what they are in iterations.
pub(crate) fn in_iterations(mut found: SearchResult, record: &Record) -> SearchResult {
    let mean = record.events.iter().find_map(|event| match event.what {
        EventKind::Iteration(iteration) => Some(iteration.requests_mean),
        _ => None,
    });
    if let Some(requests_mean) = mean {
        let held = found.capacity_per_s.and_then(|bounds| bounds.lower);
        found.remarks.push(SearchRemark::Iterations {
            requests_mean,
            capacity_per_s: held.or(found.reached_per_s.map(|bounds| bounds.estimate)),
        });
    }
    found
}

/// From the figures of a run, and of a search also from what it found.
pub(crate) fn compute(record: &Record, found: Option<&SearchResult>) -> Verdict {
    let mut verdict = match found {
        None => summary::of_run(record),
        Some(found) => summary::of_search(record, found.clone()),
    };
    add_explanation(record, &mut verdict);
    verdict
}

/// What gives way first, what next, and what to change.
fn add_explanation(record: &Record, verdict: &mut Verdict) {
    let explanation = explain(record, &verdict.found);
    verdict.resources = explanation.resources;
    // The script's own words, whatever the gates say of the numbers.
    verdict.script_faults = script_faults(record, verdict);
    if !verdict.valid || record.interrupted_at().is_some() {
        // Gate 0: figures that carry no verdict carry no cause either. What was measured stays.
        return;
    }
    verdict.limit = Some(explanation.limit);
    verdict.next_limit = explanation.next_limit;
    verdict.advice = explanation.advice;
}

#[cfg(test)]
mod tests;
