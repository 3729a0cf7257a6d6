//! Runs one function of the script from its start to its end, timers and promises included.

use std::rc::Rc;

use rquickjs::function::Args;
use rquickjs::{Ctx, Exception, Function, Persistent, Promise, Result, Value};

use crate::error::ScriptError;
use crate::natives::http::waiting;
use crate::natives::{globals, timers};
use crate::raw::{place_of, run_job};
use crate::tags::TagSetId;
use crate::thrown;
use crate::turn::{End, Iteration, Resumption, Thrown};
use crate::vu_state::VuState;

/// The body of the fiber of one iteration.
pub(crate) fn run(ctx: &Ctx<'_>, vu: &Rc<VuState>, resumption: Resumption) -> End {
    let Resumption::Start(iteration) = resumption else {
        return End::Interrupted;
    };
    begin(vu, iteration);
    let end = match call(ctx, vu) {
        Ok(returned) => vu
            .ending
            .borrow_mut()
            .take()
            .unwrap_or(End::Ok { returned }),
        Err(error) => thrown::end_of(ctx, vu, error),
    };
    vu.timers.clear();
    vu.waiting.borrow_mut().clear();
    vu.rejections.clear();
    if let End::Exception(exception) = &end {
        thrown::report(vu, exception);
    }
    end
}

/// A fiber could not be made: as if the function had thrown.
pub(crate) fn not_started(vu: &VuState, error: &ScriptError) -> End {
    let exception = Thrown {
        message: error.to_string().into(),
        stack: Box::default(),
    };
    thrown::report(vu, &exception);
    End::Exception(exception)
}

fn begin(vu: &VuState, iteration: Iteration) {
    let settings = &vu.worker.settings;
    let worker = &vu.worker;
    let mut tags = previous_tags(vu, &iteration).unwrap_or_else(|| first_tags(vu, &iteration));
    let group = iteration
        .root_group
        .map_or_else(String::new, |root| format!("::{root}"));
    if settings.system_tags.group {
        tags = worker.tag(tags, "group", &group);
    }
    if settings.system_tags.vu {
        tags = worker.tag(tags, "vu", &iteration.vu_in_test.to_string());
    }
    if settings.system_tags.iter {
        tags = worker.tag(tags, "iter", &iteration.in_vu.to_string());
    }
    vu.tags.set(tags);
    *vu.group.borrow_mut() = group;
    vu.http.begin_iteration(settings.keep_cookies);
    vu.ending.borrow_mut().take();
    *vu.iteration.borrow_mut() = iteration;
}

/// Tags that a virtual user has set stay for its later iterations of the scenario, as in k6.
fn previous_tags(vu: &VuState, iteration: &Iteration) -> Option<TagSetId> {
    let before = vu.iteration.borrow();
    let (before, now) = (before.scenario.as_ref()?, iteration.scenario.as_ref()?);
    (before.name == now.name).then(|| vu.tags.get())
}

/// Tags of the run and of the scenario.
fn first_tags(vu: &VuState, iteration: &Iteration) -> TagSetId {
    let (settings, worker) = (&vu.worker.settings, &vu.worker);
    let mut tags = TagSetId::EMPTY;
    for (name, value) in &settings.tags {
        tags = worker.tag(tags, name, value);
    }
    if let Some(scenario) = &iteration.scenario {
        if settings.system_tags.scenario {
            tags = worker.tag(tags, "scenario", &scenario.name);
        }
        for (name, value) in &scenario.tags {
            tags = worker.tag(tags, name, value);
        }
    }
    tags
}

fn call(ctx: &Ctx<'_>, vu: &Rc<VuState>) -> Result<Option<Box<str>>> {
    let (name, wants_return) = {
        let iteration = vu.iteration.borrow();
        (Rc::clone(&iteration.function), iteration.wants_return)
    };
    apply_scenario_env(ctx, vu)?;
    let exports = vu.exports.borrow().clone();
    let Some(exports) = exports else {
        return Err(Exception::throw_internal(ctx, "the init code has not run"));
    };
    let function: Value<'_> = exports.restore(ctx)?.get(&*name)?;
    let Some(function) = function.into_function() else {
        let message = format!("the script exports no function {name:?}");
        return Err(Exception::throw_type(ctx, &message));
    };
    let returned = call_with_data(ctx, vu, &function)?;
    let returned = settle(ctx, vu, returned)?;
    if !wants_return {
        return Ok(None);
    }
    let json = ctx.json_stringify(returned)?;
    json.map(|json| Ok(json.to_string()?.into())).transpose()
}

