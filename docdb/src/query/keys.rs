//! The keys of a document at several paths at once, as indexes hold them and sorts compare them.
//!
//! The rules are MongoDB's: a missing field is null, an empty array at the end of a path is
//! undefined, any other array stands for each of its elements, and paths that share an array take
//! their values from the same element of it. Two separate arrays have no keys.

use crate::value::path::{Part, Path};
use crate::value::{Fields, Value};

/// Two of the paths lead into different arrays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ParallelArrays;

/// Calls `emit` with each combination of values, one per path. Whether an array was met: then the index is multikey.
pub(crate) fn each<'a>(
    paths: &[&Path],
    document: Fields<'a>,
    emit: &mut dyn FnMut(&[Value<'a>]),
) -> Result<bool, ParallelArrays> {
    let rest: Vec<Option<&[Part]>> = paths.iter().map(|path| Some(path.parts())).collect();
    walk(document, &rest, vec![Value::Null; rest.len()], emit)
}

/// An array that one or more paths met, with what is left of each of them.
struct Met<'a, 'p> {
    array: Fields<'a>,
    paths: Vec<(usize, &'p [Part])>,
}

/// What lies at the end of a path, or the first array on the way that it does not name an element of.
enum End<'a, 'p> {
    Value(Value<'a>),
    Array(Fields<'a>, &'p [Part]),
}

/// `rest[i]` is what is left of path `i`, `None` once its value stands in `values`.
/// Each level takes at least one component off every path it goes on with.
fn walk<'a>(
    document: Fields<'a>,
    rest: &[Option<&[Part]>],
    mut values: Vec<Value<'a>>,
    emit: &mut dyn FnMut(&[Value<'a>]),
) -> Result<bool, ParallelArrays> {
    let mut met: Option<Met<'a, '_>> = None;
    for (at, (path, place)) in rest.iter().zip(&mut values).enumerate() {
        let Some(path) = path else { continue };
        match end(document, path) {
            End::Value(value) => *place = value,
            End::Array(array, left) => match &mut met {
                None => {
                    let paths = vec![(at, left)];
                    met = Some(Met { array, paths });
                }
                Some(same) if same.array.bytes().as_ptr() == array.bytes().as_ptr() => {
                    same.paths.push((at, left));
                }
                Some(_) => return Err(ParallelArrays),
            },
        }
    }
    match met {
        None => {
            emit(&values);
            Ok(false)
        }
        Some(met) => walk_array(&met, values, emit),
    }
}

fn walk_array<'a>(
    met: &Met<'a, '_>,
    mut values: Vec<Value<'a>>,
    emit: &mut dyn FnMut(&[Value<'a>]),
) -> Result<bool, ParallelArrays> {
    if met.array.is_empty() {
        for (at, left) in &met.paths {
            let is_end = left.is_empty();
            set(
                &mut values,
                *at,
                if is_end {
                    Value::Undefined
                } else {
                    Value::Null
                },
            );
        }
        emit(&values);
        return Ok(true);
    }
    for element in met.array.values() {
        let mut rest = vec![None; values.len()];
        for (at, left) in &met.paths {
            set(
                &mut values,
                *at,
                if left.is_empty() {
                    element
                } else {
                    Value::Null
                },
            );
            if let (false, Some(place)) = (left.is_empty(), rest.get_mut(*at)) {
                *place = Some(*left);
            }
        }
        match element {
            Value::Document(inner) => {
                walk(inner, &rest, values.clone(), emit)?;
            }
            _ => emit(&values),
        }
    }
    Ok(true)
}

fn set<'a>(values: &mut [Value<'a>], at: usize, value: Value<'a>) {
    if let Some(place) = values.get_mut(at) {
        *place = value;
    }
}

fn end<'a, 'p>(document: Fields<'a>, path: &'p [Part]) -> End<'a, 'p> {
    let Some((part, mut rest)) = path.split_first() else {
        return End::Value(Value::Null);
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
                    return End::Array(array, rest);
                }
                value = element;
                rest = left;
            }
            (Some(Value::Array(array)), None) => return End::Array(array, rest),
            (Some(value), None) => return End::Value(value),
            (None, _) | (Some(_), Some(_)) => return End::Value(Value::Null),
        }
    }
}
