//! The protocol without a socket: frames in, frames and events out.

mod settings;
mod violations;

use plimsoll_core::test::Request;
use proptest::prelude::*;

use super::sending::AHEAD_MAX;
use super::*;
use crate::h2::hpack::Block;
use crate::h2::request::EncodedRequest;
use crate::h2::streams::NewStream;
use crate::target::Target;

/// A frame that says nothing any more, but that servers may send.
const PRIORITY: u8 = 2;

impl Session {
    /// One that has heard the server's settings.
    pub(super) fn connected(settings: &[(u16, u32)]) -> Self {
        let mut side = Self::new();
        let mut bytes = Vec::new();
        frame::write_settings(settings, &mut bytes);
        assert_eq!(side.hear(&bytes).unwrap(), [Event::Connected]);
        side.out.clear();
        side
    }

    pub(super) fn hear(&mut self, bytes: &[u8]) -> Result<Vec<Event>, Problem> {
        let mut events = Vec::new();
        self.pieces(bytes, &mut events)?;
        Ok(events)
    }

    /// What was to be written since the last look: heads with their payloads.
    pub(super) fn sent(&mut self) -> Vec<(FrameHead, Vec<u8>)> {
        let out = self.take_out();
        let mut input = out.as_slice();
        let mut frames = Vec::new();
        while let Some((bytes, rest)) = input.split_first_chunk() {
            let head = FrameHead::read(*bytes);
            let (payload, rest) = rest.split_at(head.length);
            frames.push((head, payload.to_vec()));
            input = rest;
        }
        frames
    }
}

pub(super) fn request(method: &str, body: &[u8]) -> EncodedRequest {
    let request = Request {
        method: method.to_owned(),
        url: "http://shop.test/cart".to_owned(),
        headers: vec![
            ("X-Trace".to_owned(), "7".to_owned()),
            ("Connection".to_owned(), "close".to_owned()),
        ],
        body: body.to_vec(),
    };
    EncodedRequest::new(&request, &Target::parse(&request.url).unwrap()).unwrap()
}

pub(super) fn ask(body: Option<Arc<[u8]>>, owner: u64) -> NewStream<Arc<[u8]>> {
    NewStream {
        body,
        is_head: false,
        owner,
    }
}

pub(super) fn frame_of(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    frame::write(kind, flags, stream, payload, &mut out);
    out
}

pub(super) fn headers(flags: u8, stream: u32, block: &[u8]) -> Vec<u8> {
    frame_of(kind::HEADERS, flags, stream, block)
}

pub(super) fn data(flags: u8, stream: u32, body: &[u8]) -> Vec<u8> {
    frame_of(kind::DATA, flags, stream, body)
}

pub(super) fn head_of(status: &str) -> Vec<u8> {
    Block::new(&[(":status", status), ("server", "test")]).plain
}

/// A whole answer: head, and a body if there is one.
pub(super) fn answer(stream: u32, status: &str, body: &[u8]) -> Vec<u8> {
    let end = flag::END_HEADERS | if body.is_empty() { flag::END_STREAM } else { 0 };
    let mut out = headers(end, stream, &head_of(status));
    if !body.is_empty() {
        out.extend(data(flag::END_STREAM, stream, body));
    }
    out
}

pub(super) fn answered(owner: u64, status: u16, bytes: usize) -> Event {
    let answer = Answer {
        status,
        bytes: bytes as u64,
        keepalive: true,
    };
    Event::Answered { owner, answer }
}

#[test]
fn the_client_greets_first_and_confirms_settings() {
    let mut side = Session::new();
    assert!(side.out.starts_with(frame::PREFACE));
    side.out.drain(..frame::PREFACE.len());
    let kinds: Vec<u8> = side.sent().iter().map(|(head, _)| head.kind).collect();
    assert_eq!(kinds, [kind::SETTINGS, kind::WINDOW_UPDATE]);
    let mut settings = Vec::new();
    frame::write_settings(&[(setting::MAX_CONCURRENT_STREAMS, 7)], &mut settings);
    assert_eq!(side.hear(&settings).unwrap(), [Event::Connected]);
    assert_eq!(side.peer.streams_max, 7);
    let [(ack, payload)] = side.sent().try_into().unwrap();
    assert_eq!(
        (ack.kind, ack.flags, payload.len()),
        (kind::SETTINGS, flag::ACK, 0)
    );
}

