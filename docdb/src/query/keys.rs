//! The keys of a document at several paths at once, as indexes hold them and sorts compare them.
//!
//! The rules are MongoDB's: a missing field is null, an empty array at the end of a path is
//! undefined, any other array stands for each of its elements, and paths that share an array take
//! their values from the same element of it. Two separate arrays have no keys.

use crate::error::{Code, Result};
use crate::value::path::{Part, Path};
use crate::value::{Fields, Value, key};

/// One field of a sort order or of an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SortField {
    pub path: Path,
    pub(crate) direction: Direction,
}

impl SortField {
    /// Appends the encoding of one of its values.
    pub(crate) fn encode(&self, value: &Value<'_>, out: &mut Vec<u8>) {
        match self.direction {
            Direction::Ascending => key::encode_value(value, out),
            Direction::Descending => key::encode_value_descending(value, out),
        }
    }
}

/// Appends the encodings of one value per field; a missing one is null.
pub(crate) fn encode_key(fields: &[SortField], values: &[Option<Value<'_>>], out: &mut Vec<u8>) {
    for (field, value) in fields.iter().zip(values) {
        field.encode(&value.unwrap_or(Value::Null), out);
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    Ascending,
    Descending,
}

/// Who asks for keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    Sort,
    /// A number that names an element of an array and a field of another is refused.
    Index,
}

/// Calls `emit` with each combination of values, one per field, `None` where it is missing.
/// Whether an array was met: then the index is multikey.
pub(crate) fn each<'a>(
    purpose: Purpose,
    fields: &[SortField],
    document: Fields<'a>,
    emit: &mut dyn FnMut(&[Option<Value<'a>>]),
) -> Result<bool> {
    let rest: Vec<Option<&[Part]>> = fields
        .iter()
        .map(|field| Some(field.path.parts()))
        .collect();
    walk(purpose, document, &rest, vec![None; rest.len()], emit)
}

/// An array that one or more paths met, with what is left of each of them.
struct Met<'a, 'p> {
    array: Fields<'a>,
    paths: Vec<(usize, &'p [Part])>,
}

/// What lies at the end of a path, or the first array on the way that it does not name an element of.
enum End<'a, 'p> {
    Value(Option<Value<'a>>),
    Array(Fields<'a>, &'p [Part]),
}

/// `rest[i]` is what is left of path `i`, `None` once its value stands in `values`.
/// Each level takes at least one component off every path it goes on with.
fn walk<'a>(
    purpose: Purpose,
    document: Fields<'a>,
    rest: &[Option<&[Part]>],
    mut values: Vec<Option<Value<'a>>>,
    emit: &mut dyn FnMut(&[Option<Value<'a>>]),
) -> Result<bool> {
    let mut met: Option<Met<'a, '_>> = None;
    for (at, (path, place)) in rest.iter().zip(&mut values).enumerate() {
        let Some(path) = path else { continue };
        match end(purpose, document, path)? {
            End::Value(value) => *place = value,
            End::Array(array, left) => match &mut met {
                None => {
                    let paths = vec![(at, left)];
                    met = Some(Met { array, paths });
                }
                Some(same) if same.array.bytes().as_ptr() == array.bytes().as_ptr() => {
                    same.paths.push((at, left));
                }
                Some(_) => {
                    let text = "cannot index parallel arrays";
                    return Err(Code::CannotIndexParallelArrays.error(text));
                }
            },
        }
    }
    match met {
        None => {
            emit(&values);
            Ok(false)
        }
        Some(met) => walk_array(purpose, &met, values, emit),
    }
}

fn walk_array<'a>(
    purpose: Purpose,
    met: &Met<'a, '_>,
    mut values: Vec<Option<Value<'a>>>,
    emit: &mut dyn FnMut(&[Option<Value<'a>>]),
) -> Result<bool> {
    if met.array.is_empty() {
        for (at, left) in &met.paths {
            values[*at] = left.is_empty().then_some(Value::Undefined);
        }
        emit(&values);
        return Ok(true);
    }
    for element in met.array.values() {
        let mut rest = vec![None; values.len()];
        for (at, left) in &met.paths {
            values[*at] = left.is_empty().then_some(element);
            rest[*at] = Some(*left).filter(|left| !left.is_empty());
        }
        match element {
            Value::Document(inner) => {
                walk(purpose, inner, &rest, values.clone(), emit)?;
            }
            _ => emit(&values),
        }
    }
    Ok(true)
}

fn end<'a, 'p>(purpose: Purpose, document: Fields<'a>, path: &'p [Part]) -> Result<End<'a, 'p>> {
    let Some((part, mut rest)) = path.split_first() else {
        return Ok(End::Value(None));
    };
    let mut value = document.find(&part.name).map(|element| element.value());
    loop {
        match (value, rest.split_first()) {
            (Some(Value::Document(inner)), Some((part, left))) => {
                value = inner.find(&part.name).map(|element| element.value());
                rest = left;
            }
            (Some(Value::Array(array)), Some((part, left))) => {
                let element = part.index.and_then(|index| array.values().nth(index));
                if element.is_none() {
                    return Ok(End::Array(array, rest));
                }
                if purpose == Purpose::Index {
                    refuse_field(array, &part.name)?;
                }
                value = element;
                rest = left;
            }
            (Some(Value::Array(array)), None) => return Ok(End::Array(array, rest)),
            (value, None) => return Ok(End::Value(value)),
            (None | Some(_), Some(_)) => return Ok(End::Value(None)),
        }
    }
}

/// Refuses an array that has a document with a field of this name, as MongoDB does where the name is an element's number too.
fn refuse_field(array: Fields<'_>, name: &[u8]) -> Result<()> {
    let has_field =
        |value: Value<'_>| matches!(value, Value::Document(inner) if inner.find(name).is_some());
    if array.values().any(has_field) {
        return Err(Code::Location(16746).error(format!(
            "Ambiguous field name found in array (do not use numeric field names in embedded elements in an array), field: '{}'",
            String::from_utf8_lossy(name)
        )));
    }
    Ok(())
}
