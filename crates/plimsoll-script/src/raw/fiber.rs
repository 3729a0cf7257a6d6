//! A stack per running virtual user, and the switch between it and the caller's.

use std::cell::RefCell;
use std::fmt;
use std::ptr;
use std::rc::Rc;

use corosensei::stack::{DefaultStack, Stack as _};
use corosensei::{Coroutine, CoroutineResult};
use rquickjs::{Context, Ctx, Error, Function, Persistent, Result, Value, qjs};

use super::native::state_of;
use super::slot::Switch;
use crate::turn::{End, Resumption, Suspension};
use crate::vu_state::VuState;

/// Kept free at the end of every stack for native code, which the engine does not ask before it calls.
const NATIVE_RESERVE_BYTES: usize = 96 * 1024;
/// Several hundred nested calls of script functions; pages are only used when touched.
const STACK_BYTES: usize = (256 << 10) + NATIVE_RESERVE_BYTES;

/// Makes the function inside which the virtual user switches. Once per virtual user.
pub(crate) fn prepare(ctx: &Ctx<'_>, vu: &VuState) -> Result<()> {
    let function = c_function(ctx, Some(switch_over))?;
    *vu.slot.nested.borrow_mut() = Some(Persistent::save(ctx, function));
    Ok(())
}

/// Switches to the caller with `suspension` and comes back with what it is told.
pub(crate) fn suspend(ctx: &Ctx<'_>, vu: &VuState, suspension: Suspension) -> Result<Resumption> {
    let slot = &vu.slot;
    let nested = slot.nested.borrow().clone().ok_or(Error::Unknown)?;
    *slot.suspension.borrow_mut() = Some(suspension);
    nested.restore(ctx)?.call::<_, ()>(())?;
    slot.resumption.borrow_mut().take().ok_or(Error::Unknown)
}

unsafe extern "C" fn switch_over(
    raw: *mut qjs::JSContext,
    _this: qjs::JSValue,
    _count: std::ffi::c_int,
    _values: *mut qjs::JSValue,
) -> qjs::JSValue {
    // SAFETY: called by the engine on the fiber's stack, in a context with a virtual user whose `switch` points to
    // the yielder at the bottom of this very stack.
    unsafe {
        let Some(alive) = ptr::NonNull::new(raw) else {
            return qjs::JS_EXCEPTION;
        };
        let vu = state_of(&Ctx::from_raw(alive));
        let Some(suspension) = vu.slot.suspension.borrow_mut().take() else {
            return qjs::JS_EXCEPTION;
        };
        let resumption = (*vu.slot.switch.get()).suspend(suspension);
        use_stack(raw, vu.slot.stack_end.get());
        *vu.slot.resumption.borrow_mut() = Some(resumption);
        qjs::JS_UNDEFINED
    }
}

/// Tells the engine where the stack that runs now ends.
///
/// # Safety
/// `raw` is a live context.
unsafe fn use_stack(raw: *mut qjs::JSContext, stack_end: usize) {
    let here = 0_u8;
    let left = (ptr::from_ref(&here).addr() - stack_end).saturating_sub(NATIVE_RESERVE_BYTES);
    // SAFETY: both calls only write numbers into the runtime of a live context.
    unsafe {
        let runtime = qjs::JS_GetRuntime(raw);
        qjs::JS_SetMaxStackSize(runtime, left.max(1) as qjs::size_t);
        qjs::JS_UpdateStackTop(runtime);
    }
}

pub(crate) fn c_function<'js>(ctx: &Ctx<'js>, entry: qjs::JSCFunction) -> Result<Function<'js>> {
    // SAFETY: `entry` has the signature of a generic C function; the name is static.
    unsafe {
        let raw = ctx.as_raw().as_ptr();
        let generic = qjs::JSCFunctionEnum_JS_CFUNC_generic;
        let value = qjs::JS_NewCFunction2(raw, entry, c"wait".as_ptr(), 0, generic, 0);
        if qjs::JS_IsException(value) {
            return Err(Error::Exception);
        }
        Value::from_raw(ctx.clone(), value).get()
    }
}

