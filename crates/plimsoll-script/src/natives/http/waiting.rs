//! `http.asyncRequest`: requests that wait until the function under way has nothing else to do, and are then sent together.
//!
//! Their promises settle together, too, when the last of them is answered. In k6 each settles by itself.

use std::rc::Rc;

use rquickjs::{Ctx, Error, Exception, Function, Persistent, Promise, Result, Value};

use super::exchange::fly;
use super::prepare::{Prepared, prepare};
use super::{refuse_in_init, response};
use crate::raw::{Call, Native};
use crate::vu_state::VuState;

pub(crate) static FUNCTIONS: &[Native] = &[Native::new("asyncRequest", 4, request)];

/// A request with the functions that settle its promise.
struct Waiting {
    prepared: Prepared,
    resolve: Persistent<Function<'static>>,
    reject: Persistent<Function<'static>>,
}

/// `asyncRequest(method, url, body, params)`: a promise of the response.
fn request<'js>(call: &Call<'_, 'js>) -> Result<Value<'js>> {
    refuse_in_init(call)?;
    let ctx = &call.ctx;
    let (promise, resolve, reject) = Promise::new(ctx)?;
    let method = call.text(0)?.to_uppercase();
    match prepare(
        call,
        method.into(),
        &call.arg(1),
        &call.arg(2),
        &call.arg(3),
    ) {
        Ok(prepared) => call.vu.waiting.borrow_mut().push(Box::new(Waiting {
            prepared,
            resolve: Persistent::save(ctx, resolve),
            reject: Persistent::save(ctx, reject),
        })),
        // What ends the test is no reason that a script may catch.
        Err(error) if call.vu.ending.borrow().is_some() => return Err(error),
        Err(Error::Exception) => reject.call::<_, ()>((ctx.catch(),))?,
        Err(error) => return Err(error),
    }
    Ok(promise.into_value())
}

/// Sends what waits and settles each promise; false if nothing waited.
pub(crate) fn send(ctx: &Ctx<'_>, vu: &Rc<VuState>) -> Result<bool> {
    let waiting = std::mem::take(&mut *vu.waiting.borrow_mut());
    if waiting.is_empty() {
        return Ok(false);
    }
    let call = Call {
        ctx: ctx.clone(),
        this: Value::new_undefined(ctx.clone()),
        args: &[],
        vu: Rc::clone(vu),
    };
    let (mut requests, mut promises) = (Vec::new(), Vec::new());
    for one in waiting
        .into_iter()
        .filter_map(|one| one.downcast::<Waiting>().ok())
    {
        let one = *one;
        requests.push(one.prepared);
        promises.push((one.resolve, one.reject));
    }
    for (landed, (resolve, reject)) in fly(&call, requests)?.into_iter().zip(promises) {
        match landed {
            Ok(done) => {
                let response = response::object(&call, done)?;
                resolve.restore(ctx)?.call::<_, ()>((response,))?;
            }
            Err(message) => {
                let reason = Exception::from_message(ctx.clone(), &message)?;
                reject.restore(ctx)?.call::<_, ()>((reason,))?;
            }
        }
    }
    Ok(true)
}
