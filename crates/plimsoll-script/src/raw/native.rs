//! Native functions as plain C functions of the engine: one entry point, a table, no allocation per call.

use std::ffi::CString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use rquickjs::{Coerced, Context, Ctx, Error, Exception, Function, Object, Result, Value, qjs};

use crate::vu_state::VuState;

/// A function that scripts can call.
pub(crate) struct Native {
    pub(crate) name: &'static str,
    /// How many parameters it declares.
    pub(crate) length: u8,
    pub(crate) run: for<'a, 'js> fn(&Call<'a, 'js>) -> Result<Value<'js>>,
    /// Called with `new`; `this` is then the new target.
    pub(crate) is_constructor: bool,
}

impl Native {
    pub(crate) const fn constructor(
        name: &'static str,
        length: u8,
        run: for<'a, 'js> fn(&Call<'a, 'js>) -> Result<Value<'js>>,
    ) -> Self {
        Self {
            name,
            length,
            run,
            is_constructor: true,
        }
    }

    pub(crate) const fn new(
        name: &'static str,
        length: u8,
        run: for<'a, 'js> fn(&Call<'a, 'js>) -> Result<Value<'js>>,
    ) -> Self {
        Self {
            name,
            length,
            run,
            is_constructor: false,
        }
    }
}

/// Groups of functions: a function object of the engine holds a group's number and an index. Whatever lists the
/// functions is above them all, so it implements this for what calls find.
pub(crate) trait NativeTable {
    fn natives() -> &'static [&'static [Native]];
}

/// One call from a script.
pub(crate) struct Call<'a, 'js> {
    pub(crate) ctx: Ctx<'js>,
    pub(crate) this: Value<'js>,
    pub(crate) args: &'a [Value<'js>],
    pub(crate) vu: Rc<VuState>,
}

impl<'js> Call<'_, 'js> {
    /// The argument at that place, or undefined.
    pub(crate) fn arg(&self, index: usize) -> Value<'js> {
        let given = self.args.get(index).cloned();
        given.unwrap_or_else(|| self.undefined())
    }

    pub(crate) fn undefined(&self) -> Value<'js> {
        Value::new_undefined(self.ctx.clone())
    }

    pub(crate) fn null(&self) -> Value<'js> {
        Value::new_null(self.ctx.clone())
    }

    pub(crate) fn boolean(&self, value: bool) -> Value<'js> {
        Value::new_bool(self.ctx.clone(), value)
    }

    pub(crate) fn number(&self, value: f64) -> Value<'js> {
        Value::new_number(self.ctx.clone(), value)
    }

    pub(crate) fn string(&self, text: &str) -> Result<Value<'js>> {
        Ok(rquickjs::String::from_str(self.ctx.clone(), text)?.into_value())
    }

    /// The argument at that place as text, whatever it is.
    pub(crate) fn text(&self, index: usize) -> Result<String> {
        Ok(self.arg(index).get::<Coerced<String>>()?.0)
    }

    /// The same, unless it was left out.
    pub(crate) fn text_if_given(&self, index: usize) -> Result<Option<String>> {
        let is_given = self.args.get(index).is_some_and(|arg| !arg.is_undefined());
        is_given.then(|| self.text(index)).transpose()
    }

    pub(crate) fn fail<T>(&self, message: &str) -> Result<T> {
        Err(Exception::throw_message(&self.ctx, message))
    }

    pub(crate) fn fail_type<T>(&self, message: &str) -> Result<T> {
        Err(Exception::throw_type(&self.ctx, message))
    }
}

/// Gives the context the virtual user that runs in it from now on. `state` must outlive that.
pub(crate) fn attach(context: &Context, state: &Rc<VuState>) {
    let state = Rc::as_ptr(state).cast_mut().cast();
    // SAFETY: only stores the pointer; a `Vu` keeps its state, and in a shared context attaches itself on every turn.
    unsafe { qjs::JS_SetContextOpaque(context.as_raw().as_ptr(), state) };
}

/// The virtual user that runs in this context.
pub(crate) fn state_of(ctx: &Ctx<'_>) -> Rc<VuState> {
    // SAFETY: whoever runs code in a context attached a state before, which outlives that code.
    unsafe {
        let state: *const VuState = qjs::JS_GetContextOpaque(ctx.as_raw().as_ptr()).cast();
        Rc::increment_strong_count(state);
        Rc::from_raw(state)
    }
}

