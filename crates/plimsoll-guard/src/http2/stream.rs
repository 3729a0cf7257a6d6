//! One stream of HTTP/2: its request held to the rules of HTTP/1.1, its answer put into frames as the client takes them.

use std::net::IpAddr;
use std::rc::Rc;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use h2::server::SendResponse;
use h2::{Reason, RecvStream, SendStream};
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode};
use plimsoll_net::h1::serving::{HeadError, Mapped, RequestHead, trailers};
use plimsoll_net::h1::{Head, Sink};

use crate::access::Line;
use crate::alarm::Alarm;
use crate::client::STALLED;
use crate::incoming::{self, Incoming};
use crate::refusal::{Answer, MEDIA};
use crate::relay::{Upload, in_one_line, is_of_connection};
use crate::request;
use crate::shared::Server;
use crate::side::{AHEAD_BYTES, Side, Step, Trouble};
use crate::trust::Way;

pub(super) async fn serve(
    request: Request<RecvStream>,
    respond: SendResponse<Bytes>,
    peer: IpAddr,
    is_secure: bool,
    server: &Rc<Server>,
) {
    let (parts, body) = request.into_parts();
    let cookies = joined_cookies(&parts.headers);
    let (read, line) = match mapped(&parts, cookies.as_ref(), !body.is_end_stream()) {
        Ok(read) => {
            let policy = server.policy();
            let way = Way::of(&read, peer, is_secure, &policy.config.trusted);
            let asked = incoming::asked(&read, way.client, &policy);
            let incoming = Incoming::new(server.now(), &read, &way, asked);
            let line = server
                .log()
                .map(|_| Line::new(&read, &incoming.asked, is_secure, "HTTP/2"));
            (Ok(incoming), line)
        }
        Err(error) => (Err(error), Some(Line::unread(peer))),
    };
    let mut side = Http2::new(body, respond, &read);
    let told = match read {
        Ok(mut incoming) => request::serve(&mut side, &mut incoming, server).await,
        Err(error) => {
            server.counts.bad_requests.add();
            request::own(&mut side, &bad_request(error), "bad_request").await
        }
    };
    if told.is_cut {
        side.cut();
    }
    if let Some((log, line)) = server.log().zip(line) {
        log.tell(line, told);
    }
}

fn bad_request(error: HeadError) -> Answer {
    Answer {
        status: error.status(),
        reason: "bad-request",
        text: "the request is not one that HTTP/1.1 could carry",
        retry_after: None,
    }
}

/// HTTP/2 may cut cookies into several fields; HTTP/1.1 has one.
fn joined_cookies(headers: &HeaderMap) -> Option<Vec<u8>> {
    let mut cookies = headers.get_all("cookie").iter();
    let first = cookies.next()?;
    let mut joined = first.as_bytes().to_vec();
    for cookie in cookies {
        joined.extend_from_slice(b"; ");
        joined.extend_from_slice(cookie.as_bytes());
    }
    Some(joined)
}

fn mapped<'b>(
    parts: &'b http::request::Parts,
    cookies: Option<&'b Vec<u8>>,
    has_body: bool,
) -> Result<RequestHead<'b>, HeadError> {
    let path = parts.uri.path_and_query();
    let said = Mapped {
        method: parts.method.as_str(),
        path: path.map_or("", |path| path.as_str()),
        authority: parts.uri.authority().map(http::uri::Authority::as_str),
        has_body,
    };
    let fields = parts.headers.iter();
    let mut fields: Vec<(&str, &[u8])> = fields
        .map(|(name, value)| (name.as_str(), value.as_bytes()))
        .filter(|(name, _)| *name != "cookie")
        .collect();
    if let Some(cookies) = cookies {
        fields.push(("cookie", cookies));
    }
    RequestHead::of_http2(&said, fields)
}

#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
struct Http2 {
    body: RecvStream,
    is_body_over: bool,
    /// What the head says is still to come.
    left: Option<u64>,
    /// Taken in without a permit: only with one may the client send as much again, so that a body that waits is within the
    /// window of its stream.
    held: Option<usize>,
    respond: SendResponse<Bytes>,
    sending: Option<SendStream<Bytes>>,
    /// The answer's head, until it is sent: whether it is also the end is known then.
    head: Option<Response<()>>,
    bytes: BytesMut,
    trailers: Option<HeaderMap>,
    is_finished: bool,
    has_ended: bool,
    is_head: bool,
    /// The upstream's answer has something that HTTP/2 cannot say.
    is_bad: bool,
    alarm: Alarm,
}

