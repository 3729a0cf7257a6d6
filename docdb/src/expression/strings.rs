//! Strings: joined, cut by bytes or code points, searched, trimmed, changed.

use bson::Bson;

use super::Evaluated;
use super::function::{Call, Function, Named, Shape};
use crate::error::{Code, CommandError};
use crate::value::Number;
use crate::value::display;

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("$concat", Shape::Any, concat),
    Function::new("$toUpper", Shape::Exactly(1), |call| {
        cased(call, str::to_ascii_uppercase)
    }),
    Function::new("$toLower", Shape::Exactly(1), |call| {
        cased(call, str::to_ascii_lowercase)
    }),
    Function::new("$strcasecmp", Shape::Exactly(2), compare_cased),
    Function::new("$substr", Shape::Exactly(3), by_bytes),
    Function::new("$substrBytes", Shape::Exactly(3), by_bytes),
    Function::new("$substrCP", Shape::Exactly(3), by_points),
    Function::new("$strLenBytes", Shape::Exactly(1), |call| {
        length(call, str::len, Code::Location34473)
    }),
    Function::new("$strLenCP", Shape::Exactly(1), |call| {
        length(call, |text| text.chars().count(), Code::Location34471)
    }),
    Function::new("$split", Shape::Exactly(2), split),
    Function::new("$indexOfCP", Shape::Between(2, 4), index_of_points),
    Function::new("$indexOfBytes", Shape::Between(2, 4), index_of_bytes),
    Function::new("$trim", Shape::Named(&TRIM), |call| {
        trim(call, &[Side::Left, Side::Right])
    }),
    Function::new("$ltrim", Shape::Named(&TRIM), |call| {
        trim(call, &[Side::Left])
    }),
    Function::new("$rtrim", Shape::Named(&TRIM), |call| {
        trim(call, &[Side::Right])
    }),
    Function::new("$replaceOne", Shape::Named(&REPLACE), |call| {
        replace(call, false)
    }),
    Function::new("$replaceAll", Shape::Named(&REPLACE), |call| {
        replace(call, true)
    }),
];

static TRIM: Named = Named {
    names: &["input", "chars"],
    required: 1,
    not_an_object: Code::Location50696,
    unknown: Code::Location50694,
    missing: Code::Location50695,
};
static REPLACE: Named = Named {
    names: &["input", "find", "replacement"],
    required: 3,
    not_an_object: Code::Location51751,
    unknown: Code::Location51750,
    missing: Code::Location51749,
};

const NULL: Result<Evaluated, CommandError> = Ok(Some(Bson::Null));

fn text<'c>(call: &'c Call<'_, '_>, index: usize) -> Option<&'c str> {
    match call.get(index) {
        Some(Bson::String(text)) => Some(text),
        _ => None,
    }
}

fn concat(call: &mut Call<'_, '_>) -> Result<Evaluated, CommandError> {
    let mut joined = String::new();
    for index in 0..call.values.len() {
        if call.is_nullish(index) {
            return NULL;
        }
        match text(call, index) {
            Some(text) => joined.push_str(text),
            None => {
                return Err(Code::Location16702.error(format!(
                    "$concat only supports strings, not {}",
                    call.type_name(index)
                )));
            }
        }
    }
    call.text(joined)
}

/// The text that string functions take numbers and dates for; null is the empty one.
fn coerced(value: Option<&Bson>) -> Result<String, CommandError> {
    match value {
        None | Some(Bson::Null | Bson::Undefined) => Ok(String::new()),
        Some(Bson::String(text) | Bson::Symbol(text) | Bson::JavaScriptCode(text)) => {
            Ok(text.clone())
        }
        Some(
            number @ (Bson::Int32(_)
            | Bson::Int64(_)
            | Bson::Double(_)
            | Bson::Decimal128(_)
            | Bson::DateTime(_)),
        ) => super::convert::to_text(number),
        Some(other) => Err(Code::Location16007.error(format!(
            "can't convert from BSON type {} to String",
            display::type_name(other)
        ))),
    }
}

/// MongoDB changes the case of ASCII letters alone.
fn cased(call: &Call<'_, '_>, change: fn(&str) -> String) -> Result<Evaluated, CommandError> {
    call.text(change(&coerced(call.get(0))?))
}

fn compare_cased(call: &mut Call<'_, '_>) -> Result<Evaluated, CommandError> {
    let left = coerced(call.get(0))?.to_ascii_uppercase();
    let right = coerced(call.get(1))?.to_ascii_uppercase();
    Ok(Some(Bson::Int32(match left.cmp(&right) {
        std::cmp::Ordering::Less => -1,
        std::cmp::Ordering::Equal => 0,
        std::cmp::Ordering::Greater => 1,
    })))
}

