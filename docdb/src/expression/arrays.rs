//! Arrays: elements, slices, ranges, searches, orders.

#![expect(
    clippy::unnecessary_wraps,
    reason = "all functions of the table have one signature"
)]

use std::cmp::Ordering;

use bson::Bson;

use super::function::{Call, Function, Named, Shape};
use super::logic::compare;
use super::{Evaluated, is_true};
use crate::error::{Code, CommandError};
use crate::value::{Number, compare_owned};

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("$size", Shape::Exactly(1), size),
    Function::new("$arrayElemAt", Shape::Exactly(2), element_at),
    Function::new("$first", Shape::Exactly(1), |call| end(call, 0)),
    Function::new("$last", Shape::Exactly(1), |call| end(call, -1)),
    Function::new("$slice", Shape::Between(2, 3), slice),
    Function::new("$concatArrays", Shape::Any, concat),
    Function::new("$in", Shape::Exactly(2), contains),
    Function::new("$isArray", Shape::Exactly(1), is_array),
    Function::new("$range", Shape::Between(2, 3), range),
    Function::new("$reverseArray", Shape::Exactly(1), reverse),
    Function::new("$indexOfArray", Shape::Between(2, 4), index_of),
    Function::new("$zip", Shape::Named(&ZIP), zip),
    Function::new("$sortArray", Shape::Named(&SORT), sort),
];

static ZIP: Named = Named {
    names: &["inputs", "useLongestLength", "defaults"],
    required: 1,
    not_an_object: Code::Location34460,
    unknown: Code::Location34464,
    missing: Code::Location34465,
};
static SORT: Named = Named {
    names: &["input", "sortBy"],
    required: 2,
    not_an_object: Code::Location2942500,
    unknown: Code::Location2942501,
    missing: Code::Location2942502,
};

const NULL: Result<Evaluated, CommandError> = Ok(Some(Bson::Null));

fn size(call: &mut Call<'_, '_>) -> Result<Evaluated, CommandError> {
    match call.get(0) {
        Some(Bson::Array(array)) => Ok(Some(Bson::Int32(
            i32::try_from(array.len()).unwrap_or(i32::MAX),
        ))),
        _ => Err(Code::Location17124.error(format!(
            "The argument to $size must be an array, but was of type: {}",
            call.type_name(0)
        ))),
    }
}

/// A 32-bit whole number.
fn whole(call: &Call<'_, '_>, index: usize) -> Option<i32> {
    let number = call.get(index).and_then(Number::of_bson)?;
    i32::try_from(number.to_i64_exact()?).ok()
}

fn element_at(call: &mut Call<'_, '_>) -> Result<Evaluated, CommandError> {
    if call.any_nullish() {
        return NULL;
    }
    if !matches!(call.get(0), Some(Bson::Array(_))) {
        return Err(Code::Location28689.error(format!(
            "$arrayElemAt's first argument must be an array, but is {}",
            call.type_name(0)
        )));
    }
    if call.get(1).and_then(Number::of_bson).is_none() {
        return Err(Code::Location28690.error(format!(
            "$arrayElemAt's second argument must be a numeric value, but is {}",
            call.type_name(1)
        )));
    }
    let Some(index) = whole(call, 1) else {
        return Err(Code::Location28691
            .error("$arrayElemAt's second argument must be representable as a 32-bit integer"));
    };
    Ok(at(call, index))
}

fn end(call: &mut Call<'_, '_>, index: i32) -> Result<Evaluated, CommandError> {
    if call.is_nullish(0) {
        return NULL;
    }
    if !matches!(call.get(0), Some(Bson::Array(_))) {
        return Err(Code::Location28689.error(format!(
            "{}'s argument must be an array, but is {}",
            call.name,
            call.type_name(0)
        )));
    }
    Ok(at(call, index))
}

