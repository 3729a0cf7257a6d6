//! Arrays: elements, slices, ranges, searches, orders.

#![expect(
    clippy::unnecessary_wraps,
    reason = "all functions of the table have one signature"
)]

use std::cmp::Ordering;

use bson::Bson;

use super::function::{Call, Function, NULL, functions, named};
use super::logic::compare;
use super::{Evaluated, field_path, is_true};
use crate::error::{Code, Result};
use crate::value::{Number, compare_owned, display};

pub(super) const FUNCTIONS: &[Function] = functions! {
    "$size" Exactly(1) => size;
    "$arrayElemAt" Exactly(2) => element_at;
    "$first" Exactly(1) => |call| end(call, 0);
    "$last" Exactly(1) => |call| end(call, -1);
    "$slice" Between(2, 3) => slice;
    "$concatArrays" Any => concat;
    "$in" Exactly(2) => contains;
    "$isArray" Exactly(1) => is_array;
    "$range" Between(2, 3) => range;
    "$reverseArray" Exactly(1) => reverse;
    "$indexOfArray" Between(2, 4) => index_of;
    "$zip" Named(&ZIP) => zip;
    "$sortArray" Named(&SORT) => sort;
};

named! {
    ZIP("inputs"; "useLongestLength", "defaults") 34460 34464 34465;
    SORT("input", "sortBy") 2_942_500 2_942_501 2_942_502;
}

fn size(call: &mut Call<'_>) -> Result<Evaluated> {
    let text = "The argument to $size must be an array, but was of type: ";
    let count = call.array(0, 17124, text)?.len();
    Ok(Some(Bson::Int32(i32::try_from(count).unwrap_or(i32::MAX))))
}

/// A 32-bit whole number.
fn whole(call: &Call<'_>, index: usize) -> Option<i32> {
    call.whole(index)
        .and_then(|whole| i32::try_from(whole).ok())
}

fn element_at(call: &mut Call<'_>) -> Result<Evaluated> {
    if call.any_nullish() {
        return NULL;
    }
    let text = "$arrayElemAt's first argument must be an array, but is ";
    call.array(0, 28689, text)?;
    if call.number(1).is_none() {
        let text = "$arrayElemAt's second argument must be a numeric value, but is ";
        return Err(call.wrong_type(1, Code::Location(28690), text));
    }
    let index = whole(call, 1).ok_or_else(|| {
        Code::Location(28691)
            .error("$arrayElemAt's second argument must be representable as a 32-bit integer")
    })?;
    Ok(at(call, index))
}

fn end(call: &mut Call<'_>, index: i32) -> Result<Evaluated> {
    if call.is_nullish(0) {
        return NULL;
    }
    let text = format!("{}'s argument must be an array, but is ", call.name);
    call.array(0, 28689, &text)?;
    Ok(at(call, index))
}

/// The element at `index`, from the end if negative.
fn at(call: &mut Call<'_>, index: i32) -> Evaluated {
    let Some(Bson::Array(mut array)) = call.take(0) else {
        return None;
    };
    let place = match usize::try_from(index) {
        Ok(place) => place,
        Err(_) => array.len().checked_sub(magnitude(index))?,
    };
    (place < array.len()).then(|| array.swap_remove(place))
}

fn magnitude(number: i32) -> usize {
    usize::try_from(number.unsigned_abs()).unwrap_or(usize::MAX)
}

fn slice(call: &mut Call<'_>) -> Result<Evaluated> {
    if call.any_nullish() {
        return NULL;
    }
    let text = "First argument to $slice must be an array, but is of type: ";
    call.array(0, 28724, text)?;
    let part = |index: usize, place: &str, code: i32| {
        whole(call, index).ok_or_else(|| {
            Code::Location(code).error(format!(
                "{place} argument to $slice can't be represented as a 32-bit integer: {}",
                call.shown(index)
            ))
        })
    };
    let second = part(1, "Second", 28726)?;
    let count = match call.values.len() {
        3 => part(2, "Third", 28728)?,
        _ => i32::MAX,
    };
    if count <= 0 {
        return Err(Code::Location(28729).error(format!(
            "Third argument to $slice must be positive: {count}"
        )));
    }
    let mut array = call.take_array(0, 28724, text)?;
    let (start, count) = match (call.values.len(), second < 0) {
        (2, false) => (0, magnitude(second)),
        (_, false) => (magnitude(second).min(array.len()), magnitude(count)),
        (_, true) => (
            array.len().saturating_sub(magnitude(second)),
            magnitude(count),
        ),
    };
    array.drain(..start);
    array.truncate(count);
    Ok(Some(Bson::Array(array)))
}

