//! One thread that serves its connections and, in the sharded arrangement, carries out the commands for its
//! databases itself: read what is ready, run one batch, commit once, write the replies.

use std::collections::VecDeque;
use std::sync::Arc;

use plimsoll_base::Nanos;
use plimsoll_base::page;
use plimsoll_base::poll::{Poll, Ready};
use plimsoll_base::slab::Slab;

use super::answer;
use super::channel::Channel;
use super::connection::{Connection, Input};
use super::letter::{self, Letter, ShardExecutor, ShardJob};
use super::shared::Shared;
use super::stream::{Listener, Stream};
use crate::error::{Code, CommandError};
use crate::scheduler::{Context, Done, Job, RETRYABLE, Ticket, Work, wall_time};
use crate::wire::{self, Frame, TLS_ALERT, WireError};

/// The longest sleep: time-outs, depth gauges and background work are looked at this often.
const TICK: Nanos = Nanos(50_000_000);
/// A message must be whole this long after its first byte.
const PARTIAL_TIMEOUT: Nanos = Nanos(60_000_000_000);
/// How often that is looked at.
const PARTIAL_LOOK: Nanos = Nanos(1_000_000_000);
/// Who holds less is not disconnected for it when memory is short, and a smaller message is not refused.
const HOARD_BYTES: usize = 64 << 10;
/// Time for long messages between two looks at who else is there.
const LISTEN: Nanos = Nanos(1_000_000);
/// How long a stopping server waits for clients to take their replies.
const DRAIN: Nanos = Nanos(5_000_000_000);
/// What a client hears that speaks plainly where the server has a certificate.
const NAKED: &str = "this port speaks TLS only; connect with tls=true";
/// Tokens of the listeners; connections count up from zero and never reach them.
const LISTENER_TOKENS: std::ops::Range<u64> = u64::MAX - 16..u64::MAX - 1;

pub(crate) struct EventLoop {
    pub(crate) index: usize,
    pub(crate) poll: Poll,
    /// The first loop accepts, and deals connections out.
    pub(crate) listeners: Vec<Listener>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) executor: Option<ShardExecutor>,
    pub(crate) connections: Slab<Connection>,
    /// More clients may wait to be accepted.
    pub(crate) accepts: bool,
    /// Clients with more to say than they were listened to at once, in turn.
    pub(crate) later: VecDeque<u64>,
    /// Replies that go out in this turn.
    pub(crate) done: Vec<Done>,
    /// Set when the server stops: by then replies must be out, whether or not their clients read.
    pub(crate) stop_by: Option<Nanos>,
}

impl EventLoop {
    /// Runs until it is told to stop and all accepted commands are answered.
    pub(crate) fn run(mut self) -> std::io::Result<()> {
        for (listener, token) in self.listeners.iter().zip(LISTENER_TOKENS) {
            self.poll.add(listener, token)?;
        }
        let (mut ready, mut letters) = (Vec::new(), Vec::new());
        let (mut next_tick, mut next_look) = (TICK, PARTIAL_LOOK);
        while !self.is_over() {
            let now = self.shared.clock.now();
            let has_work = !self.done.is_empty()
                || self.accepts
                || !self.later.is_empty()
                || self.executor.as_ref().is_some_and(ShardExecutor::has_work);
            let wait = if has_work {
                Nanos::ZERO
            } else {
                let wait = Nanos(next_tick.0.saturating_sub(now.0));
                let executor = self.executor.as_ref();
                executor.map_or(wait, |executor| executor.idle(wait))
            };
            self.take_in(wait, &mut ready, &mut letters)?;
            self.linger(&mut ready, &mut letters)?;
            if let Some(executor) = &mut self.executor {
                executor.turn(&mut self.done);
            }
            for one in std::mem::take(&mut self.done) {
                self.deliver(one);
            }
            if let Some(executor) = &mut self.executor {
                executor.tend();
            }
            self.listen_on();
            if self.accepts {
                self.accept();
            }
            let now = self.shared.clock.now();
            if now.0 >= next_tick.0 {
                next_tick = Nanos(now.0 + TICK.0);
                self.accept();
            }
            if now.0 >= next_look.0 {
                next_look = Nanos(now.0 + PARTIAL_LOOK.0);
                self.close_stuck(now);
            }
        }
        if let Some(executor) = &mut self.executor {
            executor.finish();
        }
        Ok(())
    }