#[test]
fn answers_come_in_any_order_to_their_owners() {
    let mut side = Session::connected(&[]);
    let get = request("GET", b"");
    let streams: Vec<u32> = (10..13).map(|owner| side.start(&get, owner)).collect();
    assert_eq!(streams, [1, 3, 5]);
    let frames = side.sent();
    assert!(
        frames
            .iter()
            .all(|(head, _)| head.has(flag::END_STREAM) && head.has(flag::END_HEADERS))
    );
    assert!(
        frames[1].1.len() < frames[0].1.len() / 4,
        "the second request names the first's fields"
    );
    let mut decoder = Decoder::default();
    for (_, block) in &frames {
        let mut names = Vec::new();
        decoder
            .decode(block, &mut |name: &[u8], _: &[u8]| {
                names.push(String::from_utf8_lossy(name).into_owned());
            })
            .unwrap();
        assert_eq!(names[..4], [":method", ":scheme", ":authority", ":path"]);
        assert!(
            names.iter().any(|name| name == "x-trace")
                && !names.iter().any(|name| name == "connection")
        );
    }
    let head = 9 + head_of("200").len();
    let mut bytes = answer(5, "200", b"hello");
    bytes.extend(answer(1, "404", b""));
    bytes.extend(answer(3, "200", b"ab"));
    assert_eq!(
        side.hear(&bytes).unwrap(),
        [
            answered(12, 200, head + 9 + 5),
            answered(10, 404, 9 + head_of("404").len()),
            answered(11, 200, head + 9 + 2)
        ]
    );
    assert_eq!(side.streams.len(), 0);
}

/// One of each thing that may come before the end of an answer.
fn long_story() -> Vec<u8> {
    let mut bytes = headers(flag::END_HEADERS, 1, &head_of("103"));
    let block = head_of("200");
    let (first, rest) = block.split_at(3);
    let mut padded = vec![4];
    padded.extend_from_slice(&[0, 0, 0, 0, 7]);
    padded.extend_from_slice(first);
    padded.extend_from_slice(&[0; 4]);
    bytes.extend(headers(flag::PADDED | flag::PRIORITY, 1, &padded));
    bytes.extend(frame_of(kind::CONTINUATION, flag::END_HEADERS, 1, rest));
    bytes.extend(frame_of(PRIORITY, 0, 1, &[0; 5]));
    bytes.extend(frame_of(kind::PING, 0, 0, b"12345678"));
    bytes.extend(frame_of(0xbe, 0xff, 1, b"unknown"));
    bytes.extend(data(flag::PADDED, 1, b"\x03body\0\0\0"));
    bytes.extend(data(0, 1, b""));
    bytes.extend(data(0, 1, b"more"));
    let trailers = Block::new(&[("x-checksum", "1")]).plain;
    bytes.extend(headers(flag::END_HEADERS | flag::END_STREAM, 1, &trailers));
    bytes.extend(answer(3, "204", b""));
    bytes
}

#[test]
fn the_end_is_the_same_however_the_bytes_are_cut() {
    let bytes = long_story();
    let mut ends = Vec::new();
    for size in 1..=bytes.len() {
        let mut side = Session::connected(&[]);
        let get = request("GET", b"");
        side.start(&get, 1);
        side.start(&get, 2);
        side.sent();
        let mut events = Vec::new();
        for part in bytes.chunks(size) {
            events.extend(side.hear(part).unwrap());
        }
        let sent = side.sent();
        assert_eq!(sent[0].1, b"12345678", "the ping is answered");
        ends.push(events);
    }
    assert_eq!(ends[0].len(), 2);
    assert!(matches!(ends[0][0], Event::Answered { owner: 1, answer } if answer.status == 200));
    assert!(ends.windows(2).all(|two| two[0] == two[1]));
}

