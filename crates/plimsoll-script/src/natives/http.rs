//! The module `k6/http`.

pub(crate) mod body;
pub(crate) mod digest;
pub(crate) mod exchange;
pub(crate) mod expected;
pub(crate) mod jar_object;
mod json_path;
pub(crate) mod params;
pub(crate) mod prepare;
pub(crate) mod response;
mod template;
pub(crate) mod waiting;

use std::rc::Rc;

use rquickjs::{Array, Class, Coerced, Ctx, Object, Result, Value};

use super::{Named, functions, names_of};
use crate::raw::{Call, Native};
use exchange::perform;
use prepare::{Prepared, prepare};

pub(crate) static FUNCTIONS: &[Native] = &[
    Native::new("get", 2, |call| without_body(call, "GET")),
    Native::new("head", 2, |call| without_body(call, "HEAD")),
    Native::new("post", 3, |call| with_body(call, "POST")),
    Native::new("put", 3, |call| with_body(call, "PUT")),
    Native::new("patch", 3, |call| with_body(call, "PATCH")),
    Native::new("del", 3, |call| with_body(call, "DELETE")),
    Native::new("options", 3, |call| with_body(call, "OPTIONS")),
    Native::new("request", 4, request),
    Native::new("batch", 1, batch),
    Native::new("url", 1, template::create),
    Native::new("file", 3, body::file),
    Native::new("expectedStatuses", 1, expected::create),
    Native::new("setResponseCallback", 1, expected::set_default),
    Native::new("cookieJar", 0, jar_object::current),
];

const CONSTANTS: [(&str, &str); 14] = [
    ("TLS_1_0", "tls1.0"),
    ("TLS_1_1", "tls1.1"),
    ("TLS_1_2", "tls1.2"),
    ("TLS_1_3", "tls1.3"),
    ("OCSP_STATUS_GOOD", "good"),
    ("OCSP_STATUS_REVOKED", "revoked"),
    ("OCSP_STATUS_SERVER_FAILED", "server_failed"),
    ("OCSP_STATUS_UNKNOWN", "unknown"),
    ("OCSP_REASON_UNSPECIFIED", "unspecified"),
    ("OCSP_REASON_KEY_COMPROMISE", "key_compromise"),
    ("OCSP_REASON_CA_COMPROMISE", "ca_compromise"),
    ("OCSP_REASON_AFFILIATION_CHANGED", "affiliation_changed"),
    ("OCSP_REASON_SUPERSEDED", "superseded"),
    (
        "OCSP_REASON_CESSATION_OF_OPERATION",
        "cessation_of_operation",
    ),
];

pub(crate) fn names() -> Vec<&'static str> {
    let mut names = names_of(FUNCTIONS);
    names.extend(names_of(waiting::FUNCTIONS));
    names.extend(names_of(jar_object::CONSTRUCTORS));
    names.extend(CONSTANTS.iter().map(|(name, _)| *name));
    names
}

pub(crate) fn values<'js>(ctx: &Ctx<'js>) -> Result<Named<'js>> {
    let mut values = functions(ctx, FUNCTIONS)?;
    values.extend(functions(ctx, waiting::FUNCTIONS)?);
    values.extend(functions(ctx, jar_object::CONSTRUCTORS)?);
    for (name, value) in CONSTANTS {
        let value = rquickjs::String::from_str(ctx.clone(), value)?;
        values.push((name, value.into_value()));
    }
    Ok(values)
}

fn refuse_in_init(call: &Call<'_, '_>) -> Result<()> {
    if call.vu.is_init() {
        return call.fail(
            "requests do not work in the init code: send them in setup(), or in the function that runs the test",
        );
    }
    Ok(())
}

fn without_body<'js>(call: &Call<'_, 'js>, method: &'static str) -> Result<Value<'js>> {
    if call.args.len() > 2 {
        call.vu.worker.warn(&format!(
            "http.{}() takes a URL and params; further arguments are left out",
            method.to_lowercase()
        ));
    }
    single(call, method.into(), &call.undefined(), &call.arg(1), 0)
}

fn with_body<'js>(call: &Call<'_, 'js>, method: &'static str) -> Result<Value<'js>> {
    single(call, method.into(), &call.arg(1), &call.arg(2), 0)
}

fn request<'js>(call: &Call<'_, 'js>) -> Result<Value<'js>> {
    let method = call.text(0)?;
    single(
        call,
        method.to_uppercase().into(),
        &call.arg(2),
        &call.arg(3),
        1,
    )
}

fn single<'js>(
    call: &Call<'_, 'js>,
    method: Rc<str>,
    body: &Value<'js>,
    params: &Value<'js>,
    url_at: usize,
) -> Result<Value<'js>> {
    refuse_in_init(call)?;
    let prepared = prepare(call, method, &call.arg(url_at), body, params)?;
    let mut finished = perform(call, vec![prepared])?;
    match finished.pop() {
        Some(done) => response::object(call, done),
        None => Ok(call.undefined()),
    }
}

/// `batch(requests)`: an array gives an array, an object gives an object with the same keys.
fn batch<'js>(call: &Call<'_, 'js>) -> Result<Value<'js>> {
    refuse_in_init(call)?;
    let ctx = &call.ctx;
    let Some(requests) = call.arg(0).into_object() else {
        return call.fail_type("http.batch() needs an array or an object of requests");
    };
    let mut keys = Vec::new();
    let mut prepared = Vec::new();
    for entry in requests.props::<String, Value<'js>>() {
        let (key, request) = entry?;
        keys.push(key);
        prepared.push(one_of_batch(call, &request)?);
    }
    let finished = perform(call, prepared)?;
    let is_array = requests.is_array();
    let (array, object) = (Array::new(ctx.clone())?, Object::new(ctx.clone())?);
    for (index, (key, done)) in keys.into_iter().zip(finished).enumerate() {
        let response = response::object(call, done)?;
        if is_array {
            array.set(index, response)?;
        } else {
            object.set(key, response)?;
        }
    }
    Ok(if is_array {
        array.into_value()
    } else {
        object.into_value()
    })
}

/// A URL, `[method, url, body, params]`, or `{ method, url, body, params }`.
fn one_of_batch<'js>(call: &Call<'_, 'js>, request: &Value<'js>) -> Result<Prepared> {
    let undefined = call.undefined();
    if let Some(parts) = request.as_array() {
        let method: Coerced<String> = parts.get(0)?;
        let (url, body, params) = (parts.get(1)?, parts.get(2)?, parts.get(3)?);
        return prepare(call, method.0.to_uppercase().into(), &url, &body, &params);
    }
    let is_url = Class::<template::Template>::from_value(request).is_ok();
    if let Some(parts) = request.as_object().filter(|_| !is_url) {
        let method: Value<'js> = parts.get("method")?;
        let method = match method.as_string() {
            Some(method) => method.to_string()?,
            None => "GET".to_owned(),
        };
        let (url, body, params) = (parts.get("url")?, parts.get("body")?, parts.get("params")?);
        return prepare(call, method.to_uppercase().into(), &url, &body, &params);
    }
    prepare(call, "GET".into(), request, &undefined, &undefined)
}