    fn is_over(&mut self) -> bool {
        let now = self.shared.clock.now();
        self.stop_by
            .is_some_and(|limit| now.0 >= limit.0 || self.is_idle())
    }

    /// Waits for sockets and letters, and takes in all that is there.
    fn take_in(
        &mut self,
        wait: Nanos,
        ready: &mut Vec<Ready>,
        letters: &mut Vec<Letter>,
    ) -> std::io::Result<()> {
        self.poll.wait(wait, ready)?;
        let now = self.shared.clock.now();
        for event in ready.iter() {
            self.on_ready(*event, now);
        }
        self.shared.inboxes[self.index].take(letters);
        for letter in letters.drain(..) {
            self.on_letter(letter);
        }
        Ok(())
    }

    /// On a slow disk, waits a little for the clients that the last batch answered.
    fn linger(&mut self, ready: &mut Vec<Ready>, letters: &mut Vec<Letter>) -> std::io::Result<()> {
        let begun = self.shared.clock.now();
        while let Some(linger) = self.executor.as_ref().and_then(ShardExecutor::linger) {
            let passed = self.shared.clock.now().0.saturating_sub(begun.0);
            let Some(left) = linger.0.checked_sub(passed).filter(|left| *left > 0) else {
                break;
            };
            self.take_in(Nanos(left), ready, letters)?;
        }
        Ok(())
    }

    fn is_idle(&mut self) -> bool {
        !self.executor.as_ref().is_some_and(ShardExecutor::has_work)
            && (self.connections.iter()).all(|(_, one)| !one.busy && !one.has_output())
    }

    fn on_ready(&mut self, event: Ready, now: Nanos) {
        if LISTENER_TOKENS.contains(&event.token) {
            self.accept();
            return;
        }
        let Some(connection) = self.connections.get_mut(event.token) else {
            return;
        };
        if event.readable || event.hung_up {
            connection.became_readable(event.hung_up);
        }
        // A handshake takes up to a millisecond: thousands at once come in turn.
        if connection.channel().is_beginning() {
            return self.postpone(event.token);
        }
        // Many who take long replies at once come in turn too: together they would keep those waiting who ask for little.
        if event.writable && connection.has_output() {
            return self.postpone(event.token);
        }
        self.read(event.token, now);
        self.account(event.token);
    }

    /// Takes the clients that wait, thousands in turns. Out of descriptors, the next tick tries again.
    fn accept(&mut self) {
        let begun = self.shared.clock.now();
        self.accepts = false;
        while let Some(stream) = self
            .listeners
            .iter()
            .find_map(|listener| listener.accept().ok())
        {
            // Whoever is not taken is disconnected by being forgotten.
            if self.stop_by.is_none() && !self.shared.connections_full() {
                match self.shared.next_loop() {
                    index if index == self.index => self.adopt(stream),
                    other => self.shared.inboxes[other].send(Letter::Accepted(stream)),
                }
            }
            if self.shared.clock.now().0.saturating_sub(begun.0) >= LISTEN.0 {
                self.accepts = true;
                return;
            }
        }
    }

    fn adopt(&mut self, stream: Stream) {
        let session = self.shared.session(&stream);
        let claim = self.shared.executors.memory().claim();
        let channel = Channel::new(stream, self.shared.tls.as_ref());
        let connection = Connection::new(channel, session, claim);
        let token = self.connections.insert(connection);
        let added = self
            .connections
            .get_mut(token)
            .is_some_and(|one| self.poll.add(one.channel(), token).is_ok());
        if added {
            self.read(token, self.shared.clock.now());
        } else {
            self.close(token);
        }
    }

    fn on_letter(&mut self, letter: Letter) {
        match letter {
            Letter::Accepted(stream) => self.adopt(stream),
            Letter::Done(one) => self.done.push(one),
            Letter::Stop => {
                self.stop_by = Some(Nanos(self.shared.clock.now().0 + DRAIN.0));
                self.listeners.clear();
            }
            Letter::Job(database, job) => self.run_here(&database, *job),
        }
    }

