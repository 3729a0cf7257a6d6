//! Response objects: a native class whose members are made when they are read.

use rquickjs::object::Property;
use rquickjs::{Array, ArrayBuffer, Class, JsLifetime, Object, Result, Value};

use super::exchange::Finished;
use super::json_path;
use super::params::ResponseType;
use crate::http::cookies::{Cookie, parse_set_cookie};
use crate::http::{Headers, Timings};
use crate::natives::stop::not_there;
use crate::natives::{set_functions, set_getters};
use crate::raw::{Call, Native, define_getter};
use crate::thrown::describe;

/// In the order in which `JSON.stringify(res)` shows them.
pub(crate) static GETTERS: &[Native] = &[
    Native::new("remote_ip", 0, |call| {
        text(call, |done| {
            let remote = done.result.remote;
            remote.map_or_else(String::new, |remote| remote.ip().to_string())
        })
    }),
    Native::new("remote_port", 0, |call| {
        number(call, |done| {
            done.result.remote.map_or(0, |remote| remote.port())
        })
    }),
    Native::new("url", 0, |call| text(call, |done| done.url.to_string())),
    Native::new("status", 0, |call| number(call, |done| done.result.status)),
    Native::new("status_text", 0, |call| text(call, status_text)),
    Native::new("proto", 0, |call| {
        text(call, |done| {
            let has_answer = done.result.status > 0;
            if has_answer {
                done.result.proto.name()
            } else {
                Default::default()
            }
            .to_owned()
        })
    }),
    Native::new("headers", 0, |call| cached(call, "headers", headers)),
    Native::new("cookies", 0, |call| cached(call, "cookies", cookies)),
    Native::new("body", 0, |call| cached(call, "body", body)),
    Native::new("timings", 0, |call| cached(call, "timings", timings)),
    Native::new("tls_version", 0, |call| {
        text(call, |done| {
            done.result.tls.map_or("", |tls| tls.version).to_owned()
        })
    }),
    Native::new("tls_cipher_suite", 0, |call| {
        text(call, |done| {
            done.result
                .tls
                .map_or("", |tls| tls.cipher_suite)
                .to_owned()
        })
    }),
    Native::new("ocsp", 0, |call| cached(call, "ocsp", ocsp)),
    Native::new("error", 0, |call| {
        text(call, |done| {
            let error = done.result.error.as_ref();
            error.map_or_else(String::new, |error| error.message.to_string())
        })
    }),
    Native::new("error_code", 0, |call| number(call, |done| done.error_code)),
    Native::new("request", 0, |call| cached(call, "request", request)),
];

pub(crate) static METHODS: &[Native] = &[
    Native::new("json", 1, json),
    Native::new("toJSON", 0, to_json),
    Native::new("html", 1, |call| {
        not_there(call, "res.html()", "look for what you need in res.body")
    }),
    Native::new("submitForm", 1, |call| {
        let instead = "send the fields of the form with http.post(url, { name: value })";
        not_there(call, "res.submitForm()", instead)
    }),
    Native::new("clickLink", 1, |call| {
        not_there(
            call,
            "res.clickLink()",
            "request the address with http.get(url)",
        )
    }),
];

#[derive(JsLifetime)]
pub(crate) struct Response {
    done: Finished,
}

impl Response {
    pub(crate) fn call(&self) -> u64 {
        self.done.result.call
    }
}

class!(Response, "Response", |prototype| {
    set_getters(prototype, GETTERS)?;
    set_functions(prototype, METHODS)
});

pub(crate) fn object<'js>(call: &Call<'_, 'js>, done: Finished) -> Result<Value<'js>> {
    let response = Class::instance(call.ctx.clone(), Response { done })?.into_value();
    let catalogue = &call.vu.worker.catalogue;
    if catalogue.look(|inventory| inventory.looks_at_members)
        && let Some(object) = response.as_object()
    {
        own_members(call, object)?;
    }
    Ok(response)
}

/// Members that are objects or large: made when they are read, as on the prototype.
const LAZY: [&str; 6] = ["headers", "cookies", "body", "timings", "ocsp", "request"];

/// In the order in which k6 shows them.
const OWN_METHODS: [&str; 4] = ["clickLink", "html", "json", "submitForm"];

/// Gives a response its members as properties of its own, for scripts that may look which it has: `{ ...res }`.
fn own_members<'js>(call: &Call<'_, 'js>, object: &Object<'js>) -> Result<()> {
    let getters = call.vu.cached(&call.ctx, "members of responses", |ctx| {
        let getters = Object::new(ctx.clone())?;
        set_functions(&getters, GETTERS)?;
        Ok(getters)
    })?;
    for member in GETTERS {
        if LAZY.contains(&member.name) {
            define_getter(object, member.name, &getters.get(member.name)?, None)?;
            continue;
        }
        let value: Value<'js> = object.get(member.name)?;
        let property = Property::from(value).writable().enumerable().configurable();
        object.prop(member.name, property)?;
    }
    for name in OWN_METHODS {
        let method: Value<'js> = object.get(name)?;
        let property = Property::from(method)
            .writable()
            .enumerable()
            .configurable();
        object.prop(name, property)?;
    }
    Ok(())
}