fn concat(call: &mut Call<'_>) -> Result<Evaluated> {
    let mut all = Vec::new();
    for index in 0..call.values.len() {
        if call.is_nullish(index) {
            return NULL;
        }
        all.extend(call.take_array(index, 28664, "$concatArrays only supports arrays, not ")?);
    }
    Ok(Some(Bson::Array(all)))
}

fn contains(call: &mut Call<'_>) -> Result<Evaluated> {
    let text = "$in requires an array as a second argument, found: ";
    let found = call
        .array(1, 40081, text)?
        .iter()
        .any(|element| compare(call.get(0), Some(element)).is_eq());
    Ok(Some(Bson::Boolean(found)))
}

fn is_array(call: &mut Call<'_>) -> Result<Evaluated> {
    Ok(Some(Bson::Boolean(matches!(
        call.get(0),
        Some(Bson::Array(_))
    ))))
}

fn range(call: &mut Call<'_>) -> Result<Evaluated> {
    let part = |index: usize, role: &str, not_a_number: i32, not_whole: i32| {
        if call.number(index).is_none() {
            let text = format!("$range requires a numeric {role} value, found value of type: ");
            return Err(call.wrong_type(index, Code::Location(not_a_number), &text));
        }
        whole(call, index).map(i64::from).ok_or_else(|| {
            Code::Location(not_whole).error(format!(
                "$range requires a {role} value that can be represented as a 32-bit integer, found value: {}",
                call.shown(index)
            ))
        })
    };
    let start = part(0, "starting", 34443, 34444)?;
    let end = part(1, "ending", 34445, 34446)?;
    let step = match call.values.len() {
        3 => part(2, "step", 34447, 34448)?,
        _ => 1,
    };
    if step == 0 {
        return Err(Code::Location(34449).error("$range requires a non-zero step value"));
    }
    let span = (end - start) * step.signum();
    let count = span.max(0).unsigned_abs().div_ceil(step.unsigned_abs());
    // Counted before it is built: two numbers are enough to ask for gigabytes.
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    let bytes = count.saturating_mul(size_of::<Bson>());
    if bytes > RANGE_BYTES_MAX {
        return Err(Code::ExceededMemoryLimit.error(
            "$range would use too much memory and cannot spill to disk. Memory limit: 104857600 bytes",
        ));
    }
    call.scope.charge_bytes(bytes)?;
    let values = std::iter::successors(Some(start), |value| Some(value + step)).take(count);
    let values = values.flat_map(|value| i32::try_from(value).map(Bson::Int32));
    Ok(Some(Bson::Array(values.collect())))
}

/// As for other stages and operators that hold all they make (MongoDB's 100 MiB).
const RANGE_BYTES_MAX: usize = 100 * 1024 * 1024;

fn reverse(call: &mut Call<'_>) -> Result<Evaluated> {
    if call.is_nullish(0) {
        return NULL;
    }
    let text = "The argument to $reverseArray must be an array, but was of type: ";
    let mut array = call.take_array(0, 34435, text)?;
    array.reverse();
    Ok(Some(Bson::Array(array)))
}

fn index_of(call: &mut Call<'_>) -> Result<Evaluated> {
    if call.is_nullish(0) {
        return NULL;
    }
    let text = "$indexOfArray requires an array as a first argument, found: ";
    let array = call.array(0, 40090, text)?;
    let (start, end) = super::strings::bounds(call)?;
    let inside = array.get(start..end.min(array.len())).unwrap_or_default();
    let found = inside
        .iter()
        .position(|one| compare(Some(one), call.get(1)).is_eq());
    let index = found.and_then(|place| i32::try_from(place + start).ok());
    Ok(Some(Bson::Int32(index.unwrap_or(-1))))
}

