//! Bodies of URL mode as they come over the wire: text, files, standard input and forms, each with its type.

use std::io::Write as _;
use std::process::Stdio;

use crate::support::{Folder, command, finished, plimsoll};
use crate::wire::{Asked, Wire, ok};

/// Everything that a text is not: lines of both kinds, a zero, bytes that are no UTF-8, and what looks like a boundary.
const BYTES: &[u8] =
    b"one\r\ntwo\n\0\xff\xfe\r\n--plimsoll-boundary-1\r\n--plimsoll-boundary-1--\r\n";

/// The requests of a run with these flags; all are alike.
fn sent(folder: &Folder, flags: &[&str], stdin: Option<&[u8]>) -> Asked {
    let server = Wire::start(ok);
    let url = format!("http://127.0.0.1:{}/form", server.port);
    let all = ["run", &url, "-n", "6", "-c", "2", "--no-record", "--quiet"];
    let mut run = command(folder, &[&all[..], flags].concat());
    if stdin.is_some() {
        run.stdin(Stdio::piped());
    }
    let mut child = run
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    if let (Some(text), Some(mut to)) = (stdin, child.stdin.take()) {
        to.write_all(text).unwrap();
    }
    let (code, out, err) = finished(&child.wait_with_output().unwrap());
    assert_eq!(code, 0, "{flags:?}: {out}{err}");
    let asked = server.all();
    assert_eq!(asked.len(), 7, "six and the one before the load");
    let first = asked[0].clone();
    for other in &asked {
        assert_eq!(other.line, first.line, "{flags:?}");
        assert_eq!(other.body, first.body, "{flags:?}");
    }
    first
}