fn with<T>(call: &Call<'_, '_>, read: impl FnOnce(&Finished) -> T) -> Result<T> {
    let response = Class::<Response>::from_value(&call.this)?;
    let response = response.borrow();
    Ok(read(&response.done))
}

fn number<'js>(call: &Call<'_, 'js>, read: fn(&Finished) -> u16) -> Result<Value<'js>> {
    let number = with(call, read)?;
    Ok(Value::new_int(call.ctx.clone(), i32::from(number)))
}

fn text<'js>(call: &Call<'_, 'js>, read: impl FnOnce(&Finished) -> String) -> Result<Value<'js>> {
    let text = with(call, read)?;
    call.string(&text)
}

type Make = for<'a, 'js> fn(&Call<'a, 'js>, &Finished) -> Result<Value<'js>>;

/// Makes a member and keeps it as an own property, so that it is made once and scripts may change it.
fn cached<'js>(call: &Call<'_, 'js>, name: &str, make: Make) -> Result<Value<'js>> {
    let value = with(call, |done| make(call, done))??;
    if let Some(object) = call.this.as_object() {
        let property = Property::from(value.clone())
            .writable()
            .enumerable()
            .configurable();
        object.prop(name, property)?;
    }
    Ok(value)
}

fn status_text(done: &Finished) -> String {
    match (done.result.status, &*done.result.reason) {
        (0, _) => String::new(),
        (status, "") => status.to_string(),
        (status, reason) => format!("{status} {reason}"),
    }
}

fn headers<'js>(call: &Call<'_, 'js>, done: &Finished) -> Result<Value<'js>> {
    let object = Object::new(call.ctx.clone())?;
    for (index, (name, value)) in done.result.headers.iter().enumerate() {
        let same = |(other, _): &(&str, &str)| other.eq_ignore_ascii_case(name);
        if done
            .result
            .headers
            .iter()
            .take(index)
            .any(|line| same(&line))
        {
            continue;
        }
        let canonical = canonical(name);
        let mut values = done.result.headers.all(name);
        let first = values.next().unwrap_or(value);
        let all = values.fold(first.to_owned(), |all, value| all + ", " + value);
        object.set(canonical, all)?;
    }
    Ok(object.into_value())
}

/// `content-type` as `Content-Type`.
fn canonical(name: &str) -> String {
    let mut is_first = true;
    let upper = |c: char| {
        let c = if is_first {
            c.to_ascii_uppercase()
        } else {
            c.to_ascii_lowercase()
        };
        is_first = c == '-';
        c
    };
    name.chars().map(upper).collect()
}

fn cookies<'js>(call: &Call<'_, 'js>, done: &Finished) -> Result<Value<'js>> {
    let object = Object::new(call.ctx.clone())?;
    let now = call.vu.worker.host.unix_ms();
    for line in done.result.headers.all("set-cookie") {
        let Some(cookie) = parse_set_cookie(line, now) else {
            continue;
        };
        let known: Option<Array<'js>> = object.get(&*cookie.name)?;
        let list = match known {
            Some(list) => list,
            None => Array::new(call.ctx.clone())?,
        };
        list.set(list.len(), cookie_object(call, &cookie)?)?;
        object.set(cookie.name, list)?;
    }
    Ok(object.into_value())
}

fn cookie_object<'js>(call: &Call<'_, 'js>, cookie: &Cookie) -> Result<Object<'js>> {
    let object = Object::new(call.ctx.clone())?;
    object.set("name", &*cookie.name)?;
    object.set("value", &*cookie.value)?;
    object.set("domain", &*cookie.domain)?;
    object.set("path", &*cookie.path)?;
    object.set("http_only", cookie.http_only)?;
    object.set("secure", cookie.secure)?;
    object.set("max_age", cookie.max_age_seconds.unwrap_or(0) as f64)?;
    object.set("expires", cookie.expires_unix_ms.unwrap_or(0) as f64)?;
    Ok(object)
}

/// 204 and 304 have none by their nature, whatever was asked for.
fn has_body(done: &Finished) -> bool {
    let status = done.result.status;
    !matches!(status, 0 | 100..=199 | 204 | 304) && done.response_type != ResponseType::None
}

