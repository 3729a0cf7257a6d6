//! What a server changes of its settings while requests are under way.

use super::*;
use crate::h2::hpack::TABLE_EMPTIED;

fn settings(all: &[(u16, u32)]) -> Vec<u8> {
    let mut out = Vec::new();
    frame::write_settings(all, &mut out);
    out
}

/// Bytes of body in what was sent, and whether the last of them ended the stream.
fn body_sent(side: &mut Session) -> (usize, bool) {
    let sent = side.sent().into_iter();
    let data: Vec<_> = sent.filter(|(head, _)| head.kind == kind::DATA).collect();
    let ends = data
        .last()
        .is_some_and(|(head, _)| head.has(flag::END_STREAM));
    (data.iter().map(|(_, payload)| payload.len()).sum(), ends)
}

#[test]
fn a_window_that_shrinks_below_what_was_sent_holds_the_rest_back() {
    let mut side = Session::connected(&[(setting::INITIAL_WINDOW_SIZE, 1000)]);
    side.start(&request("POST", &[b'x'; 5000]), 1);
    assert_eq!(body_sent(&mut side), (1000, false));
    // 1,000 bytes are out: the stream owes 900 now.
    side.hear(&settings(&[(setting::INITIAL_WINDOW_SIZE, 100)]))
        .unwrap();
    side.hear(&frame_of(kind::WINDOW_UPDATE, 0, 1, &900_u32.to_be_bytes()))
        .unwrap();
    assert_eq!(body_sent(&mut side), (0, false));
    side.hear(&frame_of(kind::WINDOW_UPDATE, 0, 1, &10_u32.to_be_bytes()))
        .unwrap();
    assert_eq!(body_sent(&mut side), (10, false));
    side.hear(&settings(&[(setting::INITIAL_WINDOW_SIZE, 10_000)]))
        .unwrap();
    assert_eq!(body_sent(&mut side), (3990, true));
    // A request from now on has the new window.
    side.start(&request("POST", &vec![b'x'; 12_000]), 2);
    assert_eq!(body_sent(&mut side), (10_000, false));
}

#[test]
fn a_window_of_nothing_at_first_stops_no_request_without_a_body() {
    let mut side = Session::connected(&[(setting::INITIAL_WINDOW_SIZE, 0)]);
    side.start(&request("POST", b"hello"), 1);
    side.start(&request("GET", b""), 2);
    let sent = side.sent();
    assert_eq!(sent.len(), 2, "two heads");
    assert!(!sent[0].0.has(flag::END_STREAM) && sent[1].0.has(flag::END_STREAM));
    side.hear(&settings(&[(setting::INITIAL_WINDOW_SIZE, 5)]))
        .unwrap();
    assert_eq!(body_sent(&mut side), (5, true));
}

#[test]
fn windows_beyond_the_limit_are_refused_by_their_name() {
    let max = i32::MAX.cast_unsigned();
    let mut side = Session::connected(&[]);
    side.start(&request("POST", &vec![b'x'; 70_000]), 1);
    let more = frame_of(kind::WINDOW_UPDATE, 0, 1, &70_000_u32.to_be_bytes());
    side.hear(&more).unwrap();
    let problem = side.hear(&settings(&[(setting::INITIAL_WINDOW_SIZE, max)]));
    assert_eq!(
        problem,
        Err(Problem::Flow("a setting makes a window too large"))
    );
    let mut side = Session::connected(&[]);
    side.start(&request("POST", &vec![b'x'; 70_000]), 1);
    side.sent();
    // All of the window was used, and that of the connection too: it stays as large as it is made.
    let update = |more: u32| frame_of(kind::WINDOW_UPDATE, 0, 1, &more.to_be_bytes());
    assert_eq!(side.hear(&update(1)).unwrap(), []);
    let events = side.hear(&update(max)).unwrap();
    assert!(
        matches!(&events[..], [Event::Failed { failure, .. }] if failure.outcome == Outcome::Protocol)
    );
}

#[test]
fn a_header_table_that_shrinks_later_is_given_up_from_the_next_request_on() {
    let mut side = Session::connected(&[]);
    let get = request("GET", b"");
    side.start(&get, 1);
    side.start(&get, 2);
    let before = side.sent();
    side.hear(&settings(&[(setting::HEADER_TABLE_SIZE, 100)]))
        .unwrap();
    side.sent();
    side.start(&get, 3);
    side.start(&get, 4);
    let after = side.sent();
    assert_eq!(after[0].1[0], TABLE_EMPTIED);
    assert_ne!(after[1].1[0], TABLE_EMPTIED, "once is enough");
    let mut decoder = Decoder::default();
    let mut read = Vec::new();
    for (_, block) in before.iter().chain(&after) {
        let mut fields = Vec::new();
        let mut keep = |name: &[u8], value: &[u8]| fields.push((name.to_vec(), value.to_vec()));
        decoder.decode(block, &mut keep).unwrap();
        read.push(fields);
    }
    assert!(read.windows(2).all(|two| two[0] == two[1]));
    // A table that grows again is not used again.
    side.hear(&settings(&[(setting::HEADER_TABLE_SIZE, 4096)]))
        .unwrap();
    side.sent();
    side.start(&get, 5);
    assert_eq!(side.sent()[0].1, after[1].1);
}

#[test]
fn a_server_that_allows_no_stream_at_first_is_not_asked_before_it_does() {
    let mut side = Session::new();
    let none = settings(&[(setting::MAX_CONCURRENT_STREAMS, 0)]);
    assert_eq!(side.hear(&none).unwrap(), []);
    let ping = frame_of(kind::PING, 0, 0, &[0; 8]);
    assert_eq!(side.hear(&ping).unwrap(), [], "it may speak all the same");
    let some = settings(&[(setting::MAX_CONCURRENT_STREAMS, 3)]);
    assert_eq!(side.hear(&some).unwrap(), [Event::Connected]);
    assert_eq!(side.hear(&some).unwrap(), [], "once");
    assert_eq!(side.peer.streams_max, 3);
}

#[test]
fn the_numbers_of_streams_end() {
    let mut side = Session::connected(&[]);
    let last_but_one = NewStream {
        body: None,
        is_head: false,
        owner: 1,
    };
    side.streams
        .push(Stream::new((1 << 31) - 5, last_but_one, 0));
    assert_eq!(side.numbers_left(), 1);
    side.start(&request("GET", b""), 2);
    assert_eq!(side.numbers_left(), 0);
}

#[test]
fn larger_frames_are_used_as_soon_as_they_are_allowed() {
    let mut side = Session::connected(&[(setting::INITIAL_WINDOW_SIZE, 60_000)]);
    side.start(&request("POST", &vec![b'x'; 50_000]), 1);
    let sent = side.sent();
    assert!(sent.iter().all(|(head, _)| head.length <= 16_384));
    side.hear(&settings(&[(setting::MAX_FRAME_SIZE, 65_536)]))
        .unwrap();
    side.sent();
    let more = frame_of(kind::WINDOW_UPDATE, 0, 0, &100_000_u32.to_be_bytes());
    side.hear(&more).unwrap();
    side.start(&request("POST", &vec![b'x'; 50_000]), 2);
    let data = side.sent().into_iter();
    let lengths: Vec<usize> = data.map(|(head, _)| head.length).skip(1).collect();
    assert_eq!(lengths, [50_000]);
}
