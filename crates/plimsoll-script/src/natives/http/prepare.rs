//! From the arguments of a request to the call that goes on the wire.

use std::rc::Rc;

use rquickjs::{Class, Coerced, Object, Result, Value};

use super::body::{compress, encode};
use super::params::{Auth, GivenCookie, Params, ResponseType};
use super::template::Template;
use crate::http::address::{Address, Refusal};
use crate::http::session::LastTags;
use crate::http::{BodyUse, Headers, HttpCall};
use crate::raw::Call;
use crate::tags::TagSetId;

/// A request on its way: the call, and what decides what follows it.
pub(crate) struct Prepared {
    pub(crate) method: Rc<str>,
    pub(crate) address: std::result::Result<Rc<Address>, (Refusal, Box<str>)>,
    /// Headers of the request itself, without cookies and authorization.
    pub(crate) headers: Headers,
    pub(crate) body: Option<Rc<[u8]>>,
    pub(crate) params: Params,
    /// Tags with method, url and name.
    pub(crate) tags: TagSetId,
    /// User and password from the URL.
    pub(crate) user: Option<(String, String)>,
}

pub(crate) fn prepare<'js>(
    call: &Call<'_, 'js>,
    method: Rc<str>,
    url: &Value<'js>,
    body: &Value<'js>,
    params: &Value<'js>,
) -> Result<Prepared> {
    let mut params = Params::from_value(call, params)?;
    let text = url_text(url, &mut params)?;
    let address = call.vu.worker.addresses.get(&text);
    let (body, headers) = body_and_headers(call, body, &params)?;
    let shown = address
        .as_ref()
        .map_or(&*text, |address| &address.request.text);
    let tags = request_tags(call, &params, &method, shown);
    Ok(Prepared {
        user: address
            .as_ref()
            .ok()
            .and_then(|address| address.user.clone()),
        address: address.map_err(|refusal| (refusal, text.into())),
        method,
        headers,
        body,
        params,
        tags,
    })
}

/// A string, what `http.url` made, or anything that turns into a string.
fn url_text(url: &Value<'_>, params: &mut Params) -> Result<String> {
    if let Ok(template) = Class::<Template>::from_value(url) {
        let template = template.borrow();
        params.template_name = Some(template.name.as_str().into());
        return Ok(template.url.clone());
    }
    if let Some(object) = url.as_object() {
        let href: Option<String> = Object::get(object, "href")?;
        if let Some(href) = href {
            return Ok(href);
        }
    }
    Ok(url.get::<Coerced<String>>()?.0)
}

type BodyAndHeaders = (Option<Rc<[u8]>>, Headers);

fn body_and_headers(
    call: &Call<'_, '_>,
    body: &Value<'_>,
    params: &Params,
) -> Result<BodyAndHeaders> {
    let mut headers = Headers::default();
    for (name, value) in &params.headers {
        headers.push(name, value);
    }
    let Some(encoded) = encode(call, body)? else {
        return Ok((None, headers));
    };
    if let Some(content_type) = &encoded.content_type
        && headers.get("content-type").is_none()
    {
        headers.push("Content-Type", content_type);
    }
    let mut bytes = encoded.bytes;
    if !params.compression.is_empty() {
        let mut names = Vec::new();
        for coding in &params.compression {
            bytes = compress(*coding, &bytes)?;
            names.push(coding.name());
        }
        if headers.get("content-encoding").is_none() {
            headers.push("Content-Encoding", &names.join(", "));
        }
    }
    Ok((Some(bytes.into()), headers))
}