fn body<'js>(call: &Call<'_, 'js>, done: &Finished) -> Result<Value<'js>> {
    let ctx = call.ctx.clone();
    if !has_body(done) {
        return Ok(Value::new_null(ctx));
    }
    let bytes = &done.result.body;
    if done.response_type == ResponseType::Binary {
        return Ok(ArrayBuffer::new_copy(ctx, bytes)?.into_value());
    }
    let text = String::from_utf8_lossy(bytes);
    Ok(rquickjs::String::from_str(ctx, &text)?.into_value())
}

fn timings<'js>(call: &Call<'_, 'js>, done: &Finished) -> Result<Value<'js>> {
    let object = Object::new(call.ctx.clone())?;
    let spent: &Timings = &done.result.timings;
    object.set("duration", spent.duration().as_millis_f64())?;
    object.set("blocked", spent.blocked.as_millis_f64())?;
    object.set("looking_up", 0)?;
    object.set("connecting", spent.connecting.as_millis_f64())?;
    object.set("tls_handshaking", spent.tls_handshaking.as_millis_f64())?;
    object.set("sending", spent.sending.as_millis_f64())?;
    object.set("waiting", spent.waiting.as_millis_f64())?;
    object.set("receiving", spent.receiving.as_millis_f64())?;
    Ok(object.into_value())
}

/// Stapled answers are not asked for; the shape is k6's.
fn ocsp<'js>(call: &Call<'_, 'js>, _done: &Finished) -> Result<Value<'js>> {
    let object = Object::new(call.ctx.clone())?;
    for name in ["produced_at", "this_update", "next_update", "revoked_at"] {
        object.set(name, 0)?;
    }
    object.set("revocation_reason", "")?;
    object.set("status", "")?;
    Ok(object.into_value())
}

fn request<'js>(call: &Call<'_, 'js>, done: &Finished) -> Result<Value<'js>> {
    let object = Object::new(call.ctx.clone())?;
    let sent = &done.request;
    object.set("method", &*sent.method)?;
    object.set("url", &*done.url)?;
    object.set("headers", sent_headers(call, &sent.headers)?)?;
    let body = sent.body.as_deref().map(String::from_utf8_lossy);
    object.set("body", body.unwrap_or_default().into_owned())?;
    let cookies = Object::new(call.ctx.clone())?;
    for cookie in &sent.cookies {
        let shown = Object::new(call.ctx.clone())?;
        shown.set("name", &*cookie.name)?;
        shown.set("value", &*cookie.value)?;
        shown.set("replace", cookie.replace)?;
        cookies.set(&*cookie.name, vec![shown])?;
    }
    object.set("cookies", cookies)?;
    Ok(object.into_value())
}

fn sent_headers<'js>(call: &Call<'_, 'js>, headers: &Headers) -> Result<Object<'js>> {
    let object = Object::new(call.ctx.clone())?;
    if headers.get("user-agent").is_none() {
        let agent = &call.vu.worker.settings.user_agent;
        object.set("User-Agent", vec![&**agent])?;
    }
    for (name, _) in headers.iter() {
        let values: Vec<&str> = headers.all(name).collect();
        object.set(canonical(name), values)?;
    }
    Ok(object)
}

/// `res.json()` and `res.json("path.to[0]")`.
fn json<'js>(call: &Call<'_, 'js>) -> Result<Value<'js>> {
    let parsed = with(call, |done| {
        if !has_body(done) {
            return call.fail(
                "the body is null, so there is no JSON in it: the request failed, the status is 204 or 304, or \
                 responseType or discardResponseBodies dropped the body",
            );
        }
        call.ctx
            .json_parse(done.result.body.as_slice())
            .map_err(|error| {
                // The engine's message names the place; say whose text it is.
                let why = describe(&call.ctx.catch()).message;
                drop(error);
                rquickjs::Exception::throw_message(
                    &call.ctx,
                    &format!("cannot parse the body as JSON: {why}"),
                )
            })
    })??;
    match call.text_if_given(0)? {
        Some(path) => json_path::select(&parsed, &path),
        None => Ok(parsed),
    }
}

/// All members at once, as `JSON.stringify(res)` shows them.
fn to_json<'js>(call: &Call<'_, 'js>) -> Result<Value<'js>> {
    let plain = Object::new(call.ctx.clone())?;
    if let Some(response) = call.this.as_object() {
        for member in GETTERS {
            let value: Value<'js> = response.get(member.name)?;
            plain.set(member.name, value)?;
        }
    }
    Ok(plain.into_value())
}

#[cfg(test)]
mod tests {
    #[test]
    fn header_names_get_the_canonical_case() {
        for (name, expected) in [
            ("content-type", "Content-Type"),
            ("X-REQUEST-ID", "X-Request-Id"),
            ("etag", "Etag"),
        ] {
            assert_eq!(super::canonical(name), expected);
        }
    }
}
