//! Finds the element of an array that made a filter match: what `$` stands for in an update or projection.

use super::computed::Root;
use super::condition::{Condition, Field, Node};
use crate::value::Fields;

/// The place in the array that the last matching condition went through; `None` if none did or the filter does not match.
pub(super) fn position(node: &Node, document: Fields<'_>, root: &Root<'_>) -> Option<usize> {
    let mut position = None;
    matches(node, document, root, &mut position).then_some(position)?
}

/// What is negated says nothing about a place.
fn matches(
    node: &Node,
    document: Fields<'_>,
    root: &Root<'_>,
    position: &mut Option<usize>,
) -> bool {
    match node {
        Node::And(nodes) => nodes
            .iter()
            .all(|node| matches(node, document, root, position)),
        Node::Or(nodes) => nodes
            .iter()
            .any(|node| matches(node, document, root, position)),
        Node::Field(field) => field_matches(field, document, position),
        Node::Nor(_) | Node::Not(_) | Node::Constant(_) | Node::Expression(_) => {
            node.matches(document, Some(root))
        }
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
