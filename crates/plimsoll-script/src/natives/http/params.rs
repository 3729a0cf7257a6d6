//! The `params` argument of requests.

use std::rc::Rc;

use plimsoll_core::Nanos;
use rquickjs::{Class, Coerced, Object, Result, Value};

use super::expected;
use super::jar_object::JarObject;
use crate::http::session::{Expected, SharedJar};
use crate::natives::stop::not_there;
use crate::raw::Call;
use crate::tags::TagSetId;

/// How a request proves who sends it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Auth {
    #[default]
    Basic,
    Digest,
}

/// What becomes of the body of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResponseType {
    Text,
    Binary,
    None,
}

/// A content coding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Coding {
    Gzip,
    Deflate,
    Brotli,
    Zstd,
}

impl Coding {
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        match name.trim() {
            "gzip" | "x-gzip" => Some(Self::Gzip),
            "deflate" => Some(Self::Deflate),
            "br" => Some(Self::Brotli),
            "zstd" => Some(Self::Zstd),
            _ => None,
        }
    }

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Deflate => "deflate",
            Self::Brotli => "br",
            Self::Zstd => "zstd",
        }
    }
}

/// A cookie given with one request.
#[derive(Debug, Clone)]
pub(crate) struct GivenCookie {
    pub(crate) name: String,
    pub(crate) value: String,
    /// Instead of the jar's cookie of that name, not besides it.
    pub(crate) replace: bool,
}

/// What `params` says, with the defaults of the options where it says nothing.
pub(crate) struct Params {
    pub(crate) headers: Vec<(String, String)>,
    /// The virtual user's tags and those of the request.
    pub(crate) tags: TagSetId,
    /// What `http.url` calls it.
    pub(crate) template_name: Option<Rc<str>>,
    pub(crate) timeout: Nanos,
    pub(crate) redirects: u32,
    pub(crate) cookies: Vec<GivenCookie>,
    /// None switches cookies off for the request.
    pub(crate) jar: Option<SharedJar>,
    pub(crate) auth: Auth,
    pub(crate) compression: Vec<Coding>,
    pub(crate) response_type: ResponseType,
    pub(crate) expected: Expected,
    pub(crate) throw: bool,
}

impl Params {
    fn usual(call: &Call<'_, '_>) -> Self {
        let settings = &call.vu.worker.settings;
        Self {
            headers: Vec::new(),
            tags: call.vu.tags.get(),
            template_name: None,
            timeout: settings.timeout,
            redirects: settings.max_redirects,
            cookies: Vec::new(),
            jar: Some(Rc::clone(&call.vu.http.jar.borrow())),
            auth: Auth::Basic,
            compression: Vec::new(),
            response_type: if settings.discard_response_bodies {
                ResponseType::None
            } else {
                ResponseType::Text
            },
            expected: call.vu.http.expected.borrow().clone(),
            throw: settings.throw,
        }
    }

    pub(crate) fn from_value<'js>(call: &Call<'_, 'js>, value: &Value<'js>) -> Result<Self> {
        let mut params = Self::usual(call);
        let Some(given) = value.as_object() else {
            return Ok(params);
        };
        for entry in given.props::<String, Value<'js>>() {
            let (key, value) = entry?;
            if !value.is_undefined() {
                params.read(call, &key, &value)?;
            }
        }
        Ok(params)
    }

    fn read<'js>(&mut self, call: &Call<'_, 'js>, key: &str, value: &Value<'js>) -> Result<()> {
        match key {
            "headers" => self.headers = pairs(value)?,
            "tags" => self.read_tags(call, value)?,
            "timeout" => self.timeout = timeout(call, value)?,
            "redirects" => self.redirects = value.get::<Coerced<f64>>()?.0.max(0.0) as u32,
            "cookies" => self.cookies = cookies(value)?,
            "jar" => self.jar = jar(call, value)?,
            "auth" => self.auth = auth(call, &text(value)?)?,
            "compression" => self.compression = codings(call, &text(value)?)?,
            "responseType" => self.response_type = response_type(call, &text(value)?)?,
            "responseCallback" => self.expected = expected::from_value(call, value)?,
            "throw" => self.throw = value.get::<Coerced<bool>>()?.0,
            _ => {}
        }
        Ok(())
    }

    fn read_tags<'js>(&mut self, call: &Call<'_, 'js>, value: &Value<'js>) -> Result<()> {
        for (name, value) in pairs(value)? {
            self.tags = call.vu.worker.tag(self.tags, &name, &value);
        }
        Ok(())
    }
}

fn text(value: &Value<'_>) -> Result<String> {
    Ok(value.get::<Coerced<String>>()?.0)
}

