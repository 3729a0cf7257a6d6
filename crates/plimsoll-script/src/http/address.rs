//! Addresses of requests, parsed once each.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use url::{Host, Url};

use super::RequestUrl;

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
        let address = Rc::new(address(parsed)?);
        let mut known = self.0.borrow_mut();
        if known.len() >= ADDRESSES_MAX {
            known.clear();
        }
        known.insert(text.into(), Rc::clone(&address));
        Ok(address)
    }
}

pub(crate) fn address(parsed: Url) -> Result<Address, Refusal> {
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
    let port = parsed.port_or_known_default().unwrap_or(80);
    let host_text = parsed.host_str().unwrap_or_default();
    let authority = match parsed.port() {
        Some(port) => format!("{host_text}:{port}"),
        None => host_text.to_owned(),
    };
    let target = match parsed.query() {
        Some(query) => format!("{}?{query}", parsed.path()),
        None => parsed.path().to_owned(),
    };
    let mut text = format!("{}://{authority}{target}", parsed.scheme());
    // Never on the wire, but scripts see it and tags hold it.
    if let Some(fragment) = parsed.fragment().filter(|fragment| !fragment.is_empty()) {
        text.push('#');
        text.push_str(fragment);
    }
    let request = RequestUrl {
        text: text.into(),
        is_tls,
        host,
        port,
        authority: authority.into(),
        target: target.into(),
    };
    Ok(Address {
        request: Rc::new(request),
        user,
        parsed,
    })
}

fn decoded(text: &str) -> String {
    percent_encoding::percent_decode_str(text)
        .decode_utf8_lossy()
        .into_owned()
}
