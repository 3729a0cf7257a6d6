//! What every script finds without an import.

use rquickjs::object::Property;
use rquickjs::{Ctx, Exception, Function, Module, Object, Persistent, Result, Value};

use super::stop::no_module;
use super::{
    console, crypto, functions, set_functions, set_getters, subtle, text, timers, utils, web_url,
};
use crate::raw::{Call, Native, state_of};
use crate::resolve::{Target, folder_of, normalise};

pub(crate) static FUNCTIONS: &[Native] = &[
    Native::new("open", 2, open),
    Native::new("require", 1, require),
];

pub(crate) static GETTERS: &[Native] = &[
    Native::new("__VU", 0, |call| {
        let vu = call.vu.iteration.borrow().vu_in_test;
        Ok(call.number(vu as f64))
    }),
    Native::new("__ITER", 0, |call| {
        let iteration = call.vu.iteration.borrow().in_vu;
        Ok(call.number(iteration as f64))
    }),
    Native::new("__ENV", 0, |call| {
        let env = call
            .vu
            .cached(&call.ctx, "__ENV", |ctx| env_object(ctx, &[]))?;
        Ok(env.into_value())
    }),
];

/// Globals that few scripts use: made when they are first read.
pub(crate) static LAZY: &[Native] = &[
    Native::new("crypto", 0, |call| {
        let object = Object::new(call.ctx.clone())?;
        set_functions(&object, crypto::GLOBAL)?;
        let subtle_ones = Object::new(call.ctx.clone())?;
        set_functions(&subtle_ones, subtle::FUNCTIONS)?;
        object.set("subtle", subtle_ones)?;
        define(call, "crypto", object.into_value())
    }),
    Native::new("TextEncoder", 0, |call| {
        lazy(call, text::CONSTRUCTORS, "TextEncoder")
    }),
    Native::new("TextDecoder", 0, |call| {
        lazy(call, text::CONSTRUCTORS, "TextDecoder")
    }),
    Native::new("URL", 0, |call| lazy(call, web_url::CONSTRUCTORS, "URL")),
    Native::new("URLSearchParams", 0, |call| {
        lazy(call, web_url::CONSTRUCTORS, "URLSearchParams")
    }),
];

pub(crate) static MATH: &[Native] = &[Native::new("random", 0, |call| {
    Ok(Value::new_float(call.ctx.clone(), utils::random(call)))
})];

fn lazy<'js>(call: &Call<'_, 'js>, group: &'static [Native], name: &str) -> Result<Value<'js>> {
    let made = functions(&call.ctx, group)?;
    let wanted = made.into_iter().find(|(known, _)| *known == name);
    define(
        call,
        name,
        wanted.map_or_else(|| call.undefined(), |(_, value)| value),
    )
}

fn define<'js>(call: &Call<'_, 'js>, name: &str, value: Value<'js>) -> Result<Value<'js>> {
    let property = Property::from(value.clone()).writable().configurable();
    call.ctx.globals().prop(name, property)?;
    Ok(value)
}

/// Once per context.
pub(crate) fn install(ctx: &Ctx<'_>) -> Result<()> {
    let globals = ctx.globals();
    // Bundlers write their files for Node, which calls it so; k6 has both, too.
    let global = Property::from(globals.clone()).writable().configurable();
    globals.prop("global", global)?;
    set_functions(&globals, FUNCTIONS)?;
    set_functions(&globals, timers::FUNCTIONS)?;
    set_getters(&globals, GETTERS)?;
    set_getters(&globals, LAZY)?;
    let math: Object<'_> = globals.get("Math")?;
    set_functions(&math, MATH)?;
    let log = Object::new(ctx.clone())?;
    set_functions(&log, console::FUNCTIONS)?;
    globals.set("console", log)
}

/// Makes the globals that are otherwise made when they are first read.
pub(crate) fn settle(ctx: &Ctx<'_>) -> Result<()> {
    let mut names = LAZY.iter().map(|native| native.name);
    names.try_for_each(|name| ctx.globals().get::<_, Value<'_>>(name).map(|_| ()))
}

/// Makes `__ENV` anew: the program's variables, and `more` on top.
pub(crate) fn set_env(ctx: &Ctx<'_>, more: &[(Box<str>, Box<str>)]) -> Result<()> {
    state_of(ctx).cache(ctx, "__ENV", env_object(ctx, more)?);
    Ok(())
}

fn env_object<'js>(ctx: &Ctx<'js>, more: &[(Box<str>, Box<str>)]) -> Result<Object<'js>> {
    let env = Object::new(ctx.clone())?;
    state_of(ctx)
        .worker
        .catalogue
        .look(|inventory| -> Result<()> {
            for (name, value) in &inventory.env {
                env.set(&**name, &**value)?;
            }
            Ok(())
        })?;
    for (name, value) in more {
        env.set(&**name, &**value)?;
    }
    Ok(env)
}