fn pairs(value: &Value<'_>) -> Result<Vec<(String, String)>> {
    let Some(object) = value.as_object() else {
        return Ok(Vec::new());
    };
    let mut pairs = Vec::new();
    for entry in object.props::<String, Value<'_>>() {
        let (name, value) = entry?;
        if !value.is_undefined() && !value.is_null() {
            pairs.push((name, text(&value)?));
        }
    }
    Ok(pairs)
}

/// A number of milliseconds, or a duration such as `"1m30s"`.
fn timeout(call: &Call<'_, '_>, value: &Value<'_>) -> Result<Nanos> {
    if let Some(millis) = value.as_number() {
        return Ok(Nanos::from_secs_f64(millis / 1e3));
    }
    let text = text(value)?;
    let seconds = text.parse().ok().map(|millis: f64| millis / 1e3);
    match seconds.or_else(|| parse_seconds(&text)) {
        Some(seconds) => Ok(Nanos::from_secs_f64(seconds)),
        None => call.fail_type(&format!(
            "timeout {text:?} is not a duration: write milliseconds as a number, or \"10s\", \"1m30s\", \"500ms\""
        )),
    }
}

/// Go's durations with a leading day unit: `1d12h`, `1h30m`, `1.5s`, `500ms`.
pub(crate) fn parse_seconds(text: &str) -> Option<f64> {
    const UNITS: [(&str, f64); 8] = [
        ("ns", 1e-9),
        ("us", 1e-6),
        ("µs", 1e-6),
        ("ms", 1e-3),
        ("s", 1.0),
        ("m", 60.0),
        ("h", 3_600.0),
        ("d", 86_400.0),
    ];
    let mut rest = text;
    let mut total = 0.0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, after) = rest.split_at_checked(digits)?;
        let end = after
            .find(|c: char| c.is_ascii_digit())
            .unwrap_or(after.len());
        let (unit, next) = after.split_at_checked(end)?;
        let (_, factor) = UNITS.iter().find(|(name, _)| *name == unit)?;
        total += number.parse::<f64>().ok()? * factor;
        rest = next;
    }
    (!text.is_empty()).then_some(total)
}

fn cookies(value: &Value<'_>) -> Result<Vec<GivenCookie>> {
    let Some(object) = value.as_object() else {
        return Ok(Vec::new());
    };
    let mut cookies = Vec::new();
    for entry in object.props::<String, Value<'_>>() {
        let (name, value) = entry?;
        let cookie: Option<&Object<'_>> = value.as_object();
        let (value, replace) = match cookie {
            Some(cookie) => (
                text(&cookie.get("value")?)?,
                cookie.get::<_, Coerced<bool>>("replace")?.0,
            ),
            None => (text(&value)?, false),
        };
        cookies.push(GivenCookie {
            name,
            value,
            replace,
        });
    }
    Ok(cookies)
}

fn jar(call: &Call<'_, '_>, value: &Value<'_>) -> Result<Option<SharedJar>> {
    if value.is_null() {
        return Ok(None);
    }
    match Class::<JarObject>::from_value(value) {
        Ok(jar) => Ok(Some(Rc::clone(&jar.borrow().jar))),
        Err(_) => call
            .fail_type("params.jar must be a CookieJar: new http.CookieJar() or http.cookieJar()"),
    }
}

fn auth(call: &Call<'_, '_>, kind: &str) -> Result<Auth> {
    match kind {
        "basic" | "" => Ok(Auth::Basic),
        "digest" => Ok(Auth::Digest),
        "ntlm" => not_there(call, "auth \"ntlm\"", "basic and digest are there"),
        other => call.fail(&format!(
            "auth {other:?} is unknown; supported are basic and digest"
        )),
    }
}

fn codings(call: &Call<'_, '_>, list: &str) -> Result<Vec<Coding>> {
    let mut codings = Vec::new();
    for name in list.split(',').filter(|name| !name.trim().is_empty()) {
        match Coding::from_name(name) {
            Some(coding) => codings.push(coding),
            None => {
                return call.fail(&format!(
                    "compression {name:?} is unknown; supported are gzip, deflate, br and zstd"
                ));
            }
        }
    }
    Ok(codings)
}

fn response_type(call: &Call<'_, '_>, name: &str) -> Result<ResponseType> {
    match name {
        "text" => Ok(ResponseType::Text),
        "binary" => Ok(ResponseType::Binary),
        "none" => Ok(ResponseType::None),
        other => call.fail(&format!(
            "responseType {other:?} is unknown; write \"text\", \"binary\" or \"none\""
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_go_writes_them() {
        let cases = [
            ("10s", Some(10.0)),
            ("1m30s", Some(90.0)),
            ("1d12h", Some(129_600.0)),
            ("500ms", Some(0.5)),
            ("1.5s", Some(1.5)),
            ("", None),
            ("10", None),
            ("10 s", None),
            ("s", None),
        ];
        for (text, expected) in cases {
            assert_eq!(parse_seconds(text), expected, "{text}");
        }
    }
}
