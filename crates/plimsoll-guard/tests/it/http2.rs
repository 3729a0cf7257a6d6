//! HTTP/2 in front of HTTP/1.1: requests that are what they were meant to be, and frames that are not meant well.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use plimsoll_control::admission::Rule;
use plimsoll_net::tls::{Offer, server_name};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::runtime;
use tokio_rustls::TlsConnector;

use crate::sockets::{self, Folder, certificate, resident};
use crate::support::{
    Guard, OK, Upstream, answer, config, connect, eventually, guard, metric, start,
};

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const CALM: u32 = 11;

fn run<T>(future: impl Future<Output = T>) -> T {
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(future)
}

type Sender = h2::client::SendRequest<Bytes>;

async fn client(listening: &Guard) -> Sender {
    let stream = tokio::net::TcpStream::connect(listening.proxy)
        .await
        .unwrap();
    client_on(stream).await
}

async fn client_on<S>(stream: S) -> Sender
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
{
    let (sender, connection) = h2::client::handshake(stream).await.unwrap();
    tokio::spawn(connection);
    sender.ready().await.unwrap()
}

/// Status, body and trailers.
async fn asked(
    sender: &mut Sender,
    request: Request<()>,
    body: Option<Vec<u8>>,
) -> (u16, Vec<u8>, http::HeaderMap) {
    let (answer, mut sending) = sender.send_request(request, body.is_none()).unwrap();
    if let Some(body) = body {
        let mut body = Bytes::from(body);
        while !body.is_empty() {
            sending.reserve_capacity(body.len());
            let room = std::future::poll_fn(|cx| sending.poll_capacity(cx))
                .await
                .unwrap()
                .unwrap();
            sending
                .send_data(body.split_to(room.min(body.len())), body.is_empty())
                .unwrap();
        }
    }
    let (head, mut body) = answer.await.unwrap().into_parts();
    let mut bytes = Vec::new();
    while let Some(data) = body.data().await {
        let data = data.unwrap();
        body.flow_control().release_capacity(data.len()).unwrap();
        bytes.extend_from_slice(&data);
    }
    let mut headers = head.headers;
    headers.extend(body.trailers().await.unwrap().unwrap_or_default());
    (head.status.as_u16(), bytes, headers)
}

fn get(path: &str) -> Request<()> {
    Request::get(format!("http://a{path}")).body(()).unwrap()
}

#[test]
fn a_request_goes_through_and_its_answer_back_with_trailers() {
    let upstream = Upstream::start(Arc::new(|stream, read| {
        let answer = "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nKeep-Alive: 5\r\nConnection: X-Hop\r\nX-Hop: 1\r\n\
                      Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\ngrpc-status: 0\r\n\r\n";
        read.ends_with(b"\r\n\r\n") && stream.write_all(answer.as_bytes()).is_ok()
    }));
    let listening = guard(upstream.address, Rule::HalfLoad);
    run(async {
        let mut sender = client(&listening).await;
        let mut request = get("/a?b");
        let fields = request.headers_mut();
        fields.append("cookie", "a=1".parse().unwrap());
        fields.append("cookie", "b=2".parse().unwrap());
        fields.append("te", "trailers".parse().unwrap());
        fields.append("x-forwarded-for", "9.9.9.9".parse().unwrap());
        let (status, body, headers) = asked(&mut sender, request, None).await;
        assert_eq!((status, &body[..]), (200, &b"abc"[..]));
        assert_eq!(headers["grpc-status"], "0");
        assert!(
            !headers.contains_key("x-hop") && !headers.contains_key("keep-alive"),
            "{headers:?}"
        );
    });
    let seen = upstream.requests();
    assert_eq!(
        seen,
        "GET /a?b HTTP/1.1\r\nHost: a\r\ncookie: a=1; b=2\r\nConnection: TE\r\nTE: trailers\r\nX-Forwarded-For: 127.0.0.1\r\n\
         X-Forwarded-Host: a\r\nX-Forwarded-Proto: http\r\n\r\n"
    );
}