/// The function object of that place in the [`NativeTable`].
pub(crate) fn function<'js>(ctx: &Ctx<'js>, group: usize, index: usize) -> Result<Function<'js>> {
    let native = &VuState::natives()[group][index];
    let name = CString::new(native.name)?;
    let magic = i32::from((group as u16) << 8 | index as u16);
    let entry = qjs::JSCFunctionType {
        generic_magic: Some(enter),
    };
    let kind = if native.is_constructor {
        qjs::JSCFunctionEnum_JS_CFUNC_constructor_magic
    } else {
        qjs::JSCFunctionEnum_JS_CFUNC_generic_magic
    };
    // SAFETY: `entry` has the signature that both kinds ask for; the engine copies the name.
    unsafe {
        let value = qjs::JS_NewCFunction2(
            ctx.as_raw().as_ptr(),
            entry.generic,
            name.as_ptr(),
            i32::from(native.length),
            kind,
            magic,
        );
        if qjs::JS_IsException(value) {
            return Err(Error::Exception);
        }
        Value::from_raw(ctx.clone(), value).get()
    }
}

/// Defines a property that is computed when it is read; assigning to it replaces it.
pub(crate) fn define_getter<'js>(
    object: &Object<'js>,
    name: &str,
    getter: &Function<'js>,
    setter: Option<&Function<'js>>,
) -> Result<()> {
    let ctx = object.ctx();
    let raw = ctx.as_raw().as_ptr();
    let flags = qjs::JS_PROP_CONFIGURABLE | qjs::JS_PROP_ENUMERABLE;
    let name = CString::new(name)?;
    // SAFETY: JS_DefinePropertyGetSet takes over both functions, so each is handed in with a reference of its own;
    // the atom is freed after use.
    let status = unsafe {
        let atom = qjs::JS_NewAtom(raw, name.as_ptr());
        let getter = qjs::JS_DupValue(raw, getter.as_raw());
        let setter = setter.map_or(qjs::JS_UNDEFINED, |setter| {
            qjs::JS_DupValue(raw, setter.as_raw())
        });
        let status = qjs::JS_DefinePropertyGetSet(
            raw,
            object.as_raw(),
            atom,
            getter,
            setter,
            flags.cast_signed(),
        );
        qjs::JS_FreeAtom(raw, atom);
        status
    };
    if status < 0 {
        return Err(Error::Exception);
    }
    Ok(())
}

/// Throws what no script can catch: the function under way ends, `finally` blocks do not run.
pub(crate) fn throw_uncatchable(ctx: &Ctx<'_>, message: &str) -> Error {
    let Ok(error) = Exception::from_message(ctx.clone(), message) else {
        return Error::Exception;
    };
    // SAFETY: `error` is an error object of this context.
    unsafe { qjs::JS_SetUncatchableError(ctx.as_raw().as_ptr(), error.as_object().as_raw()) };
    ctx.throw(error.into_object().into_value())
}

unsafe extern "C" fn enter(
    raw: *mut qjs::JSContext,
    this: qjs::JSValue,
    count: std::ffi::c_int,
    values: *mut qjs::JSValue,
    magic: std::ffi::c_int,
) -> qjs::JSValue {
    // SAFETY: the engine calls this with a live context and `count` live values.
    unsafe {
        let Some(alive) = std::ptr::NonNull::new(raw) else {
            return qjs::JS_EXCEPTION;
        };
        let ctx = Ctx::from_raw(alive);
        let own = |value| Value::from_raw(ctx.clone(), qjs::JS_DupValue(raw, value));
        let this = own(this);
        let count = usize::try_from(count).unwrap_or(0);
        let mut few: [Value<'_>; ARGS_FEW] = std::array::from_fn(|index| {
            if index < count {
                own(*values.add(index))
            } else {
                Value::new_undefined(ctx.clone())
            }
        });
        let mut rest: Vec<Value<'_>> = Vec::new();
        let args = if count <= ARGS_FEW {
            &mut few[..count]
        } else {
            rest.extend((0..count).map(|index| own(*values.add(index))));
            &mut rest[..]
        };
        let call = Call {
            this,
            args,
            vu: state_of(&ctx),
            ctx,
        };
        finish(&call, magic as usize)
    }
}

/// Up to so many arguments a call allocates nothing; only `console` takes as many as there are.
const ARGS_FEW: usize = 8;

/// # Safety
/// `call` belongs to the call that the engine is making.
unsafe fn finish(call: &Call<'_, '_>, magic: usize) -> qjs::JSValue {
    let native = &VuState::natives()[magic >> 8][magic & 0xff];
    // A panic must not unwind through the engine's frames.
    let result = catch_unwind(AssertUnwindSafe(|| (native.run)(call)));
    let error = match result {
        Ok(Ok(value)) => {
            // SAFETY: a live value; the engine gets a reference of its own.
            return unsafe { qjs::JS_DupValue(call.ctx.as_raw().as_ptr(), value.as_raw()) };
        }
        Ok(Err(error)) => error,
        Err(_) => {
            call.vu.worker.note_fault(native.name);
            throw_uncatchable(&call.ctx, "internal fault")
        }
    };
    if !matches!(error, Error::Exception) {
        let thrown = Exception::throw_type(&call.ctx, &error.to_string());
        debug_assert!(matches!(thrown, Error::Exception));
    }
    qjs::JS_EXCEPTION
}
