//! The module `k6/execution`: where in the test a script is, and the ways to end it.

use std::rc::Rc;

use rquickjs::class::{ClassKind, JsClass, Readable, Trace};
use rquickjs::function::Constructor;
use rquickjs::{Atom, Class, Coerced, Ctx, JsLifetime, Object, Result, Value};

use super::{Named, set_functions, set_getters};
use crate::raw::{Call, Native, state_of, throw_uncatchable};
use crate::turn::{End, Scenario};

pub(crate) const NAMES: [&str; 4] = ["instance", "scenario", "test", "vu"];

pub(crate) static INSTANCE: &[Native] = &[
    Native::new("currentTestRunDuration", 0, |call| {
        let now = call.vu.now();
        number(call, now.as_millis_f64())
    }),
    Native::new("iterationsCompleted", 0, |call| {
        number(
            call,
            call.vu.worker.host.instance().iterations_completed as f64,
        )
    }),
    Native::new("iterationsInterrupted", 0, |call| {
        number(
            call,
            call.vu.worker.host.instance().iterations_interrupted as f64,
        )
    }),
    Native::new("vusActive", 0, |call| {
        number(call, call.vu.worker.host.instance().vus_active as f64)
    }),
    Native::new("vusInitialized", 0, |call| {
        number(call, call.vu.worker.host.instance().vus_initialized as f64)
    }),
];

pub(crate) static SCENARIO: &[Native] = &[
    Native::new("name", 0, |call| {
        let scenario = scenario(call)?;
        string(call, &scenario.name)
    }),
    Native::new("executor", 0, |call| {
        let scenario = scenario(call)?;
        string(call, &scenario.executor)
    }),
    Native::new("startTime", 0, |call| {
        let scenario = scenario(call)?;
        number(call, scenario.start_unix_ms as f64)
    }),
    Native::new("progress", 0, |call| {
        let scenario = scenario(call)?;
        number(call, call.vu.worker.host.scenario_progress(&scenario.name))
    }),
    Native::new("iterationInInstance", 0, |call| {
        scenario(call)?;
        number(call, call.vu.iteration.borrow().in_instance as f64)
    }),
    Native::new("iterationInTest", 0, |call| {
        scenario(call)?;
        number(call, call.vu.iteration.borrow().in_test as f64)
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
        number(call, call.vu.iteration.borrow().vu_in_instance as f64)
    }),
    Native::new("idInTest", 0, |call| {
        number(call, call.vu.iteration.borrow().vu_in_test as f64)
    }),
    Native::new("iterationInInstance", 0, |call| {
        number(call, call.vu.iteration.borrow().in_vu as f64)
    }),
    Native::new("iterationInScenario", 0, |call| {
        number(call, call.vu.iteration.borrow().in_scenario as f64)
    }),
];

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
    let metrics = Object::new(ctx.clone())?;
    let tags = Class::instance(ctx.clone(), Tags {})?;
    metrics.set("tags", tags.clone())?;
    metrics.set("metadata", Object::new(ctx.clone())?)?;
    vu.set("metrics", metrics)?;
    vu.set("tags", tags)?;
    Ok(vec![
        ("instance", object(INSTANCE)?.into_value()),
        ("scenario", object(SCENARIO)?.into_value()),
        ("test", test.into_value()),
        ("vu", vu.into_value()),
    ])
}

#[expect(clippy::unnecessary_wraps, reason = "the table of natives asks for it")]
fn number<'js>(call: &Call<'_, 'js>, number: f64) -> Result<Value<'js>> {
    Ok(Value::new_number(call.ctx.clone(), number))
}

fn string<'js>(call: &Call<'_, 'js>, text: &str) -> Result<Value<'js>> {
    Ok(rquickjs::String::from_str(call.ctx.clone(), text)?.into_value())
}

fn scenario(call: &Call<'_, '_>) -> Result<Rc<Scenario>> {
    let scenario = call.vu.iteration.borrow().scenario.clone();
    match scenario {
        Some(scenario) => Ok(scenario),
        None => call.fail("exec.scenario is only known in a function that a scenario runs, not in init, setup or teardown"),
    }
}

fn message_of(call: &Call<'_, '_>) -> Result<Option<String>> {
    match call.args.first() {
        Some(message) if !message.is_undefined() => Ok(Some(message.get::<Coerced<String>>()?.0)),
        _ => Ok(None),
    }
}

/// `test.abort(message)`: ends this iteration and the whole test.
fn abort<'js>(call: &Call<'_, 'js>) -> Result<Value<'js>> {
    let given = message_of(call)?;
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
    let message = message_of(call)?.unwrap_or_default();
    call.vu.worker.host.mark_failed(&message);
    Ok(call.undefined())
}

/// `exec.vu.metrics.tags`: reading and assigning reads and changes the tags of the samples that follow.
#[derive(Trace, JsLifetime)]
struct Tags {}

impl<'js> JsClass<'js> for Tags {
    const NAME: &'static str = "Tags";
    const KIND: ClassKind = ClassKind::Exotic;
    type Mutable = Readable;

    fn constructor(_ctx: &Ctx<'js>) -> Result<Option<Constructor<'js>>> {
        Ok(None)
    }

    fn exotic_get_property(
        _this: &rquickjs::class::JsCell<'js, Self>,
        ctx: &Ctx<'js>,
        atom: Atom<'js>,
        _receiver: Value<'js>,
    ) -> Result<Value<'js>> {
        let name = atom.to_string()?;
        if name == "toJSON" {
            return Ok(rquickjs::Function::new(ctx.clone(), plain_tags)?.into_value());
        }
        let found = current(ctx).into_iter().find(|(known, _)| *known == name);
        match found {
            Some((_, value)) => Ok(rquickjs::String::from_str(ctx.clone(), &value)?.into_value()),
            None => Ok(Value::new_undefined(ctx.clone())),
        }
    }

    fn exotic_set_property(
        _this: &rquickjs::class::JsCell<'js, Self>,
        ctx: &Ctx<'js>,
        atom: Atom<'js>,
        _receiver: Value<'js>,
        value: Value<'js>,
    ) -> Result<bool> {
        let vu = state_of(ctx);
        let name = atom.to_string()?;
        if value.is_object() || value.is_undefined() || value.is_null() {
            let message = format!("the tag {name:?} must be text, a number or a truth value");
            return Err(rquickjs::Exception::throw_type(ctx, &message));
        }
        let value: Coerced<String> = value.get()?;
        vu.tags.set(vu.worker.tag(vu.tags.get(), &name, &value.0));
        Ok(true)
    }

    fn exotic_delete_property(
        _this: &rquickjs::class::JsCell<'js, Self>,
        ctx: &Ctx<'js>,
        atom: Atom<'js>,
    ) -> Result<bool> {
        let vu = state_of(ctx);
        let name = atom.to_string()?;
        let tags = vu.worker.tags.borrow_mut().without(vu.tags.get(), &name);
        vu.tags.set(tags);
        Ok(true)
    }
}

fn current(ctx: &Ctx<'_>) -> Vec<(String, String)> {
    let vu = state_of(ctx);
    let table = vu.worker.tags.borrow();
    let tags = table.tags(vu.tags.get()).iter();
    tags.map(|(name, value)| (name.to_string(), value.to_string()))
        .collect()
}

#[expect(clippy::needless_pass_by_value, reason = "the engine hands it over")]
fn plain_tags(ctx: Ctx<'_>) -> Result<Object<'_>> {
    let plain = Object::new(ctx.clone())?;
    for (name, value) in current(&ctx) {
        plain.set(name, value)?;
    }
    Ok(plain)
}
