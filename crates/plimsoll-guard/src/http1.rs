//! The client's side of an exchange in HTTP/1.1; and after a 101, of a tunnel.

use std::rc::Rc;
use std::task::{Context, Poll};

use plimsoll_net::h1::serving::{BodyParser, Framing};
use plimsoll_net::h1::{Head, ProtocolError, Sink};

use crate::alarm::Alarm;
use crate::client::Client;
use crate::incoming::Incoming;
use crate::refusal::Answer;
use crate::relay::{Relay, Upload};
use crate::scratch;
use crate::shared::Server;
use crate::side::{AHEAD_BYTES, Side, Step, Trouble};
use crate::wire::{EndWatch, poll_take};

/// Of what is to be given, so much that has been given is thrown away before the rest is: an answer is as long as it likes.
const GIVEN_BYTES: usize = 64 << 10;
/// A body that nobody wants is read up to here, so that the connection can go on.
const DRAINED_BYTES: u64 = 64 << 10;
/// Whoever speaks HTTP/1.1 can read this at any time before an answer.
const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(crate) struct Http1<'a> {
    client: &'a mut Client,
    server: &'a Rc<Server>,
    body: BodyParser,
    relay: Relay,
    given: usize,
    /// Where in what is to be given the upstream's answer begins; before it may be informational ones.
    head_at: Option<usize>,
    is_begun: bool,
    is_head: bool,
    is_http10: bool,
    /// The client has sent all that it will, and said so by closing its half.
    has_ended: bool,
    /// While a body waits for room: until the client has closed its half. Once it has: until it has closed the other, too.
    watch: Option<EndWatch>,
    /// No more comes than what the kernel holds.
    is_closing: bool,
    /// It waits for a word before it sends its body.
    expects: bool,
    /// A body of this length at most is announced.
    is_small: bool,
}

impl<'a> Http1<'a> {
    pub(crate) fn new(client: &'a mut Client, incoming: &Incoming, server: &'a Rc<Server>) -> Self {
        Self {
            client,
            server,
            body: BodyParser::new(incoming.framing),
            relay: Relay::new(incoming),
            given: 0,
            head_at: None,
            is_begun: false,
            is_head: incoming.is_head,
            is_http10: incoming.is_http10,
            has_ended: false,
            watch: None,
            is_closing: false,
            expects: incoming.expects_continue,
            is_small: matches!(incoming.framing, Framing::Length(length) if length <= DRAINED_BYTES),
        }
    }

    /// Whether the connection can carry another request, once what is left of the body has been passed over.
    pub(crate) fn can_go_on(&self) -> bool {
        self.relay.keepalive
    }

    /// Reads what is left of a body that nobody wants; false if it does not come.
    pub(crate) async fn pass_over(&mut self) -> bool {
        while !self.body.is_over() {
            let Ok(taken) = self.body.feed(&self.client.inbox, &mut ()) else {
                return false;
            };
            self.client.used(taken);
            if !self.body.is_over() && !matches!(self.client.more().await, Ok(true)) {
                return false;
            }
        }
        true
    }

    /// Whether a client that has closed its half may wait for its answer all the same. Whoever has closed both looks alike until it is
    /// sent something; what can be sent before an answer, HTTP/1.0 does not know.
    fn may_be_there(&self) -> bool {
        let is_unanswered = !self.is_begun && self.head_at.is_none();
        let has_all = || {
            let mut rest = self.body.clone();
            rest.feed(&self.client.inbox, &mut ()).is_ok() && rest.is_over()
        };
        is_unanswered && !self.is_http10 && has_all()
    }

    /// Sends a client that has closed its half something: if nobody is there any more, its host says so.
    fn ask(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.end();
        self.relay.bytes.extend_from_slice(CONTINUE);
        match self.give(cx) {
            Ok(_) => self.poll_reset(cx),
            Err(_) => Poll::Ready(()),
        }
    }

