//! What a record, a report and a log must not hold: values of headers that prove who somebody is, values in URLs, bodies.
//!
//! Of each its length and the first digits of its SHA-256 stay, by which two tests can be told apart.

use plimsoll_core::record::ScriptCounts;
use plimsoll_core::test::{Request, Test, What};
use sha2::{Digest as _, Sha256};

/// Headers whose values are secret by their standard.
const NAMES: [&str; 4] = [
    "authorization",
    "proxy-authorization",
    "cookie",
    "set-cookie",
];
/// Others are by what their name holds: `X-Api-Key`, `X-Auth-Token`, `X-Amz-Security-Token`.
const PARTS: [&str; 9] = [
    "api-key",
    "apikey",
    "api_key",
    "token",
    "secret",
    "password",
    "session",
    "credential",
    "signature",
];

/// The test as its record says it.
pub(crate) fn masked(mut test: Test) -> Test {
    if let What::Workload(workload) = &mut test.what {
        workload.store = plimsoll_workload::shown(&workload.store);
    }
    if let What::Url(url) = &mut test.what {
        let bodies: Vec<String> = url.requests().map(body_words).collect();
        if bodies.iter().any(|words| !words.is_empty()) {
            url.variation.bodies = bodies;
        }
        mask(&mut url.request);
        if let Some(mix) = &mut url.variation.mix {
            mix.names.iter_mut().for_each(mask_name);
        }
        url.variation.requests.iter_mut().for_each(mask);
    }
    test
}

/// The test in one line, `GET http://a/?key=masked:6:1ec1c26b`; with its secrets where they are asked for.
pub(crate) fn line(test: &Test, shows_secrets: bool) -> String {
    if shows_secrets {
        return test.what.to_string();
    }
    masked(test.clone()).what.to_string()
}

/// Names of requests are URLs unless a script gives them others.
pub(crate) fn mask_names(counts: &mut ScriptCounts) {
    counts
        .names
        .iter_mut()
        .for_each(|row| mask_name(&mut row.name));
}

fn mask_name(name: &mut String) {
    if name.contains("://") || name.contains('?') {
        *name = masked_url(name);
    }
}

fn mask(request: &mut Request) {
    request.url = masked_url(&request.url);
    request.body.clear();
    for (name, value) in &mut request.headers {
        if is_secret(name) {
            *value = digest(value);
        }
    }
}

fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    NAMES.contains(&&*name)
        || PARTS.iter().any(|part| name.contains(part))
        || name.ends_with("-key")
}

/// `2 bytes, sha256 2d711642`; empty without a body.
fn body_words(request: &Request) -> String {
    if request.body.is_empty() {
        return String::new();
    }
    let digits = digits(&request.body);
    format!("{} bytes, sha256 {digits}", request.body.len())
}

/// The URL with a digest in the place of each value of its query; a template is none.
pub(crate) fn masked_url(url: &str) -> String {
    let Some((front, query)) = url.split_once('?') else {
        return url.to_owned();
    };
    let (query, fragment) = match query.split_once('#') {
        Some((query, fragment)) => (query, format!("#{fragment}")),
        None => (query, String::new()),
    };
    let pairs: Vec<String> = query
        .split('&')
        .map(|pair| match pair.split_once('=') {
            Some((name, value)) if !value.is_empty() && !is_template(value) => {
                format!("{name}={}", digest(value))
            }
            _ => pair.to_owned(),
        })
        .collect();
    format!("{front}?{}{fragment}", pairs.join("&"))
}

fn is_template(value: &str) -> bool {
    value.starts_with("{{") && value.ends_with("}}")
}

/// `masked:12:6b86b273`: length and digest. All of it may stand in a URL.
fn digest(value: &str) -> String {
    format!("masked:{}:{}", value.len(), digits(value.as_bytes()))
}

/// As many as tell a handful of values apart.
fn digits(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    let first: [u8; 4] = std::array::from_fn(|index| digest[index]);
    format!("{:08x}", u32::from_be_bytes(first))
}

#[cfg(test)]
mod tests {
    use plimsoll_core::test::{Generator, How, Load};

    use super::*;

    #[test]
    fn values_of_a_query_are_masked_and_told_apart() {
        let masked = masked_url("http://a/x?id=1&flag&empty=&n={{counter}}&key=s3cret#top");
        assert_eq!(
            masked,
            "http://a/x?id=masked:1:6b86b273&flag&empty=&n={{counter}}&key=masked:6:1ec1c26b#top"
        );
        assert_eq!(masked_url("http://a/x"), "http://a/x");
    }

    #[test]
    fn nothing_secret_of_a_request_stays() {
        let mut request = Request::new("POST", "http://a/?k=hidden1", b"hidden2".to_vec());
        for name in [
            "Authorization",
            "cookie",
            "X-Api-Key",
            "X-Auth-Token",
            "Access-Key",
        ] {
            request
                .headers
                .push((name.to_owned(), "hidden3".to_owned()));
        }
        request
            .headers
            .push(("Accept".to_owned(), "text/html".to_owned()));
        let load = Load::Closed {
            in_flight: std::num::NonZeroU32::MIN,
        };
        let test = masked(Test {
            what: request.into(),
            how: How::endless(load),
            generator: Generator::default(),
        });
        let shown = format!("{test:?}");
        assert!(!shown.contains("hidden"), "{shown}");
        assert!(
            shown.contains("text/html") && shown.contains("7 bytes, sha256 "),
            "{shown}"
        );
        assert!(shown.contains("masked:7:"), "{shown}");
    }
}
