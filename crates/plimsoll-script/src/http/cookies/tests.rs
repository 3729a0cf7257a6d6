//! What a jar keeps and sends, one rule of RFC 6265 per case.

use super::*;

const NOW: i64 = 1_700_000_000_000;

fn sent(set_by: &str, line: &str, to: &str) -> usize {
    let mut jar = Jar::default();
    let cookie = parse_set_cookie(line, NOW).unwrap();
    jar.set(&Url::parse(set_by).unwrap(), cookie, NOW);
    jar.cookies_for(&Url::parse(to).unwrap(), NOW).len()
}

type Case = (
    &'static str,
    &'static str,
    &'static str,
    usize,
    &'static str,
);

const CASES: &[Case] = &[
    ("http://a.test/", "k=v", "http://a.test/x", 1, "same host"),
    (
        "http://a.test/",
        "k=v",
        "http://b.a.test/",
        0,
        "host only without a domain",
    ),
    (
        "http://a.test/",
        "k=v; Domain=.a.test",
        "http://b.a.test/",
        1,
        "subdomain",
    ),
    (
        "http://a.test/",
        "k=v; Domain=b.test",
        "http://b.test/",
        0,
        "foreign domain",
    ),
    (
        "http://a.test/",
        "k=v; Domain=test",
        "http://b.test/",
        0,
        "top-level domain",
    ),
    (
        "http://127.0.0.1/",
        "k=v; Domain=127.0.0.1",
        "http://127.0.0.1/",
        1,
        "address",
    ),
    (
        "http://a.test/one/two",
        "k=v",
        "http://a.test/one/three",
        1,
        "default path",
    ),
    (
        "http://a.test/one/two",
        "k=v",
        "http://a.test/four",
        0,
        "outside of the default path",
    ),
    (
        "http://a.test/",
        "k=v; Path=/on",
        "http://a.test/one",
        0,
        "path ends inside a name",
    ),
    (
        "http://a.test/",
        "k=v; Secure",
        "http://a.test/",
        0,
        "secure over plain HTTP",
    ),
    (
        "https://a.test/",
        "k=v; Secure",
        "https://a.test/",
        1,
        "secure over TLS",
    ),
    (
        "http://a.test/",
        "k=v; Max-Age=0",
        "http://a.test/",
        0,
        "deleted",
    ),
    (
        "http://a.test/",
        "k=v; Expires=Wed, 21 Oct 2015 07:28:00 GMT",
        "http://a.test/",
        0,
        "expired",
    ),
    (
        "http://a.test/",
        "k=v; Expires=Wed, 21-Oct-2099 07:28:00 GMT",
        "http://a.test/",
        1,
        "alive",
    ),
    (
        "http://a.test/",
        "k=v; Max-Age=9; Expires=Wed, 21 Oct 2015 07:28:00 GMT",
        "http://a.test/",
        1,
        "max-age wins",
    ),
];

#[test]
fn cookies_go_where_their_attributes_allow() {
    for (set_by, line, to, expected, what) in CASES {
        assert_eq!(sent(set_by, line, to), *expected, "{what}");
    }
}

#[test]
fn longer_paths_come_first_and_names_replace() {
    let mut jar = Jar::default();
    let url = Url::parse("http://a.test/x/y").unwrap();
    for line in ["a=1; Path=/", "b=2; Path=/x", "a=3; Path=/"] {
        jar.set(&url, parse_set_cookie(line, NOW).unwrap(), NOW);
    }
    let sent = jar.cookies_for(&url, NOW);
    assert_eq!(sent, [("b".into(), "2".into()), ("a".into(), "3".into())]);
    jar.delete(&url, "b");
    assert_eq!(jar.cookies_for(&url, NOW).len(), 1);
    jar.clear(&url);
    assert!(jar.is_empty());
}

#[test]
fn dates_of_http_are_read() {
    let expected = Some(1_445_412_480_000);
    for text in [
        "Wed, 21 Oct 2015 07:28:00 GMT",
        "Wednesday, 21-Oct-15 07:28:00 GMT",
        "Wed Oct 21 07:28:00 2015",
    ] {
        assert_eq!(parse_date(text), expected, "{text}");
    }
    assert_eq!(parse_date("soon"), None);
}
