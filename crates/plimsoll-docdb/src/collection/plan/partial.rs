//! Whether a query asks only for documents that a partial index holds.

use bson::raw::{RawBsonRef, RawDocument};

use crate::value::compare;

/// Whether every document that matches `query` matches `partial`. False when that is not plain to see.
pub(super) fn implies(query: &RawDocument, partial: &RawDocument) -> bool {
    partial.iter().all(|clause| match clause {
        Ok((path, RawBsonRef::Array(parts))) if path.as_str() == "$and" => parts
            .into_iter()
            .all(|part| matches!(part, Ok(RawBsonRef::Document(part)) if implies(query, part))),
        Ok((path, wanted)) => conditions(wanted)
            .iter()
            .all(|condition| holds(query, path.as_str(), *condition)),
        Err(_) => false,
    })
}

/// An operator with its argument.
type Condition<'a> = (&'a str, RawBsonRef<'a>);

/// The conditions on one path: `{$gt: 1, $lt: 5}`, or equality.
fn conditions(value: RawBsonRef<'_>) -> Vec<Condition<'_>> {
    if let RawBsonRef::Document(document) = value {
        let operators: Vec<_> = document
            .iter()
            .flatten()
            .map(|(name, value)| (name.as_str(), value))
            .collect();
        if operators.iter().any(|(name, _)| name.starts_with('$')) {
            return operators;
        }
    }
    vec![("$eq", value)]
}

/// Whether the query, or a part of its `$and`, asks for no less than `wanted` on `path`.
fn holds(query: &RawDocument, path: &str, wanted: Condition<'_>) -> bool {
    query.iter().flatten().any(|(name, value)| match value {
        RawBsonRef::Array(parts) if name.as_str() == "$and" => parts
            .into_iter()
            .any(|part| matches!(part, Ok(RawBsonRef::Document(part)) if holds(part, path, wanted))),
        value if name.as_str() == path => conditions(value)
            .into_iter()
            .any(|asked| is_at_least(asked, wanted)),
        _ => false,
    })
}

fn is_at_least((asked, value): Condition<'_>, (wanted, limit): Condition<'_>) -> bool {
    let is_plain = !matches!(
        value,
        RawBsonRef::Null
            | RawBsonRef::Undefined
            | RawBsonRef::RegularExpression(_)
            | RawBsonRef::Array(_)
            | RawBsonRef::Document(_)
    );
    if asked == wanted && value == limit {
        return true;
    }
    if !is_plain || std::mem::discriminant(&value) != std::mem::discriminant(&limit) && wanted != "$exists" {
        return false;
    }
    let order = compare(value, limit);
    match (asked, wanted) {
        ("$eq" | "$gt" | "$gte" | "$lt" | "$lte", "$exists") => limit == RawBsonRef::Boolean(true),
        ("$eq" | "$gte", "$gte") | ("$gt", "$gte" | "$gt") => order.is_ge(),
        ("$eq" | "$gte", "$gt") => order.is_gt(),
        ("$eq" | "$lte", "$lte") | ("$lt", "$lte" | "$lt") => order.is_le(),
        ("$eq" | "$lte", "$lt") => order.is_lt(),
        ("$eq", "$eq") => order.is_eq(),
        _ => false,
    }
}
