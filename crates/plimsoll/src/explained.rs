//! Adds to a verdict what gives way first, what next, and what to change.

use plimsoll_analysis::explain::explain;
use plimsoll_core::record::Record;
use plimsoll_core::verdict::Verdict;

pub(crate) fn add(record: &Record, verdict: &mut Verdict) {
    let explanation = explain(record, &verdict.found);
    verdict.limit = Some(explanation.limit);
    verdict.next_limit = explanation.next_limit;
    verdict.resources = explanation.resources;
    verdict.advice = explanation.advice;
}
