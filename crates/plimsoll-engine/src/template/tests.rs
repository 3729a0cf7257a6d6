//! Templates: what fills them, what a row may hold, and what is refused.

use super::*;

fn rows() -> Arc<Rows> {
    Arc::new(Rows {
        columns: vec!["user".to_owned(), "pin".to_owned()],
        rows: vec![
            vec!["a b&c".to_owned(), "1".to_owned()],
            vec!["zoë".to_owned(), "2".to_owned()],
        ],
    })
}

fn filled(request: &Request, number: u64) -> Request {
    let template = Template::of(request, Some(&rows())).unwrap().unwrap();
    let rng = Rng::new(7, number);
    let row = number;
    template.fill(&request.method, &mut Filling { number, row, rng })
}

#[test]
fn every_attempt_gets_the_next_row_and_number() {
    let mut request = Request::new(
        "POST",
        "http://a/u/{{row.user}}?n={{ counter }}",
        b"{\"pin\":{{row.pin}},\"r\":{{random:5..5}}}".to_vec(),
    );
    request.headers = vec![("X-User".to_owned(), "<{{row.user}}>".to_owned())];
    let first = filled(&request, 0);
    assert_eq!(first.url, "http://a/u/a%20b%26c?n=0");
    assert_eq!(first.headers[0].1, "<a b&c>");
    assert_eq!(first.body, b"{\"pin\":1,\"r\":5}");
    let fourth = filled(&request, 3);
    assert_eq!(fourth.url, "http://a/u/zo%C3%AB?n=3", "rows go round");
}

fn body(content_type: &str, body: &[u8], value: &str) -> String {
    let mut request = Request::new("POST", "http://a/", body.to_vec());
    request.headers = vec![("content-type".to_owned(), content_type.to_owned())];
    let rows = Arc::new(Rows {
        columns: vec!["v".to_owned()],
        rows: vec![vec![value.to_owned()]],
    });
    let template = Template::of(&request, Some(&rows)).unwrap().unwrap();
    let (number, row, rng) = (0, 0, Rng::new(7, 0));
    let filled = template.fill("POST", &mut Filling { number, row, rng });
    String::from_utf8(filled.body).unwrap()
}

#[test]
fn a_row_stays_one_value_of_its_body() {
    for value in [
        "Tom \"the cat\"",
        "a\\b",
        "two\nlines\t\u{1}",
        "zoë",
        "plain",
    ] {
        for content_type in [
            "application/json",
            "Application/Problem+JSON; charset=utf-8",
        ] {
            let text = br#"{"\"q\"":"x {{row.v}} y","n":1}"#;
            let sent: serde_json::Value =
                serde_json::from_str(&body(content_type, text, value)).unwrap();
            assert_eq!(sent["\"q\""], format!("x {value} y"));
        }
    }
    let number = body(
        "application/json",
        br#"{"s":"","n":{{row.v}}}"#,
        "[1,\"x\"]",
    );
    assert_eq!(
        number, r#"{"s":"","n":[1,"x"]}"#,
        "outside of quotes it is JSON"
    );
    let form = "application/x-www-form-urlencoded";
    assert_eq!(
        body(form, b"a={{row.v}}&b=1", "x&y=z w"),
        "a=x%26y%3Dz%20w&b=1"
    );
    assert_eq!(body("text/plain", b"<{{row.v}}>", "a\"b\\"), "<a\"b\\>");
}

#[test]
fn ids_are_of_version_4_and_never_the_same() {
    let request = Request::get("http://a/{{uuid}}");
    let (one, other) = (filled(&request, 0).url, filled(&request, 1).url);
    assert_ne!(one, other);
    let id = one.strip_prefix("http://a/").unwrap();
    assert_eq!(id.len(), 36);
    assert_eq!(id.as_bytes()[14], b'4');
    assert!(b"89ab".contains(&id.as_bytes()[19]), "{id}");
}

#[test]
fn what_is_no_template_is_refused_with_the_fix() {
    for (url, fragment) in [
        ("http://a/{{now}}", "{{now}}` is not known"),
        ("http://a/{{random:6..1}}", "FIRST..LAST"),
        (
            "http://a/{{row.age}}",
            "no column `age`; they have user, pin",
        ),
        ("http://a/{{uuid", "without"),
        ("http://{{row.user}}/x", "cannot be templates"),
    ] {
        let error = Template::of(&Request::get(url), Some(&rows())).unwrap_err();
        assert!(error.to_string().contains(fragment), "{url}: {error}");
    }
    let without = Template::of(&Request::get("http://a/{{row.x}}"), None).unwrap_err();
    assert!(without.to_string().contains("--rows"), "{without}");
    assert!(
        Template::of(&Request::get("http://a/{x}"), None)
            .unwrap()
            .is_none()
    );
}

#[test]
fn a_row_cannot_break_out_of_a_header() {
    let hostile = Arc::new(Rows {
        columns: vec!["h".to_owned()],
        rows: vec![vec!["fine".to_owned()], vec!["x\r\nEvil: 1".to_owned()]],
    });
    let mut request = Request::get("http://a/");
    request.headers = vec![("X".to_owned(), "{{row.h}}".to_owned())];
    let error = Template::of(&request, Some(&hostile)).unwrap_err();
    assert!(error.to_string().contains("row 2, column `h`"), "{error}");
}
