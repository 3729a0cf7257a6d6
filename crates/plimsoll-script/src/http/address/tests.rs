//! What a URL becomes, on the wire and in tags; the cases follow Go's `URL.String` and `URL.RequestURI`.

use super::*;

fn of(text: &str) -> Rc<RequestUrl> {
    let address = Addresses::default().get(text);
    Rc::clone(
        &address
            .unwrap_or_else(|refusal| panic!("{refusal}"))
            .request,
    )
}

/// The text, the `Host`, and the request line.
fn parts(url: &RequestUrl) -> (&str, &str, &str) {
    (&url.text, &url.authority, &url.target)
}

/// What is written, the text that is shown, the `Host` and the request line.
const WRITTEN: &[[&str; 4]] = &[
    [
        "http://h.test:3000",
        "http://h.test:3000",
        "h.test:3000",
        "/",
    ],
    ["http://h.test?a=1", "http://h.test?a=1", "h.test", "/?a=1"],
    ["http://h.test:80/", "http://h.test:80/", "h.test:80", "/"],
    [
        "https://h.test:443/a",
        "https://h.test:443/a",
        "h.test:443",
        "/a",
    ],
    ["HTTP://H.Test/A", "http://H.Test/A", "H.Test", "/A"],
    [
        "http://h.test/a/../b/./c",
        "http://h.test/a/../b/./c",
        "h.test",
        "/a/../b/./c",
    ],
    [
        "http://h.test/a/%2e%2e/%62",
        "http://h.test/a/%2e%2e/%62",
        "h.test",
        "/a/%2e%2e/%62",
    ],
    ["http://h.test/a?", "http://h.test/a?", "h.test", "/a?"],
    [
        "http://h.test/[1]?b[]=1|2&n='x'",
        "http://h.test/[1]?b[]=1|2&n='x'",
        "h.test",
        "/[1]?b[]=1|2&n='x'",
    ],
    [
        "http://u:p@h.test/a@b",
        "http://h.test/a@b",
        "h.test",
        "/a@b",
    ],
    [
        "http://[::1]:8080/x",
        "http://[::1]:8080/x",
        "[::1]:8080",
        "/x",
    ],
    [
        "http://h.test/a b%2fc",
        "http://h.test/a%20b/c",
        "h.test",
        "/a%20b/c",
    ],
    [
        "http://h.test/é?q=a b",
        "http://h.test/%C3%A9?q=a b",
        "h.test",
        "/%C3%A9?q=a%20b",
    ],
    [" http://h.test:/a#f ", "http://h.test/a#f", "h.test", "/a"],
    // No URL of Go's: as browsers read them.
    ["http:/h.test/a/../b", "http://h.test/b", "h.test", "/b"],
    [
        "http://bücher.test/",
        "http://xn--bcher-kva.test/",
        "xn--bcher-kva.test",
        "/",
    ],
    ["http://h.test\\a", "http://h.test/a", "h.test", "/a"],
];

/// A threshold on the name `http://127.0.0.1:3000` met no sample, for a `/` had been added, and passed.
#[test]
fn a_url_stays_what_the_script_wrote() {
    for [written, text, host, target] in WRITTEN {
        assert_eq!(parts(&of(written)), (*text, *host, *target), "{written}");
    }
    let url = of("https://H.Test:443");
    assert_eq!((&*url.host, url.port, url.is_tls), ("h.test", 443, true));
}

#[test]
fn a_redirect_keeps_the_host_as_it_was_written() {
    let from = Addresses::default().get("http://H.test:80/a/b?c").unwrap();
    for (location, text) in [
        ("d", "http://H.test:80/a/d"),
        ("../d?e#f", "http://H.test:80/d?e#f"),
        ("/d/./e", "http://H.test:80/d/e"),
        ("//I.test/d", "http://I.test/d"),
        ("https://I.test:443", "https://I.test:443"),
        ("http://i.test/a/../b?c=%20", "http://i.test/b?c=%20"),
    ] {
        let next = redirected(&from, location).unwrap();
        assert_eq!(&*next.request.text, text, "{location}");
    }
    assert!(redirected(&from, "mailto:a@h.test").is_none());
}
