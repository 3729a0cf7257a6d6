//! What heads of answers say of their content, and heads that contradict themselves.

use plimsoll_core::Outcome;
use proptest::prelude::*;

use crate::h2::Event;
use crate::h2::frame::{FrameHead, flag, kind};
use crate::h2::hpack::Block;
use crate::h2::session::Session;
use crate::h2::session::tests::{Collected, answer, frame_of, request};

type Field<'a> = (&'a str, &'a str);

/// A status, or what failed.
type End = Result<u16, (Outcome, String)>;

fn failed(outcome: Outcome, reason: &str) -> End {
    Err((outcome, reason.to_owned()))
}

fn head(fields: &[Field<'_>], ends: bool) -> Vec<u8> {
    let end = if ends { flag::END_STREAM } else { 0 };
    let block = Block::new(fields).plain;
    frame_of(kind::HEADERS, flag::END_HEADERS | end, 1, &block)
}

/// Plays an answer to one request; its end as `Ok` with the status or as what failed, the body, and what was said to it.
fn play(method: &str, frames: &[u8]) -> (End, Vec<u8>, Vec<FrameHead>) {
    let mut side = Session::connected(&[]);
    side.start(&request(method, b""), 1);
    side.sent();
    let mut kept = Collected::default();
    side.pieces(frames, &mut kept).unwrap();
    let [event] = &kept.events[..] else {
        panic!("one end, not {:?}", kept.events);
    };
    let end = match event {
        Event::Answered { answer, .. } => Ok(answer.status),
        Event::Failed { failure, .. } => Err((failure.outcome, failure.reason.clone())),
        other => panic!("{other:?}"),
    };
    assert_eq!(side.streams.len(), 0);
    let sent = side.sent().into_iter().map(|(head, _)| head).collect();
    // The connection goes on.
    side.start(&request("GET", b""), 2);
    let next = side.hear(&answer(3, "200", b"hello")).unwrap();
    assert!(matches!(next[..], [Event::Answered { owner: 2, .. }]));
    (end, kept.body, sent)
}

fn data(ends: bool, body: &[u8]) -> Vec<u8> {
    let flags = if ends { flag::END_STREAM } else { 0 };
    frame_of(kind::DATA, flags, 1, body)
}

#[test]
fn a_body_that_is_not_as_long_as_declared_is_a_failure() {
    let five = &[(":status", "200"), ("content-length", "5")];
    let trailers = head(&[("x-end", "1")], true);
    let short = "the server ended the stream 2 bytes short of its content-length";
    let long = "the body is longer than the head of the answer allows";
    let cases: [(Vec<u8>, End); 8] = [
        (data(true, b"hello"), Ok(200)),
        ([data(false, b"he"), data(true, b"llo")].concat(), Ok(200)),
        ([data(false, b"hello"), trailers.clone()].concat(), Ok(200)),
        ([data(false, b"hello"), data(true, b"")].concat(), Ok(200)),
        (data(true, b"hel"), failed(Outcome::Eof, short)),
        (
            [data(false, b"hel"), trailers].concat(),
            failed(Outcome::Eof, short),
        ),
        (data(true, b"hello!"), failed(Outcome::Protocol, long)),
        (
            [data(false, b"hel"), data(false, b"lo!"), data(true, b"")].concat(),
            failed(Outcome::Protocol, long),
        ),
    ];
    for (frames, expected) in cases {
        let all = [head(five, false), frames].concat();
        let (end, body, _) = play("GET", &all);
        assert_eq!(end, expected, "{all:x?}");
        assert!(b"hello".starts_with(&body[..]), "{body:?}");
    }
    let (end, _, _) = play("GET", &head(five, true));
    assert_eq!(end.unwrap_err().0, Outcome::Eof, "no body at all");
}

#[test]
fn answers_that_have_no_content_may_declare_its_length() {
    for (method, status) in [("HEAD", "200"), ("GET", "304"), ("GET", "204")] {
        let fields = &[(":status", status), ("content-length", "5")];
        assert_eq!(
            play(method, &head(fields, true)).0,
            Ok(status.parse().unwrap())
        );
        let later = [head(fields, false), data(true, b"")].concat();
        assert_eq!(play(method, &later).0, Ok(status.parse().unwrap()));
        let surplus = [head(fields, false), data(true, b"hello")].concat();
        let (end, body, _) = play(method, &surplus);
        assert_eq!(end.unwrap_err().0, Outcome::Protocol, "{method} {status}");
        assert_eq!(body, b"");
    }
    // What an informational answer or trailers say of a length concerns nobody.
    let frames = [
        head(&[(":status", "103"), ("content-length", "7")], false),
        head(&[(":status", "200")], false),
        data(false, b"hello"),
        head(&[("content-length", "9")], true),
    ];
    assert_eq!(play("GET", &frames.concat()).0, Ok(200));
}

#[test]
fn a_stream_that_is_over_is_not_reset_as_well() {
    let five = &[(":status", "200"), ("content-length", "5")];
    let (_, _, sent) = play("GET", &[head(five, false), data(true, b"hel")].concat());
    assert_eq!(sent, []);
    let (_, _, sent) = play("GET", &[head(five, false), data(false, b"hello!")].concat());
    assert_eq!((sent.len(), sent[0].kind), (1, kind::RST_STREAM));
}

#[test]
fn heads_that_contradict_themselves_fail_their_stream() {
    let ok = (":status", "200");
    let (length, bytes, colon) = (
        "content-length is not a number, or is given twice with different values",
        "a field has an upper-case name, or bytes that no field may have",
        "a field that begins with a colon is where none belongs",
    );
    let length_of = |value: &'static str| [ok, ("content-length", value)];
    let two = |second| [ok, ("content-length", "5"), ("content-length", second)];
    let cases: [(&[Field], Result<u16, &str>); 21] = [
        (&two("5"), Ok(200)),
        (&length_of(" 5 "), Ok(200)),
        (&length_of("05"), Ok(200)),
        (&two("6"), Err(length)),
        (&length_of(""), Err(length)),
        (&length_of("-5"), Err(length)),
        (&length_of("+5"), Err(length)),
        (&length_of("5, 5"), Err(length)),
        (&length_of("0x5"), Err(length)),
        (&length_of("18446744073709551616"), Err(length)),
        (&[ok, ("x-trace", "Some: Text")], Ok(200)),
        (&[ok, ("X-Trace", "1")], Err(bytes)),
        (&[ok, ("", "1")], Err(bytes)),
        (&[ok, ("x:trace", "1")], Err(bytes)),
        (&[ok, ("x-trace", "1\r\nset-cookie: a=b")], Err(bytes)),
        (&[ok, (":status", "200")], Err(colon)),
        (&[("server", "test"), ok], Err(colon)),
        (&[ok, (":path", "/")], Err(colon)),
        (&[(":status", "2000")], Err("the answer has no status")),
        (&[(":status", "099")], Err("the answer has no status")),
        (
            &[(":status", "101")],
            Err("the server switches protocols, which HTTP/2 has no way to do"),
        ),
    ];
    for (fields, expected) in cases {
        let frames = [head(fields, false), data(true, b"hello")].concat();
        let (end, _, sent) = play("GET", &frames);
        let expected = expected.map_err(|reason| (Outcome::Protocol, reason.to_owned()));
        assert_eq!(end, expected, "{fields:?}");
        assert_eq!(sent.len(), usize::from(end.is_err()), "{fields:?}");
    }
    let trailers = head(&[(":path", "/")], true);
    let (end, _, _) = play(
        "GET",
        &[head(&[ok], false), data(false, b"x"), trailers].concat(),
    );
    assert_eq!(end, Err((Outcome::Protocol, colon.to_owned())));
}

proptest! {
    /// However the content comes: it is as long as declared, or the stream fails, and no more than declared is handed on.
    #[test]
    fn content_is_as_long_as_declared(
        declared in proptest::option::of(0_u64..40),
        parts in proptest::collection::vec((0_usize..20, any::<bool>()), 0..5),
        ends_with_trailers in any::<bool>(),
        size in 1_usize..30,
    ) {
        let text = declared.map(|length| length.to_string());
        let mut fields = vec![(":status", "200"), ("server", "test")];
        fields.extend(text.as_deref().map(|text| ("content-length", text)));
        let mut frames = head(&fields, false);
        for (length, is_padded) in &parts {
            let part = vec![b'x'; *length];
            frames.extend(if *is_padded {
                frame_of(kind::DATA, flag::PADDED, 1, &[&[3], &part[..], &[0; 3]].concat())
            } else {
                data(false, &part)
            });
        }
        frames.extend(if ends_with_trailers {
            head(&[("x-end", "1")], true)
        } else {
            data(true, b"")
        });
        let came: u64 = parts.iter().map(|(length, _)| *length as u64).sum();
        let mut side = Session::connected(&[]);
        side.start(&request("GET", b""), 1);
        let mut kept = Collected::default();
        for piece in frames.chunks(size) {
            side.pieces(piece, &mut kept).unwrap();
        }
        prop_assert_eq!(kept.body.len() as u64, declared.map_or(came, |length| length.min(came)));
        prop_assert_eq!(kept.events.len(), 1);
        let outcome = match &kept.events[0] {
            Event::Answered { answer, .. } => Outcome::from_status(answer.status),
            Event::Failed { failure, .. } => failure.outcome,
            other => panic!("{other:?}"),
        };
        let expected = match declared {
            Some(length) if length > came => Outcome::Eof,
            Some(length) if length < came => Outcome::Protocol,
            _ => Outcome::Ok,
        };
        prop_assert_eq!(outcome, expected);
    }
}
