//! One request through to the upstream and its answer back, both as they come.

use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use plimsoll_control::admission::Ended;
use plimsoll_net::h1::{AnswerParser, Head, Sink};
use tokio::io::AsyncWrite as _;
use tokio::time::Instant;

use crate::enter::Seat;
use crate::incoming::Incoming;
use crate::outside::Outside;
use crate::relay::Upload;
use crate::said;
use crate::scratch;
use crate::shared::Server;
use crate::side::{AHEAD_BYTES, Side, Step, Trouble};
use crate::wire::{Wire, poll_take};

/// What waits for a slow client; more stays with the upstream.
const BACK_BYTES: usize = 256 << 10;
/// Informational answers before the real one; more are a fault of the upstream.
const INTERIMS_MOST: u32 = 32;
/// An answer of unknown length that has lasted so long is a stream: it may last for ever, and says nothing about how much
/// the service can do.
const STREAM_AFTER: Duration = Duration::from_secs(5);
/// So long may a service wait for a client's body on its permit.
const STARVED: Duration = Duration::from_secs(1);

/// How an exchange went that reached its end.
#[derive(Debug)]
pub(crate) struct Done {
    /// The upstream's connection, if it can carry another request.
    pub(crate) upstream: Option<Wire>,
    pub(crate) facts: Facts,
    /// What was sent of the request.
    pub(crate) upload: Upload,
}

/// What happened: and whether the client has seen any of an answer.
#[derive(Debug)]
pub(crate) struct Failed {
    pub(crate) trouble: Trouble,
    pub(crate) facts: Facts,
    /// Not one byte came from the upstream.
    pub(crate) is_unanswered: bool,
    /// What was to be sent, whole if it had no body.
    pub(crate) upload: Upload,
}

impl Failed {
    /// The time for the whole was over before anything was sent.
    pub(crate) fn unsent(upload: Upload) -> Self {
        Self {
            trouble: Trouble::TooSlow,
            facts: Facts::default(),
            is_unanswered: true,
            upload,
        }
    }
}

/// What is known of an answer.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Facts {
    pub(crate) status: u16,
    pub(crate) body_bytes: u64,
    /// Sent by the upstream without anybody knowing how long it will be.
    is_open_ended: bool,
    /// Events as they happen, or another protocol: it may well be silent for long.
    is_stream: bool,
    interims: u32,
    /// How full the upstream is, as it says.
    load: Option<f64>,
}

/// Hands everything on and notes what it was.
struct Tap<'a, S>(&'a mut S, &'a mut Facts);

impl<S: Sink> Sink for Tap<'_, S> {
    fn interim(&mut self, head: &Head<'_, '_>) {
        self.1.interims += 1;
        if self.1.interims <= INTERIMS_MOST {
            self.0.interim(head);
        }
    }

    fn head(&mut self, head: &Head<'_, '_>) {
        let facts = &mut *self.1;
        facts.status = head.status;
        facts.is_stream = head.status == 101;
        facts.is_open_ended = true;
        for (name, value) in head.lines() {
            if name.eq_ignore_ascii_case("content-length") {
                facts.is_open_ended = false;
            } else if name.eq_ignore_ascii_case("endpoint-load-metrics") {
                facts.load = said::load(value);
            } else if name.eq_ignore_ascii_case("content-type") {
                let event = b"text/event-stream";
                let kind = value.get(..event.len()).unwrap_or_default();
                facts.is_stream |= kind.eq_ignore_ascii_case(event);
            }
        }
        self.0.head(head);
    }

    fn body(&mut self, bytes: &[u8]) {
        self.1.body_bytes += bytes.len() as u64;
        self.0.body(bytes);
    }

    fn trailers(&mut self, lines: &[u8]) {
        self.0.trailers(lines);
    }
}

#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(crate) struct Exchange<'a, S> {
    side: &'a mut S,
    upstream: Wire,
    seat: &'a Seat,
    server: &'a Rc<Server>,
    /// Bytes for the upstream, and how many of them are on their way.
    out: Upload,
    out_at: usize,
    /// TLS has taken what the kernel has not.
    is_flushing: bool,
    /// May be sent again: it is kept until something has come back.
    is_safe: bool,
    /// The upstream takes no more of the body; it may still answer.
    is_deaf: bool,
    /// It was told that no more comes, in a tunnel.
    is_shut: bool,
    parser: AnswerParser,
    facts: Facts,
    /// The answer is whole: whether the connection can be kept.
    answered: Option<bool>,
    /// Counted beside the limit from now on.
    outside: Option<Outside>,
    /// When anything was moved last, as far as it has come to rest since.
    moved_at: Option<Instant>,
    /// All of the request has been sent since then.
    sent_at: Option<Instant>,
    /// The answer must be whole by then.
    whole_by: Option<Instant>,
    /// The answer has begun, seen when it came to rest for the first time since.
    begun_at: Option<Instant>,
    /// How long the service has waited for the client's body, and since when it does so again.
    starved: Duration,
    starved_at: Option<Instant>,
}