    /// The client has closed its half: from now on only a reset says that it has gone.
    fn end(&mut self) {
        self.has_ended = true;
        // Without a descriptor for it, it shows with what it is sent.
        self.watch = EndWatch::of_reset(&self.client.wire).ok();
    }

    fn poll_reset(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let watch = self.watch.as_mut();
        watch.map_or(Poll::Pending, |watch| watch.poll(cx))
    }

    /// Feeds from the inbox; how that went.
    fn feed(&mut self, upload: &mut Upload) -> Result<bool, Trouble> {
        if self.client.inbox.is_empty() {
            return Ok(false);
        }
        if self.relay.is_tunnel {
            upload.bytes.append(&mut self.client.inbox);
            return Ok(true);
        }
        let taken = fed(&mut self.body, &self.client.inbox, upload)?;
        self.client.used(taken);
        Ok(taken > 0)
    }

    /// Worth moving the rest to the front.
    fn has_given_much(&self) -> bool {
        let all = self.relay.bytes.len();
        (GIVEN_BYTES.max(all / 2)..all).contains(&self.given)
    }

    /// Feeds from the connection; nothing if there was nothing, else whether more may come.
    fn feed_from_wire(
        &mut self,
        cx: &mut Context<'_>,
        upload: &mut Upload,
    ) -> Result<Option<bool>, Trouble> {
        let (wire, body) = (&mut self.client.wire, &mut self.body);
        let is_tunnel = self.relay.is_tunnel;
        let inbox = &mut self.client.inbox;
        scratch::with(|read| match poll_take(wire, cx, read) {
            Poll::Pending => Ok(None),
            Poll::Ready(Err(_)) => Err(Trouble::ClientLeft),
            Poll::Ready(Ok(is_open)) if is_tunnel => {
                upload.bytes.extend_from_slice(read);
                Ok(Some(is_open))
            }
            Poll::Ready(Ok(is_open)) => {
                let taken = fed(body, read, upload)?;
                inbox.extend_from_slice(read.get(taken..).unwrap_or_default());
                Ok(Some(is_open))
            }
        })
    }

    fn take(&mut self, cx: &mut Context<'_>, upload: &mut Upload) -> Step {
        let mut moved = false;
        while !self.is_body_over() && (self.is_closing || upload.bytes.len() < AHEAD_BYTES) {
            if self.feed(upload)? {
                moved = true;
                continue;
            }
            match self.feed_from_wire(cx, upload)? {
                None => break,
                Some(true) => {}
                Some(false) if self.relay.is_tunnel => self.end(),
                Some(false) => return Err(Trouble::ClientLeft),
            }
            moved = true;
        }
        Ok(moved)
    }
}

fn fed(body: &mut BodyParser, bytes: &[u8], upload: &mut Upload) -> Result<usize, Trouble> {
    let taken = body.feed(bytes, upload);
    let taken = taken.map_err(|_: ProtocolError| Trouble::BadBody)?;
    if upload.is_bad {
        return Err(Trouble::BadBody);
    }
    if body.is_over() {
        upload.finish();
    }
    Ok(taken)
}

impl Sink for Http1<'_> {
    fn interim(&mut self, head: &Head<'_, '_>) {
        self.relay.interim(head);
    }

    fn head(&mut self, head: &Head<'_, '_>) {
        let is_last = self.has_ended && self.client.inbox.is_empty();
        if self.server.is_stopping() || !self.body.is_over() || is_last {
            // What is left of the request's body is not read, or nothing comes behind it: the connection cannot go on.
            self.relay.keepalive = false;
        }
        self.head_at = Some(self.relay.bytes.len());
        self.relay.head(head);
    }

    fn body(&mut self, bytes: &[u8]) {
        self.relay.body(bytes);
    }

    fn trailers(&mut self, lines: &[u8]) {
        self.relay.trailers(lines);
    }
}