/// `open(path, 'b')`: the content of a file, relative to the module that asks.
fn open<'js>(call: &Call<'_, 'js>) -> Result<Value<'js>> {
    if !call.vu.is_init() {
        return call.fail(
            "open() only works in the init code: call it outside of functions and keep what it returns",
        );
    }
    let given = call.text(0)?;
    let base = calling_module(&call.ctx, &call.vu.entry.borrow());
    let path = given.strip_prefix("file://").unwrap_or(&given);
    let path = normalise(&folder_of(&base).join(path));
    let catalogue = &call.vu.worker.catalogue;
    let mut content = catalogue.look(|inventory| inventory.files.get(&path).cloned());
    if let (None, Some(loading)) = (&content, catalogue.loading()) {
        let read = loading.sources.read(&path).map_err(|error| {
            let message = format!("open({given:?}): {}: {error}", path.display());
            Exception::throw_message(&call.ctx, &message)
        })?;
        let read: std::sync::Arc<[u8]> = read.into();
        loading
            .inventory
            .borrow_mut()
            .files
            .insert(path.clone(), read.clone());
        content = Some(read);
    }
    let Some(content) = content else {
        return call.fail(&format!(
            "open({given:?}): the first run of the init code did not open this file; open the same files whatever \
             __VU is"
        ));
    };
    let is_binary = call
        .arg(1)
        .as_string()
        .is_some_and(|mode| mode.to_string().is_ok_and(|mode| mode == "b"));
    if is_binary {
        let bytes = rquickjs::ArrayBuffer::new_copy(call.ctx.clone(), &*content)?;
        return Ok(bytes.into_value());
    }
    let text = String::from_utf8_lossy(&content);
    call.string(&text)
}

/// Name of the module whose code calls.
fn calling_module(ctx: &Ctx<'_>, entry: &str) -> String {
    let name = ctx.script_or_module_name(1);
    let name = name.and_then(|name| name.to_string().ok());
    name.filter(|name| Target::from_id(name).is_some())
        .unwrap_or_else(|| entry.to_owned())
}

/// `require(name)`: what a module exports, at once.
fn require<'js>(call: &Call<'_, 'js>) -> Result<Value<'js>> {
    let ctx = &call.ctx;
    let specifier = call.text(0)?;
    let base = calling_module(ctx, &call.vu.entry.borrow());
    let catalogue = &call.vu.worker.catalogue;
    let target = catalogue.resolve(&base, &specifier);
    let target = target.map_err(|message| no_module(ctx, &call.vu, &specifier, &message))?;
    let id = target.id();
    let known = call.vu.required.borrow().get(&id).cloned();
    if let Some(known) = known {
        let module: Object<'js> = known.restore(ctx)?.get()?;
        return module.get("exports");
    }
    if let Target::File(path) = &target {
        let text = catalogue.common_text(path);
        let text = text.map_err(|message| Exception::throw_reference(ctx, &message))?;
        if let Some(text) = text {
            return run_common(call, id, &text);
        }
    }
    let namespace: Object<'js> = Module::import(ctx, id)?.finish()?;
    // `require('k6/http')` is used like the default export; the namespace has the same members and `default`.
    Ok(namespace.into_value())
}

fn run_common<'js>(call: &Call<'_, 'js>, id: String, text: &str) -> Result<Value<'js>> {
    let ctx = &call.ctx;
    let options = {
        let mut options = rquickjs::context::EvalOptions::default();
        options.strict = false;
        options.filename = Some(id.clone());
        options
    };
    // On one line with the text's first, so that line numbers stay.
    let wrapped = format!("(function (module, exports, require) {{{text}\n}})");
    let body: Function<'js> = ctx.eval_with_options(wrapped, options)?;
    let (module, exports) = (Object::new(ctx.clone())?, Object::new(ctx.clone())?);
    module.set("exports", exports.clone())?;
    let kept = Persistent::save(ctx, module.clone().into_value());
    call.vu.required.borrow_mut().insert(id, kept);
    let require: Value<'js> = ctx.globals().get("require")?;
    body.call::<_, ()>((module.clone(), exports, require))?;
    module.get("exports")
}
