//! What a server is told when it breaks the protocol, and what it may do without breaking it.

use super::*;

/// The code of the `GOAWAY` that answers these bytes.
fn goaway_code(bytes: &[u8]) -> u32 {
    let mut side = Side::connected(&[]);
    side.exchange.start(&request("GET", b""), 1);
    side.sent();
    side.hear(bytes).unwrap_err();
    let (head, payload) = side.sent().pop().unwrap();
    assert_eq!((head.kind, head.length), (kind::GOAWAY, 8));
    u32::from_be_bytes(payload[4..].try_into().unwrap())
}

#[test]
fn a_server_is_told_by_its_code_what_it_did() {
    let end = flag::END_HEADERS;
    let most = i32::MAX.cast_unsigned().to_be_bytes();
    let wide = [0, 4, 0xff, 0xff, 0xff, 0xff];
    let small_frames = [0, 5, 0, 0, 0, 1];
    let cut = [
        frame_of(kind::HEADERS, 0, 1, b"\x88"),
        frame_of(kind::DATA, 0, 1, b"x"),
    ]
    .concat();
    let cases = [
        (FRAME_TOO_LONG.to_vec(), "FRAME_SIZE_ERROR"),
        (frame_of(kind::PING, 0, 0, &[0; 7]), "FRAME_SIZE_ERROR"),
        (
            frame_of(kind::SETTINGS, flag::ACK, 0, &[0; 6]),
            "FRAME_SIZE_ERROR",
        ),
        (frame_of(kind::SETTINGS, 0, 0, &[0; 5]), "FRAME_SIZE_ERROR"),
        (
            frame_of(kind::RST_STREAM, 0, 1, &[0; 3]),
            "FRAME_SIZE_ERROR",
        ),
        (
            frame_of(kind::WINDOW_UPDATE, 0, 0, &[0; 5]),
            "FRAME_SIZE_ERROR",
        ),
        (frame_of(kind::GOAWAY, 0, 0, &[0; 7]), "FRAME_SIZE_ERROR"),
        (
            frame_of(kind::WINDOW_UPDATE, 0, 0, &most),
            "FLOW_CONTROL_ERROR",
        ),
        (frame_of(kind::SETTINGS, 0, 0, &wide), "FLOW_CONTROL_ERROR"),
        (
            frame_of(kind::HEADERS, end, 1, b"\xbe"),
            "COMPRESSION_ERROR",
        ),
        (
            frame_of(kind::HEADERS, end, 1, b"\x40\x85"),
            "COMPRESSION_ERROR",
        ),
        (
            frame_of(kind::SETTINGS, 0, 0, &small_frames),
            "PROTOCOL_ERROR",
        ),
        (frame_of(kind::SETTINGS, 0, 1, b""), "PROTOCOL_ERROR"),
        (frame_of(kind::PING, 0, 1, &[0; 8]), "PROTOCOL_ERROR"),
        (frame_of(kind::GOAWAY, 0, 1, &[0; 8]), "PROTOCOL_ERROR"),
        (frame_of(kind::RST_STREAM, 0, 3, &[0; 4]), "PROTOCOL_ERROR"),
        (frame_of(kind::RST_STREAM, 0, 2, &[0; 4]), "PROTOCOL_ERROR"),
        (
            frame_of(kind::WINDOW_UPDATE, 0, 3, &[1; 4]),
            "PROTOCOL_ERROR",
        ),
        (
            frame_of(kind::PUSH_PROMISE, end, 1, &[0, 0, 0, 2, 0x82]),
            "PROTOCOL_ERROR",
        ),
        (cut, "PROTOCOL_ERROR"),
        // It says itself that it is wrong: it is only told that it was heard.
        (
            frame_of(kind::GOAWAY, 0, 0, &[0, 0, 0, 1, 0, 0, 0, 2]),
            "NO_ERROR",
        ),
    ];
    for (bytes, name) in cases {
        assert_eq!(code_name(goaway_code(&bytes)), name, "{bytes:x?}");
    }
}

/// The head of a frame of one byte more than this side allows.
const FRAME_TOO_LONG: [u8; 9] = [0, 0x40, 1, kind::DATA, 0, 0, 0, 0, 1];

#[test]
fn a_frame_of_exactly_the_limit_is_taken() {
    let mut side = Side::connected(&[]);
    side.exchange.start(&request("GET", b""), 1);
    let mut bytes = frame_of(kind::HEADERS, flag::END_HEADERS, 1, &head_of("200"));
    bytes.extend(frame_of(
        kind::DATA,
        flag::END_STREAM,
        1,
        &vec![b'x'; 16_384],
    ));
    let events = side.hear(&bytes).unwrap();
    assert!(matches!(events[..], [Event::Answered { owner: 1, .. }]));
}

#[test]
fn every_code_of_a_reset_is_handed_on_and_ends_its_stream_alone() {
    for code in 0..20 {
        let mut side = Side::connected(&[]);
        let get = request("GET", b"");
        side.exchange.start(&get, 1);
        side.exchange.start(&get, 2);
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
    let mut side = Side::connected(&[]);
    side.exchange
        .start(&request("POST", &vec![b'x'; 100_000]), 1);
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
    let mut side = Side::connected(&[]);
    side.exchange.start(&request("GET", b""), 1);
    let mut bytes = frame_of(kind::HEADERS, flag::END_STREAM, 1, b"");
    for byte in &block {
        bytes.extend(frame_of(kind::CONTINUATION, 0, 1, &[*byte]));
    }
    bytes.extend(frame_of(kind::CONTINUATION, end, 1, b""));
    let events = side.hear(&bytes).unwrap();
    assert!(matches!(events[..], [Event::Answered { owner: 1, .. }]));

    let begun = || {
        let mut side = Side::connected(&[]);
        side.exchange.start(&request("GET", b""), 1);
        side.hear(&frame_of(kind::HEADERS, 0, 1, b"\x88")).unwrap();
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
    let parts = (1..20).find(|_| side.hear(&part).is_err());
    assert_eq!(parts, Some(7), "64 KiB is the most");
}

#[test]
fn the_first_thing_that_a_server_says_is_its_settings() {
    for first in [
        frame_of(kind::SETTINGS, flag::ACK, 0, b""),
        frame_of(kind::GOAWAY, 0, 0, &[0; 8]),
        frame_of(kind::WINDOW_UPDATE, 0, 0, &[1; 4]),
        frame_of(0xbe, 0, 0, b"unknown"),
    ] {
        let problem = Side::new().hear(&first).unwrap_err();
        assert!(
            problem.to_string().contains("not SETTINGS"),
            "{first:x?}: {problem}"
        );
    }
}
