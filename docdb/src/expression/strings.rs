//! Strings: joined, cut by bytes or code points, searched, trimmed, changed.

use bson::Bson;

use super::Evaluated;
use super::function::{Call, Function, NULL, functions, named};
use crate::error::{Code, Result};
use crate::value::Number;
use crate::value::display;

pub(super) const FUNCTIONS: &[Function] = functions! {
    "$concat" Any => concat;
    "$toUpper" Exactly(1) => |call| cased(call, str::to_ascii_uppercase);
    "$toLower" Exactly(1) => |call| cased(call, str::to_ascii_lowercase);
    "$strcasecmp" Exactly(2) => compare_cased;
    "$substr" Exactly(3) => by_bytes;
    "$substrBytes" Exactly(3) => by_bytes;
    "$substrCP" Exactly(3) => by_points;
    "$strLenBytes" Exactly(1) => |call| length(call, str::len, Code::Location(34473));
    "$strLenCP" Exactly(1) => |call| length(call, |text| text.chars().count(), Code::Location(34471));
    "$split" Exactly(2) => split;
    "$indexOfCP" Between(2, 4) => index_of_points;
    "$indexOfBytes" Between(2, 4) => index_of_bytes;
    "$trim" Named(&TRIM) => |call| trim(call, &[Side::Left, Side::Right]);
    "$ltrim" Named(&TRIM) => |call| trim(call, &[Side::Left]);
    "$rtrim" Named(&TRIM) => |call| trim(call, &[Side::Right]);
    "$replaceOne" Named(&REPLACE) => |call| replace(call, false);
    "$replaceAll" Named(&REPLACE) => |call| replace(call, true);
};

named! {
    TRIM("input"; "chars") 50696 50694 50695;
    REPLACE("input", "find", "replacement") 51751 51750 51749;
}

fn concat(call: &mut Call<'_>) -> Result<Evaluated> {
    let mut joined = String::new();
    for index in 0..call.values.len() {
        if call.is_nullish(index) {
            return NULL;
        }
        match call.text(index) {
            Some(text) => joined.push_str(text),
            None => {
                return Err(call.wrong_type(
                    index,
                    Code::Location(16702),
                    "$concat only supports strings, not ",
                ));
            }
        }
    }
    call.built_text(joined)
}

/// The text that string functions take numbers and dates for; null is the empty one.
fn coerced(value: Option<&Bson>) -> Result<String> {
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
        Some(other) => Err(Code::Location(16007).error(format!(
            "can't convert from BSON type {} to String",
            display::type_name(other)
        ))),
    }
}

/// MongoDB changes the case of ASCII letters alone.
fn cased(call: &Call<'_>, change: fn(&str) -> String) -> Result<Evaluated> {
    call.built_text(change(&coerced(call.get(0))?))
}

fn compare_cased(call: &mut Call<'_>) -> Result<Evaluated> {
    let left = coerced(call.get(0))?.to_ascii_uppercase();
    let right = coerced(call.get(1))?.to_ascii_uppercase();
    Ok(Some(Bson::Int32(match left.cmp(&right) {
        std::cmp::Ordering::Less => -1,
        std::cmp::Ordering::Equal => 0,
        std::cmp::Ordering::Greater => 1,
    })))
}

