//! MongoDB's order over all BSON values.

#[cfg(test)]
mod tests;

use std::cmp::Ordering;

use bson::{Bson, Document};

use super::kind;
use super::number::Number;
use super::view::{Fields, Value};
use super::write::document_of;

/// Deeper than [`super::MAX_DEPTH`] bytes are compared as they are: only what was never validated is that deep.
const DEPTH_MAX: usize = super::MAX_DEPTH + 20;

/// MongoDB's order: by type, then by value. Equal means that `$eq`, a unique index and `$group`
/// take the two for the same: `1`, `1.0` and `NumberLong(1)` are, `{a: 1, b: 1}` and `{b: 1, a: 1}` are not.
#[inline]
pub(crate) fn compare_values(left: &Value<'_>, right: &Value<'_>) -> Ordering {
    compare_at(left, right, DEPTH_MAX)
}

/// The order of [`compare_values`] over documents: field by field by type, name and value; then the shorter one is less.
pub(crate) fn compare_fields(left: Fields<'_>, right: Fields<'_>) -> Ordering {
    compare_fields_at(left, right, true, DEPTH_MAX)
}

/// The order of [`compare_values`] over owned values.
pub(crate) fn compare_owned(left: &Bson, right: &Bson) -> Ordering {
    let (left_rank, right_rank) = (rank_of(left), rank_of(right));
    if left_rank != right_rank {
        return left_rank.cmp(&right_rank);
    }
    match (left, right) {
        (Bson::Array(left), Bson::Array(right)) => compare_arrays(left, right),
        (Bson::Document(left), Bson::Document(right)) => compare_documents(left, right),
        _ => match (Value::from_scalar(left), Value::from_scalar(right)) {
            (Some(left), Some(right)) => compare_values(&left, &right),
            _ => compare_fields(
                Fields::new(&document_of(left)),
                Fields::new(&document_of(right)),
            ),
        },
    }
}

fn rank_of(value: &Bson) -> u8 {
    kind::rank(value.element_type() as u8)
}

fn compare_arrays(left: &[Bson], right: &[Bson]) -> Ordering {
    let pairs = left.iter().zip(right);
    pairs
        .map(|(left, right)| compare_owned(left, right))
        .find(|order| order.is_ne())
        .unwrap_or_else(|| left.len().cmp(&right.len()))
}

fn compare_documents(left: &Document, right: &Document) -> Ordering {
    for ((left_name, left), (right_name, right)) in left.iter().zip(right) {
        let order = rank_of(left)
            .cmp(&rank_of(right))
            .then_with(|| left_name.cmp(right_name))
            .then_with(|| compare_owned(left, right));
        if order.is_ne() {
            return order;
        }
    }
    left.len().cmp(&right.len())
}

#[inline]
fn compare_at(left: &Value<'_>, right: &Value<'_>, depth: usize) -> Ordering {
    match (left, right) {
        (Value::Int(left), Value::Int(right)) => left.cmp(right),
        (Value::String(left), Value::String(right)) => left.cmp(right),
        (Value::ObjectId(left), Value::ObjectId(right)) => left.cmp(right),
        _ => match left.rank().cmp(&right.rank()) {
            Ordering::Equal => compare_same_rank(left, right, depth),
            unequal => unequal,
        },
    }
}

fn compare_same_rank(left: &Value<'_>, right: &Value<'_>, depth: usize) -> Ordering {
    match (left, right) {
        (
            Value::String(left) | Value::Symbol(left),
            Value::String(right) | Value::Symbol(right),
        )
        | (Value::JavaScript(left), Value::JavaScript(right)) => left.cmp(right),
        (Value::Document(left), Value::Document(right)) => {
            compare_fields_at(*left, *right, true, depth)
        }
        (Value::Array(left), Value::Array(right)) => compare_fields_at(*left, *right, false, depth),
        (Value::Date(left), Value::Date(right)) => left.cmp(right),
        (Value::Timestamp(left), Value::Timestamp(right)) => left.cmp(right),
        (Value::Boolean(left), Value::Boolean(right)) => left.cmp(right),
        (
            Value::Binary {
                subtype: left_subtype,
                bytes: left,
            },
            Value::Binary {
                subtype: right_subtype,
                bytes: right,
            },
        ) => (left.len(), left_subtype, left).cmp(&(right.len(), right_subtype, right)),
        (
            Value::DbPointer {
                namespace: left,
                id: left_id,
            },
            Value::DbPointer {
                namespace: right,
                id: right_id,
            },
        ) => (left.len(), left, left_id).cmp(&(right.len(), right, right_id)),
        (
            Value::Regex {
                pattern: left,
                options: left_options,
            },
            Value::Regex {
                pattern: right,
                options: right_options,
            },
        ) => (left, left_options).cmp(&(right, right_options)),
        (
            Value::JavaScriptWithScope {
                code: left,
                scope: left_scope,
            },
            Value::JavaScriptWithScope {
                code: right,
                scope: right_scope,
            },
        ) => left
            .cmp(right)
            .then_with(|| compare_fields_at(*left_scope, *right_scope, true, depth)),
        _ => match (Number::from_value(left), Number::from_value(right)) {
            (Some(left), Some(right)) => left.compare(&right),
            // One rank and neither of the above: both are the one value of their type.
            _ => Ordering::Equal,
        },
    }
}

fn compare_fields_at(
    left: Fields<'_>,
    right: Fields<'_>,
    are_named: bool,
    depth: usize,
) -> Ordering {
    let Some(depth) = depth.checked_sub(1) else {
        return left.bytes().cmp(right.bytes());
    };
    let mut right = right.elements();
    for one in left.elements() {
        let Some(other) = right.next() else {
            return Ordering::Greater;
        };
        let mut order = kind::rank(one.kind).cmp(&kind::rank(other.kind));
        if are_named {
            order = order.then_with(|| one.name.cmp(other.name));
        }
        let order = order.then_with(|| compare_at(&one.value(), &other.value(), depth));
        if order.is_ne() {
            return order;
        }
    }
    match right.next() {
        Some(_) => Ordering::Less,
        None => Ordering::Equal,
    }
}