impl Side for Http1<'_> {
    fn take_body(&mut self, cx: &mut Context<'_>, upload: &mut Upload) -> Step {
        let taken = self.take(cx, upload);
        if taken == Err(Trouble::BadBody) {
            // Nobody knows where it ends and the next request begins.
            self.relay.keepalive = false;
        }
        taken
    }

    fn is_body_over(&self) -> bool {
        if self.relay.is_tunnel {
            // What was sent ahead of it is of it.
            self.has_ended && self.client.inbox.is_empty()
        } else {
            self.body.is_over()
        }
    }

    fn poll_gone(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.has_ended {
            return self.poll_reset(cx);
        }
        while self.client.inbox.len() < AHEAD_BYTES {
            match self.client.poll_more(cx) {
                Poll::Ready(Ok(true)) => {}
                Poll::Ready(Ok(false)) if self.may_be_there() => return self.ask(cx),
                Poll::Ready(_) => return Poll::Ready(()),
                Poll::Pending => return Poll::Pending,
            }
        }
        // It sends ahead more than is kept: whether it is still there shows when it is answered.
        Poll::Pending
    }

    /// Once a client has closed its half, all that the kernel still holds of its body is taken, which is no more than a socket's
    /// buffer: whether it broke off or sent the whole body before shows then.
    fn look(&mut self, cx: &mut Context<'_>) -> Step {
        if self.has_ended && self.poll_reset(cx).is_ready() {
            return Err(Trouble::ClientLeft);
        }
        if self.has_ended || self.is_closing || self.relay.is_tunnel {
            return Ok(false);
        }
        if self.watch.is_none() {
            // Without a descriptor for it the end shows later.
            self.watch = EndWatch::of_half(&self.client.wire).ok();
        }
        let Some(watch) = &mut self.watch else {
            return Ok(false);
        };
        self.is_closing = watch.poll(cx).is_ready();
        if self.is_closing {
            self.watch = None;
        }
        Ok(self.is_closing)
    }

    fn finish(&mut self) {
        self.relay.finish();
        self.relay.keepalive &= self.body.is_over();
    }

    fn give(&mut self, cx: &mut Context<'_>) -> Step {
        if self.relay.bytes.is_empty() {
            return Ok(false);
        }
        let before = self.given;
        let put = self
            .client
            .wire
            .poll_put(cx, &self.relay.bytes, &mut self.given);
        let moved = self.given > before;
        self.is_begun |= self.head_at.is_some_and(|at| self.given > at);
        if self.given == self.relay.bytes.len() && put.is_ready() {
            self.relay.bytes.clear();
            self.given = 0;
        } else if self.is_begun && self.has_given_much() {
            self.relay.bytes.drain(..self.given);
            (self.given, self.head_at) = (0, None);
        }
        match put {
            Poll::Ready(Ok(())) => Ok(true),
            Poll::Ready(Err(_)) => Err(Trouble::ClientLeft),
            Poll::Pending => Ok(moved),
        }
    }

    /// What TLS has taken and the kernel has not is not given yet.
    fn backlog(&self) -> usize {
        let is_kept = usize::from(!self.relay.bytes.is_empty());
        is_kept.max(self.relay.bytes.len() - self.given)
    }

    fn is_begun(&self) -> bool {
        self.is_begun
    }

    fn let_in(&mut self) {}

    fn go_on(&mut self) {
        self.expects = false;
        self.relay.bytes.extend_from_slice(CONTINUE);
    }

    fn put_own(&mut self, answer: &Answer) {
        if let Some(at) = self.head_at.take() {
            // Nothing of it has been given: ours takes its place.
            self.relay.bytes.truncate(at);
        }
        // A client that waits for a word may send its body or the next request: nobody could tell which.
        let is_clear = self.body.is_over() || (self.is_small && !self.expects);
        self.relay.keepalive &= is_clear && !self.server.is_stopping();
        let persistence = self.relay.persistence();
        answer.put(&mut self.relay.bytes, persistence);
        if self.is_head {
            let text = answer.text.len() + 1;
            self.relay.bytes.truncate(self.relay.bytes.len() - text);
        }
    }

    fn alarm(&mut self) -> &mut Alarm {
        &mut self.client.alarm
    }
}
