//! What a request looks like to an upstream.

use plimsoll_net::h1::serving::RequestHead;

use super::*;

fn seen(uri: &str, fields: &[(&str, &str)]) -> Parts {
    let mut request = Request::get(uri);
    for (name, value) in fields {
        request = request.header(*name, *value);
    }
    let (mut head, ()) = request.body(()).unwrap().into_parts();
    as_http1(&mut head, "127.0.0.1:8080".parse().unwrap());
    head
}

#[test]
fn cookies_that_came_one_by_one_arrive_as_one_line() {
    let head = seen(
        "https://shop.test/cart?a=1",
        &[("cookie", "a=1"), ("cookie", "b=2")],
    );
    let cookies: Vec<_> = head.headers.get_all("cookie").iter().collect();
    assert_eq!(cookies, ["a=1; b=2"]);
    let one = seen("/", &[("cookie", "a=1; b=2")]);
    assert_eq!(one.headers["cookie"], "a=1; b=2");
}

#[test]
fn the_host_is_what_the_client_asked_for_over_both_protocols() {
    let head = seen("https://shop.test/cart?a=1", &[]);
    assert_eq!(
        (head.headers["host"].as_bytes(), head.uri.to_string()),
        (&b"shop.test"[..], "/cart?a=1".to_owned())
    );
    assert_eq!(
        seen("/", &[("host", "shop.test")]).headers["host"],
        "shop.test"
    );
    assert_eq!(seen("/", &[]).headers["host"], "127.0.0.1:8080");
}

/// What is for one connection only is the same for both of our proxies.
#[test]
fn fields_of_a_connection_stay_on_it_here_as_in_the_guard() {
    for (field, goes_on) in [
        ("connection", false),
        ("keep-alive", false),
        ("proxy-connection", false),
        ("proxy-authenticate", false),
        ("proxy-authorization", false),
        ("te", false),
        ("transfer-encoding", false),
        ("upgrade", false),
        ("http2-settings", false),
        // Named by `Connection` below.
        ("x-own", false),
        // Named too, but a client must not take them from the service.
        ("host", true),
        ("authorization", true),
        ("cookie", true),
        ("x-forwarded-for", true),
        ("trailer", true),
        ("accept", true),
    ] {
        let value = match field {
            "connection" => "close",
            "transfer-encoding" => "chunked",
            _ => "a",
        };
        let named = ("connection", "x-own, host, authorization, cookie");
        let named_last = ("connection", "x-forwarded-for");
        let head = seen("/", &[(field, value), named, named_last]);
        let has = head.headers.get(field).is_some_and(|found| found == value);
        assert_eq!(has, goes_on, "{field}");
        let host = if field == "host" { "" } else { "Host: a\r\n" };
        let text = format!(
            "GET / HTTP/1.1\r\n{host}{field}: {value}\r\nConnection: {}\r\nConnection: {}\r\n\r\n",
            named.1, named_last.1
        );
        let read = RequestHead::read(text.as_bytes()).unwrap().unwrap();
        assert_eq!(!read.is_of_connection(field), goes_on, "{field}");
    }
}