fn length(
    call: &Call<'_, '_>,
    measure: fn(&str) -> usize,
    code: Code,
) -> Result<Evaluated, CommandError> {
    match text(call, 0) {
        Some(text) => Ok(Some(Bson::Int32(
            i32::try_from(measure(text)).unwrap_or(i32::MAX),
        ))),
        None => Err(code.error(format!(
            "{} requires a string argument, found: {}",
            call.name,
            call.type_name(0)
        ))),
    }
}

fn by_bytes(call: &mut Call<'_, '_>) -> Result<Evaluated, CommandError> {
    let text = coerced(call.get(0))?;
    let number = |index: usize, role: &str, code: Code| {
        call.get(index)
            .and_then(Number::of_bson)
            .and_then(Number::to_i64)
            .ok_or_else(|| {
                code.error(format!(
                    "{}:  {role} must be a numeric type (is BSON type {})",
                    call.name,
                    call.type_name(index)
                ))
            })
    };
    let start = number(1, "starting index", Code::Location16034)?;
    let count = number(2, "length", Code::Location16035)?;
    let Ok(start) = usize::try_from(start) else {
        return Err(Code::Location50752.error(format!(
            "{}:  starting index must be non-negative (got: {start})",
            call.name
        )));
    };
    // A negative length means the rest.
    let end = usize::try_from(count).map_or(text.len(), |count| start.saturating_add(count));
    let end = end.min(text.len());
    if start >= text.len() {
        return call.text(String::new());
    }
    if !text.is_char_boundary(start) {
        return Err(Code::Location28656.error(format!(
            "{}:  Invalid range, starting index is a UTF-8 continuation byte.",
            call.name
        )));
    }
    match text.get(start..end) {
        Some(part) => call.text(part.to_owned()),
        None => Err(Code::Location28657.error(format!(
            "{}:  Invalid range, ending index is in the middle of a UTF-8 character.",
            call.name
        ))),
    }
}

fn by_points(call: &mut Call<'_, '_>) -> Result<Evaluated, CommandError> {
    let text = coerced(call.get(0))?;
    let whole = |index: usize, role: &str, codes: [Code; 3]| {
        let [not_a_number, not_whole, negative] = codes;
        let Some(number) = call.get(index).and_then(Number::of_bson) else {
            return Err(not_a_number.error(format!(
                "$substrCP: {role} must be a numeric type (is BSON type {})",
                call.type_name(index)
            )));
        };
        let whole = number.to_i64_exact().ok_or_else(|| {
            not_whole.error(format!(
                "$substrCP: {role} cannot be represented as a 32-bit integral value"
            ))
        })?;
        usize::try_from(whole).map_err(|_| {
            negative.error(format!("$substrCP: {role} must be a nonnegative integer."))
        })
    };
    let start_codes = [
        Code::Location34450,
        Code::Location34451,
        Code::Location34455,
    ];
    let start = whole(1, "starting index", start_codes)?;
    let length_codes = [
        Code::Location34452,
        Code::Location34453,
        Code::Location34454,
    ];
    let count = whole(2, "length", length_codes)?;
    call.text(text.chars().skip(start).take(count).collect())
}

fn split(call: &mut Call<'_, '_>) -> Result<Evaluated, CommandError> {
    if call.any_nullish() {
        return NULL;
    }
    let argument = |index: usize, place: &str, code: Code| {
        text(call, index).ok_or_else(|| {
            code.error(format!(
                "$split requires an expression that evaluates to a string as a {place} argument, found: {}",
                call.type_name(index)
            ))
        })
    };
    let input = argument(0, "first", Code::Location40085)?;
    let separator = argument(1, "second", Code::Location40086)?;
    if separator.is_empty() {
        return Err(Code::Location40087.error("$split requires a non-empty separator"));
    }
    let parts: Vec<Bson> = input
        .split(separator)
        .map(|part| Bson::String(part.to_owned()))
        .collect();
    call.built(parts)
}

/// The bound of a search: a whole number that is not negative.
pub(super) fn bound(call: &Call<'_, '_>, index: usize, role: &str) -> Result<usize, CommandError> {
    let number = call
        .get(index)
        .and_then(Number::of_bson)
        .and_then(Number::to_i64_exact);
    let Some(number) = number else {
        return Err(Code::Location40096.error(format!(
            "{} requires an integral {role} index, found a value of type: {}",
            call.name,
            call.type_name(index)
        )));
    };
    usize::try_from(number).map_err(|_| {
        Code::Location40097.error(format!(
            "{} requires a nonnegative {role} index, found: {number}",
            call.name
        ))
    })
}

