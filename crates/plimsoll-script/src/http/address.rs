//! Addresses of requests, parsed once each.
//!
//! The rules by which a browser reads a URL find the host. What goes on the wire, and what scripts and tags see, is what was
//! written, as in k6: no `/` is added, a port stays although it is the usual one, and `..` is no business of ours. Else a
//! threshold on `name:http://h.test` would never meet a sample, and pass.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use percent_encoding::{
    AsciiSet, CONTROLS, NON_ALPHANUMERIC, percent_decode_str, percent_encode, utf8_percent_encode,
};
use url::{Host, Position, Url};

use super::RequestUrl;

/// What may stand in a path without an escape.
const OF_PATHS: &[u8] = b"-_.~!$&'()*+,;=:@[]%/";
/// What a path with anything else in it is escaped to, whole: Go's rule, by which k6 goes.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~')
    .remove(b'$')
    .remove(b'&')
    .remove(b'+')
    .remove(b',')
    .remove(b'/')
    .remove(b':')
    .remove(b';')
    .remove(b'=')
    .remove(b'@');
/// What no server takes in the query of a request line.
const NOT_IN_QUERY: &AsciiSet = &CONTROLS.add(b' ').add(b'"').add(b'<').add(b'>');

/// What a URL says besides where to go.
#[derive(Debug)]
pub(crate) struct Address {
    pub(crate) request: Rc<RequestUrl>,
    /// `user:password` before the host, percent-decoded.
    pub(crate) user: Option<(String, String)>,
    pub(crate) parsed: Url,
}

/// Why a URL cannot be requested; a bad URL is a failed request (`error_code` 1020), not an exception.
pub(crate) type Refusal = String;

/// Addresses seen before. When full it starts over: a script with ever new URLs must not grow it.
#[derive(Debug, Default)]
pub(crate) struct Addresses(RefCell<BTreeMap<Box<str>, Rc<Address>>>);

const ADDRESSES_MAX: usize = 2_048;

impl Addresses {
    pub(crate) fn get(&self, text: &str) -> Result<Rc<Address>, Refusal> {
        if let Some(known) = self.0.borrow().get(text) {
            return Ok(Rc::clone(known));
        }
        let parsed = Url::parse(text).map_err(|error| match error {
            url::ParseError::RelativeUrlWithoutBase => {
                "unsupported protocol scheme \"\"".to_owned()
            }
            error => format!("invalid URL {text:?}: {error}"),
        })?;
        let written = Written::of(text, &parsed);
        let address = Rc::new(address(&parsed, &written)?);
        let mut known = self.0.borrow_mut();
        if known.len() >= ADDRESSES_MAX {
            known.clear();
        }
        known.insert(text.into(), Rc::clone(&address));
        Ok(address)
    }
}

/// Where a `Location` leads to from there.
pub(crate) fn redirected(from: &Address, location: &str) -> Option<Address> {
    let parsed = from.parsed.join(location).ok()?;
    let text = if Url::parse(location).is_ok() {
        Cow::Borrowed(location)
    } else if location.starts_with("//") {
        Cow::Owned(format!("{}:{location}", parsed.scheme()))
    } else {
        let (scheme, authority) = (parsed.scheme(), &from.request.authority);
        let rest = &parsed[Position::BeforePath..];
        Cow::Owned(format!("{scheme}://{authority}{rest}"))
    };
    let mut written = Written::of(&text, &parsed);
    // Here Go takes `.` and `..` out, too.
    if !written.path.is_empty() {
        written.path = parsed.path();
    }
    address(&parsed, &written).ok()
}

/// The parts of a URL as somebody wrote them.
#[derive(Debug)]
struct Written<'a> {
    /// Without user information.
    authority: &'a str,
    path: &'a str,
    query: Option<&'a str>,
}

impl<'a> Written<'a> {
    /// Of a text that was parsed to `parsed`; by browsers' rules where the text does not look like a URL.
    fn of(text: &'a str, parsed: &'a Url) -> Self {
        Self::from_text(text, parsed).unwrap_or_else(|| Self {
            authority: authority_of(parsed),
            path: parsed.path(),
            query: parsed.query(),
        })
    }

    fn from_text(text: &'a str, parsed: &'a Url) -> Option<Self> {
        let (scheme, rest) = text.trim().split_once("://")?;
        if !scheme.eq_ignore_ascii_case(parsed.scheme()) {
            return None;
        }
        let (rest, _fragment) = rest.split_once('#').unwrap_or((rest, ""));
        let (rest, query) = match rest.split_once('?') {
            Some((rest, query)) => (rest, Some(query)),
            None => (rest, None),
        };
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let (_user, authority) = authority.rsplit_once('@').unwrap_or(("", authority));
        let authority = authority.strip_suffix(':').unwrap_or(authority);
        if authority.is_empty() || authority.contains('\\') {
            return None;
        }
        // A host of other letters has another name on the wire.
        let is_plain = authority.bytes().all(|b| b.is_ascii_graphic() && b != b'%');
        Some(Self {
            authority: if is_plain {
                authority
            } else {
                authority_of(parsed)
            },
            path,
            query,
        })
    }
}

/// Host and port, without the usual port.
fn authority_of(parsed: &Url) -> &str {
    &parsed[Position::BeforeHost..Position::AfterPort]
}

fn address(parsed: &Url, written: &Written<'_>) -> Result<Address, Refusal> {
    let is_tls = match parsed.scheme() {
        "http" => false,
        "https" => true,
        other => {
            return Err(format!(
                "unsupported protocol scheme {other:?} in {parsed:?}"
            ));
        }
    };
    let host: Box<str> = match parsed.host() {
        Some(Host::Ipv6(address)) => address.to_string().into(),
        Some(host) => host.to_string().into(),
        None => return Err(format!("no host in {:?}", parsed.as_str())),
    };
    let user = (!parsed.username().is_empty() || parsed.password().is_some()).then(|| {
        let password = parsed.password().unwrap_or_default();
        (decoded(parsed.username()), decoded(password))
    });
    let request = RequestUrl {
        text: shown(parsed, written).into(),
        is_tls,
        host,
        port: parsed.port_or_known_default().unwrap_or(80),
        authority: written.authority.into(),
        target: target(written).into(),
    };
    Ok(Address {
        request: Rc::new(request),
        user,
        parsed: parsed.clone(),
    })
}

fn shown(parsed: &Url, written: &Written<'_>) -> String {
    let path = escaped(written.path);
    let mut text = format!("{}://{}{path}", parsed.scheme(), written.authority);
    if let Some(query) = written.query {
        text.push('?');
        text.push_str(query);
    }
    // Never on the wire, but scripts see it and tags hold it.
    if let Some(fragment) = parsed.fragment().filter(|fragment| !fragment.is_empty()) {
        text.push('#');
        text.push_str(fragment);
    }
    text
}

/// What the request line says.
fn target(written: &Written<'_>) -> String {
    let mut target = escaped(written.path).into_owned();
    if target.is_empty() {
        target.push('/');
    }
    if let Some(query) = written.query {
        target.push('?');
        target.extend(utf8_percent_encode(query, NOT_IN_QUERY));
    }
    target
}

fn escaped(path: &str) -> Cow<'_, str> {
    let is_valid = |byte: u8| byte.is_ascii_alphanumeric() || OF_PATHS.contains(&byte);
    if path.bytes().all(is_valid) {
        return Cow::Borrowed(path);
    }
    let bytes: Vec<u8> = percent_decode_str(path).collect();
    Cow::Owned(percent_encode(&bytes, ESCAPED).to_string())
}

fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests;
