//! Hears of promises that are rejected without a handler, and of those that get one late.

use rquickjs::{Persistent, Runtime, Value, qjs};

use super::native::state_of;

/// Tells each virtual user of its own from now on.
pub(crate) fn track_rejections(runtime: &Runtime) {
    runtime.set_host_promise_rejection_tracker(Some(Box::new(
        |ctx, promise, _reason, is_handled| {
            let rejections = &state_of(&ctx).rejections;
            let place = place_of(&promise);
            if is_handled {
                rejections.remove(place);
            } else if let Some(promise) = promise.into_promise() {
                rejections.add(place, Persistent::save(&ctx, promise));
            }
        },
    )));
}

/// Where the engine keeps an object; zero for what is none.
pub(crate) fn place_of(value: &Value<'_>) -> usize {
    if !value.is_object() {
        return 0;
    }
    // SAFETY: objects are values that hold a pointer, which is only looked at.
    unsafe { qjs::JS_VALUE_GET_PTR(value.as_raw()) }.addr()
}
