//! Dates in UTC or at a fixed offset: their parts, their texts, sums and differences.

use bson::{Bson, DateTime};

use super::calendar::{self, Civil, DAY, day_of_week};
use super::function::{Call, Function, NULL, functions, named};
use super::moment::{Local, local, offset};
use super::{Evaluated, units};
use crate::error::{Code, Result};
use crate::value::display;

pub(super) const FUNCTIONS: &[Function] = functions! {
    "$year" DatePart => |call| part(call, |at| at.civil.year);
    "$month" DatePart => |call| part(call, |at| at.civil.month);
    "$dayOfMonth" DatePart => |call| part(call, |at| at.civil.day);
    "$hour" DatePart => |call| part(call, |at| at.civil.hour());
    "$minute" DatePart => |call| part(call, |at| at.civil.minute());
    "$second" DatePart => |call| part(call, |at| at.civil.second());
    "$millisecond" DatePart => |call| part(call, |at| at.civil.millisecond());
    "$dayOfWeek" DatePart => |call| part(call, |at| day_of_week(at.millis));
    "$dayOfYear" DatePart => |call| part(call, |at| at.civil.day_of_year());
    "$isoDayOfWeek" DatePart => |call| part(call, |at| calendar::iso_week(at.millis).2);
    "$isoWeek" DatePart => |call| part(call, |at| calendar::iso_week(at.millis).1);
    "$isoWeekYear" DatePart => |call| part(call, |at| calendar::iso_week(at.millis).0);
    "$dateToString" Named(&TO_STRING) => to_string;
    "$dateFromString" Named(&FROM_STRING) => from_string;
    "$dateAdd" Named(&ADD) => |call| units::add(call, 1);
    "$dateSubtract" Named(&ADD) => |call| units::add(call, -1);
    "$dateDiff" Named(&DIFF) => units::difference;
    "$dateTrunc" Named(&TRUNC) => units::truncate;
};

named! {
    TO_STRING("date"; "format", "timezone", "onNull") 18629 18534 18628;
    FROM_STRING("dateString"; "format", "timezone", "onError", "onNull") 40540 40541 40542;
    ADD("startDate", "unit", "amount"; "timezone") 5_166_400 5_166_401 5_166_402;
    DIFF("startDate", "endDate", "unit"; "timezone", "startOfWeek") 5_166_301 5_166_302 5_166_303;
    TRUNC("date", "unit"; "binSize", "timezone", "startOfWeek") 5_439_007 5_439_008 5_439_009;
}

fn part(call: &Call<'_>, read: fn(&Local) -> i64) -> Result<Evaluated> {
    Ok(Some(match local(call, 0, 1)? {
        None => Bson::Null,
        Some(at) => {
            let part = read(&at);
            i32::try_from(part).map_or(Bson::Int64(part), Bson::Int32)
        }
    }))
}

fn to_string(call: &mut Call<'_>) -> Result<Evaluated> {
    let format = match call.get(1) {
        None => None,
        Some(Bson::String(format)) => Some(format.clone()),
        Some(Bson::Null | Bson::Undefined) => return NULL,
        Some(other) => {
            return Err(Code::Location(18533).error(format!(
                "$dateToString requires that 'format' be a string, found: {} with value {}",
                display::type_name(other),
                display::value(other)
            )));
        }
    };
    let Some(at) = local(call, 0, 2)? else {
        return match call.take(3) {
            Some(on_null) => Ok(Some(on_null)),
            None => NULL,
        };
    };
    let default = if at.offset == 0 {
        "%Y-%m-%dT%H:%M:%S.%LZ"
    } else {
        "%Y-%m-%dT%H:%M:%S.%L"
    };
    let text = formatted(format.as_deref().unwrap_or(default), &at)?;
    call.built_text(text)
}

fn formatted(format: &str, at: &Local) -> Result<String> {
    let mut text = String::with_capacity(format.len() + 16);
    let mut rest = format.chars();
    while let Some(c) = rest.next() {
        if c != '%' {
            text.push(c);
            continue;
        }
        let Some(directive) = rest.next() else {
            return Err(Code::Location(18535).error("Unmatched '%' at end of format string"));
        };
        text.push_str(&written(directive, at)?);
    }
    Ok(text)
}