impl<'a, S: Side> Exchange<'a, S> {
    pub(crate) fn new(
        side: &'a mut S,
        upstream: Wire,
        seat: &'a Seat,
        incoming: &Incoming,
        upload: Upload,
        server: &'a Rc<Server>,
    ) -> Self {
        let parser = AnswerParser::new(incoming.is_head);
        Self {
            side,
            upstream,
            seat,
            server,
            out: upload,
            out_at: 0,
            is_flushing: false,
            is_safe: incoming.is_safe,
            is_deaf: false,
            is_shut: false,
            parser: parser.switching(incoming.is_upgrade),
            facts: Facts::default(),
            answered: None,
            outside: None,
            moved_at: None,
            sent_at: None,
            whole_by: seat.whole_left(server).map(|left| Instant::now() + left),
            begun_at: None,
            starved: Duration::ZERO,
            starved_at: None,
        }
    }

    /// What came of it, once nothing more is to be moved.
    pub(crate) fn ended(self, outcome: Result<(), Trouble>) -> Result<Done, Failed> {
        match outcome {
            Ok(()) => {
                let is_sent = self.side.is_body_over() && self.is_sent();
                let is_clean = self.answered == Some(true) && is_sent && !self.is_deaf;
                Ok(Done {
                    upstream: is_clean.then_some(self.upstream),
                    facts: self.facts,
                    upload: self.out,
                })
            }
            Err(trouble) => Err(Failed {
                trouble,
                facts: self.facts,
                is_unanswered: !self.parser.started() && self.answered.is_none(),
                upload: self.out,
            }),
        }
    }

