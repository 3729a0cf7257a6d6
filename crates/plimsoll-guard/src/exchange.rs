//! One request through to the upstream and its answer back, both as they come.

use std::io;
use std::time::Duration;

use plimsoll_control::admission::Ended;
use plimsoll_core::Nanos;
use plimsoll_net::h1::AnswerParser;
use plimsoll_net::h1::serving::{BodyParser, Framing};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{Instant, Sleep, sleep_until};

use crate::client::{AHEAD_BYTES, Client, take};
use crate::enter::Seat;
use crate::gate::Permit;
use crate::incoming::Incoming;
use crate::relay::{Relay, Upload};

/// What waits for a slow client; more stays with the upstream.
const BACK_BYTES: usize = 256 << 10;
const READ_BYTES: usize = 64 << 10;

/// How an exchange went that reached its end.
#[derive(Debug)]
pub(crate) struct Done {
    /// The upstream's connection, if it can carry another request.
    pub(crate) upstream: Option<TcpStream>,
    /// The client's connection can.
    pub(crate) keepalive: bool,
    pub(crate) status: u16,
}

/// Why there is no whole answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trouble {
    ClientLeft,
    /// The request's body is not what its head says.
    BadBody,
    /// The upstream closed or said something that is no HTTP.
    Broken,
    TooSlow,
}

/// What happened: and whether the client has seen any of an answer.
#[derive(Debug)]
pub(crate) struct Failed {
    pub(crate) trouble: Trouble,
    pub(crate) is_begun: bool,
    /// Not one byte came from the upstream.
    pub(crate) is_unanswered: bool,
}

pub(crate) struct Exchange<'a> {
    client: &'a mut Client,
    upstream: TcpStream,
    permit: &'a Permit,
    idle: Duration,
    /// The head of the answer must be here by then, and its end.
    head_by: Instant,
    whole_by: Option<Instant>,
    body: BodyParser,
    /// Bytes for the upstream, and how many of them are on their way.
    out: Upload,
    out_at: usize,
    /// The upstream takes no more of the body; it may still answer.
    is_deaf: bool,
    parser: AnswerParser,
    back: Relay,
    back_at: usize,
    is_begun: bool,
    answered: Option<bool>,
    scratch: Vec<u8>,
    /// Whether the guard stops: the answer then says that it is the last one.
    stopping: watch::Receiver<bool>,
}

impl<'a> Exchange<'a> {
    pub(crate) fn new(
        client: &'a mut Client,
        upstream: TcpStream,
        seat: &'a Seat,
        now: Nanos,
        incoming: &Incoming,
        stopping: watch::Receiver<bool>,
    ) -> Self {
        Self {
            client,
            upstream,
            permit: &seat.permit,
            idle: seat.timeouts.idle,
            head_by: Instant::now() + seat.timeouts.head,
            whole_by: seat.whole_left(now).map(|left| Instant::now() + left),
            body: BodyParser::new(incoming.framing),
            out: Upload {
                bytes: incoming.head.clone(),
                is_chunked: incoming.framing == Framing::Chunked,
            },
            out_at: 0,
            is_deaf: false,
            parser: AnswerParser::new(incoming.is_head),
            back: Relay::new(incoming, incoming.keepalive),
            stopping,
            back_at: 0,
            is_begun: false,
            answered: None,
            scratch: Vec::new(),
        }
    }

    pub(crate) async fn run(mut self) -> Result<Done, Failed> {
        match self.converse().await {
            Ok(()) => Ok(Done {
                status: self.back.status.unwrap_or_default(),
                keepalive: self.back.keepalive && self.body.is_over(),
                upstream: (self.answered == Some(true) && self.body.is_over() && !self.is_deaf)
                    .then_some(self.upstream),
            }),
            Err(trouble) => Err(Failed {
                trouble,
                is_begun: self.is_begun,
                is_unanswered: !self.parser.started(),
            }),
        }
    }

    async fn converse(&mut self) -> Result<(), Trouble> {
        let silence = sleep_until(self.patience());
        let mut silence = std::pin::pin!(silence);
        loop {
            self.read_body()?;
            self.send()?;
            self.give_back()?;
            if self.answered.is_some() && self.back_at == self.back.bytes.len() {
                return Ok(());
            }
            self.wait(silence.as_mut()).await?;
        }
    }

