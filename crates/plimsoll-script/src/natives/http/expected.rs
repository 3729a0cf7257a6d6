//! Which statuses count as expected.

use std::rc::Rc;

use rquickjs::class::{JsClass, Readable, Trace};
use rquickjs::function::Constructor;
use rquickjs::{Class, Ctx, JsLifetime, Object, Result, Value};

use crate::raw::Call;

/// The rule that `http_req_failed` and the tag `expected_response` follow.
#[derive(Debug, Clone, Default)]
pub(crate) enum Expected {
    /// 200 to 399.
    #[default]
    Usual,
    /// Inclusive ranges.
    Ranges(Rc<[(u16, u16)]>),
    /// A callback of null: nobody asks.
    Off,
}

impl Expected {
    /// Whether that status was expected; none if nobody asks.
    pub(crate) fn judge(&self, status: u16) -> Option<bool> {
        match self {
            Self::Usual => Some((200..400).contains(&status)),
            Self::Ranges(ranges) => Some(
                ranges
                    .iter()
                    .any(|(low, high)| (*low..=*high).contains(&status)),
            ),
            Self::Off => None,
        }
    }

    /// What a script gave as response callback.
    pub(crate) fn of_value(call: &Call<'_, '_>, value: &Value<'_>) -> Result<Self> {
        if value.is_null() {
            return Ok(Self::Off);
        }
        match Class::<Statuses>::from_value(value) {
            Ok(statuses) => Ok(Self::Ranges(Rc::clone(&statuses.borrow().ranges))),
            Err(_) => call.fail_type(
                "a response callback must come from http.expectedStatuses(…), or be null to switch it off",
            ),
        }
    }
}

#[derive(Trace, JsLifetime)]
struct Statuses {
    #[qjs(skip_trace)]
    ranges: Rc<[(u16, u16)]>,
}

impl<'js> JsClass<'js> for Statuses {
    const NAME: &'static str = "ExpectedStatuses";
    type Mutable = Readable;

    fn prototype(ctx: &Ctx<'js>) -> Result<Option<Object<'js>>> {
        Object::new(ctx.clone()).map(Some)
    }

    fn constructor(_ctx: &Ctx<'js>) -> Result<Option<Constructor<'js>>> {
        Ok(None)
    }
}

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
    let expected = Expected::of_value(call, &call.arg(0))?;
    *call.vu.http.expected.borrow_mut() = expected;
    Ok(call.undefined())
}