#[test]
fn large_bodies_pass_both_ways_as_windows_open() {
    let upstream = Upstream::start(Arc::new(|stream, read| {
        let Some(start) = read.windows(4).position(|four| four == b"\r\n\r\n") else {
            return false;
        };
        let body = &read[start + 4..];
        if body.len() < 1 << 20 {
            return false;
        }
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
        stream.write_all(&[head.as_bytes(), body].concat()).is_ok()
    }));
    let listening = guard(upstream.address, Rule::HalfLoad);
    let sent: Vec<u8> = (0..1 << 20)
        .map(|number: u32| number.to_le_bytes()[1])
        .collect();
    run(async {
        let mut sender = client(&listening).await;
        let request = Request::post("http://a/up").header("content-length", sent.len());
        let (status, back, _) =
            asked(&mut sender, request.body(()).unwrap(), Some(sent.clone())).await;
        assert!(status == 200 && back == sent);
    });
    assert!(metric(&listening, "in_flight") < 0.5);
}

/// A body that waits for its end, or for a permit, is within the window of its stream, and each has its own.
#[test]
fn streams_that_never_end_their_bodies_hold_little() {
    const STREAMS: usize = 40;
    const AHEAD: usize = 60 << 10;
    let upstream = Upstream::answering(OK);
    let listening = guard(upstream.address, Rule::HalfLoad);
    let taken = run(async {
        let mut sender = client(&listening).await;
        let (mut streams, mut taken) = (Vec::new(), 0);
        for _ in 0..STREAMS {
            let request = Request::post("http://a/up").body(()).unwrap();
            let (answer, mut sending) = sender.send_request(request, false).unwrap();
            // The window of the connection may be wider in a moment only.
            let first = sent_ahead(&mut sending, AHEAD, false).await;
            taken += first + sent_ahead(&mut sending, AHEAD - first, false).await;
            streams.push((answer, sending));
        }
        taken
    });
    assert_eq!(taken, STREAMS * AHEAD);
    assert!(metric(&listening, "in_flight") < 0.5);
}

/// How much of so many bytes the windows let through now; with all of them, it is the end where they are the last.
async fn sent_ahead(sending: &mut h2::SendStream<Bytes>, bytes: usize, is_last: bool) -> usize {
    if bytes == 0 {
        return 0;
    }
    sending.reserve_capacity(bytes);
    let room = std::future::poll_fn(|cx| sending.poll_capacity(cx));
    match tokio::time::timeout(Duration::from_millis(50), room).await {
        Ok(Some(Ok(room))) => {
            let room = room.min(bytes);
            let is_end = is_last && room == bytes;
            sending.send_data(vec![0; room].into(), is_end).unwrap();
            room
        }
        _ => 0,
    }
}

/// Bodies that come in turn, each longer than its share of a window for all of them: none is kept waiting by the others.
#[test]
fn uploads_side_by_side_do_not_wait_for_each_other() {
    const LENGTH: usize = 100_000;
    let upstream = Upstream::start(Arc::new(|stream, read| {
        let Some(start) = read.windows(4).position(|four| four == b"\r\n\r\n") else {
            return false;
        };
        read.len() - start - 4 >= LENGTH && stream.write_all(OK.as_bytes()).is_ok()
    }));
    let listening = guard(upstream.address, Rule::Fixed(64));
    let served = run(async {
        let mut sender = client(&listening).await;
        let mut uploads = Vec::new();
        for _ in 0..32 {
            let request = Request::post("http://a/up").header("content-length", LENGTH);
            let request = request.body(()).unwrap();
            let (answer, sending) = sender.send_request(request, false).unwrap();
            uploads.push((answer, sending, 0));
        }
        let begun = tokio::time::Instant::now();
        while uploads.iter().any(|(_, _, sent)| *sent < LENGTH) {
            for (_, sending, sent) in uploads.iter_mut().filter(|(_, _, sent)| *sent < LENGTH) {
                let left = LENGTH - *sent;
                let next = left.min(8 << 10);
                *sent += sent_ahead(sending, next, next == left).await;
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "none goes on");
        }
        let mut served = 0;
        for (answer, _, _) in uploads {
            served += usize::from(answer.await.unwrap().status().as_u16() == 200);
        }
        served
    });
    assert_eq!(served, 32);
}

#[test]
fn each_stream_asks_for_a_permit_of_its_own() {
    let upstream = Upstream::start(Arc::new(|stream, read| {
        if !read.ends_with(b"\r\n\r\n") {
            return false;
        }
        thread::sleep(Duration::from_millis(400));
        stream.write_all(OK.as_bytes()).is_ok()
    }));
    let listening = guard(upstream.address, Rule::Fixed(2));
    let (served, refused) = run(async {
        let mut sender = client(&listening).await;
        let answers: Vec<_> = (0..12)
            .map(|_| sender.send_request(get("/"), true).unwrap().0)
            .collect();
        let (mut served, mut refused) = (0, 0);
        for answer in answers {
            let answer = answer.await.unwrap();
            match answer.status().as_u16() {
                200 => served += 1,
                503 => {
                    refused += 1;
                    assert!(answer.headers().contains_key("retry-after"));
                }
                other => panic!("{other}"),
            }
        }
        (served, refused)
    });
    assert_eq!(served + refused, 12);
    assert!((2..=4).contains(&served), "{served}");
    assert!(upstream.seen.lock().unwrap().len() <= 2);
}

