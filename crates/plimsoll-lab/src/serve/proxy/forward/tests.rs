//! What a request looks like to an upstream.

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
