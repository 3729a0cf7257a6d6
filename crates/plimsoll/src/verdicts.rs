//! The verdict of a record: as recorded, or computed when the run was interrupted before it.

use plimsoll_analysis::explain::{explain, script_faults};
use plimsoll_analysis::summary;
use plimsoll_core::record::Record;
use plimsoll_core::verdict::{SearchResult, Verdict};

pub(crate) fn of(record: &Record) -> Verdict {
    let computed = || {
        let found = record.header.test.is_search().then(SearchResult::default);
        compute(record, found.as_ref())
    };
    record.verdict.clone().unwrap_or_else(computed)
}

/// Gives a record the verdict that it lacks.
pub(crate) fn complete(record: &mut Record) {
    if record.verdict.is_none() {
        record.verdict = Some(of(record));
    }
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
pub(crate) fn add_explanation(record: &Record, verdict: &mut Verdict) {
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