/// One directive of a format.
fn written(directive: char, at: &Local) -> Result<String> {
    let civil = &at.civil;
    let week = || calendar::iso_week(at.millis);
    Ok(match directive {
        'Y' => format!("{:04}", civil.year),
        'm' => format!("{:02}", civil.month),
        'd' => format!("{:02}", civil.day),
        'H' => format!("{:02}", civil.hour()),
        'M' => format!("{:02}", civil.minute()),
        'S' => format!("{:02}", civil.second()),
        'L' => format!("{:03}", civil.millisecond()),
        'j' => format!("{:03}", civil.day_of_year()),
        'w' => day_of_week(at.millis).to_string(),
        'u' => week().2.to_string(),
        'V' => format!("{:02}", week().1),
        'G' => format!("{:04}", week().0),
        'U' => format!(
            "{:02}",
            (civil.day_of_year() + 7 - day_of_week(at.millis)) / 7
        ),
        'b' => month_name(civil.month)
            .get(..3)
            .unwrap_or_default()
            .to_owned(),
        'B' => month_name(civil.month).to_owned(),
        'z' => format!(
            "{}{:02}{:02}",
            sign(at.offset),
            hours(at.offset),
            minutes(at.offset)
        ),
        'Z' => (at.offset / 60_000).to_string(),
        '%' => "%".to_owned(),
        other => {
            return Err(Code::Location(18536).error(format!(
                "Invalid format character '%{other}' in format string"
            )));
        }
    })
}

const fn sign(offset: i64) -> char {
    if offset < 0 { '-' } else { '+' }
}

const fn hours(offset: i64) -> i64 {
    offset.abs() / 3_600_000
}

const fn minutes(offset: i64) -> i64 {
    offset.abs() / 60_000 % 60
}

fn month_name(month: i64) -> &'static str {
    const NAMES: [&str; 12] = [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ];
    usize::try_from(month - 1)
        .ok()
        .and_then(|index| NAMES.get(index))
        .copied()
        .unwrap_or_default()
}

fn from_string(call: &mut Call<'_>) -> Result<Evaluated> {
    let Some(offset) = offset(call, 2)? else {
        return NULL;
    };
    if call.is_nullish(0) {
        return Ok(Some(call.take(4).unwrap_or(Bson::Null)));
    }
    let format = match call.get(1) {
        None => None,
        Some(Bson::String(format)) => Some(format.clone()),
        Some(Bson::Null | Bson::Undefined) => return NULL,
        Some(other) => {
            return Err(Code::Location(40684).error(format!(
                "$dateFromString requires that 'format' be a string, found: {}",
                display::type_name(other)
            )));
        }
    };
    let read = match call.get(0) {
        Some(Bson::String(text)) => read(text, format.as_deref())
            .and_then(|millis| millis.checked_sub(offset))
            .ok_or_else(|| {
                Code::ConversionFailure.error(format!(
                    "an incomplete date/time string has been found, with elements missing: \"{text}\""
                ))
            }),
        _ => Err(Code::ConversionFailure.error(format!(
            "$dateFromString requires that 'dateString' be a string, found: {} with value {}",
            call.type_name(0),
            call.shown(0)
        ))),
    };
    match (read, call.take(3)) {
        (Ok(millis), _) => Ok(Some(Bson::DateTime(DateTime::from_millis(millis)))),
        (Err(_), Some(on_error)) => Ok(Some(on_error)),
        (Err(error), None) => Err(error),
    }
}

fn read(text: &str, format: Option<&str>) -> Option<i64> {
    match format {
        None => calendar::parse_iso(text),
        Some(format) => read_as(text, format),
    }
}

/// Reads the numeric directives of a format; what it leaves out is as at the start of 1970.
fn read_as(text: &str, format: &str) -> Option<i64> {
    let mut rest = text.as_bytes();
    let mut civil = Civil {
        year: 1970,
        month: 1,
        day: 1,
        in_day: 0,
    };
    let mut directives = format.bytes();
    while let Some(byte) = directives.next() {
        if byte != b'%' {
            calendar::skip(&mut rest, &[byte])?;
            continue;
        }
        match directives.next()? {
            b'Y' => civil.year = calendar::digits(&mut rest, 4)?,
            b'm' => civil.month = calendar::digits(&mut rest, 2)?,
            b'd' => civil.day = calendar::digits(&mut rest, 2)?,
            b'H' => civil.in_day += calendar::digits(&mut rest, 2).filter(|n| *n < 24)? * 3_600_000,
            b'M' => civil.in_day += calendar::digits(&mut rest, 2).filter(|n| *n < 60)? * 60_000,
            b'S' => civil.in_day += calendar::digits(&mut rest, 2).filter(|n| *n < 60)? * 1000,
            b'L' => civil.in_day += calendar::digits(&mut rest, 3)?,
            b'%' => calendar::skip(&mut rest, b"%")?,
            _ => return None,
        }
    }
    let valid = rest.is_empty()
        && (1..=12).contains(&civil.month)
        && (1..=calendar::days_in_month(civil.year, civil.month)).contains(&civil.day)
        && civil.in_day < DAY;
    if valid { civil.millis() } else { None }
}
