//! Follows a hint: the client says which index to use.

use bson::raw::{RawBsonRef, RawDocument};

use super::{Plan, Wanted, by_id, natural, through};
use crate::collection::{Collection, ID_INDEX, Index, is_id_key, parse_key};
use crate::error::{Code, CommandError, Result};

/// The plan that a hint asks for.
pub(super) fn follow(
    collection: &Collection,
    hint: RawBsonRef<'_>,
    wanted: Wanted<'_>,
) -> Result<Plan> {
    let index = match hint {
        RawBsonRef::String(ID_INDEX) => None,
        RawBsonRef::String(name) => {
            let named = collection.ready().find(|index| index.spec.name == name);
            Some(named.ok_or_else(wrong)?)
        }
        RawBsonRef::Document(key) => match natural_direction(key) {
            Some(backward) => {
                let mut plan = natural(collection, backward);
                plan.sorted = wanted.sort.is_none_or(crate::query::SortOrder::is_empty);
                return Ok(plan);
            }
            None => by_key(collection, key)?,
        },
        _ => return Err(wrong()),
    };
    let candidate = match index {
        None => by_id(collection, wanted),
        Some(index) => through(collection, index, wanted),
    };
    Ok(candidate.plan)
}

/// `Some(backward)` of `{$natural: ±1}`.
fn natural_direction(key: &RawDocument) -> Option<bool> {
    match key.get("$natural").ok()?? {
        RawBsonRef::Int32(direction) => Some(direction < 0),
        RawBsonRef::Int64(direction) => Some(direction < 0),
        RawBsonRef::Double(direction) => Some(direction < 0.0),
        _ => None,
    }
}

/// `None` for the `_id` index.
fn by_key<'a>(collection: &'a Collection, key: &RawDocument) -> Result<Option<&'a Index>> {
    let fields = parse_key(key).map_err(|_| wrong())?;
    if is_id_key(&fields) {
        return Ok(None);
    }
    let found = collection.ready().find(|index| index.spec.fields == fields);
    found.map(Some).ok_or_else(wrong)
}

fn wrong() -> CommandError {
    Code::BadValue.error(
        "error processing query: planner returned error :: caused by :: hint provided does not correspond to an existing index",
    )
}
