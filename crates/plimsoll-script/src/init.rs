//! Runs the init code, and turns what it throws into an error with its place.

use rquickjs::{Ctx, Function, Object, Persistent, Result, Value};

use crate::error::{Position, ScriptError};
use crate::natives::globals;
use crate::raw::prepare;
use crate::realm::{BuiltIn, Realm};
use crate::resolve::Target;
use crate::thrown;
use crate::turn::{End, Thrown};
use crate::vu_state::VuState;

/// The body of the fiber in which a virtual user is born.
pub(crate) fn run(ctx: &Ctx<'_>, vu: &VuState, realm: Option<&Realm>) -> End {
    match evaluate(ctx, vu, realm) {
        // What ends a script may have only rejected a promise.
        Ok(()) => {
            let ending = vu.ending.borrow_mut().take();
            ending.unwrap_or(End::Ok { returned: None })
        }
        Err(error) => thrown::end_of(ctx, vu, error),
    }
}

fn evaluate(ctx: &Ctx<'_>, vu: &VuState, realm: Option<&Realm>) -> Result<()> {
    prepare(ctx, vu)?;
    let exports = match realm {
        Some(realm) => realm.instantiate(ctx)?,
        None => evaluate_modules(ctx, vu)?,
    };
    *vu.exports.borrow_mut() = Some(Persistent::save(ctx, exports));
    Ok(())
}

/// In a context of its own. While loading, finds out whether the others can do without one.
fn evaluate_modules<'js>(ctx: &Ctx<'js>, vu: &VuState) -> Result<Object<'js>> {
    globals::install(ctx)?;
    let loading = vu.worker.catalogue.loading();
    let built_in = loading.map(|_| BuiltIn::list(ctx)).transpose()?;
    let entry = vu.entry.borrow().clone();
    let exports = if is_common(vu, &entry) {
        exports_of_common(ctx, &entry)?
    } else {
        let (module, promise) = vu.worker.catalogue.declare(ctx, &entry)?.eval()?;
        promise.finish::<()>()?;
        module.namespace()?
    };
    if let (Some(loading), Some(built_in)) = (loading, built_in) {
        *loading.changed.borrow_mut() = built_in.changed();
    }
    Ok(exports)
}

/// Whether the script itself is of the `require` kind, as bundles are.
fn is_common(vu: &VuState, entry: &str) -> bool {
    let Some(Target::File(path)) = Target::from_id(entry) else {
        return false;
    };
    let text = vu.worker.catalogue.common_text(&path);
    text.is_ok_and(|text| text.is_some())
}

/// What it has put into `exports`, under whatever names.
fn exports_of_common<'js>(ctx: &Ctx<'js>, entry: &str) -> Result<Object<'js>> {
    let require: Function<'js> = ctx.globals().get("require")?;
    let exported: Value<'js> = require.call((entry,))?;
    let all = Object::new(ctx.clone())?;
    if let Some(exports) = exported.as_object() {
        for entry in exports.props::<String, Value<'js>>() {
            let (name, value) = entry?;
            all.set(name, value)?;
        }
    }
    let default: Value<'js> = all.get("default")?;
    if default.is_undefined() && exported.is_function() {
        all.set("default", exported)?;
    }
    Ok(all)
}

/// Why the init code did not end well.
pub(crate) fn error_of(vu: &VuState, end: &End) -> ScriptError {
    let loading = vu.worker.catalogue.loading();
    if let Some(problem) = loading.and_then(|loading| loading.problem.borrow().clone()) {
        return problem;
    }
    match end {
        End::Exception(exception) => exception_error(exception),
        End::Abort { message } => ScriptError::Aborted(message.clone()),
        End::Missing { message } => ScriptError::Missing(message.clone()),
        End::Interrupted | End::Ok { .. } => {
            let why = vu
                .worker
                .interruption()
                .unwrap_or("the init code was ended");
            ScriptError::Limit(format!("in the init code: {why}").into())
        }
    }
}

fn exception_error(exception: &Thrown) -> ScriptError {
    let place = position_in_stack(&exception.stack);
    let message = exception.message.clone();
    match message.strip_prefix("SyntaxError: ") {
        Some(text) => ScriptError::Syntax {
            place,
            message: text.into(),
        },
        None => ScriptError::Exception {
            place,
            message,
            stack: exception.stack.clone(),
        },
    }
}

/// The innermost place in a file of the script.
fn position_in_stack(stack: &str) -> Position {
    let mut places = stack.lines().filter_map(position_in_line);
    places.next().unwrap_or_default()
}

/// `at name (file:///a/b.js:3:9)` or `at file:///a/b.js:3:9`.
fn position_in_line(line: &str) -> Option<Position> {
    let (_, rest) = line.split_once("file://")?;
    let mut parts = rest.trim_end_matches(')').rsplitn(3, ':');
    let column = parts.next()?.parse().ok()?;
    let line = parts.next()?.parse().ok()?;
    Some(Position {
        file: parts.next()?.into(),
        line,
        column,
    })
}
