//! Canned answers, in the manner of httpbin: what was sent comes back as JSON.

use plimsoll_core::Nanos;
use plimsoll_script::http::{BodyUse, Headers, HttpCall, HttpError, HttpResult, Timings};
use serde_json::{Map, Value, json};

/// What the fake network answers.
pub(crate) fn answer(call: &HttpCall) -> HttpResult {
    let mut result = route(call);
    result.timings = Timings {
        blocked: Nanos::from_millis(1),
        connecting: Nanos::from_millis(2),
        sending: Nanos::from_millis(3),
        waiting: Nanos::from_millis(4),
        receiving: Nanos::from_millis(5),
        ..Timings::default()
    };
    if result.status > 0 {
        result.remote = Some("127.0.0.1:80".parse().unwrap());
    }
    if call.body_use == BodyUse::Discard {
        result.body.clear();
    }
    result
}

fn route(call: &HttpCall) -> HttpResult {
    if &*call.url.host == "refused.test" {
        return failed(1212, "dial: connection refused");
    }
    if &*call.url.host == "slow.test" {
        return failed(1050, "request timeout");
    }
    let path = call.url.target.split('?').next().unwrap_or_default();
    let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    match parts.as_slice() {
        ["status", status] => with_status(status.parse().unwrap(), &[], b""),
        ["redirect", "0"] => echo(call),
        ["redirect", left] => {
            let left: u32 = left.parse().unwrap();
            with_status(
                302,
                &[("Location", &format!("/redirect/{}", left - 1))],
                b"",
            )
        }
        ["redirect-to", status, rest @ ..] => {
            let to = format!("/{}", rest.join("/"));
            with_status(status.parse().unwrap(), &[("Location", &to)], b"")
        }
        ["to", host, rest @ ..] => {
            let to = format!("http://{host}/{}", rest.join("/"));
            with_status(302, &[("Location", &to)], b"")
        }
        ["away"] => with_status(302, &[("Location", "http://other.test/anything")], b""),
        ["cookies", "set"] => set_cookies(call, 200),
        ["cookies", "set-and-go"] => set_cookies(call, 302),
        ["cookies"] => with_status(200, &[JSON], cookies_sent(call).to_string().as_bytes()),
        ["basic-auth", user, password] => basic_auth(call, user, password),
        ["digest-auth"] => digest_auth(call),
        ["text"] => with_status(200, &[("Content-Type", "text/plain")], b"plain text"),
        ["empty"] => with_status(200, &[], b""),
        ["bytes"] => with_status(200, &[], &[0, 1, 254, 255]),
        ["multi"] => with_status(200, &[("x-many", "1"), ("X-Many", "2"), ("ETAG", "e")], b""),
        ["json"] => with_status(200, &[JSON], SAMPLE.as_bytes()),
        ["gzip"] => with_status(
            200,
            &[("Content-Encoding", "gzip")],
            &gzipped("hello, gzip"),
        ),
        ["broken-gzip"] => with_status(200, &[("Content-Encoding", "gzip")], b"nonsense"),
        ["html"] => with_status(200, &[("Content-Type", "text/html")], b"<p>hi</p>"),
        _ => echo(call),
    }
}

const JSON: (&str, &str) = ("Content-Type", "application/json");
const SAMPLE: &str = r#"{"name":"Ann","age":37,"tags":["a","b","c"],"friends":[{"n":"Bo","age":50},{"n":"Cy","age":20}],"a.b":1,"nil":null}"#;

fn gzipped(text: &str) -> Vec<u8> {
    use std::io::Write as _;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

fn failed(code: u16, message: &str) -> HttpResult {
    HttpResult {
        error: Some(HttpError {
            code,
            message: message.into(),
        }),
        ..HttpResult::default()
    }
}

fn with_status(status: u16, headers: &[(&str, &str)], body: &[u8]) -> HttpResult {
    HttpResult {
        status,
        reason: if status == 200 { "OK" } else { "" }.into(),
        headers: headers.iter().copied().collect(),
        body: body.to_vec(),
        ..HttpResult::default()
    }
}

/// Method, path, headers and body of the request as JSON.
fn echo(call: &HttpCall) -> HttpResult {
    let mut headers = Map::new();
    for (name, value) in call.headers.iter() {
        headers.insert(name.to_lowercase(), value.into());
    }
    let body = call.body.as_deref().map(|body| {
        let unpacked = unpack(&call.headers, body);
        String::from_utf8_lossy(&unpacked).into_owned()
    });
    let seen = json!({
        "method": &*call.method,
        "url": &*call.url.text,
        "headers": headers,
        "body": body,
        "timeout_ms": call.timeout.as_millis_f64(),
    });
    let mut result = with_status(200, &[JSON], seen.to_string().as_bytes());
    if &*call.method == "HEAD" {
        result.body.clear();
    }
    result
}

fn unpack(headers: &Headers, body: &[u8]) -> Vec<u8> {
    use std::io::Read as _;
    if headers.get("content-encoding") != Some("gzip") {
        return body.to_vec();
    }
    let mut unpacked = Vec::new();
    flate2::read::GzDecoder::new(body)
        .read_to_end(&mut unpacked)
        .unwrap();
    unpacked
}

/// `/cookies/set?a=1&b=2`: a cookie per parameter for the whole host.
fn set_cookies(call: &HttpCall, status: u16) -> HttpResult {
    let query = call
        .url
        .target
        .split_once('?')
        .map_or("", |(_, query)| query);
    let lines: Vec<String> = query
        .split('&')
        .map(|pair| format!("{pair}; Path=/; HttpOnly"))
        .collect();
    let mut headers: Vec<(&str, &str)> = lines
        .iter()
        .map(|line| ("Set-Cookie", line.as_str()))
        .collect();
    headers.push(("Location", "/cookies"));
    with_status(status, &headers, b"set")
}

fn cookies_sent(call: &HttpCall) -> Value {
    let mut cookies = Map::new();
    for pair in call.headers.get("cookie").unwrap_or_default().split("; ") {
        if let Some((name, value)) = pair.split_once('=') {
            cookies.insert(name.to_owned(), value.into());
        }
    }
    Value::Object(cookies)
}

fn basic_auth(call: &HttpCall, user: &str, password: &str) -> HttpResult {
    use base64::Engine as _;
    let pair = base64::engine::general_purpose::STANDARD.encode(format!("{user}:{password}"));
    let is_right = call.headers.get("authorization") == Some(&*format!("Basic {pair}"));
    with_status(if is_right { 200 } else { 401 }, &[], b"")
}

fn digest_auth(call: &HttpCall) -> HttpResult {
    let given = call.headers.get("authorization").unwrap_or_default();
    if given.starts_with("Digest username=\"user\"") && given.contains("qop=auth") {
        return with_status(200, &[], b"in");
    }
    let challenge = "Digest realm=\"r\", nonce=\"abc\", qop=\"auth\"";
    with_status(401, &[("WWW-Authenticate", challenge)], b"")
}
