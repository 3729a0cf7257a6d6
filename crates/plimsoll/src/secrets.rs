//! A test as its record, its report and its lines may hold it: without secrets, which `plimsoll_core::secrets` knows, and bodies.

use plimsoll_core::record::ScriptCounts;
use plimsoll_core::secrets::{digest, digits, is_secret, masked_url};
use plimsoll_core::test::{Request, Test, What};

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

/// `2 bytes, sha256 2d711642`; empty without a body.
fn body_words(request: &Request) -> String {
    if request.body.is_empty() {
        return String::new();
    }
    let digits = digits(&request.body);
    format!("{} bytes, sha256 {digits}", request.body.len())
}

#[cfg(test)]
mod tests {
    use plimsoll_core::test::{Generator, How, Load};

    use super::*;

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
