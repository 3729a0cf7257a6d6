//! Timers: run by the virtual user itself once its function has returned.

use std::rc::Rc;

use plimsoll_core::Nanos;
use rquickjs::function::Args;
use rquickjs::{Coerced, Ctx, Persistent, Result, Value};

use crate::raw::{Call, Native, suspend, throw_uncatchable};
use crate::timers::Timer;
use crate::turn::{End, Resumption, Suspension};
use crate::vu_state::VuState;

pub(crate) static FUNCTIONS: &[Native] = &[
    Native::new("setTimeout", 2, |call| set(call, false)),
    Native::new("setInterval", 2, |call| set(call, true)),
    Native::new("clearTimeout", 1, clear),
    Native::new("clearInterval", 1, clear),
];

fn set<'js>(call: &Call<'_, 'js>, repeats: bool) -> Result<Value<'js>> {
    let Some(function) = call.arg(0).into_function() else {
        return call.fail_type("a timer needs a function: setTimeout(() => { … }, milliseconds)");
    };
    let millis: Coerced<f64> = match call.args.get(1) {
        Some(given) => given.get()?,
        None => Coerced(0.0),
    };
    let delay = Nanos::from_secs_f64(millis.0 / 1e3);
    let extra = call.args.iter().skip(2);
    let timer = Timer {
        function: Persistent::save(&call.ctx, function),
        args: extra
            .map(|value| Persistent::save(&call.ctx, value.clone()))
            .collect(),
        // An interval of nothing would never let the iteration end.
        interval: repeats.then_some(delay.max(Nanos::from_millis(1))),
    };
    let number = call.vu.timers.add(call.vu.now() + delay, timer);
    Ok(call.number(f64::from(number)))
}

#[expect(clippy::unnecessary_wraps, reason = "the table of natives asks for it")]
fn clear<'js>(call: &Call<'_, 'js>) -> Result<Value<'js>> {
    if let Some(number) = call.arg(0).as_number() {
        call.vu.timers.remove(number as u32);
    }
    Ok(call.undefined())
}

/// Waits for the timer that is due first and runs it; false if there is none.
pub(crate) fn run_next(ctx: &Ctx<'_>, vu: &Rc<VuState>) -> Result<bool> {
    let Some((due, number)) = vu.timers.first() else {
        return Ok(false);
    };
    let now = vu.now();
    if due > now {
        let resumption = suspend(ctx, vu, Suspension::Sleep(due.saturating_sub(now)))?;
        if matches!(resumption, Resumption::Stop) {
            *vu.ending.borrow_mut() = Some(End::Interrupted);
            return Err(throw_uncatchable(ctx, "the iteration was interrupted"));
        }
    }
    let Some(timer) = vu.timers.take(due, number) else {
        return Ok(true);
    };
    let function = timer.function.clone().restore(ctx)?;
    let mut args = Args::new(ctx.clone(), timer.args.len());
    for value in &timer.args {
        args.push_arg(value.clone().restore(ctx)?)?;
    }
    if let Some(interval) = timer.interval {
        let again = vu.now().max(due) + interval;
        vu.timers.put(again, number, timer);
    }
    function.call_arg::<()>(args)?;
    Ok(true)
}
