//! The module `k6/execution`: where in the test a script is, and the ways to end it.

use std::rc::Rc;

use rquickjs::function::Constructor;
use rquickjs::{Array, Coerced, Ctx, Object, Result, Value};

use super::{Named, set_functions, set_getters};
use crate::host::Instance;
use crate::raw::{Call, Native, throw_uncatchable};
use crate::turn::{End, Iteration, Scenario};

pub(crate) const NAMES: [&str; 4] = ["instance", "scenario", "test", "vu"];

pub(crate) static INSTANCE: &[Native] = &[
    Native::new("currentTestRunDuration", 0, |call| {
        Ok(call.number(call.vu.now().as_millis_f64()))
    }),
    Native::new("iterationsCompleted", 0, |call| {
        instance(call, |instance| instance.iterations_completed)
    }),
    Native::new("iterationsInterrupted", 0, |call| {
        instance(call, |instance| instance.iterations_interrupted)
    }),
    Native::new("vusActive", 0, |call| {
        instance(call, |instance| instance.vus_active)
    }),
    Native::new("vusInitialized", 0, |call| {
        instance(call, |instance| instance.vus_initialized)
    }),
];

pub(crate) static SCENARIO: &[Native] = &[
    Native::new("name", 0, |call| call.string(&scenario(call)?.name)),
    Native::new("executor", 0, |call| call.string(&scenario(call)?.executor)),
    Native::new("startTime", 0, |call| {
        Ok(call.number(scenario(call)?.start_unix_ms as f64))
    }),
    Native::new("progress", 0, |call| {
        let scenario = scenario(call)?;
        Ok(call.number(call.vu.worker.host.scenario_progress(&scenario.name)))
    }),
    Native::new("iterationInInstance", 0, |call| {
        scenario(call)?;
        iteration(call, |iteration| iteration.in_instance)
    }),
    Native::new("iterationInTest", 0, |call| {
        scenario(call)?;
        iteration(call, |iteration| iteration.in_test)
    }),
];

pub(crate) static TEST: &[Native] = &[Native::new("options", 0, |call| {
    let options = &call.vu.worker.settings.options_json;
    call.ctx.json_parse(options.as_bytes())
})];

pub(crate) static TEST_FUNCTIONS: &[Native] =
    &[Native::new("abort", 1, abort), Native::new("fail", 1, fail)];

pub(crate) static VU: &[Native] = &[
    Native::new("idInInstance", 0, |call| {
        iteration(call, |iteration| iteration.vu_in_instance)
    }),
    Native::new("idInTest", 0, |call| {
        iteration(call, |iteration| iteration.vu_in_test)
    }),
    Native::new("iterationInInstance", 0, |call| {
        iteration(call, |iteration| iteration.in_vu)
    }),
    Native::new("iterationInScenario", 0, |call| {
        iteration(call, |iteration| iteration.in_scenario)
    }),
    Native::new("tags", 0, tags),
];

/// `exec.vu.metrics`.
pub(crate) static VU_METRICS: &[Native] = &[
    Native::new("tags", 0, tags),
    Native::new("metadata", 0, |call| {
        let cached = call
            .vu
            .cached(&call.ctx, "metadata", |ctx| Object::new(ctx.clone()))?;
        Ok(cached.into_value())
    }),
];

fn tags<'js>(call: &Call<'_, 'js>) -> Result<Value<'js>> {
    let cached = call.vu.cached(&call.ctx, "tags", tags_object)?;
    Ok(cached.into_value())
}

/// The four objects; their members are computed when they are read.
pub(crate) fn values<'js>(ctx: &Ctx<'js>) -> Result<Named<'js>> {
    let object = |getters| -> Result<Object<'js>> {
        let object = Object::new(ctx.clone())?;
        set_getters(&object, getters)?;
        Ok(object)
    };
    let test = object(TEST)?;
    set_functions(&test, TEST_FUNCTIONS)?;
    let vu = object(VU)?;
    vu.set("metrics", object(VU_METRICS)?)?;
    Ok(vec![
        ("instance", object(INSTANCE)?.into_value()),
        ("scenario", object(SCENARIO)?.into_value()),
        ("test", test.into_value()),
        ("vu", vu.into_value()),
    ])
}

#[expect(clippy::unnecessary_wraps, reason = "the table of natives asks for it")]
fn instance<'js>(call: &Call<'_, 'js>, read: fn(&Instance) -> u64) -> Result<Value<'js>> {
    Ok(call.number(read(&call.vu.worker.host.instance()) as f64))
}