#[test]
fn a_stream_that_its_client_takes_back_gives_its_permit_back_and_ends_the_upstreams() {
    let upstream = Upstream::start(Arc::new(|_, _| false));
    let listening = guard(upstream.address, Rule::Fixed(4));
    run(async {
        let mut sender = client(&listening).await;
        let (_answer, mut sending) = sender.send_request(get("/"), true).unwrap();
        while metric(&listening, "in_flight") < 0.5 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        sending.send_reset(h2::Reason::CANCEL);
        while metric(&listening, "in_flight") > 0.5 || upstream.closed.load(Ordering::SeqCst) == 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    });
}

/// The same in the middle of a body that the upstream does not take: nobody reads it, and its end shows all the same.
#[test]
fn a_stream_that_is_taken_back_in_the_middle_of_its_body_gives_its_permit_back() {
    let upstream = Upstream::start(Arc::new(|_, _| {
        thread::sleep(Duration::from_secs(3600));
        false
    }));
    let listening = guard(upstream.address, Rule::Fixed(4));
    run(async {
        let mut sender = client(&listening).await;
        let request = Request::post("http://a/up").body(()).unwrap();
        let (_answer, mut sending) = sender.send_request(request, false).unwrap();
        // Until the windows stay shut.
        let mut shut = 0;
        while shut < 10 {
            let sent = sent_ahead(&mut sending, 32 << 10, false).await;
            shut = if sent > 0 { 0 } else { shut + 1 };
        }
        // With a permit, or without one since the service waited for a second in all.
        let under_way = || metric(&listening, "in_flight") + metric(&listening, "outside");
        assert!(under_way() > 0.5);
        sending.send_reset(h2::Reason::CANCEL);
        let begun = tokio::time::Instant::now();
        while under_way() > 0.5 {
            assert!(begun.elapsed() < Duration::from_secs(20), "it is kept");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    });
}

/// Name and value as HPACK has them without any table or coding.
fn field(name: &str, value: &str) -> Vec<u8> {
    let text = |text: &str| [&[u8::try_from(text.len()).unwrap()], text.as_bytes()].concat();
    [&[0][..], &text(name), &text(value)].concat()
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

const USUAL: [(&str, &str); 4] = [
    (":method", "POST"),
    (":scheme", "http"),
    (":path", "/"),
    (":authority", "a"),
];

fn headers(flags: u8, stream: u32, fields: &[(&str, &str)]) -> Vec<u8> {
    let block: Vec<u8> = fields
        .iter()
        .flat_map(|(name, value)| field(name, value))
        .collect();
    frame(1, 4 | flags, stream, &block)
}

/// Sends frames behind a preface and settings.
fn hostile(listening: &Guard, frames: &[u8]) -> TcpStream {
    let mut stream = connect(listening.proxy);
    stream.write_all(PREFACE).unwrap();
    stream.write_all(&frame(4, 0, 0, &[])).unwrap();
    // It may be closed before all of it is taken.
    drop(stream.write_all(frames));
    stream
}

/// Kind and payload of the next frame; nothing at the end.
fn next(stream: &mut TcpStream) -> Option<(u8, Vec<u8>)> {
    let mut header = [0; 9];
    stream.read_exact(&mut header).ok()?;
    let length = u32::from_be_bytes([0, header[0], header[1], header[2]]);
    let mut payload = vec![0; usize::try_from(length).unwrap()];
    stream.read_exact(&mut payload).ok()?;
    Some((header[3], payload))
}

/// What a malformed request was met with: an answer (its first byte of HPACK is the status), a reset or a GOAWAY.
fn met(stream: &mut TcpStream) -> String {
    loop {
        match next(stream) {
            Some((1, block)) => return format!("answer {:x}", block[0]),
            Some((3, _)) => return "reset".to_owned(),
            Some((7, _)) => return "goaway".to_owned(),
            Some(_) => {}
            None => return "closed".to_owned(),
        }
    }
}

/// The next answer, as [`met`] has it.
fn answered(stream: &mut TcpStream) -> String {
    loop {
        let told = met(stream);
        if told != "reset" {
            return told;
        }
    }
}

/// None of these may reach the upstream, as one request or two.
#[test]
fn what_http1_could_not_say_ends_its_stream_and_reaches_nobody() {
    let upstream = Upstream::answering(OK);
    let listening = guard(upstream.address, Rule::HalfLoad);
    let with = |extra: &[(&'static str, &'static str)]| [&USUAL[..], extra].concat();
    let without = |name: &str| {
        USUAL
            .into_iter()
            .filter(|(own, _)| *own != name)
            .collect::<Vec<_>>()
    };
    let other = |name: &'static str, value: &'static str| {
        USUAL
            .map(|(own, usual)| (own, if own == name { value } else { usual }))
            .to_vec()
    };
    for fields in [
        with(&[("transfer-encoding", "chunked")]),
        with(&[("connection", "keep-alive")]),
        with(&[("upgrade", "websocket")]),
        with(&[("te", "gzip")]),
        with(&[("X-Upper", "1")]),
        with(&[("x", "1\r\nContent-Length: 5")]),
        with(&[("x", "1\nGET /evil HTTP/1.1")]),
        with(&[("x", "1\0")]),
        with(&[("x: 1\r\ny", "1")]),
        with(&[("content-length", "5")]),
        with(&[("content-length", "0"), ("content-length", "5")]),
        with(&[("content-length", "+0")]),
        with(&[("host", "b")]),
        with(&[(":path", "/again")]),
        with(&[(":status", "200")]),
        without(":method"),
        without(":path"),
        without(":scheme"),
        other(":path", ""),
        other(":path", "/ HTTP/1.1\r\nHost: b\r\n\r\nGET /evil"),
        other(":path", "evil"),
        other(":method", "GET /evil HTTP/1.1\r\nX:"),
        other(":method", "CONNECT"),
        other(":authority", "a\r\nX: y"),
        other(":authority", "u@a"),
        [&[("x", "1")], &USUAL[..]].concat(),
    ] {
        let mut stream = hostile(&listening, &headers(1, 1, &fields));
        let told = met(&mut stream);
        // 8c and 8d are 400 and 404 of HPACK's table; any other status is spelled out.
        let is_refused = told == "reset"
            || told == "goaway"
            || told == "answer 8c"
            || told == "answer 48"
            || told == "answer 8";
        assert!(is_refused, "{fields:?}: {told}");
    }
    assert_eq!(upstream.requests(), "");
}

#[test]
fn a_body_that_is_not_as_long_as_it_says_reaches_nobody_as_whole() {
    let upstream = Upstream::after("end");
    let listening = guard(upstream.address, Rule::HalfLoad);
    let head = headers(0, 1, &[&USUAL[..], &[("content-length", "3")]].concat());
    for data in ["longer end", "en"] {
        let mut stream = hostile(
            &listening,
            &[head.clone(), frame(0, 1, 1, data.as_bytes())].concat(),
        );
        let told = met(&mut stream);
        assert!(
            told == "reset" || told == "goaway" || told.starts_with("answer 8c"),
            "{told}"
        );
    }
    assert!(
        !upstream.requests().contains("end"),
        "{}",
        upstream.requests()
    );
}

/// The code of the GOAWAY that a flood is met with; nothing if the connection just ended.
fn goaway(stream: &mut TcpStream) -> Option<u32> {
    loop {
        let (kind, payload) = next(stream)?;
        if kind == 7 {
            let code: [u8; 4] = payload[4..8].try_into().unwrap();
            return Some(u32::from_be_bytes(code));
        }
    }
}

/// Frames without end are met with the end of the connection, and nothing is left of them.
#[test]
fn floods_are_ended() {
    let upstream = Upstream::start(Arc::new(|_, _| false));
    let listening = guard(upstream.address, Rule::Fixed(4));
    let open = headers(0, 1, &USUAL);
    let resets = |is_taken: bool| -> Vec<u8> {
        (0..5000_u32)
            .flat_map(|number| {
                let stream = 2 * number + 1;
                // A window update of zero makes us reset it ourselves (MadeYouReset).
                let end = if is_taken {
                    frame(3, 0, stream, &[0, 0, 0, 8])
                } else {
                    frame(8, 0, stream, &[0; 4])
                };
                [headers(1, stream, &USUAL), end].concat()
            })
            .collect()
    };
    let continuation = {
        let first = frame(1, 0, 1, &field(":method", "GET"));
        let more = frame(9, 0, 1, &field("x", &"y".repeat(100)));
        [first, more.repeat(20_000)].concat()
    };
    for (name, frames) in [
        ("pings", frame(6, 0, 0, &[0; 8]).repeat(100_000)),
        ("settings", frame(4, 0, 0, &[]).repeat(100_000)),
        (
            "priorities",
            [
                open.clone(),
                frame(2, 0, 1, &[0, 0, 0, 0, 1]).repeat(100_000),
            ]
            .concat(),
        ),
        (
            "empty data",
            [open.clone(), frame(0, 0, 1, &[]).repeat(100_000)].concat(),
        ),
        (
            "window updates",
            [open, frame(8, 0, 0, &[0, 0, 0, 1]).repeat(100_000)].concat(),
        ),
        ("rapid reset", resets(true)),
        ("made you reset", resets(false)),
        ("continuation", continuation),
    ] {
        let mut stream = hostile(&listening, &frames);
        // Our own writes may have been met with a reset: then nothing more can be read.
        if let Some(code) = goaway(&mut stream) {
            assert!(code == CALM || code == 1, "{name}: {code}");
        }
        eventually(name, || metric(&listening, "connections") < 0.5);
        assert!(metric(&listening, "in_flight") < 0.5, "{name}");
    }
    assert!(metric(&listening, "waiting") < 0.5);
}

/// A head of HPACK by hand: the usual fields, then these bytes.
fn block(fields: &[u8]) -> Vec<u8> {
    let usual = USUAL.iter();
    let usual = usual.flat_map(|(name, value)| field(name, value));
    usual.chain(fields.iter().copied()).collect()
}

/// A field of 3,900 bytes in the table that both sides keep is named by one byte each time: a frame of 12 KiB stands for 47 MB, and
/// two hundred of them for 9 GB.
#[test]
fn a_head_that_expands_without_end_is_not_expanded_and_reaches_nobody() {
    let upstream = Upstream::answering(OK);
    let listening = guard(upstream.address, Rule::HalfLoad);
    // A literal that is kept, its length in three bytes; it is number 62 from then on.
    let kept = [&[0x40, 1, b'x', 0x7f, 0xbd, 0x1d][..], &[b'y'; 3900]].concat();
    let first = frame(1, 5, 1, &block(&kept));
    let again = |times: usize| block(&[0xbe].repeat(times));
    // Some more than a head may have: the request is refused, and the connection goes on.
    let mut stream = hostile(
        &listening,
        &[&first[..], &frame(1, 5, 3, &again(30))].concat(),
    );
    // 88 is 200 of HPACK's table; 431 is spelled out, and its stream may be reset behind it.
    let told: Vec<String> = (0..2).map(|_| answered(&mut stream)).collect();
    assert!(told.contains(&"answer 88".to_owned()), "{told:?}");
    let is_refusal = |one: &String| one == "answer 8" || one == "answer 48";
    assert!(told.iter().any(is_refusal), "{told:?}");
    drop(stream);
    let before = resident();
    let bombs = (1..=200_u32).flat_map(|number| frame(1, 5, 2 * number + 1, &again(12_000)));
    let frames = [first, bombs.collect()].concat();
    let mut stream = hostile(&listening, &frames);
    if let Some(code) = goaway(&mut stream) {
        // What cannot be read on is an error of the compression, or of the protocol.
        assert!(code == CALM || code == 9 || code == 1, "{code}");
    }
    eventually("its end", || metric(&listening, "connections") < 0.5);
    let more = resident().saturating_sub(before);
    assert!(more < 256 << 20, "{} MiB more", more >> 20);
    assert!(metric(&listening, "in_flight") < 0.5);
    // The two that were no bombs.
    let seen = upstream.requests();
    assert!(seen.matches("POST / HTTP/1.1\r\n").count() <= 2, "{seen}");
    let mut other = connect(listening.proxy);
    other
        .write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        .unwrap();
    assert!(answer(&mut other).ends_with("ok\n"));
}

/// The stream and the payload of the next frame of a kind.
fn next_of(stream: &mut TcpStream, wanted: u8) -> (u32, Vec<u8>) {
    loop {
        let mut header = [0; 9];
        stream.read_exact(&mut header).unwrap();
        let [a, b, c, kind, _, id @ ..] = header;
        let length = u32::from_be_bytes([0, a, b, c]);
        let mut payload = vec![0; usize::try_from(length).unwrap()];
        stream.read_exact(&mut payload).unwrap();
        if kind == wanted {
            return (u32::from_be_bytes(id), payload);
        }
    }
}

/// A client is told how many streams it may have. Whoever opens more is refused those, the others go on, and one that ends makes
/// room for another.
#[test]
fn streams_beyond_as_many_as_a_connection_may_have_are_refused() {
    const MOST: u32 = 128;
    let upstream = Upstream::start(Arc::new(|_, _| false));
    let listening = guard(upstream.address, Rule::Fixed(1000));
    let opened = (0..MOST + 22).flat_map(|number| headers(1, 2 * number + 1, &USUAL));
    let mut stream = hostile(&listening, &opened.collect::<Vec<u8>>());
    let (_, settings) = next_of(&mut stream, 4);
    let most = settings.chunks(6).find(|setting| setting[..2] == [0, 3]);
    assert_eq!(most.unwrap()[2..], MOST.to_be_bytes());
    for number in MOST..MOST + 22 {
        let (id, code) = next_of(&mut stream, 3);
        // REFUSED_STREAM: nothing was done for it.
        assert_eq!((id, &code[..]), (2 * number + 1, &[0, 0, 0, 7][..]));
    }
    let in_flight = || metric(&listening, "in_flight").round() as u32;
    // A request is in flight some time before its upstream has read it.
    let seen = || upstream.seen.lock().unwrap().len() as u32;
    eventually("those that are allowed", || {
        (in_flight(), seen()) == (MOST, MOST)
    });
    let took_back = frame(3, 0, 1, &[0, 0, 0, 8]);
    stream.write_all(&took_back).unwrap();
    eventually("the end of one", || in_flight() == MOST - 1);
    let another = headers(1, 2 * (MOST + 22) + 1, &USUAL);
    stream.write_all(&another).unwrap();
    eventually("another", || (in_flight(), seen()) == (MOST, MOST + 1));
    drop(stream);
    eventually("the permits", || in_flight() == 0);
}

/// Which protocol it is is agreed on in the handshake: HTTP/2 where both have it.
#[test]
fn in_tls_both_sides_agree_on_http2_where_they_have_it() {
    let folder = Folder::new("alpn");
    let (own, pem) = certificate(&folder.0, "one.test");
    let upstream = Upstream::answering(OK);
    for (http2, offer, agreed) in [
        (true, Offer::Both, "h2"),
        (true, Offer::Http1, "http/1.1"),
        (false, Offer::Both, "http/1.1"),
    ] {
        let mut config = config(&[upstream.address], Rule::HalfLoad);
        config.listeners[0].certificates = vec![own.clone()];
        config.listeners[0].http2 = http2;
        let listening = start(config);
        run(async {
            let stream = tokio::net::TcpStream::connect(listening.proxy);
            let connector = TlsConnector::from(sockets::client(&pem, offer));
            let name = server_name("one.test").unwrap();
            let mut stream = connector
                .connect(name, stream.await.unwrap())
                .await
                .unwrap();
            let protocol = stream.get_ref().1.alpn_protocol().unwrap_or(b"http/1.1");
            assert_eq!(protocol, agreed.as_bytes(), "{http2} {offer:?}");
            if agreed == "h2" {
                let mut sender = client_on(stream).await;
                let request = Request::get("https://one.test/two").body(()).unwrap();
                let (status, body, _) = asked(&mut sender, request, None).await;
                assert_eq!((status, &body[..]), (200, &b"ok\n"[..]));
                return;
            }
            let get = b"GET /one HTTP/1.1\r\nHost: one.test\r\nConnection: close\r\n\r\n";
            stream.write_all(get).await.unwrap();
            let mut text = String::new();
            stream.read_to_string(&mut text).await.unwrap();
            assert!(
                text.starts_with("HTTP/1.1 200 ") && text.ends_with("ok\n"),
                "{text}"
            );
        });
    }
    let seen = upstream.requests();
    assert_eq!(seen.matches("X-Forwarded-Proto: https\r\n").count(), 3);
    assert!(
        seen.contains("GET /two HTTP/1.1\r\nHost: one.test\r\n"),
        "{seen}"
    );
}

#[test]
fn a_listener_may_be_for_http1_alone() {
    let upstream = Upstream::answering(OK);
    let mut config = config(&[upstream.address], Rule::HalfLoad);
    config.listeners[0].http2 = false;
    let listening = start(config);
    let mut stream = hostile(&listening, &[]);
    let mut text = String::new();
    drop(stream.read_to_string(&mut text));
    assert!(text.starts_with("HTTP/1.1 "), "{text}");
    assert_eq!(upstream.requests(), "");
}
