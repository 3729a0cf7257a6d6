//! The helper library `k6-utils`, native: every virtual user that imports it holds a few function objects, no code.
//! What few scripts call is JavaScript that is loaded at the first call.

use rquickjs::function::Args;
use rquickjs::{Array, Coerced, Function, Module, Object, Result, Value};

use crate::raw::{Call, Native};
use crate::resolve::Target;

pub(crate) static FUNCTIONS: &[Native] = &[
    Native::new("randomIntBetween", 2, random_int_between),
    Native::new("randomItem", 1, random_item),
    Native::new("randomString", 2, random_string),
    Native::new("uuidv4", 1, super::crypto::random_uuid),
    Native::new("findBetween", 4, find_between),
    Native::new("parseDuration", 1, parse_duration),
    Native::new("check", 3, |call| library(call, "k6-utils", "check")),
    Native::new("normalDistributionStages", 3, |call| {
        library(call, "k6-utils", "normalDistributionStages")
    }),
    Native::new("getCurrentStageIndex", 0, |call| {
        library(call, "k6-utils", "getCurrentStageIndex")
    }),
    Native::new("tagWithCurrentStageIndex", 0, |call| {
        library(call, "k6-utils", "tagWithCurrentStageIndex")
    }),
    Native::new("tagWithCurrentStageProfile", 0, |call| {
        library(call, "k6-utils", "tagWithCurrentStageProfile")
    }),
];

/// The helper library `k6-summary`: called once per run, at its end.
pub(crate) static SUMMARY: &[Native] = &[
    Native::new("textSummary", 2, |call| {
        library(call, "k6-summary", "textSummary")
    }),
    Native::new("humanizeValue", 3, |call| {
        library(call, "k6-summary", "humanizeValue")
    }),
    Native::new("jUnit", 2, |call| library(call, "k6-summary", "jUnit")),
];

/// Calls a function of one of our JavaScript libraries.
fn library<'js>(call: &Call<'_, 'js>, library: &'static str, function: &str) -> Result<Value<'js>> {
    let id = Target::Library(library).id();
    let exports: Object<'js> = Module::import(&call.ctx, id)?.finish()?;
    let function: Function<'js> = exports.get(function)?;
    let mut args = Args::new(call.ctx.clone(), call.args.len());
    for value in call.args {
        args.push_arg(value.clone())?;
    }
    function.call_arg(args)
}

/// Below 1, in steps of 2^-53.
pub(crate) fn random(call: &Call<'_, '_>) -> f64 {
    let bits = call.vu.rng.borrow_mut().next_u64() >> 11;
    bits as f64 / (1u64 << 53) as f64
}

fn random_int_between<'js>(call: &Call<'_, 'js>) -> Result<Value<'js>> {
    let (low, high): (Coerced<f64>, Coerced<f64>) = (call.arg(0).get()?, call.arg(1).get()?);
    let number = (random(call) * (high.0 - low.0 + 1.0)).floor() + low.0;
    Ok(call.number(number))
}

fn random_item<'js>(call: &Call<'_, 'js>) -> Result<Value<'js>> {
    let Some(items) = call.arg(0).into_object() else {
        return call.fail_type("randomItem() needs an array");
    };
    let length: Coerced<f64> = items.get("length")?;
    items.get((random(call) * length.0) as u32)
}

fn random_string<'js>(call: &Call<'_, 'js>) -> Result<Value<'js>> {
    let length: Coerced<f64> = call.arg(0).get()?;
    let characters: Vec<char> = match call.text_if_given(1)? {
        Some(given) => given.chars().collect(),
        None => ('a'..='z').collect(),
    };
    let pick = |_| characters.get((random(call) * characters.len() as f64) as usize);
    let text: String = (0..length.0.max(0.0) as usize).filter_map(pick).collect();
    call.string(&text)
}

/// What stands between two marks: the first find or null, with `true` all of them.
fn find_between<'js>(call: &Call<'_, 'js>) -> Result<Value<'js>> {
    let (content, left, right) = (call.text(0)?, call.text(1)?, call.text(2)?);
    let wants_all = super::is_truthy(&call.arg(3));
    let found = Array::new(call.ctx.clone())?;
    let mut rest = content.as_str();
    while let Some((inside, after)) = rest
        .split_once(&left)
        .and_then(|(_, rest)| rest.split_once(&right))
    {
        let inside = rquickjs::String::from_str(call.ctx.clone(), inside)?.into_value();
        if !wants_all {
            return Ok(inside);
        }
        found.set(found.len(), inside)?;
        rest = after;
    }
    if wants_all {
        return Ok(found.into_value());
    }
    Ok(call.null())
}

/// `1d2h30m5s100ms` in milliseconds.
fn parse_duration<'js>(call: &Call<'_, 'js>) -> Result<Value<'js>> {
    let text = call.text(0)?;
    match super::http::params::parse_seconds(&text) {
        Some(seconds) => Ok(call.number((seconds * 1e6).round() / 1e3)),
        None => call.fail(&format!(
            "parseDuration(): {text:?} is not a duration such as \"1h30m\", with the units d, h, m, s and ms"
        )),
    }
}