#[test]
fn a_body_goes_out_as_the_windows_allow() {
    let mut side = Session::connected(&[
        (setting::INITIAL_WINDOW_SIZE, 30_000),
        (setting::MAX_FRAME_SIZE, 20_000),
    ]);
    let body: Vec<u8> = (0..100_000_u32).map(|at| at as u8).collect();
    side.start(&request("POST", &body), 1);
    let mut sent = Vec::new();
    let mut lengths = Vec::new();
    let mut ended = false;
    for turn in 0.. {
        for (head, payload) in side.sent() {
            if head.kind == kind::DATA {
                lengths.push(payload.len());
                sent.extend(payload);
                ended = head.has(flag::END_STREAM);
            }
        }
        if ended || turn == 20 {
            break;
        }
        let word = 10_000_u32.to_be_bytes();
        side.hear(&frame_of(kind::WINDOW_UPDATE, 0, 1, &word))
            .unwrap();
        side.hear(&frame_of(kind::WINDOW_UPDATE, 0, 0, &word))
            .unwrap();
    }
    assert_eq!(lengths[..3], [20_000, 10_000, 10_000]);
    assert!(ended && sent == body);
}

/// Bytes of body in one frame of the next test.
const FRAME: usize = 16_000;

#[test]
fn what_was_taken_is_given_back_to_the_windows() {
    let mut side = Session::connected(&[]);
    side.start(&request("GET", b""), 1);
    side.sent();
    side.hear(&headers(flag::END_HEADERS, 1, &head_of("200")))
        .unwrap();
    let frames = STREAM_WINDOW as usize / 2 / FRAME + 1;
    for _ in 0..frames {
        side.hear(&data(0, 1, &[0; FRAME])).unwrap();
    }
    let [(head, payload)] = side.sent().try_into().unwrap();
    assert_eq!((head.kind, head.stream), (kind::WINDOW_UPDATE, 1));
    assert_eq!(payload, ((frames * FRAME) as u32).to_be_bytes());
}

#[test]
fn a_server_that_leaves_names_what_it_did_not_look_at() {
    let mut side = Session::connected(&[]);
    let get = request("GET", b"");
    for owner in 1..=3 {
        side.start(&get, owner);
    }
    let leave = |last: u32, code: u32, text: &[u8]| {
        let payload = [&last.to_be_bytes()[..], &code.to_be_bytes(), text].concat();
        frame_of(kind::GOAWAY, 0, 0, &payload)
    };
    assert_eq!(
        side.hear(&leave(LAST_STREAM, 0, b"")).unwrap(),
        [],
        "a warning"
    );
    assert!(side.leaves.is_some());
    let events = side.hear(&leave(3, 0, b"")).unwrap();
    assert!(
        matches!(&events[..], [Event::Unprocessed { owner: 3, failure }] if failure.peer_error == Some(PeerError::GoAway(0)))
    );
    let events = side.hear(&answer(1, "200", b"")).unwrap();
    assert!(matches!(events[..], [Event::Answered { owner: 1, answer }] if !answer.keepalive));
    let problem = side.hear(&leave(3, 11, b"too many\npings")).unwrap_err();
    assert_eq!(
        problem.to_string(),
        "the server closes the connection: ENHANCE_YOUR_CALM (too manypings)"
    );
    assert_eq!(side.streams.take_owners(), [2]);
}