    /// Moves whatever can be moved, in both directions.
    pub(crate) fn turn(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Trouble>> {
        if let Some(at) = self.starved_at.take() {
            self.starved += at.elapsed();
        }
        let mut has_moved = false;
        loop {
            match self.step(cx) {
                Err(trouble) => return Poll::Ready(Err(trouble)),
                Ok(_) if self.answered.is_some() && self.side.backlog() == 0 => {
                    return Poll::Ready(Ok(()));
                }
                Ok(true) => has_moved = true,
                Ok(false) => match self.look(cx) {
                    Err(trouble) => return Poll::Ready(Err(trouble)),
                    Ok(true) => {}
                    Ok(false) => {
                        // Once a turn and not at every step: all reads of the clock together were 4 % of a small request.
                        let now = Instant::now();
                        if has_moved {
                            self.moved_at = Some(now);
                        }
                        return self.rest(cx, now);
                    }
                },
            }
        }
    }

    fn step(&mut self, cx: &mut Context<'_>) -> Step {
        let mut moved = false;
        if self.side.is_body_over() {
            if self.side.poll_gone(cx).is_ready() {
                return Err(Trouble::ClientLeft);
            }
        } else {
            if self.is_sent() {
                // A tunnel's bytes may come behind a head that left no room for them.
                self.forget();
            }
            moved |= self.side.take_body(cx, &mut self.out)?;
        }
        moved |= self.send(cx);
        if self.answered.is_none() && self.side.backlog() < BACK_BYTES {
            moved |= self.hear(cx)?;
        }
        moved |= self.side.give(cx)?;
        Ok(moved)
    }

    /// While the upstream takes nothing, nothing of the body is read either, and with it no end of the client.
    fn look(&mut self, cx: &mut Context<'_>) -> Step {
        let is_full = self.out.bytes.len() >= AHEAD_BYTES && !self.side.is_body_over();
        if is_full {
            self.side.look(cx)
        } else {
            Ok(false)
        }
    }

    /// Nothing can be moved now: what that means for the permit, and how long it may last.
    fn rest(&mut self, cx: &mut Context<'_>, now: Instant) -> Poll<Result<(), Trouble>> {
        if self.facts.status != 0 {
            self.begun_at.get_or_insert(now);
        }
        let moved_at = *self.moved_at.get_or_insert(now);
        let is_sent = self.is_sent();
        let is_starved =
            is_sent && !self.is_deaf && !self.side.is_body_over() && self.begun_at.is_none();
        if is_starved {
            self.starved_at = Some(now);
        } else if is_sent {
            self.sent_at.get_or_insert(now);
        }
        let (until, trouble) = self.deadline(moved_at, is_starved);
        if now >= until {
            return Poll::Ready(Err(trouble));
        }
        let mut next = until;
        if self.seat.permit.is_held() {
            let of_client = self.side.backlog() >= BACK_BYTES;
            let since = self.begun_at.filter(|_| self.facts.is_open_ended);
            let starved = now + STARVED.saturating_sub(self.starved);
            let times = [
                of_client.then_some((now, Ended::Served)),
                since.map(|since| (since + STREAM_AFTER, Ended::Served)),
                is_starved.then_some((starved, Ended::Aside)),
            ];
            for (at, ended) in times.into_iter().flatten() {
                if now >= at {
                    self.leave_limit(ended);
                } else {
                    next = next.min(at);
                }
            }
        }
        let alarm = self.side.alarm();
        alarm.set(next);
        if alarm.poll(cx).is_ready() {
            cx.waker().wake_by_ref();
        }
        Poll::Pending
    }

    /// When it ends unless something moves, and whose fault that is.
    fn deadline(&self, moved_at: Instant, is_starved: bool) -> (Instant, Trouble) {
        let timeouts = &self.seat.timeouts;
        if self.facts.is_stream {
            // Both are done with it, as far as can be seen.
            return (moved_at + timeouts.stream, Trouble::ClientLeft);
        }
        let idle = moved_at + timeouts.idle;
        if is_starved {
            return (idle, Trouble::SlowBody);
        }
        if self.side.backlog() > 0 {
            return (idle, Trouble::ClientLeft);
        }
        let head = self.sent_at.filter(|_| self.begun_at.is_none());
        let ends = [head.map(|sent| sent + timeouts.head), self.whole_by];
        let until = ends.into_iter().flatten().fold(idle, Instant::min);
        (until, Trouble::TooSlow)
    }

    /// The permit goes to somebody else, as long as not too many go on without one.
    fn leave_limit(&mut self, ended: Ended) {
        if self.outside.is_none() && self.seat.permit.is_held() {
            self.outside = Outside::enter(self.server);
            if self.outside.is_some() {
                self.seat.permit.end_early(ended);
            }
        }
    }

    /// The upstream has all that was taken of the request.
    fn is_sent(&self) -> bool {
        self.out_at == self.out.bytes.len() && !self.is_flushing
    }

    /// Whether it moved anything. That the upstream takes no more is no failure yet: it may have answered.
    fn send(&mut self, cx: &mut Context<'_>) -> bool {
        if self.is_sent() {
            return self.shut(cx);
        }
        let before = self.out_at;
        let put = if self.is_deaf {
            Poll::Ready(Ok(()))
        } else {
            self.upstream
                .poll_put(cx, &self.out.bytes, &mut self.out_at)
        };
        self.is_flushing = put.is_pending();
        match put {
            Poll::Pending => return self.out_at > before,
            Poll::Ready(Ok(())) => {}
            // It may have answered before it closed, which is heard next; if it has not, that is heard then.
            Poll::Ready(Err(_)) => self.is_deaf = true,
        }
        self.out_at = self.out.bytes.len();
        self.forget();
        self.shut(cx);
        true
    }

    /// What has been sent, and will not be sent again, makes room for more.
    fn forget(&mut self) {
        if !self.is_safe || self.parser.started() {
            self.out.bytes.clear();
            self.out_at = 0;
        }
    }

    /// Tells the upstream of a tunnel that no more comes; the other half goes on. Whether that moved anything.
    fn shut(&mut self, cx: &mut Context<'_>) -> bool {
        if self.facts.status != 101 || !self.side.is_body_over() || self.is_shut {
            return false;
        }
        self.is_shut = self.is_deaf || Pin::new(&mut self.upstream).poll_shutdown(cx).is_ready();
        self.is_shut
    }

    /// Reads of the answer.
    fn hear(&mut self, cx: &mut Context<'_>) -> Step {
        let was_begun = self.facts.status != 0;
        let upstream = &mut self.upstream;
        let mut tap = Tap(&mut *self.side, &mut self.facts);
        let parser = &mut self.parser;
        let answer = scratch::with(|read| match poll_take(upstream, cx, read) {
            Poll::Pending => Ok(None),
            Poll::Ready(Ok(true)) => parser.feed(read, &mut tap).map(Some).map_err(|_| ()),
            Poll::Ready(Ok(false)) => parser.end().ok_or(()).map(|answer| Some(Some(answer))),
            Poll::Ready(Err(_)) => Err(()),
        });
        let Some(answer) = answer.map_err(|()| Trouble::Broken)? else {
            return Ok(false);
        };
        if self.facts.interims > INTERIMS_MOST {
            return Err(Trouble::Broken);
        }
        if self.facts.status != 0 && !was_begun {
            if let Some(load) = self.facts.load {
                self.seat.member.gate.report(load);
            }
            if self.facts.is_stream {
                self.upstream.watch_peer();
            }
        }
        if let Some(answer) = answer {
            self.side.finish();
            self.answered = Some(answer.keepalive);
            self.seat.permit.end(ended(answer.status));
        } else if self.facts.is_stream {
            self.leave_limit(Ended::Served);
        }
        Ok(true)
    }
}

fn ended(status: u16) -> Ended {
    match status {
        429 | 503 => Ended::Busy,
        500.. => Ended::Failed,
        _ => Ended::Served,
    }
}
