//! All fields of an update as one tree, so that paths share their walk, conflict visibly, and add fields in order.

use std::collections::BTreeMap;

use super::operator::Operator;
use super::path::Part;
use crate::error::{Code, CommandError, Result};

/// What happens to the parts of one value: by name and `$`, or by array filter, never both.
pub(super) type Children = BTreeMap<Part, UpdateNode>;

/// What happens to one value.
#[derive(Debug)]
pub(super) enum UpdateNode {
    Leaf(Operator),
    Inner(Children),
}

/// Adds what `operator` does at `parts`, the components of `path`.
pub(super) fn insert(
    root: &mut Children,
    path: &str,
    parts: &[Part],
    operator: Operator,
) -> Result<()> {
    let Some((last, above)) = parts.split_last() else {
        return Err(Code::EmptyFieldName.error("An empty update path is not valid."));
    };
    let mut children = root;
    for (depth, part) in above.iter().enumerate() {
        check_kind(children, part, path, depth)?;
        let child = children
            .entry(part.clone())
            .or_insert_with(|| UpdateNode::Inner(Children::new()));
        match child {
            UpdateNode::Inner(next) => children = next,
            UpdateNode::Leaf(_) => return Err(conflict(path, depth + 1)),
        }
    }
    check_kind(children, last, path, above.len())?;
    if children.contains_key(last) {
        return Err(conflict(path, parts.len()));
    }
    children.insert(last.clone(), UpdateNode::Leaf(operator));
    Ok(())
}

fn check_kind(children: &Children, part: &Part, path: &str, depth: usize) -> Result<()> {
    match children.keys().next() {
        Some(other) if other.is_filtered() != part.is_filtered() => Err(conflict(path, depth)),
        _ => Ok(()),
    }
}

/// Two operators meet at the first `count` components of `path`.
fn conflict(path: &str, count: usize) -> CommandError {
    let at: Vec<&str> = path.split('.').take(count).collect();
    conflict_at(path, &at.join("."))
}

pub(super) fn conflict_at(path: &str, at: &str) -> CommandError {
    Code::ConflictingUpdateOperators.error(format!(
        "Updating the path '{path}' would create a conflict at '{at}'"
    ))
}