#[expect(clippy::unnecessary_wraps, reason = "the table of natives asks for it")]
fn iteration<'js>(call: &Call<'_, 'js>, read: fn(&Iteration) -> u64) -> Result<Value<'js>> {
    Ok(call.number(read(&call.vu.iteration.borrow()) as f64))
}

fn scenario(call: &Call<'_, '_>) -> Result<Rc<Scenario>> {
    let scenario = call.vu.iteration.borrow().scenario.clone();
    match scenario {
        Some(scenario) => Ok(scenario),
        None => call.fail("exec.scenario is only known in a function that a scenario runs, not in init, setup or teardown"),
    }
}

/// `test.abort(message)`: ends this iteration and the whole test.
fn abort<'js>(call: &Call<'_, 'js>) -> Result<Value<'js>> {
    let given = call.text_if_given(0)?;
    let message = match given {
        Some(given) => format!("test aborted: {given}"),
        None => "test aborted".to_owned(),
    };
    *call.vu.ending.borrow_mut() = Some(End::Abort {
        message: message.as_str().into(),
    });
    Err(throw_uncatchable(&call.ctx, &message))
}

/// `test.fail(message)`: the test goes on and counts as failed in the end.
fn fail<'js>(call: &Call<'_, 'js>) -> Result<Value<'js>> {
    let message = call.text_if_given(0)?.unwrap_or_default();
    call.vu.worker.host.mark_failed(&message);
    Ok(call.undefined())
}

/// The traps of `exec.vu.metrics.tags`, a proxy: reading and assigning reads and changes the tags of the samples
/// that follow. (Not an exotic class: the engine's bindings free an assigned value twice there.)
pub(crate) static TAG_TRAPS: &[Native] = &[
    Native::new("get", 3, |call| {
        let Some(name) = tag_name(call) else {
            return Ok(call.undefined());
        };
        let found = current(call).into_iter().find(|(known, _)| *known == name);
        match found {
            Some((_, value)) => call.string(&value),
            None => Ok(call.undefined()),
        }
    }),
    Native::new("set", 4, set_tag),
    Native::new("has", 2, |call| {
        let has = tag_name(call)
            .is_some_and(|name| current(call).iter().any(|(known, _)| *known == name));
        Ok(call.boolean(has))
    }),
    Native::new("deleteProperty", 2, |call| {
        if let Some(name) = tag_name(call) {
            let vu = &call.vu;
            let tags = vu.worker.tags.borrow_mut().without(vu.tags.get(), &name);
            vu.tags.set(tags);
        }
        Ok(call.boolean(true))
    }),
    Native::new("ownKeys", 1, |call| {
        let names = Array::new(call.ctx.clone())?;
        for (name, _) in current(call) {
            names.set(names.len(), name)?;
        }
        Ok(names.into_value())
    }),
    Native::new("getOwnPropertyDescriptor", 2, |call| {
        let name = tag_name(call).unwrap_or_default();
        let Some((_, value)) = current(call).into_iter().find(|(known, _)| *known == name) else {
            return Ok(call.undefined());
        };
        let descriptor = Object::new(call.ctx.clone())?;
        descriptor.set("value", value)?;
        for flag in ["writable", "enumerable", "configurable"] {
            descriptor.set(flag, true)?;
        }
        Ok(descriptor.into_value())
    }),
];

fn tags_object<'js>(ctx: &Ctx<'js>) -> Result<Object<'js>> {
    let (target, traps) = (Object::new(ctx.clone())?, Object::new(ctx.clone())?);
    set_functions(&traps, TAG_TRAPS)?;
    let proxy: Constructor<'js> = ctx.globals().get("Proxy")?;
    proxy.construct((target, traps))
}

/// The name that a trap is asked about; symbols name no tag.
fn tag_name(call: &Call<'_, '_>) -> Option<String> {
    call.arg(1).as_string()?.to_string().ok()
}

fn set_tag<'js>(call: &Call<'_, 'js>) -> Result<Value<'js>> {
    let (name, value) = (tag_name(call).unwrap_or_default(), call.arg(2));
    if value.is_object() || value.is_undefined() || value.is_null() {
        return call.fail_type(&format!(
            "the tag {name:?} must be text, a number or a truth value"
        ));
    }
    let value: Coerced<String> = value.get()?;
    let vu = &call.vu;
    vu.tags.set(vu.worker.tag(vu.tags.get(), &name, &value.0));
    Ok(call.boolean(true))
}

fn current(call: &Call<'_, '_>) -> Vec<(String, String)> {
    let table = call.vu.worker.tags.borrow();
    let tags = table.tags(call.vu.tags.get()).iter();
    tags.map(|(name, value)| (name.to_string(), value.to_string()))
        .collect()
}
