//! Resets the engine's chain of frames whenever a virtual user has suspended.
//!
//! A function's frame points to the frame that was the newest when it was called, and on return the older one becomes
//! the newest again. After a virtual user suspends, the newest frame is one of its own; another virtual user that
//! starts now would chain its frames onto it and, once the first has gone on and returned, onto freed memory. So
//! between any two virtual users runs the anchor: a fiber that waits inside a C function whose older frame is none.
//! Let it go on, and the chain is empty; it calls the function again at once and waits there. Its frame thus always
//! lies at the same address of a stack that lives as long as the runtime, and that is what every chain ends in.

use std::fmt;
use std::ptr;

use corosensei::{Coroutine, Yielder};
use rquickjs::{Context, Result, Runtime, qjs};

use super::fiber::c_function;

type Switch = Yielder<(), ()>;

pub(crate) struct Anchor {
    coroutine: Coroutine<(), (), ()>,
    /// Kept for the function that the coroutine waits in.
    context: Context,
}

impl fmt::Debug for Anchor {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Anchor").finish_non_exhaustive()
    }
}

impl Anchor {
    /// Must come before anything suspends in that runtime.
    pub(crate) fn new(runtime: &Runtime) -> Result<Self> {
        let context = Context::base(runtime)?;
        // The function belongs to the global object, which the context keeps.
        let function = context.with(|ctx| -> Result<qjs::JSValue> {
            let function = c_function(&ctx, Some(wait))?;
            ctx.globals().set("wait", function.clone())?;
            Ok(function.as_raw())
        })?;
        let raw = context.as_raw();
        let mut coroutine = Coroutine::new(move |switch: &Switch, ()| {
            // SAFETY: context and function live until the anchor is dropped; `wait` reads the pointer that is set
            // here, which stays valid because this stack is never left.
            unsafe {
                qjs::JS_SetContextOpaque(raw.as_ptr(), ptr::from_ref(switch).cast_mut().cast());
                loop {
                    qjs::JS_Call(
                        raw.as_ptr(),
                        function,
                        qjs::JS_UNDEFINED,
                        0,
                        ptr::null_mut(),
                    );
                }
            }
        });
        without_stack_limit(&context, || coroutine.resume(()));
        Ok(Self { coroutine, context })
    }

    /// Call after a virtual user has suspended or ended, before the next one goes on.
    pub(crate) fn reset(&mut self) {
        without_stack_limit(&self.context, || self.coroutine.resume(()));
    }
}

impl Drop for Anchor {
    fn drop(&mut self) {
        // SAFETY: the stack holds one C frame that owns nothing; the coroutine is not resumed again.
        unsafe { self.coroutine.force_reset() };
    }
}

/// The anchor's stack is none of those that the engine knows, and its depth never changes.
fn without_stack_limit<T>(context: &Context, run: impl FnOnce() -> T) -> T {
    // SAFETY: writes a number into the runtime of a live context.
    unsafe { qjs::JS_SetMaxStackSize(qjs::JS_GetRuntime(context.as_raw().as_ptr()), 0) };
    run()
}

unsafe extern "C" fn wait(
    raw: *mut qjs::JSContext,
    _this: qjs::JSValue,
    _count: std::ffi::c_int,
    _values: *mut qjs::JSValue,
) -> qjs::JSValue {
    // SAFETY: only the anchor calls this, on its own stack, with its own pointer set.
    unsafe {
        let switch: *const Switch = qjs::JS_GetContextOpaque(raw).cast();
        (*switch).suspend(());
    }
    qjs::JS_UNDEFINED
}