impl Http2 {
    fn new(
        body: RecvStream,
        respond: SendResponse<Bytes>,
        read: &Result<Incoming, HeadError>,
    ) -> Self {
        let incoming = read.as_ref().ok();
        Self {
            is_body_over: body.is_end_stream(),
            body,
            left: incoming.and_then(Incoming::length),
            held: Some(0),
            respond,
            sending: None,
            head: None,
            bytes: BytesMut::new(),
            trailers: None,
            is_finished: false,
            has_ended: false,
            is_head: incoming.is_some_and(|incoming| incoming.is_head),
            is_bad: false,
            alarm: Alarm::after(STALLED),
        }
    }

    /// The client may send as much again.
    fn release(&mut self, bytes: usize) -> Result<(), Trouble> {
        let released = self.body.flow_control().release_capacity(bytes);
        released.map_err(|_| Trouble::ClientLeft)
    }

    /// An answer that was begun cannot be ended: the client must not take it for whole.
    fn cut(&mut self) {
        match &mut self.sending {
            Some(sending) if !self.has_ended => sending.send_reset(Reason::INTERNAL_ERROR),
            Some(_) => {}
            None => self.respond.send_reset(Reason::INTERNAL_ERROR),
        }
    }

    fn fields(&mut self, head: &Head<'_, '_>) -> HeaderMap {
        let mut fields = HeaderMap::new();
        for (name, value) in head.lines() {
            if is_of_connection(head, name) {
                continue;
            }
            let name = HeaderName::from_bytes(name.as_bytes());
            match (name, HeaderValue::from_bytes(&in_one_line(value))) {
                (Ok(name), Ok(value)) => drop(fields.append(name, value)),
                _ => self.is_bad = true,
            }
        }
        fields
    }

    /// Its head, once it is known whether more comes: true if it was sent.
    fn give_head(&mut self) -> Step {
        let Some(head) = self.head.take() else {
            return Ok(false);
        };
        let is_end = self.is_finished && self.bytes.is_empty() && self.trailers.is_none();
        let sending = self.respond.send_response(head, is_end);
        self.sending = Some(sending.map_err(|_| Trouble::ClientLeft)?);
        self.has_ended = is_end;
        Ok(true)
    }

    /// As much of the body as the client's windows take.
    fn give_body(&mut self, cx: &mut Context<'_>) -> Step {
        let mut moved = false;
        let Some(sending) = &mut self.sending else {
            return Ok(false);
        };
        while !self.bytes.is_empty() {
            sending.reserve_capacity(self.bytes.len());
            match sending.poll_capacity(cx) {
                Poll::Ready(Some(Ok(0))) => {}
                Poll::Ready(Some(Ok(room))) => {
                    let chunk = self.bytes.split_to(room.min(self.bytes.len())).freeze();
                    let is_end =
                        self.is_finished && self.bytes.is_empty() && self.trailers.is_none();
                    let sent = sending.send_data(chunk, is_end);
                    sent.map_err(|_| Trouble::ClientLeft)?;
                    self.has_ended = is_end;
                    moved = true;
                }
                Poll::Ready(_) => return Err(Trouble::ClientLeft),
                Poll::Pending => return Ok(moved),
            }
        }
        Ok(moved)
    }

    fn give_end(&mut self) -> Step {
        if !self.is_finished || self.has_ended || !self.bytes.is_empty() {
            return Ok(false);
        }
        let Some(sending) = &mut self.sending else {
            return Ok(false);
        };
        let sent = match self.trailers.take() {
            Some(trailers) => sending.send_trailers(trailers),
            None => sending.send_data(Bytes::new(), true),
        };
        sent.map_err(|_| Trouble::ClientLeft)?;
        self.has_ended = true;
        Ok(true)
    }
}

impl Sink for Http2 {
    fn interim(&mut self, head: &Head<'_, '_>) {
        // The guard says itself when to go on.
        if head.status == 100 {
            return;
        }
        let mut response = Response::new(());
        *response.headers_mut() = self.fields(head);
        if let Ok(status) = StatusCode::from_u16(head.status) {
            *response.status_mut() = status;
            // If it cannot be sent any more, neither can the answer: that shows then.
            drop(self.respond.send_informational(response));
        }
    }

    fn head(&mut self, head: &Head<'_, '_>) {
        let mut response = Response::new(());
        *response.headers_mut() = self.fields(head);
        match StatusCode::from_u16(head.status) {
            Ok(status) => *response.status_mut() = status,
            Err(_) => self.is_bad = true,
        }
        self.head = Some(response);
    }