    fn run_here(&mut self, database: &str, job: ShardJob) {
        let refused = match &mut self.executor {
            Some(executor) => executor.submit(database, job).err(),
            None => Some(job.refused(&Code::InternalError.error("no executor on this loop"))),
        };
        self.done.extend(refused);
    }

    /// Sends what the socket takes; the rest of a long reply when its turn comes.
    fn flush(&mut self, token: u64) {
        let Some(connection) = self.connections.get_mut(token) else {
            return;
        };
        match connection.flush() {
            Ok(true) => {}
            Ok(false) => self.postpone(token),
            Err(_) => self.close(token),
        }
    }

    fn postpone(&mut self, token: u64) {
        if let Some(connection) = self.connections.get_mut(token)
            && !std::mem::replace(&mut connection.is_later, true)
        {
            self.later.push_back(token);
        }
    }

    /// Goes on with long messages for as long as a slice, so that they keep nobody waiting who has little to say or to hear.
    fn listen_on(&mut self) {
        let begun = self.shared.clock.now();
        while let Some(token) = self.later.pop_front() {
            let now = self.shared.clock.now();
            if let Some(connection) = self.connections.get_mut(token) {
                connection.is_later = false;
                if connection.has_output() {
                    self.flush(token);
                }
                self.read(token, now);
                self.account(token);
            }
            if now.0.saturating_sub(begun.0) >= LISTEN.0 {
                break;
            }
        }
    }

    /// Takes messages until one is under way or nothing whole is left.
    fn read(&mut self, token: u64, now: Nanos) {
        while let Some(connection) = self.connections.get_mut(token) {
            // A reply on its way out is waited for: a client that does not read sends nothing further. Who is listened to in
            // turn waits for it.
            if connection.is_later
                || connection.busy
                || connection.has_output()
                || self.stop_by.is_some()
            {
                return;
            }
            if connection.closing {
                return self.close(token);
            }
            match connection.next(now) {
                Input::Nothing => return,
                Input::Later => {
                    return self.postpone(token);
                }
                Input::Closed => return self.close(token),
                Input::Malformed(error) => {
                    (self.shared.config.log)(&format!(
                        "{}: {error}; connection closed",
                        connection.session.peer
                    ));
                    if error == WireError::Tls {
                        connection.output().extend_from_slice(&TLS_ALERT);
                        // It is one small write; who does not take it learns from the end of the connection.
                        let _told = connection.flush();
                    }
                    return self.close(token);
                }
                Input::Refused(origin, error) => {
                    if let Some(origin) = origin {
                        let id = self.shared.next_request_id();
                        wire::reply(origin, id, &error.reply(), connection.output());
                    }
                    self.flush(token);
                }
                Input::Http(target) => self.on_http(token, &target),
                Input::Frame(frame) => self.on_frame(token, *frame, now),
            }
        }
    }

    fn on_http(&mut self, token: u64, target: &str) {
        let shared = Arc::clone(&self.shared);
        let Some(connection) = self.connections.get_mut(token) else {
            return;
        };
        let (status, kind, body) = if connection.channel().is_naked() {
            ("400 Bad Request", "text/plain", format!("{NAKED}\n"))
        } else if target == "/metrics" && (!shared.config.auth || connection.session.local) {
            ("200 OK", "text/plain; version=0.0.4", shared.metrics())
        } else {
            let hint = "This port speaks MongoDB's wire protocol; connect with mongodb://. Metrics are at /metrics.\n";
            ("404 Not Found", "text/plain", hint.to_owned())
        };
        let answer = page::whole(status, kind, &body);
        connection.output().extend_from_slice(&answer);
        connection.closing = true;
        self.flush(token);
    }

