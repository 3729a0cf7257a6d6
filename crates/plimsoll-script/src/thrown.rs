//! Tells apart the ways in which script code ends early.

use rquickjs::{Coerced, Ctx, Error, Object, Value};

use crate::host::{ConsoleLine, LogLevel};
use crate::raw::state_of;
use crate::turn::{End, Thrown};
use crate::vu_state::VuState;

/// The end that an error of the engine means. Clears the pending exception.
pub(crate) fn end_of(ctx: &Ctx<'_>, vu: &VuState, error: Error) -> End {
    let exception = match error {
        Error::Exception => describe(&ctx.catch()),
        other => Thrown {
            message: other.to_string().into(),
            stack: Box::default(),
        },
    };
    if let Some(end) = vu.ending.borrow_mut().take() {
        return end;
    }
    if vu.worker.interruption().is_some() {
        return End::Interrupted;
    }
    End::Exception(with_realm_hint(vu, with_memory_hint(vu, exception)))
}

/// The same of what rejected a promise that nobody looks at.
pub(crate) fn in_promise(ctx: &Ctx<'_>, vu: &VuState, error: Error) -> End {
    let mut end = end_of(ctx, vu, error);
    if let End::Exception(exception) = &mut end {
        exception.message = format!("Uncaught (in promise) {}", exception.message).into();
    }
    end
}

fn with_memory_hint(vu: &VuState, mut exception: Thrown) -> Thrown {
    if vu.worker.account.was_refused() {
        let limit = vu.worker.settings.limits.memory_bytes >> 20;
        let message = &exception.message;
        exception.message = format!("{message} (limit {limit} MiB in one go)").into();
    }
    exception
}

/// Built-in objects are sealed when virtual users share them; init code that changes them is found and gets its own.
fn with_realm_hint(vu: &VuState, mut exception: Thrown) -> Thrown {
    let is_sealed = [
        "object is not extensible",
        "is read-only",
        "is not configurable",
    ]
    .iter()
    .any(|words| exception.message.contains(words));
    if vu.shares_context && is_sealed {
        let message = &exception.message;
        exception.message = format!(
            "{message} (if it is a built-in object: change it in the init code, whatever __VU is)"
        )
        .into();
    }
    exception
}

/// Message and stack of a thrown value.
pub(crate) fn describe(value: &Value<'_>) -> Thrown {
    if let Some(object) = value.as_object().filter(|_| value.is_error()) {
        return Thrown {
            message: message_of(object).into(),
            stack: frames_of(object).into(),
        };
    }
    let text = value.get::<Coerced<String>>();
    Thrown {
        message: text.map_or_else(|_| "(unprintable)".into(), |text| text.0.into()),
        stack: Box::default(),
    }
}

/// The frames of the script; the outermost may be the engine's own anchor.
fn frames_of(error: &Object<'_>) -> String {
    let stack: String = error.get("stack").unwrap_or_default();
    let is_script = |line: &&str| !line.trim().is_empty() && !line.ends_with("at wait (native)");
    let vu = state_of(error.ctx());
    let shown = stack.lines().filter(is_script);
    let frames: Vec<String> = shown.map(|line| in_source(&vu, line)).collect();
    frames.join("\n")
}

/// A frame in a `.ts` file, with the place in that file instead of the generated one.
fn in_source(vu: &VuState, frame: &str) -> String {
    let mapped = || {
        let start = frame.find("file://")?;
        let (head, rest) = frame.split_at_checked(start)?;
        let mut parts = rest.trim_end_matches(')').rsplitn(3, ':');
        let column = parts.next()?.parse().ok()?;
        let line = parts.next()?.parse().ok()?;
        let id = parts.next()?;
        let (map, shift) = vu.worker.catalogue.look(|inventory| {
            let shared = inventory.shareable.as_ref().filter(|_| line == 1);
            let shift = shared.map_or(0, |script| script.shift_of(id));
            (inventory.maps.get(id).cloned(), shift)
        });
        let column: u32 = column;
        let column = column.saturating_sub(shift);
        let (line, column) = map.map_or((line, column), |map| map.source_of(line, column));
        let end = if rest.ends_with(')') { ")" } else { "" };
        Some(format!("{head}{id}:{line}:{column}{end}"))
    };
    mapped().unwrap_or_else(|| frame.to_owned())
}

fn message_of(error: &Object<'_>) -> String {
    let part = |name| {
        let value = error.get::<_, Coerced<String>>(name);
        value.map(|text| text.0).unwrap_or_default()
    };
    let (name, message) = (part("name"), part("message"));
    if message.is_empty() {
        return name;
    }
    format!("{name}: {message}")
}

/// Tells the log of an exception that nobody caught, as k6 does.
pub(crate) fn report(vu: &VuState, exception: &Thrown) {
    let mut message = exception.message.to_string();
    for frame in exception.stack.lines() {
        message.push_str("\n\t");
        message.push_str(frame.trim_start());
    }
    vu.worker.host.console(&ConsoleLine {
        level: LogLevel::Error,
        message: &message,
        source: Some("stacktrace"),
    });
}