    fn body(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    fn trailers(&mut self, lines: &[u8]) {
        // Those that nobody could read are left out: the body is whole all the same.
        let mut read = HeaderMap::new();
        for (name, value) in trailers(lines).unwrap_or_default() {
            let name = HeaderName::from_bytes(name.as_bytes());
            if let (Ok(name), Ok(value)) = (name, HeaderValue::from_bytes(value)) {
                read.append(name, value);
            }
        }
        self.trailers = (!read.is_empty()).then_some(read);
    }
}

impl Side for Http2 {
    fn take_body(&mut self, cx: &mut Context<'_>, upload: &mut Upload) -> Step {
        let mut moved = false;
        while !self.is_body_over && upload.bytes.len() < AHEAD_BYTES {
            match self.body.poll_data(cx) {
                Poll::Pending => break,
                Poll::Ready(Some(Err(_))) => return Err(Trouble::ClientLeft),
                Poll::Ready(Some(Ok(data))) => {
                    if let Some(left) = &mut self.left {
                        let rest = left.checked_sub(data.len() as u64);
                        *left = rest.ok_or(Trouble::BadBody)?;
                    }
                    upload.body(&data);
                    match &mut self.held {
                        Some(held) => *held += data.len(),
                        None => self.release(data.len())?,
                    }
                }
                Poll::Ready(None) => match self.body.poll_trailers(cx) {
                    Poll::Pending => break,
                    Poll::Ready(Err(_)) => return Err(Trouble::ClientLeft),
                    Poll::Ready(Ok(read)) => {
                        if self.left.is_some_and(|left| left > 0) {
                            return Err(Trouble::BadBody);
                        }
                        upload.trailers(&lines(&read.unwrap_or_default()));
                        upload.finish();
                        self.is_body_over = true;
                    }
                },
            }
            moved = true;
        }
        Ok(moved)
    }

    fn is_body_over(&self) -> bool {
        self.is_body_over
    }

    fn poll_gone(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let reset = match &mut self.sending {
            Some(sending) => sending.poll_reset(cx),
            None => self.respond.poll_reset(cx),
        };
        reset.map(|_| ())
    }

    fn look(&mut self, cx: &mut Context<'_>) -> Step {
        match self.poll_gone(cx) {
            Poll::Ready(()) => Err(Trouble::ClientLeft),
            Poll::Pending => Ok(false),
        }
    }

    fn finish(&mut self) {
        self.is_finished = true;
    }

    fn give(&mut self, cx: &mut Context<'_>) -> Step {
        if self.is_bad {
            return Err(Trouble::Broken);
        }
        let mut moved = self.give_head()?;
        moved |= self.give_body(cx)?;
        moved |= self.give_end()?;
        Ok(moved)
    }

    fn backlog(&self) -> usize {
        let is_head_due = self.head.is_some();
        let is_end_due = self.is_finished && !self.has_ended;
        self.bytes.len() + usize::from(is_head_due || is_end_due)
    }

    fn is_begun(&self) -> bool {
        self.sending.is_some()
    }

    fn let_in(&mut self) {
        if let Some(held) = self.held.take() {
            // A client that has gone is noticed soon enough.
            let _gone_or_not = self.release(held);
        }
    }

    fn go_on(&mut self) {
        let mut response = Response::new(());
        *response.status_mut() = StatusCode::CONTINUE;
        // A client that has gone is noticed soon enough.
        drop(self.respond.send_informational(response));
    }

    fn put_own(&mut self, answer: &Answer) {
        let mut response = Response::new(());
        *response.status_mut() =
            StatusCode::from_u16(answer.status).unwrap_or(StatusCode::SERVICE_UNAVAILABLE);
        let fields = response.headers_mut();
        fields.insert("content-type", HeaderValue::from_static(MEDIA));
        fields.insert("content-length", HeaderValue::from(answer.text.len() + 1));
        fields.insert("cache-control", HeaderValue::from_static("no-store"));
        fields.insert("x-plimsoll", HeaderValue::from_static(answer.reason));
        if let Some(seconds) = answer.retry_after {
            fields.insert("retry-after", HeaderValue::from(seconds));
        }
        self.head = Some(response);
        self.is_bad = false;
        self.trailers = None;
        self.bytes.clear();
        if !self.is_head {
            self.bytes.extend_from_slice(answer.text.as_bytes());
            self.bytes.extend_from_slice(b"\n");
        }
        self.is_finished = true;
    }

    fn alarm(&mut self) -> &mut Alarm {
        &mut self.alarm
    }
}

/// Trailers as HTTP/1.1 writes them.
fn lines(trailers: &HeaderMap) -> Vec<u8> {
    let mut lines = Vec::new();
    for (name, value) in trailers {
        for part in [name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"] {
            lines.extend_from_slice(part);
        }
    }
    lines
}
