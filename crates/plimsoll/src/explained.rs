//! Adds to a verdict what gives way first, what next, and what to change.

use plimsoll_analysis::explain::explain;
use plimsoll_core::record::Record;
use plimsoll_core::verdict::Verdict;

pub(crate) fn add(record: &Record, verdict: &mut Verdict) {
    let explanation = explain(record, &verdict.found);
    verdict.resources = explanation.resources;
    if !verdict.valid {
        // Gate 0: figures that carry no verdict carry no cause either. What was measured stays.
        return;
    }
    verdict.limit = Some(explanation.limit);
    verdict.next_limit = explanation.next_limit;
    verdict.advice = explanation.advice;
}