#[test]
fn a_reset_or_broken_stream_fails_alone() {
    let mut side = Session::connected(&[]);
    let get = request("GET", b"");
    for owner in 1..=4 {
        side.start(&get, owner);
    }
    side.sent();
    let mut bytes = frame_of(kind::RST_STREAM, 0, 1, &7_u32.to_be_bytes());
    bytes.extend(data(flag::END_STREAM, 3, b"early"));
    bytes.extend(headers(
        flag::END_HEADERS | flag::END_STREAM,
        5,
        &Block::new(&[("a", "b")]).plain,
    ));
    bytes.extend(answer(7, "200", b""));
    let events = side.hear(&bytes).unwrap();
    let of = |at: usize| match &events[at] {
        Event::Failed { owner, failure } => (*owner, failure.outcome, failure.reason.as_str()),
        other => panic!("{other:?}"),
    };
    assert_eq!(
        of(0),
        (
            1,
            Outcome::Reset,
            "the server reset the stream: REFUSED_STREAM"
        )
    );
    assert_eq!(
        of(1),
        (2, Outcome::Protocol, "a body came before its headers")
    );
    assert_eq!(of(2), (3, Outcome::Protocol, "the answer has no status"));
    assert!(matches!(events[3], Event::Answered { owner: 4, .. }));
    // What still comes for a stream that was given up concerns nobody.
    assert_eq!(side.hear(&answer(1, "200", b"late")).unwrap(), []);
}

#[test]
fn a_server_with_a_small_header_table_gets_requests_that_need_none() {
    let mut side = Session::connected(&[(setting::HEADER_TABLE_SIZE, 0)]);
    let get = request("GET", b"");
    for owner in 0..3 {
        side.start(&get, owner);
    }
    let blocks: Vec<Vec<u8>> = side.sent().into_iter().map(|(_, block)| block).collect();
    assert_eq!(blocks[0][0], 0x20, "the new size is confirmed");
    assert_eq!(blocks[0][1..], blocks[1]);
    assert_eq!(blocks[1], blocks[2]);
    assert!(
        Decoder::default()
            .decode(&blocks[1], &mut |_: &[u8], _: &[u8]| {})
            .is_ok()
    );
}

#[test]
fn a_flood_of_pings_is_not_kept_in_memory() {
    let mut side = Session::connected(&[]);
    let pings = frame_of(kind::PING, 0, 0, &[1; 8]).repeat(1000);
    let flood = (0..1000).find_map(|_| side.hear(&pings).err());
    assert!(
        flood
            .unwrap()
            .to_string()
            .contains("asks more than it reads")
    );
    assert!(side.out.len() < OUT_MAX + 100);
}

proptest! {
    #[test]
    fn no_bytes_panic(
        parts in proptest::collection::vec(
            (0_u8..11, any::<u8>(), 0_u32..8, proptest::collection::vec(any::<u8>(), 0..40)),
            0..12,
        ),
        size in 1_usize..60,
    ) {
        let mut side = Session::connected(&[]);
        for owner in 0..3 {
            side.start(&request("POST", &[1; 50]), owner);
        }
        let bytes: Vec<u8> = parts
            .iter()
            .flat_map(|(kind, flags, stream, payload)| frame_of(*kind, *flags, *stream, payload))
            .collect();
        let mut ended = 0;
        for part in bytes.chunks(size) {
            match side.hear(part) {
                Ok(events) => ended += events.iter().filter(|event| **event != Event::Connected).count(),
                Err(_) => break,
            }
        }
        prop_assert!(ended + side.streams.len() <= 3, "each stream ends once");
    }
}

/// Keeps what came of every stream.
#[derive(Default)]
pub(super) struct Collected {
    pub(super) events: Vec<Event>,
    fields: Vec<(u64, String)>,
    pub(super) body: Vec<u8>,
}

impl Sink for Collected {
    fn event(&mut self, event: Event) {
        self.events.push(event);
    }

    fn field(&mut self, owner: u64, name: &[u8], value: &[u8]) {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        self.fields
            .push((owner, format!("{}: {}", text(name), text(value))));
    }

    fn body(&mut self, _owner: u64, bytes: &[u8]) {
        self.body.extend_from_slice(bytes);
    }
}

