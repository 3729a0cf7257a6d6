//! Which statuses count as expected.

use std::rc::Rc;

use rquickjs::{Class, JsLifetime, Result, Value};

use crate::http::session::Expected;
use crate::raw::Call;

/// What a script gave as response callback.
pub(crate) fn from_value(call: &Call<'_, '_>, value: &Value<'_>) -> Result<Expected> {
    if value.is_null() {
        return Ok(Expected::Off);
    }
    match Class::<Statuses>::from_value(value) {
        Ok(statuses) => Ok(Expected::Ranges(Rc::clone(&statuses.borrow().ranges))),
        Err(_) => call.fail_type(
            "a response callback must come from http.expectedStatuses(…), or be null to switch it off",
        ),
    }
}

#[derive(JsLifetime)]
struct Statuses {
    ranges: Rc<[(u16, u16)]>,
}

class!(Statuses, "ExpectedStatuses", |_| Ok(()));

/// `http.expectedStatuses(200, { min: 300, max: 399 })`.
pub(crate) fn create<'js>(call: &Call<'_, 'js>) -> Result<Value<'js>> {
    const USAGE: &str = "http.expectedStatuses() needs statuses or ranges: http.expectedStatuses(200, { min: 400, max: 499 })";
    if call.args.is_empty() {
        return call.fail_type(USAGE);
    }
    let mut ranges = Vec::with_capacity(call.args.len());
    for value in call.args {
        let range = match (value.as_number(), value.as_object()) {
            (Some(status), _) => Some((status as u16, status as u16)),
            (None, Some(range)) => match (range.get("min"), range.get("max")) {
                (Ok(low), Ok(high)) => Some((low, high)),
                _ => None,
            },
            (None, None) => None,
        };
        match range {
            Some(range) => ranges.push(range),
            None => return call.fail_type(USAGE),
        }
    }
    let ranges = ranges.into();
    Ok(Class::instance(call.ctx.clone(), Statuses { ranges })?.into_value())
}

/// `http.setResponseCallback(callback)`: from here on for this virtual user.
pub(crate) fn set_default<'js>(call: &Call<'_, 'js>) -> Result<Value<'js>> {
    let expected = from_value(call, &call.arg(0))?;
    *call.vu.http.expected.borrow_mut() = expected;
    Ok(call.undefined())
}
