//! A date with its time zone, as the date operators take it from their arguments.

use bson::Bson;

use super::calendar::{self, Civil};
use super::function::Call;
use crate::elsewhere;
use crate::error::{Code, Result};
use crate::value::display;

/// A moment at the offset that was asked for.
pub(super) struct Local {
    pub(super) millis: i64,
    pub(super) civil: Civil,
    pub(super) offset: i64,
}

/// The milliseconds of a date, or of what holds one.
pub(super) fn millis_of(value: &Bson) -> Result<i64> {
    match value {
        Bson::DateTime(date) => Ok(date.timestamp_millis()),
        Bson::ObjectId(id) => Ok(id.timestamp().timestamp_millis()),
        Bson::Timestamp(stamp) => Ok(i64::from(stamp.time) * 1000),
        other => Err(Code::Location(16006).error(format!(
            "can't convert from BSON type {} to Date",
            display::type_name(other)
        ))),
    }
}

/// Milliseconds that local time is ahead of UTC: `None` where the argument is null.
pub(super) fn offset(call: &Call<'_>, index: usize) -> Result<Option<i64>> {
    match call.get(index) {
        None => Ok(Some(0)),
        Some(Bson::Null | Bson::Undefined) => Ok(None),
        Some(Bson::String(zone)) => match zone.as_str() {
            "UTC" | "GMT" | "Etc/UTC" | "Etc/GMT" | "Z" => Ok(Some(0)),
            text => {
                let mut rest = text.as_bytes();
                let offset = calendar::offset(&mut rest).filter(|_| !text.is_empty());
                offset.map(Some).ok_or_else(|| {
                    let problem = if elsewhere::is_time_zone(text) {
                        format!("the time zone \"{text}\" is not supported here")
                    } else {
                        format!("unrecognized time zone identifier: \"{text}\"")
                    };
                    Code::Location(40485).error(format!(
                        "{problem}; UTC and offsets such as \"+02:00\" are supported"
                    ))
                })
            }
        },
        Some(other) => Err(Code::Location(40517).error(format!(
            "timezone must evaluate to a string, found {}",
            display::type_name(other)
        ))),
    }
}

/// The argument `date` at the argument `timezone`; `None` where either is null.
pub(super) fn local(call: &Call<'_>, date: usize, timezone: usize) -> Result<Option<Local>> {
    let Some(offset) = offset(call, timezone)? else {
        return Ok(None);
    };
    if call.is_nullish(date) {
        return Ok(None);
    }
    let Some(value) = call.get(date) else {
        return Ok(None);
    };
    let millis = millis_of(value)?.saturating_add(offset);
    Ok(Some(Local {
        millis,
        civil: Civil::from_millis(millis),
        offset,
    }))
}
