//! What a record, a report and a log must not hold: values of headers that prove who somebody is, values in URLs.
//!
//! Of each its length and the first digits of its SHA-256 stay, by which two tests can be told apart.

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
/// Headers that hold a URL.
const URLS: [&str; 3] = ["location", "content-location", "referer"];

/// Whether the values of a header are secret, by its name.
pub fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    NAMES.contains(&&*name)
        || PARTS.iter().any(|part| name.contains(part))
        || name.ends_with("-key")
}

/// The value of a header as a log may hold it; none where it may as it is.
pub fn masked_value(name: &str, value: &str) -> Option<String> {
    if is_secret(name) {
        return Some(digest(value));
    }
    let is = |known: &&str| name.eq_ignore_ascii_case(known);
    URLS.iter().any(is).then(|| masked_url(value))
}

/// The URL with a digest in the place of each value of its query, and without the user; a template is no value.
pub fn masked_url(url: &str) -> String {
    let url = masked_user(url);
    let Some((front, query)) = url.split_once('?') else {
        return url;
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

/// The URL without the user and the password that stand before its host.
pub fn masked_user(url: &str) -> String {
    let start = url.find("://").map_or(0, |at| at + 3);
    let (scheme, rest) = url.split_at(start);
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, rest) = rest.split_at(end);
    match authority.rsplit_once('@') {
        Some((_, host)) => format!("{scheme}***@{host}{rest}"),
        None => url.to_owned(),
    }
}

fn is_template(value: &str) -> bool {
    value.starts_with("{{") && value.ends_with("}}")
}

/// `masked:12:6b86b273`: length and digest. All of it may stand in a URL.
pub fn digest(value: &str) -> String {
    format!("masked:{}:{}", value.len(), digits(value.as_bytes()))
}

/// As many as tell a handful of values apart.
pub fn digits(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    let first: [u8; 4] = std::array::from_fn(|index| digest[index]);
    format!("{:08x}", u32::from_be_bytes(first))
}

#[cfg(test)]
mod tests {
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
    fn a_password_before_the_host_is_left_out() {
        for (url, masked) in [
            ("http://me:s3cret@a:80/x", "http://***@a:80/x"),
            ("me:s3@cret@a", "***@a"),
            ("http://a/@x?to=me@b", "http://a/@x?to=me@b"),
            ("/x?y", "/x?y"),
        ] {
            assert_eq!(masked_user(url), masked);
        }
    }

    #[test]
    fn values_of_headers_are_masked_by_their_name() {
        let masked = masked_value("Authorization", "s3cret");
        assert_eq!(masked.as_deref(), Some("masked:6:1ec1c26b"));
        let masked = masked_value("Location", "/x?key=s3cret");
        assert_eq!(masked.as_deref(), Some("/x?key=masked:6:1ec1c26b"));
        assert_eq!(masked_value("Accept", "text/html"), None);
    }
}
