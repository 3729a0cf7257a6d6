//! Dates by units: `$dateAdd`, `$dateDiff`, `$dateTrunc`.

use bson::{Bson, DateTime};

use super::Evaluated;
use super::calendar::{Civil, DAY, day_of_week, days_since_1970};
use super::function::{Call, NULL};
use super::moment::{Local, local};
use crate::error::{Code, Result};
use crate::value::Number;

/// A unit is a fixed time, or a number of months.
#[derive(Clone, Copy)]
enum Unit {
    /// So many milliseconds.
    Fixed(i64),
    Week,
    Months(i64),
}

fn unit(call: &Call<'_>, index: usize) -> Result<Unit> {
    let Some(Bson::String(name)) = call.get(index) else {
        return Err(Code::Location(5_439_013).error(format!(
            "{} requires 'unit' to be a string, but got {}",
            call.name,
            call.type_name(index)
        )));
    };
    Ok(match name.as_str() {
        "year" => Unit::Months(12),
        "quarter" => Unit::Months(3),
        "month" => Unit::Months(1),
        "week" => Unit::Week,
        "day" => Unit::Fixed(DAY),
        "hour" => Unit::Fixed(3_600_000),
        "minute" => Unit::Fixed(60_000),
        "second" => Unit::Fixed(1000),
        "millisecond" => Unit::Fixed(1),
        other => {
            return Err(Code::FailedToParse.error(format!("unknown time unit value: {other}")));
        }
    })
}

fn date(call: &Call<'_>, local_millis: Option<i64>, offset: i64) -> Result<Evaluated> {
    local_millis
        .and_then(|millis| millis.checked_sub(offset))
        .map(|millis| Some(Bson::DateTime(DateTime::from_millis(millis))))
        .ok_or_else(|| Code::Location(5_166_406).error(format!("{} overflowed", call.name)))
}

/// `startDate`, `unit`, `amount`, `timezone`; `sign` is -1 for `$dateSubtract`.
pub(super) fn add(call: &mut Call<'_>, sign: i64) -> Result<Evaluated> {
    if call.is_nullish(1) || call.is_nullish(2) {
        return NULL;
    }
    let Some(at) = local(call, 0, 3)? else {
        return NULL;
    };
    let unit = unit(call, 1)?;
    let amount = call.whole(2).ok_or_else(|| {
        Code::Location(5_166_405).error(format!(
            "{} expects integer amount of time units",
            call.name
        ))
    })?;
    let later = amount.checked_mul(sign).and_then(|amount| match unit {
        Unit::Fixed(millis) => at.millis.checked_add(amount.checked_mul(millis)?),
        Unit::Week => at.millis.checked_add(amount.checked_mul(7 * DAY)?),
        Unit::Months(months) => at.civil.plus_months(amount.checked_mul(months)?)?.millis(),
    });
    date(call, later, at.offset)
}

/// How many boundaries of the unit lie between `startDate` and `endDate`.
pub(super) fn difference(call: &mut Call<'_>) -> Result<Evaluated> {
    if call.is_nullish(2) {
        return NULL;
    }
    let (Some(start), Some(end)) = (local(call, 0, 3)?, local(call, 1, 3)?) else {
        return NULL;
    };
    let unit = unit(call, 2)?;
    let first_day = first_day(call, 4)?;
    let count = |at: &Local| match unit {
        Unit::Fixed(millis) => at.millis.div_euclid(millis),
        Unit::Week => week_start(at.millis, first_day).div_euclid(7 * DAY),
        Unit::Months(months) => (at.civil.year * 12 + at.civil.month - 1).div_euclid(months),
    };
    match count(&end).checked_sub(count(&start)) {
        Some(difference) => Ok(Some(Bson::Int64(difference))),
        None => Err(Code::Location(5_166_308).error("dateDiff overflowed")),
    }
}

/// 1 is Sunday, as `$dayOfWeek` counts; weeks begin on Sunday unless told otherwise.
fn first_day(call: &Call<'_>, index: usize) -> Result<i64> {
    let name = match call.get(index) {
        None | Some(Bson::Null | Bson::Undefined) => return Ok(1),
        Some(Bson::String(name)) => name.to_ascii_lowercase(),
        Some(_) => String::new(),
    };
    Ok(match name.as_str() {
        "sunday" | "sun" => 1,
        "monday" | "mon" => 2,
        "tuesday" | "tue" => 3,
        "wednesday" | "wed" => 4,
        "thursday" | "thu" => 5,
        "friday" | "fri" => 6,
        "saturday" | "sat" => 7,
        _ => {
            return Err(Code::Location(5_439_015).error(format!(
                "{}: parameter 'startOfWeek' value cannot be recognized as a day of a week",
                call.name
            )));
        }
    })
}

/// Midnight of the day on which the week began.
fn week_start(millis: i64, first_day: i64) -> i64 {
    let since = (day_of_week(millis) - first_day).rem_euclid(7);
    (millis.div_euclid(DAY) - since).saturating_mul(DAY)
}

/// The start of the unit, or of the bin of `binSize` units counted from 2000-01-01, that holds `date`.
pub(super) fn truncate(call: &mut Call<'_>) -> Result<Evaluated> {
    if call.is_nullish(1) {
        return NULL;
    }
    let Some(at) = local(call, 0, 3)? else {
        return NULL;
    };
    let unit = unit(call, 1)?;
    let size = match call.get(2) {
        None => 1,
        Some(Bson::Null | Bson::Undefined) => return NULL,
        Some(value) => Number::from_bson(value)
            .and_then(Number::to_i64_exact)
            .filter(|size| *size > 0)
            .ok_or_else(|| {
                Code::Location(5_439_017)
                    .error("$dateTrunc requires 'binSize' to be a 64-bit integer greater than 0")
            })?,
    };
    let first_day = first_day(call, 4)?;
    let start = match unit {
        Unit::Fixed(millis) => fixed_bin(at.millis, millis.checked_mul(size), REFERENCE),
        Unit::Week => {
            let reference = week_start(REFERENCE + 6 * DAY, first_day);
            fixed_bin(at.millis, (7 * DAY).checked_mul(size), reference)
        }
        Unit::Months(months) => month_bin(&at.civil, months.checked_mul(size)),
    };
    date(call, start, at.offset)
}

/// 2000-01-01, from which MongoDB counts bins.
const REFERENCE: i64 = 946_684_800_000;

fn fixed_bin(millis: i64, width: Option<i64>, reference: i64) -> Option<i64> {
    // Wider than all of time: there is one bin, and it begins at the reference.
    let width = width.unwrap_or(i64::MAX);
    let since = millis.checked_sub(reference)?;
    since
        .div_euclid(width)
        .checked_mul(width)?
        .checked_add(reference)
}

fn month_bin(civil: &Civil, months: Option<i64>) -> Option<i64> {
    let months = months.unwrap_or(i64::MAX);
    let since = (civil.year - 2000) * 12 + civil.month - 1;
    let start = since.div_euclid(months).checked_mul(months)?;
    let (year, month) = (
        start.div_euclid(12).checked_add(2000)?,
        start.rem_euclid(12) + 1,
    );
    days_since_1970(year, month, 1)?.checked_mul(DAY)
}
