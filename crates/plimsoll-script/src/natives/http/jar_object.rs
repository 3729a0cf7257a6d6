//! `CookieJar` as scripts see it.

use std::cell::RefCell;
use std::rc::Rc;

use rquickjs::{Class, Coerced, Exception, JsLifetime, Object, Result, Value};
use url::Url;

use crate::http::cookies::{Cookie, Jar, parse_date};
use crate::http::session::SharedJar;
use crate::natives::set_functions;
use crate::raw::{Call, Native};

pub(crate) static CONSTRUCTORS: &[Native] = &[Native::constructor("CookieJar", 0, |call| {
    object(call, Rc::new(RefCell::new(Jar::default())))
})];

pub(crate) static METHODS: &[Native] = &[
    Native::new("cookiesForURL", 1, cookies_for_url),
    Native::new("set", 4, set),
    Native::new("clear", 1, clear),
    Native::new("delete", 2, delete),
];

#[derive(JsLifetime)]
pub(crate) struct JarObject {
    pub(crate) jar: SharedJar,
}

class!(JarObject, "CookieJar", |prototype| set_functions(
    prototype, METHODS
));

fn object<'js>(call: &Call<'_, 'js>, jar: SharedJar) -> Result<Value<'js>> {
    Ok(Class::instance(call.ctx.clone(), JarObject { jar })?.into_value())
}

/// `http.cookieJar()`: the jar of this virtual user.
pub(crate) fn current<'js>(call: &Call<'_, 'js>) -> Result<Value<'js>> {
    object(call, Rc::clone(&call.vu.http.jar.borrow()))
}

fn jar_of(call: &Call<'_, '_>) -> Result<SharedJar> {
    let jar = Class::<JarObject>::from_value(&call.this)?;
    let jar = jar.borrow();
    Ok(Rc::clone(&jar.jar))
}

fn url_of(call: &Call<'_, '_>) -> Result<Url> {
    let text = call.text(0)?;
    Url::parse(&text).map_err(|error| {
        let message = format!("cookie jars need a whole URL; {text:?}: {error}");
        Exception::throw_type(&call.ctx, &message)
    })
}

fn cookies_for_url<'js>(call: &Call<'_, 'js>) -> Result<Value<'js>> {
    let now = call.vu.worker.host.unix_ms();
    let cookies = jar_of(call)?.borrow().cookies_for(&url_of(call)?, now);
    let object = Object::new(call.ctx.clone())?;
    for (name, value) in cookies {
        let values: Option<Vec<String>> = object.get(&*name)?;
        let mut values = values.unwrap_or_default();
        values.push(value);
        object.set(name, values)?;
    }
    Ok(object.into_value())
}

fn set<'js>(call: &Call<'_, 'js>) -> Result<Value<'js>> {
    let url = url_of(call)?;
    let now = call.vu.worker.host.unix_ms();
    let mut cookie = Cookie {
        name: call.text(1)?,
        value: call.text(2)?,
        ..Cookie::default()
    };
    if let Some(options) = call.arg(3).as_object() {
        for entry in options.props::<String, Value<'js>>() {
            let (key, value) = entry?;
            let text = value.get::<Coerced<String>>()?.0;
            match key.as_str() {
                "domain" => cookie.domain = text.trim_start_matches('.').to_lowercase(),
                "path" => cookie.path = text,
                "expires" => cookie.expires_unix_ms = parse_date(&text),
                "max_age" | "maxAge" => {
                    let seconds = value.get::<Coerced<f64>>()?.0 as i64;
                    cookie.expires_unix_ms = Some(now + seconds * 1_000);
                }
                "secure" => cookie.secure = value.get::<Coerced<bool>>()?.0,
                "http_only" | "httpOnly" => cookie.http_only = value.get::<Coerced<bool>>()?.0,
                _ => {}
            }
        }
    }
    jar_of(call)?.borrow_mut().set(&url, cookie, now);
    Ok(call.boolean(true))
}

fn clear<'js>(call: &Call<'_, 'js>) -> Result<Value<'js>> {
    jar_of(call)?.borrow_mut().clear(&url_of(call)?);
    Ok(call.undefined())
}

fn delete<'js>(call: &Call<'_, 'js>) -> Result<Value<'js>> {
    let name = call.text(1)?;
    jar_of(call)?.borrow_mut().delete(&url_of(call)?, &name);
    Ok(call.undefined())
}