/// Stacks that are free, so that a fiber costs no mapping.
#[derive(Default)]
pub(crate) struct StackPool {
    free: RefCell<Vec<DefaultStack>>,
}

impl fmt::Debug for StackPool {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("StackPool").finish_non_exhaustive()
    }
}

impl StackPool {
    fn take(&self) -> std::io::Result<DefaultStack> {
        let free = self.free.borrow_mut().pop();
        free.map_or_else(|| DefaultStack::new(STACK_BYTES), Ok)
    }

    fn give_back(&self, stack: DefaultStack) {
        self.free.borrow_mut().push(stack);
    }
}

/// One run of a virtual user, from a start to its end.
pub(crate) struct Fiber(Option<Coroutine<Resumption, Suspension, End, DefaultStack>>);

impl fmt::Debug for Fiber {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_tuple("Fiber").finish()
    }
}

impl Fiber {
    /// The context must outlive the fiber.
    pub(crate) fn new(
        pool: &StackPool,
        context: &Context,
        vu: &Rc<VuState>,
        body: impl FnOnce(&Ctx<'_>, &Rc<VuState>, Resumption) -> End + 'static,
    ) -> std::io::Result<Self> {
        let stack = pool.take()?;
        let stack_end = stack.limit().get();
        let raw = context.as_raw();
        let vu = Rc::clone(vu);
        let coroutine =
            Coroutine::with_stack(stack, move |switch: &Switch, resumption: Resumption| {
                vu.slot.switch.set(ptr::from_ref(switch));
                vu.slot.stack_end.set(stack_end);
                // SAFETY: the context outlives the fiber.
                let ctx = unsafe {
                    use_stack(raw.as_ptr(), stack_end);
                    Ctx::from_raw(raw)
                };
                let end = body(&ctx, &vu, resumption);
                vu.slot.switch.set(ptr::null());
                end
            });
        Ok(Self(Some(coroutine)))
    }

    /// Runs until the next suspension. After [`Suspension::Done`] the fiber is spent and its stack back in the pool.
    pub(crate) fn resume(&mut self, pool: &StackPool, resumption: Resumption) -> Suspension {
        // Taken out meanwhile: after a panic there is nothing left to resume.
        let Some(mut coroutine) = self.0.take() else {
            return Suspension::Done(End::Interrupted);
        };
        match coroutine.resume(resumption) {
            CoroutineResult::Yield(suspension) => {
                self.0 = Some(coroutine);
                suspension
            }
            CoroutineResult::Return(end) => {
                pool.give_back(coroutine.into_stack());
                Suspension::Done(end)
            }
        }
    }

    /// Gives up without unwinding: what the stack held is leaked. Unwinding through the engine's C frames would be
    /// undefined, so a fiber that refuses to end is left behind like this.
    pub(crate) fn leak(&mut self) {
        if let Some(mut coroutine) = self.0.take() {
            // SAFETY: nothing runs on that stack again, and nothing borrows from it across the leak.
            unsafe { coroutine.force_reset() };
        }
    }
}

/// Runs one job of the context, such as what follows an `await`; false if there is none. An exception in a job has
/// rejected a promise already and is dropped here.
pub(crate) fn run_job(ctx: &Ctx<'_>) -> Result<bool> {
    let raw = ctx.as_raw().as_ptr();
    // SAFETY: `raw` is live. Jobs of another context stay in the queue: they would run on the wrong stack.
    unsafe {
        let runtime = qjs::JS_GetRuntime(raw);
        if qjs::JS_GetPendingJobContext(runtime) != raw {
            return Ok(false);
        }
        let mut ran_in = ptr::null_mut();
        if qjs::JS_ExecutePendingJob(runtime, &raw mut ran_in) < 0 {
            let exception = ctx.catch();
            if exception.is_uncatchable_error() {
                return Err(ctx.throw(exception));
            }
        }
    }
    Ok(true)
}
