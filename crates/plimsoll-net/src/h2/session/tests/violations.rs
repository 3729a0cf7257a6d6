//! What a server hears when it breaks the protocol, and what it may do without breaking it.

use super::*;

#[test]
fn what_breaks_the_protocol_ends_the_connection_with_words_and_a_code() {
    let end = flag::END_HEADERS;
    let most = i32::MAX.cast_unsigned().to_be_bytes();
    let wide = [0, 4, 0xff, 0xff, 0xff, 0xff];
    let small_frames = [0, 5, 0, 0, 0, 1];
    let cut = |kind| [headers(0, 1, b"\x88"), frame_of(kind, 0, 1, &[0; 8])].concat();
    let of = frame_of;
    let size = [
        (vec![0xff; 9], "longer than 16,384"),
        (FRAME_TOO_LONG.to_vec(), "longer than 16,384"),
        (of(kind::PING, 0, 0, b"x"), "PING"),
        (of(kind::PING, 0, 0, &[0; 7]), "PING"),
        (of(kind::SETTINGS, flag::ACK, 0, &[0; 6]), "SETTINGS"),
        (of(kind::SETTINGS, 0, 0, &[0; 5]), "SETTINGS"),
        (of(kind::RST_STREAM, 0, 1, &[0; 3]), "RST_STREAM"),
        (of(kind::WINDOW_UPDATE, 0, 0, &[0; 5]), "WINDOW_UPDATE"),
        (of(kind::GOAWAY, 0, 0, b"x"), "GOAWAY"),
        (of(kind::GOAWAY, 0, 0, &[0; 7]), "GOAWAY"),
    ];
    let flow = [
        (of(kind::WINDOW_UPDATE, 0, 0, &most), "too much"),
        (of(kind::SETTINGS, 0, 0, &wide), "too large"),
    ];
    let compression = [
        (headers(end, 1, b"\xbe"), ""),
        (headers(end, 1, b"\x40\x85"), ""),
        (headers(end, 1, &[0xff; 6]), "too large"),
    ];
    let protocol = [
        (data(0, 0, b"x"), "never opened"),
        (data(0, 9, b"x"), "never opened"),
        (data(flag::PADDED, 1, b"\x09abc"), "padding"),
        (data(flag::PADDED, 1, b""), "padding"),
        (headers(end, 2, b"\x88"), "never opened"),
        (headers(end | flag::PADDED, 1, b""), "padding"),
        (of(kind::CONTINUATION, 0, 1, b"x"), "no header block"),
        (of(kind::WINDOW_UPDATE, 0, 0, &[0; 4]), "of nothing"),
        (of(kind::WINDOW_UPDATE, 0, 3, &[1; 4]), "never opened"),
        (of(kind::SETTINGS, 0, 0, &small_frames), "frame size"),
        (of(kind::SETTINGS, 0, 1, b""), "SETTINGS of a stream"),
        (of(kind::PING, 0, 1, &[0; 8]), "PING of a stream"),
        (of(kind::GOAWAY, 0, 1, &[0; 8]), "GOAWAY of a stream"),
        (of(kind::RST_STREAM, 0, 3, &[0; 4]), "never opened"),
        (of(kind::RST_STREAM, 0, 2, &[0; 4]), "never opened"),
        (of(kind::PUSH_PROMISE, end, 1, &[0; 5]), "pushes"),
        (cut(kind::DATA), "cuts into"),
        (cut(kind::PING), "cuts into"),
    ];
    // It says itself that it is wrong: it is only told that it was heard.
    let none = [(of(kind::GOAWAY, 0, 0, &[0, 0, 0, 1, 0, 0, 0, 2]), "closes")];
    for (code, cases) in [
        ("FRAME_SIZE_ERROR", &size[..]),
        ("FLOW_CONTROL_ERROR", &flow),
        ("COMPRESSION_ERROR", &compression),
        ("PROTOCOL_ERROR", &protocol),
        ("NO_ERROR", &none),
    ] {
        for (bytes, words) in cases {
            let mut side = Session::connected(&[]);
            side.start(&request("GET", b""), 1);
            side.sent();
            let failure = side.hear(bytes).unwrap_err().failure();
            assert!(failure.reason.contains(words), "{bytes:x?}: {failure}");
            let (head, payload) = side.sent().pop().unwrap();
            assert_eq!((head.kind, head.length), (kind::GOAWAY, 8));
            let found = u32::from_be_bytes(payload[4..].try_into().unwrap());
            assert_eq!(code_name(found), code, "{bytes:x?}");
            assert_eq!(failure.peer_error, kept(words, found), "{bytes:x?}");
        }
    }
}

/// What the failure keeps of it. A frame that is far too long is mostly no frame at all.
fn kept(words: &str, code: u32) -> Option<PeerError> {
    match words {
        "longer than 16,384" => None,
        "closes" => Some(PeerError::GoAway(2)),
        _ => Some(PeerError::BrokeConnection(code)),
    }
}