#[test]
fn a_sink_gets_the_final_head_and_the_body_and_nothing_else() {
    let mut side = Session::connected(&[]);
    side.start(&request("GET", b""), 7);
    let trailers = Block::new(&[("x-end", "1")]).plain;
    let mut sent = headers(flag::END_HEADERS, 1, &head_of("103"));
    sent.extend(headers(flag::END_HEADERS, 1, &head_of("200")));
    sent.extend(data(0, 1, b"hel"));
    sent.extend(data(flag::PADDED, 1, b"\x02lo\0\0"));
    let ends = flag::END_HEADERS | flag::END_STREAM;
    sent.extend(headers(ends, 1, &trailers));
    let mut kept = Collected::default();
    side.pieces(&sent, &mut kept).unwrap();
    assert_eq!(kept.fields, [(7, "server: test".to_owned())]);
    assert_eq!(kept.body, b"hello");
    assert!(
        matches!(&kept.events[..], [Event::Answered { owner: 7, answer }] if answer.status == 200)
    );
}

#[test]
fn a_request_of_its_own_is_readable_whatever_the_server_says_of_its_table() {
    let mut block = Vec::new();
    let fields = [
        (":method", "POST"),
        (":path", "/cart"),
        ("X-Trace", "Seven"),
        ("accept-encoding", "gzip, deflate"),
        ("Content-Length", "3"),
    ];
    for (name, value) in fields {
        crate::h2::write_field(name, value, &mut block);
    }
    let mut side = Session::connected(&[(setting::HEADER_TABLE_SIZE, 0)]);
    let body: Arc<[u8]> = Arc::from(&b"abc"[..]);
    side.start_plain(&block, ask(Some(Arc::clone(&body)), 0));
    side.start_plain(&block, ask(None, 1));
    let sent = side.sent();
    let (mut decoder, mut read) = (Decoder::default(), Vec::new());
    let heads = sent.iter().filter(|(head, _)| head.kind == kind::HEADERS);
    for (place, (_, payload)) in heads.enumerate() {
        // The word about the table comes once, before all fields.
        assert_eq!(payload[0] == 0x20, place == 0);
        let mut keep = |name: &[u8], value: &[u8]| read.push((name.to_vec(), value.to_vec()));
        decoder.decode(payload, &mut keep).unwrap();
    }
    let lower =
        fields.map(|(name, value)| (name.to_lowercase().into_bytes(), value.as_bytes().to_vec()));
    assert_eq!(read, [lower.clone(), lower].concat());
    assert!(
        sent.iter()
            .any(|(head, payload)| head.kind == kind::DATA && payload == b"abc")
    );
}

#[test]
fn a_large_body_is_not_held_twice_however_much_the_server_takes() {
    let most = i32::MAX.cast_unsigned();
    let mut side = Session::connected(&[(setting::INITIAL_WINDOW_SIZE, most)]);
    let more = (most - 65_535).to_be_bytes();
    side.hear(&frame_of(kind::WINDOW_UPDATE, 0, 0, &more))
        .unwrap();
    let length = 10_000_000;
    side.start(&request("POST", &vec![b'x'; length]), 1);
    let mut sent = 0;
    while side.has_bodies_held_back() {
        assert!(side.out.len() < AHEAD_MAX + 20_000);
        let data = side
            .sent()
            .into_iter()
            .filter(|(head, _)| head.kind == kind::DATA);
        sent += data.map(|(_, payload)| payload.len()).sum::<usize>();
        side.send_bodies();
    }
    let last = side.sent();
    assert!(last.last().unwrap().0.has(flag::END_STREAM));
    let data = last.iter().filter(|(head, _)| head.kind == kind::DATA);
    assert_eq!(
        sent + data.map(|(_, payload)| payload.len()).sum::<usize>(),
        length
    );
}

#[test]
fn a_frame_whose_contents_look_like_http_1_is_still_a_frame() {
    let mut side = Session::new();
    let frame = frame_of(kind::SETTINGS, 0, 0, b"HTTP/1");
    assert_eq!(side.hear(&frame[..9]).unwrap(), []);
    assert_eq!(side.hear(&frame[9..]).unwrap(), [Event::Connected]);
    let mut other = Session::new();
    assert_eq!(other.hear(b"HTTP/1.1 400").unwrap_err(), Problem::Http1);
}