/// `__ENV` holds the variables of the scenario that runs, and none of another that ran before.
fn apply_scenario_env(ctx: &Ctx<'_>, vu: &VuState) -> Result<()> {
    let Some(scenario) = vu.iteration.borrow().scenario.clone() else {
        return Ok(());
    };
    let before = vu.env_of.replace(Some(Rc::clone(&scenario)));
    if before
        .as_ref()
        .is_some_and(|before| Rc::ptr_eq(before, &scenario))
    {
        return Ok(());
    }
    let had_none = before.is_none_or(|before| before.env.is_empty());
    if had_none && scenario.env.is_empty() {
        return Ok(());
    }
    globals::set_env(ctx, &scenario.env)
}

fn call_with_data<'js>(
    ctx: &Ctx<'js>,
    vu: &VuState,
    function: &Function<'js>,
) -> Result<Value<'js>> {
    let json = vu.iteration.borrow().data.clone();
    let Some(json) = json else {
        return function.call(());
    };
    let mut args = Args::new(ctx.clone(), 1);
    args.push_arg(parsed(ctx, vu, &json)?)?;
    function.call_arg(args)
}

/// The argument as a value. Every iteration of a virtual user gets the same one, as in k6.
fn parsed<'js>(ctx: &Ctx<'js>, vu: &VuState, json: &Rc<str>) -> Result<Value<'js>> {
    let cached = vu.data.borrow().clone();
    if let Some((text, value)) = cached.filter(|(text, _)| Rc::ptr_eq(text, json)) {
        drop(text);
        return value.restore(ctx);
    }
    let value = ctx.json_parse(json.as_bytes())?;
    let kept = Persistent::save(ctx, value.clone());
    *vu.data.borrow_mut() = Some((Rc::clone(json), kept));
    Ok(value)
}

/// Runs jobs and timers until nothing is left, and unwraps a promise.
fn settle<'js>(ctx: &Ctx<'js>, vu: &Rc<VuState>, returned: Value<'js>) -> Result<Value<'js>> {
    loop {
        // An asynchronous function that ended the test has only rejected its promise.
        while vu.ending.borrow().is_none() && run_job(ctx)? {}
        if vu.ending.borrow().is_none() {
            let lost = uncaught(ctx, vu, &returned);
            *vu.ending.borrow_mut() = lost;
        }
        if vu.ending.borrow().is_some() {
            return Ok(returned);
        }
        // A timer that is due goes first: requests may take long.
        let is_due = vu.timers.first().is_some_and(|(due, _)| due <= vu.now());
        if !is_due && waiting::send(ctx, vu)? {
            continue;
        }
        if !timers::run_next(ctx, vu)? {
            break;
        }
    }
    let Some(promise) = returned.as_promise() else {
        return Ok(returned);
    };
    settled(ctx, promise)
}

/// An exception that only a promise knows of, and that nobody has asked it for by the time nothing runs any more: as in
/// k6 that ends the function, whatever it still waits for. The promise that it returned is looked at in the end.
fn uncaught(ctx: &Ctx<'_>, vu: &VuState, returned: &Value<'_>) -> Option<End> {
    let promise = vu.rejections.first_but(place_of(returned))?;
    let reason = promise.restore(ctx).ok()?.result::<Value<'_>>()?;
    reason.err().map(|error| thrown::in_promise(ctx, vu, error))
}

fn settled<'js>(ctx: &Ctx<'js>, promise: &Promise<'js>) -> Result<Value<'js>> {
    match promise.result::<Value<'js>>() {
        Some(result) => result,
        // Nothing is left that could settle it: k6 ends the iteration too.
        None => Ok(Value::new_undefined(ctx.clone())),
    }
}
