//! The discriminators of D.3 step 4, one function per cause, each with the figures it rests on.

mod at_once;
mod backlog;
mod client;
mod closing;
mod concurrency;
mod loss;
mod processor;
mod queue;
mod refusal;
mod stalls;
mod waiting;

use plimsoll_core::verdict::Cause;

use super::case::{Case, Tier};
use super::finding::Finding;
pub(super) use client::CLIENT;
pub(super) use concurrency::calls_unseen;

/// Findings in the order of the decision procedure. More specific discriminators come first: a full
/// processor under a quota is the quota, a thread that collects garbage is memory.
pub(super) fn findings(case: &Case) -> Vec<Finding> {
    let entry = case.entry();
    let mut found = Vec::new();
    // A guard refuses what those behind it cannot do: how many it lets in and whom it turns away are no cause.
    if !case.is_guarded {
        found.extend(refusal::rule(case, &entry));
    }
    found.extend(refusal::slots(case, &entry));
    found.extend(client::pool(case, &entry));
    let own = of_tier(case, &entry).into_iter();
    found.extend(own.filter(|finding| !case.is_guarded || finding.cause != Cause::Pool));
    for tier in case.behind() {
        let theirs = of_tier(case, tier);
        found.extend(theirs.into_iter().map(|f| waiting::behind(case, &entry, f)));
    }
    if !case.is_guarded {
        found.extend(concurrency::at_a_time(case, &entry));
    }
    found.extend(waiting::downstream(case, &entry));
    found.extend(stalls::finding(case, &entry));
    found
}

/// Causes whose figures lie within one tier.
fn of_tier(case: &Case, tier: &Tier) -> Vec<Finding> {
    let mut found = Vec::new();
    found.extend(backlog::memory(case, tier));
    found.extend(processor::quota(case, tier));
    found.extend(processor::thread(case, tier));
    found.extend(processor::cpu(case, tier));
    found.extend(backlog::disk(case, tier));
    found.extend(waiting::pool(case, tier));
    found
}