/// The head of a frame of one byte more than this side allows.
const FRAME_TOO_LONG: [u8; 9] = [0, 0x40, 1, kind::DATA, 0, 0, 0, 0, 1];

#[test]
fn a_frame_of_exactly_the_limit_is_taken() {
    let mut side = Session::connected(&[]);
    side.start(&request("GET", b""), 1);
    let mut bytes = headers(flag::END_HEADERS, 1, &head_of("200"));
    bytes.extend(data(flag::END_STREAM, 1, &vec![b'x'; 16_384]));
    let events = side.hear(&bytes).unwrap();
    assert!(matches!(events[..], [Event::Answered { owner: 1, .. }]));
}

#[test]
fn every_code_of_a_reset_is_handed_on_and_ends_its_stream_alone() {
    for code in 0..20 {
        let mut side = Session::connected(&[]);
        let get = request("GET", b"");
        side.start(&get, 1);
        side.start(&get, 2);
        let mut bytes = frame_of(kind::RST_STREAM, 0, 1, &u32::to_be_bytes(code));
        bytes.extend(answer(3, "200", b"hello"));
        let events = side.hear(&bytes).unwrap();
        let [
            Event::Failed { owner: 1, failure },
            Event::Answered { owner: 2, .. },
        ] = &events[..]
        else {
            panic!("{events:?}");
        };
        assert_eq!(failure.peer_error, Some(PeerError::Reset(code)));
        assert_eq!(failure.outcome, Outcome::Reset);
    }
}

#[test]
fn a_reset_behind_a_whole_answer_changes_nothing() {
    let mut side = Session::connected(&[]);
    side.start(&request("POST", &vec![b'x'; 100_000]), 1);
    let mut bytes = answer(1, "413", b"no");
    // The server needs no more of the request.
    bytes.extend(frame_of(kind::RST_STREAM, 0, 1, &[0; 4]));
    let events = side.hear(&bytes).unwrap();
    assert!(matches!(events[..], [Event::Answered { owner: 1, answer }] if answer.status == 413));
}

#[test]
fn header_blocks_come_in_as_many_parts_as_the_server_likes_but_not_for_ever() {
    let block = head_of("200");
    let end = flag::END_HEADERS;
    let mut side = Session::connected(&[]);
    side.start(&request("GET", b""), 1);
    let mut bytes = headers(flag::END_STREAM, 1, b"");
    for byte in &block {
        bytes.extend(frame_of(kind::CONTINUATION, 0, 1, &[*byte]));
    }
    bytes.extend(frame_of(kind::CONTINUATION, end, 1, b""));
    let events = side.hear(&bytes).unwrap();
    assert!(matches!(events[..], [Event::Answered { owner: 1, .. }]));

    let begun = || {
        let mut side = Session::connected(&[]);
        side.start(&request("GET", b""), 1);
        side.hear(&headers(0, 1, b"\x88")).unwrap();
        side
    };
    let none = frame_of(kind::CONTINUATION, 0, 1, b"");
    let other = frame_of(kind::CONTINUATION, end, 3, b"\x88");
    for bytes in [none, other] {
        let problem = begun().hear(&bytes).unwrap_err();
        assert!(problem.to_string().contains("CONTINUATION"), "{problem}");
    }
    let mut side = begun();
    let part = frame_of(kind::CONTINUATION, 0, 1, &[0; 10_000]);
    let mut parts = (1..200).filter_map(|count| Some((count, side.hear(&part).err()?)));
    let (count, problem) = parts.next().unwrap();
    assert_eq!(count, 105, "1 MiB is the most");
    assert!(
        problem.to_string().contains("longer than 1 MiB"),
        "{problem}"
    );
}

/// As over HTTP/1.1. It once ended the connection, and all that ran on it.
#[test]
fn a_head_of_200_kb_is_an_answer() {
    let long = "v".repeat(200_000);
    let block = Block::new(&[(":status", "200"), ("x-long", &long)]).plain;
    let mut side = Session::connected(&[]);
    side.start(&request("GET", b""), 1);
    let mut bytes = headers(flag::END_STREAM, 1, b"");
    for part in block.chunks(16_000) {
        bytes.extend(frame_of(kind::CONTINUATION, 0, 1, part));
    }
    bytes.extend(frame_of(
        kind::CONTINUATION,
        flag::END_HEADERS,
        1,
        &[0, 1, b'a', 1, b'b'],
    ));
    let events = side.hear(&bytes).unwrap();
    assert!(matches!(events[..], [Event::Answered { owner: 1, .. }]));
}

#[test]
fn the_first_thing_that_a_server_says_is_its_settings() {
    for first in [
        frame_of(kind::SETTINGS, flag::ACK, 0, b""),
        frame_of(kind::GOAWAY, 0, 0, &[0; 8]),
        frame_of(kind::WINDOW_UPDATE, 0, 0, &[1; 4]),
        frame_of(0xbe, 0, 0, b"unknown"),
    ] {
        let problem = Session::new().hear(&first).unwrap_err();
        assert!(
            problem.to_string().contains("not SETTINGS"),
            "{first:x?}: {problem}"
        );
    }
}
