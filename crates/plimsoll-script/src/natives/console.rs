//! `console`: each call is one line of the log.

use rquickjs::{Coerced, Ctx, Function, Object, Result, Value};

use crate::host::{ConsoleLine, LogLevel};
use crate::raw::{Call, Native};

pub(crate) static FUNCTIONS: &[Native] = &[
    Native::new("log", 1, |call| line(call, LogLevel::Info)),
    Native::new("info", 1, |call| line(call, LogLevel::Info)),
    Native::new("debug", 1, |call| line(call, LogLevel::Debug)),
    Native::new("warn", 1, |call| line(call, LogLevel::Warning)),
    Native::new("error", 1, |call| line(call, LogLevel::Error)),
];

/// Deeper members are cut off: the object may contain itself.
const DEPTH_MAX: usize = 16;

#[expect(clippy::unnecessary_wraps, reason = "the table of natives asks for it")]
fn line<'js>(call: &Call<'_, 'js>, level: LogLevel) -> Result<Value<'js>> {
    let mut message = String::new();
    for (index, value) in call.args.iter().enumerate() {
        if index > 0 {
            message.push(' ');
        }
        if value.is_object() && !value.is_error() {
            show(value, 0, &mut message);
        } else {
            message.push_str(&text(value));
        }
    }
    call.vu.worker.host.console(&ConsoleLine {
        level,
        message: &message,
        source: Some("console"),
    });
    Ok(call.undefined())
}

fn text(value: &Value<'_>) -> String {
    if value.is_symbol() {
        let description = value
            .as_symbol()
            .and_then(|symbol| symbol.description().ok());
        return description.map_or_else(String::new, |description| text(&description));
    }
    let text = value.get::<Coerced<String>>();
    text.map_or_else(|_| "(unprintable)".to_owned(), |text| text.0)
}

/// A value inside the line or inside another value.
fn show(value: &Value<'_>, depth: usize, out: &mut String) {
    if value.is_undefined() {
        out.push_str("null");
    } else if value.is_function() {
        out.push_str("[object Function]");
    } else if value.is_string() {
        out.push_str(&quoted(value));
    } else if let Some(object) = value.as_object() {
        if depth > DEPTH_MAX {
            out.push_str("[…]");
        } else {
            show_object(object, depth, out);
        }
    } else {
        out.push_str(&text(value));
    }
}

fn quoted(text: &Value<'_>) -> String {
    let json = text.ctx().json_stringify(text.clone());
    let json = json.ok().flatten().and_then(|json| json.to_string().ok());
    json.unwrap_or_default()
}

fn show_object(object: &Object<'_>, depth: usize, out: &mut String) {
    if let Ok(convert) = object.get::<_, Function<'_>>("toJSON") {
        let this = rquickjs::function::This(object.clone());
        if let Ok(plain) = convert.call::<_, Value<'_>>((this,)) {
            show(&plain, depth + 1, out);
            return;
        }
    }
    if let Some(array) = object.as_array() {
        let elements: Vec<Value<'_>> = array.iter().filter_map(Result::ok).collect();
        show_list(&elements, depth, out);
        return;
    }
    if let Some(elements) = elements_of_view(object) {
        let name = object
            .get::<_, Object<'_>>("constructor")
            .and_then(|maker| maker.get::<_, String>("name"));
        let (name, count) = (name.unwrap_or_default(), elements.len().to_string());
        for part in [&name, "(", &count, ") "] {
            out.push_str(part);
        }
        show_list(&elements, depth, out);
        return;
    }
    show_members(object, depth, out);
}

fn show_list(elements: &[Value<'_>], depth: usize, out: &mut String) {
    if elements.is_empty() {
        out.push_str("[]");
        return;
    }
    for (index, element) in elements.iter().enumerate() {
        out.push_str(if index == 0 { "[ " } else { ", " });
        show(element, depth + 1, out);
    }
    out.push_str(" ]");
}

fn show_members(object: &Object<'_>, depth: usize, out: &mut String) {
    let mut is_empty = true;
    for (name, value) in object.props::<String, Value<'_>>().filter_map(Result::ok) {
        out.push_str(if is_empty { "{ " } else { ", " });
        is_empty = false;
        out.push_str(&name);
        out.push_str(": ");
        show(&value, depth + 1, out);
    }
    out.push_str(if is_empty { "{}" } else { " }" });
}

/// The elements of a typed array.
fn elements_of_view<'js>(object: &Object<'js>) -> Option<Vec<Value<'js>>> {
    let ctx: &Ctx<'js> = object.ctx();
    let buffers: Object<'js> = ctx.globals().get("ArrayBuffer").ok()?;
    let is_view: Function<'js> = buffers.get("isView").ok()?;
    let length: usize = object.get("length").ok()?;
    is_view
        .call::<_, bool>((object.clone(),))
        .ok()
        .filter(|is_view| *is_view)?;
    (0..length)
        .map(|index| object.get(index as u32).ok())
        .collect()
}