/// What is searched, for what, and between which bounds; `None` where the text is null.
type Search<'c> = (&'c str, &'c str, usize, usize);

fn search<'c>(
    call: &'c Call<'_, '_>,
    codes: [Code; 2],
) -> Result<Option<Search<'c>>, CommandError> {
    if call.is_nullish(0) {
        return Ok(None);
    }
    let [first, second] = codes;
    let argument = |index: usize, place: &str, code: Code| {
        text(call, index).ok_or_else(|| {
            code.error(format!(
                "{} requires a string as the {place} argument, found: {}",
                call.name,
                call.type_name(index)
            ))
        })
    };
    let input = argument(0, "first", first)?;
    let token = argument(1, "second", second)?;
    let start = if call.values.len() > 2 {
        bound(call, 2, "starting")?
    } else {
        0
    };
    let end = if call.values.len() > 3 {
        bound(call, 3, "ending")?
    } else {
        usize::MAX
    };
    Ok(Some((input, token, start, end)))
}

fn found(index: Option<usize>) -> Bson {
    let index = index.and_then(|index| i32::try_from(index).ok());
    Bson::Int32(index.unwrap_or(-1))
}

fn index_of_points(call: &mut Call<'_, '_>) -> Result<Evaluated, CommandError> {
    let codes = [Code::Location40093, Code::Location40094];
    let Some((input, token, start, end)) = search(call, codes)? else {
        return NULL;
    };
    let count = input.chars().count();
    if start > end || start > count {
        return Ok(Some(found(None)));
    }
    let part: String = input.chars().skip(start).take(end - start).collect();
    let place = part.find(token).map(|bytes| {
        let before = part.get(..bytes).unwrap_or_default();
        start + before.chars().count()
    });
    Ok(Some(found(place)))
}

fn index_of_bytes(call: &mut Call<'_, '_>) -> Result<Evaluated, CommandError> {
    let codes = [Code::Location40091, Code::Location40092];
    let Some((input, token, start, end)) = search(call, codes)? else {
        return NULL;
    };
    let part = input
        .get(start..end.min(input.len()))
        .filter(|_| start <= end);
    let place = part
        .and_then(|part| part.find(token))
        .map(|place| place + start);
    Ok(Some(found(place)))
}

/// What MongoDB trims by default: NUL and the white space of Unicode.
fn is_space(c: char) -> bool {
    c == '\0' || c.is_whitespace()
}

#[derive(PartialEq)]
enum Side {
    Left,
    Right,
}

fn trim(call: &Call<'_, '_>, sides: &[Side]) -> Result<Evaluated, CommandError> {
    if call.is_nullish(0) {
        return NULL;
    }
    let argument = |index: usize, role: &str, code: Code| {
        text(call, index).ok_or_else(|| {
            code.error(format!(
                "{} requires {role} to be a string, got {} (of type {}) instead.",
                call.name,
                call.get(index).map(display::value).unwrap_or_default(),
                call.type_name(index)
            ))
        })
    };
    let input = argument(0, "its input", Code::Location50699)?;
    let chars = match call.get(1) {
        None => None,
        Some(Bson::Null | Bson::Undefined) => return NULL,
        Some(_) => Some(argument(1, "'chars'", Code::Location50700)?),
    };
    let goes = |c: char| match chars {
        Some(chars) => chars.contains(c),
        None => is_space(c),
    };
    let mut trimmed = input;
    if sides.contains(&Side::Left) {
        trimmed = trimmed.trim_start_matches(goes);
    }
    if sides.contains(&Side::Right) {
        trimmed = trimmed.trim_end_matches(goes);
    }
    call.text(trimmed.to_owned())
}

fn replace(call: &Call<'_, '_>, all: bool) -> Result<Evaluated, CommandError> {
    let argument = |index: usize, role: &str, code: Code| match call.get(index) {
        None | Some(Bson::Null | Bson::Undefined) => Ok(None),
        Some(Bson::String(text)) => Ok(Some(text.as_str())),
        Some(other) => Err(code.error(format!(
            "{} requires that '{role}' be a string, found: {}",
            call.name,
            display::value(other)
        ))),
    };
    let input = argument(0, "input", Code::Location51746)?;
    let find = argument(1, "find", Code::Location51745)?;
    let replacement = argument(2, "replacement", Code::Location51744)?;
    let (Some(input), Some(find), Some(replacement)) = (input, find, replacement) else {
        return NULL;
    };
    if !all {
        return call.text(input.replacen(find, replacement, 1));
    }
    // Counted before it is built: replacing each letter by a long text multiplies the two.
    let grown = input
        .matches(find)
        .count()
        .saturating_mul(replacement.len());
    call.scope.charge_bytes(grown)?;
    call.text(input.replace(find, replacement))
}