/// The tags that are known before the answer. A name replaces the URL, or ever new URLs would be ever new series: as in k6
/// one among the tags, of the request or of all that surrounds it, else that of `http.url`.
pub(crate) fn request_tags(
    call: &Call<'_, '_>,
    params: &Params,
    method: &str,
    url: &str,
) -> TagSetId {
    let given = call.vu.worker.tags.borrow().value(params.tags, "name");
    let is_given = given.is_some();
    let given = given.or_else(|| params.template_name.clone());
    let name = given.as_deref().unwrap_or(url);
    let mut last = call.vu.http.last_tags.borrow_mut();
    let known = last
        .as_ref()
        .filter(|last| last.base == params.tags && &*last.method == method && &*last.name == name);
    if let Some(known) = known {
        return known.tags;
    }
    let system = &call.vu.worker.settings.system_tags;
    let mut tags = params.tags;
    for (is_on, key, value) in [
        (system.method, "method", method),
        (system.name && !is_given, "name", name),
        (system.url, "url", name),
    ] {
        if is_on {
            tags = call.vu.worker.tag(tags, key, value);
        }
    }
    *last = Some(LastTags {
        base: params.tags,
        method: method.into(),
        name: name.into(),
        tags,
    });
    tags
}

/// What goes on the wire, with the cookies of now. `authorization` answers a challenge.
pub(crate) fn wire_call(
    call: &Call<'_, '_>,
    prepared: &Prepared,
    address: &Address,
    authorization: Option<&str>,
) -> HttpCall {
    let line = cookie_line(call, prepared, address);
    let mut headers = with_cookies(&prepared.headers, line);
    let basic = || {
        let (user, password) = prepared.user.as_ref()?;
        (prepared.params.auth == Auth::Basic).then(|| super::digest::basic(user, password))
    };
    if headers.get("authorization").is_none()
        && let Some(line) = authorization.map(str::to_owned).or_else(basic)
    {
        headers.push("Authorization", &line);
    }
    HttpCall {
        method: Rc::clone(&prepared.method),
        url: Rc::clone(&address.request),
        headers,
        body: prepared.body.clone(),
        timeout: prepared.params.timeout,
        body_use: if prepared.params.response_type == ResponseType::None {
            BodyUse::Discard
        } else {
            BodyUse::Keep
        },
        tags: prepared.tags,
        expects_challenge: false,
        may_follow: false,
    }
}

/// The cookies that a request carries, by name and value; `replace` is as given.
pub(crate) fn cookies_of(
    call: &Call<'_, '_>,
    prepared: &Prepared,
    address: &Address,
) -> Vec<GivenCookie> {
    let given = &prepared.params.cookies;
    let mut cookies = given.clone();
    if let Some(jar) = &prepared.params.jar {
        let jar = jar.borrow();
        if !jar.is_empty() {
            let now = call.vu.worker.host.unix_ms();
            for (name, value) in jar.cookies_for(&address.parsed, now) {
                let is_replaced = given
                    .iter()
                    .any(|cookie| cookie.replace && cookie.name == name);
                if !is_replaced {
                    cookies.push(GivenCookie {
                        name,
                        value,
                        replace: false,
                    });
                }
            }
        }
    }
    cookies
}

/// The headers with one line of cookies: those of the script's own header, then the others. A second line is against
/// RFC 6265, and many servers read one only.
fn with_cookies(own: &Headers, line: Option<String>) -> Headers {
    let Some(line) = line else {
        return own.clone();
    };
    let mut lines: Vec<&str> = own.all("cookie").collect();
    let mut headers = if lines.is_empty() {
        own.clone()
    } else {
        let is_other = |(name, _): &(&str, &str)| !name.eq_ignore_ascii_case("cookie");
        own.iter().filter(is_other).collect()
    };
    lines.push(&line);
    headers.push("Cookie", &lines.join("; "));
    headers
}

fn cookie_line(call: &Call<'_, '_>, prepared: &Prepared, address: &Address) -> Option<String> {
    let cookies = cookies_of(call, prepared, address);
    if cookies.is_empty() {
        return None;
    }
    let pairs: Vec<String> = cookies
        .iter()
        .map(|cookie| format!("{}={}", cookie.name, cookie.value))
        .collect();
    Some(pairs.join("; "))
}
