//! The module `k6`.

use plimsoll_base::random::Rng;
use plimsoll_core::Nanos;
use plimsoll_core::metrics::BuiltIn;
use rquickjs::{Class, Coerced, Exception, Function, Object, Result, Value};

use super::http::response::Response;
use super::is_truthy;
use super::stop::stop_if_asked;
use crate::raw::{Call, Native, suspend};
use crate::tags::TagSetId;
use crate::turn::Suspension;

pub(crate) static FUNCTIONS: &[Native] = &[
    Native::new("check", 2, check),
    Native::new("group", 2, group),
    Native::new("sleep", 1, sleep),
    Native::new("fail", 1, fail),
    Native::new("randomSeed", 1, random_seed),
];

/// Group paths are joined with it, so names may not contain it.
const SEPARATOR: &str = "::";

/// `check(value, { name: test }, tags)`: feeds the rate `checks`, never fails the test.
fn check<'js>(call: &Call<'_, 'js>) -> Result<Value<'js>> {
    if call.vu.is_init() {
        return call.fail("check() does not work in the init code: call it inside a function");
    }
    let value = call.arg(0);
    let Some(checks) = call.arg(1).into_object() else {
        return call.fail_type(
            "check() needs an object of named tests: check(res, { \"is 200\": (r) => … })",
        );
    };
    let tags = with_tags(call, call.vu.tags.get(), &call.arg(2))?;
    let mut all_passed = true;
    for entry in checks.props::<String, Value<'js>>() {
        let (name, test) = entry?;
        if name.contains(SEPARATOR) {
            return call.fail(&format!("the check name {name:?} may not contain \"::\""));
        }
        let outcome = match test.as_function() {
            Some(test) => test.call::<_, Value<'js>>((value.clone(),)),
            None => Ok(test),
        };
        let passed = outcome.as_ref().is_ok_and(is_truthy);
        all_passed &= passed;
        let system = &call.vu.worker.settings.system_tags;
        let tags = if system.check {
            call.vu.worker.tag(tags, "check", &name)
        } else {
            tags
        };
        call.vu
            .sample(BuiltIn::Checks.into(), f64::from(u8::from(passed)), tags);
        if outcome.is_err() {
            call.vu.worker.host.check_failed(answered_call(&value));
        }
        outcome?;
    }
    if !all_passed {
        call.vu.worker.host.check_failed(answered_call(&value));
    }
    Ok(call.boolean(all_passed))
}

/// The call that a checked value is the answer to.
fn answered_call(value: &Value<'_>) -> Option<u64> {
    let response = Class::<Response>::from_value(value).ok()?;
    let call = response.borrow().call();
    Some(call)
}

/// The set with the members of a tags object added.
pub(crate) fn with_tags<'js>(
    call: &Call<'_, 'js>,
    base: TagSetId,
    tags: &Value<'js>,
) -> Result<TagSetId> {
    let mut set = base;
    let Some(tags) = tags.as_object() else {
        return Ok(set);
    };
    for entry in tags.props::<String, Coerced<String>>() {
        let (name, value) = entry?;
        set = call.vu.worker.tag(set, &name, &value.0);
    }
    Ok(set)
}

/// `group(name, fn)`: runs `fn` with the group's path as the tag `group`, and measures it.
fn group<'js>(call: &Call<'_, 'js>) -> Result<Value<'js>> {
    let vu = &call.vu;
    if vu.is_init() {
        return call.fail("group() does not work in the init code: call it inside a function");
    }
    let name = call.text(0)?;
    let Some(body) = call.arg(1).into_function() else {
        return call.fail_type("group() needs a function: group(\"name\", () => { … })");
    };
    if name.contains(SEPARATOR) {
        return call.fail(&format!("the group name {name:?} may not contain \"::\""));
    }
    if is_async(&body) {
        return call.fail_type(
            "group() does not take async functions: what follows an await would run outside of the group",
        );
    }
    let outer = vu.group.borrow().clone();
    let path = format!("{outer}{SEPARATOR}{name}");
    enter_group(call, &path);
    let begun = vu.now();
    let returned = body.call::<_, Value<'js>>(());
    let took = vu.now().saturating_sub(begun);
    vu.sample(
        BuiltIn::GroupDuration.into(),
        took.as_millis_f64(),
        vu.tags.get(),
    );
    enter_group(call, &outer);
    returned
}

fn enter_group(call: &Call<'_, '_>, path: &str) {
    let vu = &call.vu;
    if vu.worker.settings.system_tags.group {
        let tags = vu.worker.tag(vu.tags.get(), "group", path);
        vu.tags.set(tags);
    }
    path.clone_into(&mut vu.group.borrow_mut());
}

fn is_async(function: &Function<'_>) -> bool {
    let constructor = function
        .as_object()
        .and_then(|object| object.get::<_, Object<'_>>("constructor").ok());
    let name = constructor.and_then(|constructor| constructor.get::<_, String>("name").ok());
    name.is_some_and(|name| name == "AsyncFunction")
}

/// `sleep(seconds)`: suspends the virtual user.
fn sleep<'js>(call: &Call<'_, 'js>) -> Result<Value<'js>> {
    let seconds: Coerced<f64> = call.arg(0).get()?;
    if call.vu.is_init() {
        return call.fail("sleep() does not work in the init code: call it inside a function");
    }
    pause(call, Nanos::from_secs_f64(seconds.0))?;
    Ok(call.undefined())
}

fn pause(call: &Call<'_, '_>, pause: Nanos) -> Result<()> {
    let resumption = suspend(&call.ctx, &call.vu, Suspension::Sleep(pause))?;
    stop_if_asked(call, &resumption)
}

/// `fail(message)`: throws, so the iteration ends.
fn fail<'js>(call: &Call<'_, 'js>) -> Result<Value<'js>> {
    let message = call.text(0)?;
    Err(Exception::throw_message(&call.ctx, &message))
}

/// `randomSeed(n)`: from here on `Math.random` of this virtual user repeats.
fn random_seed<'js>(call: &Call<'_, 'js>) -> Result<Value<'js>> {
    let seed: Coerced<f64> = call.arg(0).get()?;
    *call.vu.rng.borrow_mut() = Rng::new(seed.0.to_bits(), 0);
    Ok(call.undefined())
}