/// The element at `index`, from the end if negative.
fn at(call: &mut Call<'_, '_>, index: i32) -> Evaluated {
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

fn slice(call: &mut Call<'_, '_>) -> Result<Evaluated, CommandError> {
    if call.any_nullish() {
        return NULL;
    }
    if !matches!(call.get(0), Some(Bson::Array(_))) {
        return Err(Code::Location28724.error(format!(
            "First argument to $slice must be an array, but is of type: {}",
            call.type_name(0)
        )));
    }
    let Some(second) = whole(call, 1) else {
        return Err(Code::Location28726.error(format!(
            "Second argument to $slice can't be represented as a 32-bit integer: {}",
            call.get(1)
                .map(crate::value::display::value)
                .unwrap_or_default()
        )));
    };
    let third = if call.values.len() == 3 {
        Some(slice_count(call)?)
    } else {
        None
    };
    let Some(Bson::Array(mut array)) = call.take(0) else {
        return NULL;
    };
    let length = array.len();
    let (start, count) = match third {
        None if second >= 0 => (0, magnitude(second)),
        None => (length.saturating_sub(magnitude(second)), length),
        Some(count) if second >= 0 => (magnitude(second).min(length), count),
        Some(count) => (length.saturating_sub(magnitude(second)), count),
    };
    array.drain(..start);
    array.truncate(count);
    Ok(Some(Bson::Array(array)))
}

fn slice_count(call: &Call<'_, '_>) -> Result<usize, CommandError> {
    let Some(count) = whole(call, 2) else {
        return Err(Code::Location28728.error(format!(
            "Third argument to $slice can't be represented as a 32-bit integer: {}",
            call.get(2)
                .map(crate::value::display::value)
                .unwrap_or_default()
        )));
    };
    match usize::try_from(count) {
        Ok(count) if count > 0 => Ok(count),
        _ => Err(Code::Location28729.error(format!(
            "Third argument to $slice must be positive: {count}"
        ))),
    }
}

fn concat(call: &mut Call<'_, '_>) -> Result<Evaluated, CommandError> {
    let mut all = Vec::new();
    for index in 0..call.values.len() {
        if call.is_nullish(index) {
            return NULL;
        }
        let kind = call.type_name(index);
        match call.take(index) {
            Some(Bson::Array(mut array)) if all.is_empty() => std::mem::swap(&mut all, &mut array),
            Some(Bson::Array(array)) => all.extend(array),
            _ => {
                return Err(Code::Location28664
                    .error(format!("$concatArrays only supports arrays, not {kind}")));
            }
        }
    }
    Ok(Some(Bson::Array(all)))
}

fn contains(call: &mut Call<'_, '_>) -> Result<Evaluated, CommandError> {
    let Some(Bson::Array(array)) = call.get(1) else {
        return Err(Code::Location40081.error(format!(
            "$in requires an array as a second argument, found: {}",
            call.type_name(1)
        )));
    };
    let found = array
        .iter()
        .any(|element| compare(call.get(0), Some(element)).is_eq());
    Ok(Some(Bson::Boolean(found)))
}

fn is_array(call: &mut Call<'_, '_>) -> Result<Evaluated, CommandError> {
    Ok(Some(Bson::Boolean(matches!(
        call.get(0),
        Some(Bson::Array(_))
    ))))
}

fn range(call: &mut Call<'_, '_>) -> Result<Evaluated, CommandError> {
    let part = |index: usize, role: &str, not_a_number: Code, not_whole: Code| {
        let value = call.get(index);
        if value.and_then(Number::of_bson).is_none() {
            return Err(not_a_number.error(format!(
                "$range requires a numeric {role} value, found value of type: {}",
                call.type_name(index)
            )));
        }
        whole(call, index).ok_or_else(|| {
            not_whole.error(format!(
                "$range requires a {role} value that can be represented as a 32-bit integer, found value: {}",
                value.map(crate::value::display::value).unwrap_or_default()
            ))
        })
    };
    let start = part(0, "starting", Code::Location34443, Code::Location34444)?;
    let end = part(1, "ending", Code::Location34445, Code::Location34446)?;
    let step = if call.values.len() == 3 {
        part(2, "step", Code::Location34447, Code::Location34448)?
    } else {
        1
    };
    if step == 0 {
        return Err(Code::Location34449.error("$range requires a non-zero step value"));
    }
    let span = (i64::from(end) - i64::from(start)).max(0);
    let span = if step > 0 {
        span
    } else {
        (i64::from(start) - i64::from(end)).max(0)
    };
    let count = usize::try_from(span.unsigned_abs().div_ceil(u64::from(step.unsigned_abs())));
    // Counted before it is built: two numbers are enough to ask for gigabytes.
    let bytes = count
        .unwrap_or(usize::MAX)
        .saturating_mul(size_of::<Bson>());
    if bytes > RANGE_BYTES_MAX {
        return Err(Code::ExceededMemoryLimit.error(
            "$range would use too much memory and cannot spill to disk. Memory limit: 104857600 bytes",
        ));
    }
    call.scope.charge_bytes(bytes)?;
    let mut values = Vec::new();
    let mut value = i64::from(start);
    while if step > 0 {
        value < i64::from(end)
    } else {
        value > i64::from(end)
    } {
        values.extend(i32::try_from(value).map(Bson::Int32));
        value += i64::from(step);
    }
    Ok(Some(Bson::Array(values)))
}

/// As for other stages and operators that hold all they make (MongoDB's 100 MiB).
const RANGE_BYTES_MAX: usize = 100 * 1024 * 1024;

fn reverse(call: &mut Call<'_, '_>) -> Result<Evaluated, CommandError> {
    if call.is_nullish(0) {
        return NULL;
    }
    let kind = call.type_name(0);
    let Some(Bson::Array(mut array)) = call.take(0) else {
        return Err(Code::Location34435.error(format!(
            "The argument to $reverseArray must be an array, but was of type: {kind}"
        )));
    };
    array.reverse();
    Ok(Some(Bson::Array(array)))
}

fn index_of(call: &mut Call<'_, '_>) -> Result<Evaluated, CommandError> {
    if call.is_nullish(0) {
        return NULL;
    }
    let Some(Bson::Array(array)) = call.get(0) else {
        return Err(Code::Location40090.error(format!(
            "$indexOfArray requires an array as a first argument, found: {}",
            call.type_name(0)
        )));
    };
    let start = if call.values.len() > 2 {
        super::strings::bound(call, 2, "starting")?
    } else {
        0
    };
    let end = if call.values.len() > 3 {
        super::strings::bound(call, 3, "ending")?
    } else {
        array.len()
    };
    let inside = array.get(start..end.min(array.len())).unwrap_or_default();
    let found = inside
        .iter()
        .position(|one| compare(Some(one), call.get(1)).is_eq());
    let index = found.and_then(|place| i32::try_from(place + start).ok());
    Ok(Some(Bson::Int32(index.unwrap_or(-1))))
}

fn zip(call: &mut Call<'_, '_>) -> Result<Evaluated, CommandError> {
    let longest = is_true(call.get(1));
    if !matches!(call.get(1), None | Some(Bson::Boolean(_))) {
        return Err(Code::Location34463.error(format!(
            "useLongestLength must be a bool, found {}",
            call.type_name(1)
        )));
    }
    let defaults = match call.take(2) {
        None => Vec::new(),
        Some(Bson::Array(defaults)) => defaults,
        Some(_) => {
            return Err(Code::Location34462.error("defaults must be an array of expressions"));
        }
    };
    if !defaults.is_empty() && !longest {
        return Err(
            Code::Location34466.error("cannot specify defaults unless useLongestLength is true")
        );
    }
    let Some(Bson::Array(inputs)) = call.take(0) else {
        return Err(Code::Location34461.error("inputs must be an array of expressions"));
    };
    if !defaults.is_empty() && defaults.len() != inputs.len() {
        return Err(Code::Location34467.error("defaults and inputs must have the same length"));
    }
    let mut arrays = Vec::with_capacity(inputs.len());
    for input in inputs {
        match input {
            Bson::Array(array) => arrays.push(array),
            Bson::Null | Bson::Undefined => return NULL,
            other => {
                return Err(Code::Location34468.error(format!(
                    "$zip found a non-array expression in input: {}",
                    crate::value::display::value(&other)
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

fn sort(call: &mut Call<'_, '_>) -> Result<Evaluated, CommandError> {
    if call.is_nullish(0) {
        return NULL;
    }
    let kind = call.type_name(0);
    let Some(Bson::Array(mut array)) = call.take(0) else {
        return Err(Code::Location2942504.error(format!(
            "The input argument to $sortArray must be an array, but was of type: {kind}"
        )));
    };
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
fn sort_keys(by: Option<&Bson>) -> Result<Vec<(Vec<String>, bool)>, CommandError> {
    let direction = |value: &Bson| match Number::of_bson(value).and_then(Number::to_i64_exact) {
        Some(1) => Ok(false),
        Some(-1) => Ok(true),
        _ => Err(Code::Location2942505.error(
            "Numbers in sort key ordering must be either 1 (for ascending) or -1 (for descending)",
        )),
    };
    match by {
        Some(Bson::Document(document)) => document
            .iter()
            .map(|(path, value)| Ok((super::paths::field_path(path)?, direction(value)?)))
            .collect(),
        Some(value) => Ok(vec![(Vec::new(), direction(value)?)]),
        None => Err(Code::Location2942503.error("$sortArray requires 'sortBy' to be specified")),
    }
}