fn zip(call: &mut Call<'_>) -> Result<Evaluated> {
    let longest = is_true(call.get(1));
    if !matches!(call.get(1), None | Some(Bson::Boolean(_))) {
        return Err(call.wrong_type(
            1,
            Code::Location(34463),
            "useLongestLength must be a bool, found ",
        ));
    }
    let defaults = match call.take(2) {
        None => Vec::new(),
        Some(Bson::Array(defaults)) => defaults,
        Some(_) => {
            return Err(Code::Location(34462).error("defaults must be an array of expressions"));
        }
    };
    if !defaults.is_empty() && !longest {
        return Err(
            Code::Location(34466).error("cannot specify defaults unless useLongestLength is true")
        );
    }
    let Some(Bson::Array(inputs)) = call.take(0) else {
        return Err(Code::Location(34461).error("inputs must be an array of expressions"));
    };
    if !defaults.is_empty() && defaults.len() != inputs.len() {
        return Err(Code::Location(34467).error("defaults and inputs must have the same length"));
    }
    let mut arrays = Vec::with_capacity(inputs.len());
    for input in inputs {
        match input {
            Bson::Array(array) => arrays.push(array),
            Bson::Null | Bson::Undefined => return NULL,
            other => {
                return Err(Code::Location(34468).error(format!(
                    "$zip found a non-array expression in input: {}",
                    display::value(&other)
                )));
            }
        }
    }
    let lengths = arrays.iter().map(Vec::len);
    let rows = if longest {
        lengths.max()
    } else {
        lengths.min()
    }
    .unwrap_or(0);
    call.scope.charge_bytes(
        rows.saturating_mul(arrays.len() + 1)
            .saturating_mul(size_of::<Bson>()),
    )?;
    let mut zipped = Vec::with_capacity(rows);
    for row in 0..rows {
        let mut one = Vec::with_capacity(arrays.len());
        for (column, array) in arrays.iter().enumerate() {
            let value = array.get(row).or_else(|| defaults.get(column));
            one.push(value.cloned().unwrap_or(Bson::Null));
        }
        zipped.push(Bson::Array(one));
    }
    Ok(Some(Bson::Array(zipped)))
}

fn sort(call: &mut Call<'_>) -> Result<Evaluated> {
    if call.is_nullish(0) {
        return NULL;
    }
    let text = "The input argument to $sortArray must be an array, but was of type: ";
    let mut array = call.take_array(0, 2_942_504, text)?;
    let keys = sort_keys(call.get(1))?;
    array.sort_by(|left, right| {
        for (path, descending) in &keys {
            let at = |value| super::paths::at_path(value, path);
            let order = if path.is_empty() {
                compare_owned(left, right)
            } else {
                compare(at(left).as_ref(), at(right).as_ref())
            };
            if order.is_ne() {
                return if *descending { order.reverse() } else { order };
            }
        }
        Ordering::Equal
    });
    Ok(Some(Bson::Array(array)))
}

/// Paths and whether each descends; the empty path is the element itself.
fn sort_keys(by: Option<&Bson>) -> Result<Vec<(Vec<String>, bool)>> {
    let direction = |value: &Bson| match Number::from_bson(value).and_then(Number::to_i64_exact) {
        Some(1) => Ok(false),
        Some(-1) => Ok(true),
        _ => Err(Code::Location(2_942_505).error(
            "Numbers in sort key ordering must be either 1 (for ascending) or -1 (for descending)",
        )),
    };
    match by {
        Some(Bson::Document(document)) => document
            .iter()
            .map(|(path, value)| Ok((field_path(path)?, direction(value)?)))
            .collect(),
        Some(value) => Ok(vec![(Vec::new(), direction(value)?)]),
        None => {
            Err(Code::Location(2_942_503).error("$sortArray requires 'sortBy' to be specified"))
        }
    }
}
