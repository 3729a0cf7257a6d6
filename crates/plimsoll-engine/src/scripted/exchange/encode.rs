//! The bytes of a virtual user's request, which may hold whatever a script wants.

use plimsoll_net::h2::write_field;
use plimsoll_net::proxy::Proxy;
use plimsoll_script::http::HttpCall;

/// Headers of a script may hold anything: what HTTP does not allow is refused.
pub(super) fn check(call: &HttpCall) -> Result<(), String> {
    check_token(&call.method, "method")?;
    for (name, value) in call.headers.iter() {
        check_token(name, "header name")?;
        if value.bytes().any(|byte| matches!(byte, b'\r' | b'\n' | 0)) {
            return Err(format!("the value of header {name:?} holds a line break"));
        }
    }
    Ok(())
}

/// The length of the body as `Content-Length` says it, if it does.
fn declared_length(call: &HttpCall) -> Option<usize> {
    let length = call.body.as_deref().unwrap_or_default().len();
    let has_body = length > 0 || matches!(&*call.method, "POST" | "PUT" | "PATCH");
    has_body.then_some(length)
}

/// The bytes of one request of HTTP/1.1; a proxy is asked with the whole URL.
pub(super) fn encode(call: &HttpCall, user_agent: &str, proxy: Option<&Proxy>, out: &mut Vec<u8>) {
    put(out, &[&call.method, " "]);
    if proxy.is_some() {
        put(out, &["http://", &call.url.authority]);
    }
    put(out, &[&call.url.target, " HTTP/1.1\r\n"]);
    if let Some(value) = proxy.and_then(|proxy| proxy.authorization.as_deref()) {
        put(out, &["Proxy-Authorization: ", value, "\r\n"]);
    }
    let host = call.headers.get("host").unwrap_or(&call.url.authority);
    put(out, &["Host: ", host, "\r\n"]);
    if call.headers.get("user-agent").is_none() && !user_agent.is_empty() {
        put(out, &["User-Agent: ", user_agent, "\r\n"]);
    }
    for (name, value) in call.headers.iter() {
        if !(name.eq_ignore_ascii_case("host") || name.eq_ignore_ascii_case("content-length")) {
            put(out, &[name, ": ", value, "\r\n"]);
        }
    }
    if let Some(length) = declared_length(call) {
        put(out, &["Content-Length: ", &length.to_string(), "\r\n"]);
    }
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(call.body.as_deref().unwrap_or_default());
}

/// The header block of one request of HTTP/2.
pub(super) fn encode_fields(call: &HttpCall, user_agent: &str, out: &mut Vec<u8>) {
    let host = call.headers.get("host").unwrap_or(&call.url.authority);
    write_field(":method", &call.method, out);
    write_field(":scheme", "https", out);
    write_field(":authority", host, out);
    write_field(":path", &call.url.target, out);
    if call.headers.get("user-agent").is_none() && !user_agent.is_empty() {
        write_field("user-agent", user_agent, out);
    }
    for (name, value) in call.headers.iter() {
        if !is_of_http1(name) {
            write_field(name, value, out);
        }
    }
    if let Some(length) = declared_length(call) {
        write_field("content-length", &length.to_string(), out);
    }
}

/// Headers of an HTTP/1.1 connection may not go over HTTP/2 (RFC 9113, section 8.2.2); the others are written apart.
fn is_of_http1(name: &str) -> bool {
    const THOSE: [&str; 7] = [
        "connection",
        "content-length",
        "host",
        "keep-alive",
        "proxy-connection",
        "transfer-encoding",
        "upgrade",
    ];
    THOSE.iter().any(|known| name.eq_ignore_ascii_case(known))
}

fn put(out: &mut Vec<u8>, parts: &[&str]) {
    for part in parts {
        out.extend_from_slice(part.as_bytes());
    }
}

/// A token of RFC 9110 section 5.6.2.
fn check_token(text: &str, what: &str) -> Result<(), String> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if !text.is_empty() && text.bytes().all(allowed) {
        Ok(())
    } else {
        Err(format!(
            "{what} {text:?} holds a character that HTTP does not allow"
        ))
    }
}
