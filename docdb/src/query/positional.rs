//! Finds the element of an array that made a filter match: what `$` stands for in an update or projection.

use super::computed::Root;
use super::condition::{Condition, Field, Predicate};
use crate::value::Fields;

/// The place in the array that the last matching condition went through; `None` if none did or the filter does not match.
pub(super) fn position(
    predicate: &Predicate,
    document: Fields<'_>,
    root: &Root<'_>,
) -> Option<usize> {
    let mut position = None;
    matches(predicate, document, root, &mut position).then_some(position)?
}

/// What is negated says nothing about a place.
fn matches(
    predicate: &Predicate,
    document: Fields<'_>,
    root: &Root<'_>,
    position: &mut Option<usize>,
) -> bool {
    match predicate {
        Predicate::And(predicates) => predicates
            .iter()
            .all(|predicate| matches(predicate, document, root, position)),
        Predicate::Or(predicates) => predicates
            .iter()
            .any(|predicate| matches(predicate, document, root, position)),
        Predicate::Field(field) => field_matches(field, document, position),
        Predicate::Nor(_)
        | Predicate::Not(_)
        | Predicate::Constant(_)
        | Predicate::Expression(_) => predicate.matches(document, Some(root)),
    }
}

fn field_matches(field: &Field, document: Fields<'_>, position: &mut Option<usize>) -> bool {
    field.path.visit(document, field.leaf(), |found| {
        if !field.condition.holds(found.value.as_ref()) {
            return false;
        }
        // The outermost array counts; an array that `$elemMatch` went through is the innermost.
        let inner = match (&field.condition, &found.value) {
            (Condition::HasDocument(_) | Condition::HasElement(_), Some(value)) => {
                field.condition.matching_element(value)
            }
            _ => None,
        };
        if let Some(place) = found.position.or(inner) {
            *position = Some(place);
        }
        true
    })
}
