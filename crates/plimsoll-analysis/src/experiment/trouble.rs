//! What a variant does not do well: throughput and goodput told apart, failures by kind.

use plimsoll_core::Outcome;
use plimsoll_core::experiment::{Trouble, Variant};
use plimsoll_core::verdict::Verdict;

use super::figures;
use crate::facts::level::FAILING;

/// From here on throughput says more than users got: beyond the spread of two runs of one build.
const APART: f64 = 0.05;
/// Classes of failure that are named; more would hide the first.
const CLASSES_MAX: usize = 3;

pub(super) fn of_variant(variant: &Variant<'_>) -> Option<Trouble> {
    if !variant.is_valid() {
        return None;
    }
    let median = |of: &dyn Fn(&Verdict) -> f64| figures(variant, of).median;
    let throughput = median(&|f| f.throughput_per_s)?;
    let goodput = median(&|f| f.goodput_per_s)?;
    let failed = median(&Verdict::failed_ratio)?;
    let is_apart = throughput - goodput > APART * throughput;
    if !is_apart && failed < FAILING {
        return None;
    }
    let rate = |outcome: Outcome| median(&|f| f.share(outcome) * f.offered_per_s);
    let failures = || {
        Outcome::ALL
            .into_iter()
            .filter(|outcome| outcome.is_failure())
    };
    let answered: f64 = failures()
        .filter(|outcome| outcome.has_answer())
        .filter_map(rate)
        .sum();
    let accepted = rate(Outcome::Accepted).unwrap_or_default();
    let late = throughput - goodput - answered - accepted;
    let mut classes: Vec<(Outcome, f64)> = failures()
        .filter_map(|outcome| Some((outcome, median(&|f| f.share(outcome))?)))
        .filter(|(_, share)| *share > 0.0)
        .collect();
    classes.sort_by(|one, other| other.1.total_cmp(&one.1));
    classes.truncate(CLASSES_MAX);
    Some(Trouble {
        throughput_per_s: throughput,
        goodput_per_s: goodput,
        is_apart,
        failed_ratio: failed,
        classes,
        accepted_per_s: (accepted > APART * throughput).then_some(accepted),
        late_per_s: (late > FAILING * throughput).then_some(late),
    })
}