    /// Waits until something can be done, and reads what there is.
    async fn wait(&mut self, mut silence: std::pin::Pin<&mut Sleep>) -> Result<(), Trouble> {
        let has_room = self.back.bytes.len() - self.back_at < BACK_BYTES;
        let wants_upstream = self.answered.is_none() && has_room;
        if !has_room {
            // It is the client that is slow now; the service has done its part.
            self.permit.end(Ended::Served);
        }
        let wants_client = self.client.inbox.len() < AHEAD_BYTES;
        tokio::select! {
            biased;
            ready = self.upstream.readable(), if wants_upstream => {
                ready.map_err(|_| Trouble::Broken)?;
                self.hear()?;
            }
            ready = self.client.stream.writable(), if self.back_at < self.back.bytes.len() => {
                ready.map_err(|_| Trouble::ClientLeft)?;
            }
            ready = self.upstream.writable(), if self.out_at < self.out.bytes.len() => {
                ready.map_err(|_| Trouble::Broken)?;
            }
            ready = self.client.stream.readable(), if wants_client => {
                ready.map_err(|_| Trouble::ClientLeft)?;
                match self.client.take() {
                    Ok(true) => {}
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    Ok(false) | Err(_) => return Err(Trouble::ClientLeft),
                }
            }
            () = silence.as_mut() => return Err(Trouble::TooSlow),
        }
        silence.reset(self.patience());
        Ok(())
    }

    /// When the upstream is given up unless something comes.
    fn patience(&self) -> Instant {
        let idle = Instant::now() + self.idle;
        let head = (!self.parser.started()).then_some(self.head_by);
        let ends = [head, self.whole_by];
        ends.into_iter().flatten().fold(idle, Instant::min)
    }

    /// What the client has sent of its body, into what goes out.
    fn read_body(&mut self) -> Result<(), Trouble> {
        if self.body.is_over() || self.out.bytes.len() > AHEAD_BYTES {
            return Ok(());
        }
        let taken = self.body.feed(&self.client.inbox, &mut self.out);
        let taken = taken.map_err(|_| Trouble::BadBody)?;
        self.client.inbox.drain(..taken);
        if self.body.is_over() {
            self.out.finish();
        }
        if self.is_deaf {
            self.out.bytes.clear();
            self.out_at = 0;
        }
        Ok(())
    }

    fn send(&mut self) -> Result<(), Trouble> {
        while let Some(rest) = self.out.bytes.get(self.out_at..).filter(|r| !r.is_empty()) {
            match self.upstream.try_write(rest) {
                Ok(written) => self.out_at += written,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                // It may have answered before it closed: that is read first.
                Err(_) if self.parser.started() || self.has_answer() => {
                    self.is_deaf = true;
                    self.out_at = self.out.bytes.len();
                }
                Err(_) => return Err(Trouble::Broken),
            }
        }
        self.out.bytes.clear();
        self.out_at = 0;
        Ok(())
    }

    fn has_answer(&mut self) -> bool {
        matches!(take(&self.upstream, &mut self.scratch), Ok(true))
    }

    /// Reads of the answer.
    fn hear(&mut self) -> Result<(), Trouble> {
        self.scratch
            .reserve(READ_BYTES.saturating_sub(self.scratch.len()));
        let is_open = match take(&self.upstream, &mut self.scratch) {
            Ok(is_open) => is_open,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            Err(_) => return Err(Trouble::Broken),
        };
        if *self.stopping.borrow() {
            self.back.keepalive = false;
        }
        let scratch = std::mem::take(&mut self.scratch);
        let answer = if is_open {
            self.parser.feed(&scratch, &mut self.back)
        } else {
            let ended = self.parser.end();
            if ended.is_none() {
                return Err(Trouble::Broken);
            }
            Ok(ended)
        };
        self.scratch = scratch;
        self.scratch.clear();
        if let Some(answer) = answer.map_err(|_| Trouble::Broken)? {
            self.back.finish();
            self.answered = Some(answer.keepalive);
            self.permit.end(ended(answer.status));
            if !self.body.is_over() {
                // What is left of the request's body is not read: the connection cannot go on.
                self.back.keepalive = false;
            }
        } else if self.back.is_stream {
            // It may last for ever, and says nothing about how much the service can do.
            self.permit.end(Ended::Served);
        }
        Ok(())
    }

    fn give_back(&mut self) -> Result<(), Trouble> {
        let back = &self.back.bytes;
        while let Some(rest) = back.get(self.back_at..).filter(|rest| !rest.is_empty()) {
            match self.client.stream.try_write(rest) {
                Ok(written) => {
                    self.is_begun = true;
                    self.back_at += written;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(_) => return Err(Trouble::ClientLeft),
            }
        }
        self.back.bytes.clear();
        self.back_at = 0;
        Ok(())
    }
}

fn ended(status: u16) -> Ended {
    match status {
        429 | 503 => Ended::Busy,
        500.. => Ended::Failed,
        _ => Ended::Served,
    }
}