/// Flags and standard input, then method, body and type as they come over the wire.
type Case<'a> = (&'a [&'a str], Option<&'a [u8]>, &'a str, &'a [u8], &'a str);

#[test]
fn a_body_goes_out_as_it_is_and_with_the_type_that_curl_gives_it() {
    let folder = Folder::new();
    std::fs::write(folder.file("order.json"), "{ \"id\": 7 }\n").unwrap();
    std::fs::write(folder.file("photo.bin"), BYTES).unwrap();
    let (form, json) = ("application/x-www-form-urlencoded", "application/json");
    let cases: [Case<'_>; 9] = [
        (&["-d", "a=1&b=2"], None, "POST", b"a=1&b=2", form),
        (&["-d", "{\"a\": 1}"], None, "POST", b"{\"a\": 1}", json),
        (
            &["-d", "@order.json"],
            None,
            "POST",
            b"{ \"id\": 7 }\n",
            json,
        ),
        (&["-d", "@photo.bin"], None, "POST", BYTES, form),
        (&["-d", "@-"], Some(BYTES), "POST", BYTES, form),
        (&["-d", "@-"], Some(b"[1, 2]"), "POST", b"[1, 2]", json),
        (&["-m", "PUT", "-d", "x"], None, "PUT", b"x", form),
        (&["-m", "GET", "-d", "x"], None, "GET", b"x", form),
        (
            &["-d", "@order.json", "-H", "content-type: text/x"],
            None,
            "POST",
            b"{ \"id\": 7 }\n",
            "text/x",
        ),
    ];
    for (flags, stdin, method, body, kind) in cases {
        let asked = sent(&folder, flags, stdin);
        assert_eq!(asked.line, format!("{method} /form HTTP/1.1"), "{flags:?}");
        assert_eq!(asked.body, body, "{flags:?}");
        assert_eq!(asked.header("Content-Type"), Some(kind), "{flags:?}");
        let named = asked.headers.iter();
        let types = named.filter(|(name, _)| name.eq_ignore_ascii_case("content-type"));
        assert_eq!(types.count(), 1, "{flags:?}: {:?}", asked.headers);
    }
    let plain = sent(&folder, &[], None);
    assert_eq!(plain.line, "GET /form HTTP/1.1");
    assert_eq!(plain.header("Content-Type"), None);
    assert_eq!(plain.header("Content-Length"), None);
}

/// A part of a form: its head, line by line, and its value.
type Part = (Vec<String>, Vec<u8>);

/// As a server reads `multipart/form-data` (RFC 2046, section 5.1.1): a boundary stands at the beginning of a line.
fn parts(asked: &Asked) -> Vec<Part> {
    let kind = asked.header("Content-Type").unwrap();
    let boundary = kind.strip_prefix("multipart/form-data; boundary=").unwrap();
    assert!(boundary.len() <= 70, "{boundary}");
    let delimiter = format!("\r\n--{boundary}");
    let mut body = b"\r\n".to_vec();
    body.extend_from_slice(&asked.body);
    let (mut parts, mut rest) = (Vec::new(), &body[..]);
    let find = |text: &[u8], what: &[u8]| text.windows(what.len()).position(|part| part == what);
    let skipped = find(rest, delimiter.as_bytes()).unwrap();
    assert_eq!(skipped, 0, "nothing stands before the first part");
    loop {
        rest = &rest[delimiter.len()..];
        if rest == b"--\r\n" {
            return parts;
        }
        rest = rest.strip_prefix(b"\r\n").unwrap();
        let end = find(rest, delimiter.as_bytes()).unwrap();
        let head = find(rest, b"\r\n\r\n").unwrap();
        let lines = String::from_utf8(rest[..head].to_vec()).unwrap();
        let lines = lines.split("\r\n").map(str::to_owned).collect();
        parts.push((lines, rest[head + 4..end].to_vec()));
        rest = &rest[end..];
    }
}

#[test]
fn a_form_arrives_as_its_fields_and_files() {
    let folder = Folder::new();
    std::fs::write(folder.file("photo.bin"), BYTES).unwrap();
    std::fs::write(folder.file("note.txt"), "two\nlines").unwrap();
    let flags = [
        "-F",
        "name=Ada \"the\" Lovelace=1815",
        "-F",
        "note=<note.txt",
        "-F",
        "file=@photo.bin;type=image/jpeg",
        "-F",
        "again=@photo.bin;filename=other.jpg",
        "-F",
        "empty=",
    ];
    let asked = sent(&folder, &flags, None);
    assert_eq!(asked.line, "POST /form HTTP/1.1");
    let field = |name: &str, value: &[u8]| {
        let head = format!("Content-Disposition: form-data; name=\"{name}\"");
        (vec![head], value.to_vec())
    };
    let file = |name: &str, file: &str, kind: &str| {
        let head = format!("Content-Disposition: form-data; name=\"{name}\"; filename=\"{file}\"");
        (vec![head, format!("Content-Type: {kind}")], BYTES.to_vec())
    };
    let expected = [
        field("name", b"Ada \"the\" Lovelace=1815"),
        field("note", b"two\nlines"),
        file("file", "photo.bin", "image/jpeg"),
        file("again", "other.jpg", "application/octet-stream"),
        field("empty", b""),
    ];
    assert_eq!(parts(&asked), expected);
}

#[test]
fn bodies_that_cannot_be_had_are_named_before_anything_is_sent() {
    let folder = Folder::new();
    for (flags, words) in [
        (["-d", "@gone.json"], "gone.json"),
        (["-F", "file=@gone.jpg"], "read gone.jpg"),
        (["-F", "note=<gone.txt"], "read gone.txt"),
        (["-F", "name"], "write name=value"),
        (["-F", "file=@gone.jpg;size=1"], ";type=TYPE"),
    ] {
        let server = Wire::start(ok);
        let url = format!("http://127.0.0.1:{}/", server.port);
        let all = ["run", &url, "-n", "1", "--no-record"];
        let (code, out, err) = plimsoll(&folder, &[&all[..], &flags].concat());
        assert_eq!((code, &*out), (104, ""), "{flags:?}: {err}");
        assert!(err.contains(words), "{flags:?}: {err}");
        assert_eq!(server.all().len(), 0, "{flags:?}");
    }
}
