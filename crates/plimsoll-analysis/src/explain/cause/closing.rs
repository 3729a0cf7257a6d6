//! A rule that closes the connection of what is beyond its rate (nginx's `return 444`, a reset): to the client that looks as if
//! there were no place left.

use plimsoll_core::statistics::median;
use plimsoll_core::units::three_digits;
use plimsoll_core::verdict::{Cause, Evidence, Signal};

use super::loss::{MODEL_FITS, Model, in_service, lost_by};
use crate::explain::case::{Case, Tier};
use crate::explain::finding::Finding;
use crate::facts::level::{FAILING, Level, NO_ANSWER};

/// `slots`, unless it rests on what the client saw alone and no number of places loses such shares: then a suspicion of a rule
/// where a rate loses them, and nothing where less than one request is in service.
pub(super) fn or_rule(case: &Case, tier: &Tier, slots: Finding) -> Option<Finding> {
    if tier.slots.is_some() || slots.evidence.iter().any(is_seen) {
        return Some(slots);
    }
    let failing: Vec<&Level> = case
        .high()
        .filter(|level| level.share(&NO_ANSWER) >= FAILING)
        .collect();
    let count = median(
        failing
            .iter()
            .filter_map(|level| in_service(level))
            .collect(),
    );
    let is_empty = count.is_some_and(|count| count < 1.0);
    match lost_by(case, &failing, &NO_ANSWER) {
        Some(Model::Number { .. }) => Some(slots),
        Some(Model::Rate { number_off }) if is_empty || number_off > MODEL_FITS => {
            rule(tier, &failing, count?, slots)
        }
        _ => (!is_empty).then_some(slots),
    }
}

/// Figures of the service or its host that speak for slots.
fn is_seen(line: &Evidence) -> bool {
    matches!(
        line.signal,
        Signal::AcceptQueue
            | Signal::ListenerDrops
            | Signal::Descriptors
            | Signal::DeclaredSlots
            | Signal::UpstreamNotReached
    )
}

fn rule(tier: &Tier, failing: &[&Level], count: f64, slots: Finding) -> Option<Finding> {
    let passed = median(failing.iter().map(|level| level.served).collect())?;
    let mut finding = Finding::new(Cause::Rule, tier);
    // Nobody saw the rule: only its shares are like those of one.
    finding.unsure = true;
    finding.ceiling = Some(passed);
    let ends = slots.evidence.into_iter();
    let mut ends = ends.filter(|line| line.signal == Signal::NoAnswer);
    finding.evidence.extend(ends.next());
    let text = format!(
        "{}/s pass whatever is offered, with {} in service: no number of places would be taken by so few, a rate that closes what is more does this",
        three_digits(passed),
        three_digits(count)
    );
    finding.signal(Signal::ConstantRate, text);
    Some(finding)
}