fn length(call: &Call<'_>, measure: fn(&str) -> usize, code: Code) -> Result<Evaluated> {
    match call.text(0) {
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

fn by_bytes(call: &mut Call<'_>) -> Result<Evaluated> {
    let text = coerced(call.get(0))?;
    let number = |index: usize, role: &str, code: Code| {
        call.number(index).and_then(Number::to_i64).ok_or_else(|| {
            code.error(format!(
                "{}:  {role} must be a numeric type (is BSON type {})",
                call.name,
                call.type_name(index)
            ))
        })
    };
    let start = number(1, "starting index", Code::Location(16034))?;
    let count = number(2, "length", Code::Location(16035))?;
    let Ok(start) = usize::try_from(start) else {
        return Err(Code::Location(50752).error(format!(
            "{}:  starting index must be non-negative (got: {start})",
            call.name
        )));
    };
    // A negative length means the rest.
    let end = usize::try_from(count).map_or(text.len(), |count| start.saturating_add(count));
    let end = end.min(text.len());
    if start >= text.len() {
        return call.built_text(String::new());
    }
    if !text.is_char_boundary(start) {
        return Err(Code::Location(28656).error(format!(
            "{}:  Invalid range, starting index is a UTF-8 continuation byte.",
            call.name
        )));
    }
    match text.get(start..end) {
        Some(part) => call.built_text(part.to_owned()),
        None => Err(Code::Location(28657).error(format!(
            "{}:  Invalid range, ending index is in the middle of a UTF-8 character.",
            call.name
        ))),
    }
}

fn by_points(call: &mut Call<'_>) -> Result<Evaluated> {
    let text = coerced(call.get(0))?;
    let whole = |index: usize, role: &str, codes: [Code; 3]| {
        let [not_a_number, not_whole, negative] = codes;
        let Some(number) = call.number(index) else {
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
        Code::Location(34450),
        Code::Location(34451),
        Code::Location(34455),
    ];
    let start = whole(1, "starting index", start_codes)?;
    let length_codes = [
        Code::Location(34452),
        Code::Location(34453),
        Code::Location(34454),
    ];
    let count = whole(2, "length", length_codes)?;
    call.built_text(text.chars().skip(start).take(count).collect())
}

fn split(call: &mut Call<'_>) -> Result<Evaluated> {
    if call.any_nullish() {
        return NULL;
    }
    let argument = |index: usize, place: &str, code: Code| {
        call.text(index).ok_or_else(|| {
            code.error(format!(
                "$split requires an expression that evaluates to a string as a {place} argument, found: {}",
                call.type_name(index)
            ))
        })
    };
    let input = argument(0, "first", Code::Location(40085))?;
    let separator = argument(1, "second", Code::Location(40086))?;
    if separator.is_empty() {
        return Err(Code::Location(40087).error("$split requires a non-empty separator"));
    }
    let parts: Vec<Bson> = input
        .split(separator)
        .map(|part| Bson::String(part.to_owned()))
        .collect();
    call.built(parts)
}

/// Where a search begins and ends: the third and the fourth argument, if there are any.
pub(super) fn bounds(call: &Call<'_>) -> Result<(usize, usize)> {
    let given = call.values.len();
    let start = if given > 2 {
        bound(call, 2, "starting")?
    } else {
        0
    };
    let end = if given > 3 {
        bound(call, 3, "ending")?
    } else {
        usize::MAX
    };
    Ok((start, end))
}

/// A whole number that is not negative.
fn bound(call: &Call<'_>, index: usize, role: &str) -> Result<usize> {
    let number = call.whole(index);
    let Some(number) = number else {
        return Err(Code::Location(40096).error(format!(
            "{} requires an integral {role} index, found a value of type: {}",
            call.name,
            call.type_name(index)
        )));
    };
    usize::try_from(number).map_err(|_| {
        Code::Location(40097).error(format!(
            "{} requires a nonnegative {role} index, found: {number}",
            call.name
        ))
    })
}

/// What is searched, for what, and between which bounds; `None` where the text is null.
type Search<'c> = (&'c str, &'c str, usize, usize);

fn search<'c>(call: &'c Call<'_>, codes: [Code; 2]) -> Result<Option<Search<'c>>> {
    if call.is_nullish(0) {
        return Ok(None);
    }
    let [first, second] = codes;
    let argument = |index: usize, place: &str, code: Code| {
        call.text(index).ok_or_else(|| {
            code.error(format!(
                "{} requires a string as the {place} argument, found: {}",
                call.name,
                call.type_name(index)
            ))
        })
    };
    let input = argument(0, "first", first)?;
    let token = argument(1, "second", second)?;
    let (start, end) = bounds(call)?;
    Ok(Some((input, token, start, end)))
}

fn found(index: Option<usize>) -> Bson {
    let index = index.and_then(|index| i32::try_from(index).ok());
    Bson::Int32(index.unwrap_or(-1))
}

fn index_of_points(call: &mut Call<'_>) -> Result<Evaluated> {
    let codes = [Code::Location(40093), Code::Location(40094)];
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

fn index_of_bytes(call: &mut Call<'_>) -> Result<Evaluated> {
    let codes = [Code::Location(40091), Code::Location(40092)];
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

fn trim(call: &Call<'_>, sides: &[Side]) -> Result<Evaluated> {
    if call.is_nullish(0) {
        return NULL;
    }
    let argument = |index: usize, role: &str, code: Code| {
        call.text(index).ok_or_else(|| {
            code.error(format!(
                "{} requires {role} to be a string, got {} (of type {}) instead.",
                call.name,
                call.shown(index),
                call.type_name(index)
            ))
        })
    };
    let input = argument(0, "its input", Code::Location(50699))?;
    let chars = match call.get(1) {
        None => None,
        Some(Bson::Null | Bson::Undefined) => return NULL,
        Some(_) => Some(argument(1, "'chars'", Code::Location(50700))?),
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
    call.built_text(trimmed.to_owned())
}

fn replace(call: &Call<'_>, all: bool) -> Result<Evaluated> {
    let argument = |index: usize, role: &str, code: Code| match call.get(index) {
        None | Some(Bson::Null | Bson::Undefined) => Ok(None),
        Some(Bson::String(text)) => Ok(Some(text.as_str())),
        Some(other) => Err(code.error(format!(
            "{} requires that '{role}' be a string, found: {}",
            call.name,
            display::value(other)
        ))),
    };
    let input = argument(0, "input", Code::Location(51746))?;
    let find = argument(1, "find", Code::Location(51745))?;
    let replacement = argument(2, "replacement", Code::Location(51744))?;
    let (Some(input), Some(find), Some(replacement)) = (input, find, replacement) else {
        return NULL;
    };
    if !all {
        return call.built_text(input.replacen(find, replacement, 1));
    }
    // Counted before it is built: replacing each letter by a long text multiplies the two.
    let grown = input
        .matches(find)
        .count()
        .saturating_mul(replacement.len());
    call.scope.charge_bytes(grown)?;
    call.built_text(input.replace(find, replacement))
}