    fn on_frame(&mut self, token: u64, frame: Frame, now: Nanos) {
        let Frame { origin, request } = frame;
        let shared = Arc::clone(&self.shared);
        let Some(connection) = self.connections.get_mut(token) else {
            return;
        };
        let wants_reply = request.wants_reply;
        if connection.channel().is_naked() {
            let error = Code::SSLHandshakeFailed.error(NAKED);
            wire::reply(
                origin,
                shared.next_request_id(),
                &error.reply(),
                connection.output(),
            );
            connection.closing = true;
            return self.flush(token);
        }
        if let Some(error) = refusal(&shared, request.bytes().len()) {
            if wants_reply {
                let id = shared.next_request_id();
                wire::reply(origin, id, &error.reply(), connection.output());
                self.flush(token);
            }
            return;
        }
        match answer::route(&shared, &mut connection.session, &request) {
            answer::Route::Reply(document) => {
                if wants_reply {
                    wire::reply(
                        origin,
                        shared.next_request_id(),
                        &document,
                        connection.output(),
                    );
                    self.flush(token);
                }
            }
            answer::Route::Execute { database, session } => {
                connection.busy = true;
                connection.under_way = request.bytes().len();
                let ticket = Ticket {
                    event_loop: self.index,
                    connection: token,
                    origin,
                    wants_reply,
                    client: Arc::clone(&connection.client),
                };
                let context = Context {
                    now: wall_time(),
                    session,
                };
                let work = Work::Fresh(Box::new(request));
                let job = Job {
                    ticket,
                    work,
                    context,
                    arrived: now,
                    started: None,
                    keeps_turn: false,
                };
                self.execute(&database, job);
            }
        }
    }

    fn execute(&mut self, database: &str, job: ShardJob) {
        let shared = Arc::clone(&self.shared);
        let owner = shared.dispatch.owner(database);
        let refused = match (&mut self.executor, owner) {
            (Some(executor), Some(owner)) if owner == self.index => {
                executor.submit(database, job).err()
            }
            _ => shared.dispatch.submit(&shared.inboxes, database, job).err(),
        };
        self.done.extend(refused);
    }

    /// Hands a reply to its connection, or to the loop that owns it.
    fn deliver(&mut self, done: Done) {
        if done.ticket.event_loop != self.index {
            return letter::deliver(&self.shared.inboxes, done);
        }
        let Done { ticket, reply } = done;
        let Some(connection) = self.connections.get_mut(ticket.connection) else {
            return;
        };
        connection.busy = false;
        let now = self.shared.clock.now();
        if ticket.wants_reply {
            let id = self.shared.next_request_id();
            connection.answer((ticket.origin, id), reply, now);
            self.flush(ticket.connection);
        }
        // What the client sent meanwhile waits in the buffer or in the socket.
        self.read(ticket.connection, now);
        self.account(ticket.connection);
    }

    /// Tells the budget what a client holds. Over it, whoever holds much and has kept it longest, by not reading or by not going on with
    /// a message, is disconnected, so that those who do are served: who came last would come again.
    fn account(&mut self, token: u64) {
        let Some(connection) = self.connections.get_mut(token) else {
            return;
        };
        if connection.account() {
            return;
        }
        let all = self.connections.iter();
        let hoards = all.filter(|(_, one)| one.waiting() >= HOARD_BYTES);
        if let Some((token, one)) =
            hoards.min_by_key(|(_, one)| one.waiting_since().unwrap_or(Nanos(u64::MAX)))
        {
            (self.shared.config.log)(&format!(
                "{}: disconnected with {} bytes that it did not take or finish; memory is short",
                one.session.peer,
                one.waiting()
            ));
            self.close(token);
        }
    }

    fn close_stuck(&mut self, now: Nanos) {
        let is_stuck = |one: &Connection| {
            let since = one.partial_since();
            since.is_some_and(|since| now.0.saturating_sub(since.0) > PARTIAL_TIMEOUT.0)
        };
        let all = self.connections.iter();
        let stuck: Vec<u64> = all
            .filter(|(_, one)| is_stuck(one))
            .map(|(token, _)| token)
            .collect();
        for token in stuck {
            self.close(token);
        }
    }

    fn close(&mut self, token: u64) {
        if self.connections.remove(token).is_some() {
            self.shared.connection_closed();
        }
    }
}

/// The error of a large message for which there is no memory; small ones are carried out.
fn refusal(shared: &Shared, bytes: usize) -> Option<CommandError> {
    let memory = shared.executors.memory();
    let fits = bytes <= HOARD_BYTES || memory.has_room(bytes);
    (!fits).then(|| memory.exceeded("a message").with_labels(&RETRYABLE))
}
