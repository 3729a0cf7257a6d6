//! One worker: an event loop over users and their connections that shares nothing but two mailboxes.
//!
//! A user is a request that is the same every time ([`crate::requests`]), a virtual user of a script
//! ([`crate::scripted`]) or a session of a driver ([`crate::sessions`]). The loop is compiled once for each, so that the
//! first costs no allocation and no dynamic call.

mod processor;

use std::io;
use std::num::NonZeroU64;
use std::ops::DerefMut;
use std::sync::mpsc::{self, TryRecvError};

use plimsoll_base::clock::Clock;
use plimsoll_base::mailbox::{Receiver, Sender};
use plimsoll_base::poll::{Poll, Ready};
use plimsoll_core::Nanos;
use plimsoll_core::judge::tolerated_of;

use self::processor::Processor;
use crate::disturbance::Disturbance;
use crate::message::{Body, Command, Counted, Report, ScriptCommand, ScriptCounted};
use crate::recorder::{Ending, Listed, Recorder};
use crate::source::{Level, Part};

/// Windows are this long.
pub(crate) const WINDOW: Nanos = Nanos::from_secs(1);
/// Memory for windows that a worker begins with; more comes back from the runner.
const SPARE: usize = 1;
/// The loop asks to be woken this often at least, and counts by how much it was late. A stall of length L that begins
/// anywhere between two of these is seen as L − 5 ms at least. A run of 10 s at 1/s, which does little else, took 0.08 s of a processor in all.
const TICK: Nanos = Nanos::from_millis(5);
/// What a worker's users are and do. `now` is always the latest reading of the clock.
pub(crate) trait Users {
    /// How the context is held: plainly, or borrowed from where sessions share it.
    type Held<'a>: DerefMut<Target = Context>
    where
        Self: 'a;
    fn context(&mut self) -> Self::Held<'_>;
    fn poll(&self) -> &Poll;
    /// Waits at most that long for something to do.
    fn wait(&mut self, timeout: Nanos, ready: &mut Vec<Ready>) -> io::Result<()> {
        self.poll().wait(timeout, ready)
    }
    /// Starts what is due. The time afterwards; none if there is more to do at once.
    fn start_due(&mut self, now: Nanos) -> Option<Nanos>;
    fn on_ready(&mut self, ready: Ready);
    /// Whatever else is due by the clock.
    fn on_time(&mut self, now: Nanos);
    /// When the next is due.
    fn next_event(&self) -> Nanos;
    /// Calls or connections could run out of time.
    fn needs_sweep(&self) -> bool;
    /// Ends them; the time until the next sweep.
    fn sweep(&mut self, now: Nanos) -> Nanos;
    /// From now on this level is played.
    fn enter(&mut self, level: &Level, now: Nanos);
    /// Nothing more is started.
    fn stop_starting(&mut self, now: Nanos);
    /// Nothing is under way any more.
    fn is_drained(&self) -> bool;
    /// All that was to be played is over; true once.
    fn take_finished(&mut self) -> bool {
        false
    }
    /// Connections, and requests on the wire at most since the last time.
    fn connections(&mut self) -> (u32, u64);
    /// Completes the counters of a window with what only these users know.
    fn complete(&mut self, _recorder: &mut Recorder) {}
    /// Hands over what only these users count.
    fn hand_over(&mut self) -> Option<Box<ScriptCounted>> {
        None
    }
    /// Takes cleared memory for that back.
    fn take_back(&mut self, _spare: Box<ScriptCounted>) {}
    /// Obeys; windows are counted from the time that is returned.
    fn obey(&mut self, _command: ScriptCommand) -> Option<Nanos> {
        None
    }
}

/// What all users need: the clock, the counters of the running window, and whom to report to.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) part: Part,
    pub(crate) clock: Clock,
    pub(crate) recorder: Box<Recorder>,
    /// Attempts due and not ended.
    pub(crate) in_flight: u64,
    /// Response-time bounds whose ok answers are counted exactly.
    bounds: Vec<Nanos>,
    disturbance: Disturbance,
    reports: Sender<Report>,
    /// Where every attempt is told by itself, and those that were not told yet.
    listing: Option<(mpsc::Sender<Vec<Listed>>, Vec<Listed>)>,
}

impl Context {
    pub(crate) fn new(
        part: Part,
        clock: Clock,
        bounds: Vec<Nanos>,
        reports: Sender<Report>,
    ) -> Self {
        let tightest = bounds.iter().copied().min();
        Self {
            part,
            clock,
            recorder: Box::default(),
            in_flight: 0,
            disturbance: Disturbance::new(
                tolerated_of(tightest.unwrap_or_default()),
                tightest.unwrap_or(Nanos::MAX),
            ),
            bounds,
            reports,
            listing: None,
        }
    }

    pub(crate) fn list_to(&mut self, listing: Option<mpsc::Sender<Vec<Listed>>>) {
        self.listing = listing.map(|listing| (listing, Vec::new()));
    }

    #[cold]
    fn list(&mut self, ending: &Ending) {
        if let Some((_, listed)) = &mut self.listing {
            listed.push(Listed {
                intended: ending.intended,
                level: ending.level,
                outcome: ending.outcome,
                status: ending.status,
                response: ending.response,
                service: ending.service,
                bytes: ending.bytes,
            });
        }
    }

    /// Tells the attempts of a window.
    fn tell_listed(&mut self) {
        if let Some((listing, listed)) = &mut self.listing
            && !listed.is_empty()
        {
            let _nobody_listens = listing.send(std::mem::take(listed));
        }
    }

    pub(crate) fn report(&self, body: Body) {
        // The runner is gone only when the run is over; then nobody wants the report.
        self.reports.send(Report {
            worker: self.part.index as usize,
            body,
        });
    }

    /// An attempt exists from its intended start, however late the loop came round to it.
    #[inline]
    pub(crate) fn begin(&mut self, intended: Nanos, level: u32, now: Nanos) {
        self.recorder.advance(now, self.in_flight);
        self.recorder.add_since(intended);
        self.disturbance.begin(intended, now, self.in_flight);
        self.in_flight += 1;
        self.recorder.in_flight_max = self.recorder.in_flight_max.max(self.in_flight);
        self.recorder.add_due(level);
    }

    #[inline]
    pub(crate) fn end(&mut self, ending: &Ending, now: Nanos) {
        self.leave(now);
        self.record(ending);
        if self.listing.is_some() {
            self.list(ending);
        }
    }

    /// An attempt is in flight no more; what it came to is recorded within the same turn.
    #[inline]
    pub(crate) fn leave(&mut self, now: Nanos) {
        self.recorder.advance(now, self.in_flight);
        self.recorder.take_back(now);
        self.in_flight -= 1;
    }

    #[inline]
    pub(crate) fn record(&mut self, ending: &Ending) {
        self.recorder.record(ending, &self.bounds);
        let now = ending.intended + ending.response;
        if self.disturbance.end(ending.intended, now) {
            let disturbed = &mut self.recorder.disturbed;
            disturbed.record(ending.outcome, ending.response, &self.bounds);
        }
    }

    /// The loop came round so much later than it asked.
    fn stalled(&mut self, late: Nanos, now: Nanos) {
        self.recorder.stall_max = self.recorder.stall_max.max(late);
        self.recorder.stalled += late;
        self.disturbance.stalled(late, now, self.in_flight);
    }

    /// Ends the window: its counters, with `next` in their place.
    fn cut(&mut self, now: Nanos, next: Box<Recorder>) -> Box<Recorder> {
        self.tell_listed();
        let in_flight = self.in_flight;
        let mut recorder = std::mem::replace(&mut self.recorder, next);
        self.recorder.begin(recorder.level, now, in_flight);
        recorder.advance(now, in_flight);
        recorder.end = now;
        recorder.in_flight_end = in_flight;
        recorder
    }

    /// An attempt that was due will not be sent any more, and was never begun.
    pub(crate) fn end_unsent(&mut self, ending: &Ending) {
        self.recorder.add_due(ending.level);
        self.recorder.add_late(ending.response);
        self.recorder.record(ending, &self.bounds);
    }
}

#[derive(Debug)]
pub(crate) struct Worker<U> {
    users: U,
    commands: Receiver<Command>,
    pending: Option<Level>,
    drain_until: Option<Nanos>,
    window_end: Nanos,
    /// When the level ends, if that was said.
    level_end: Option<Nanos>,
    next_sweep: Nanos,
    #[expect(
        clippy::vec_box,
        reason = "they go to the runner and back without a copy"
    )]
    spare: Vec<Box<Recorder>>,
    processor: Processor,
    /// When the loop asked to be woken next, whatever happens.
    next_tick: Nanos,
}

impl<U: Users> Worker<U> {
    pub(crate) fn new(users: U, commands: Receiver<Command>) -> Self {
        Self {
            users,
            commands,
            pending: None,
            drain_until: None,
            window_end: Nanos::MAX,
            level_end: None,
            next_sweep: Nanos::ZERO,
            spare: (0..SPARE).map(|_| Box::default()).collect(),
            processor: Processor::new(),
            next_tick: Nanos::ZERO,
        }
    }

    /// The body of a worker's thread: turns the loop until told to stop.
    pub(crate) fn run(mut self) {
        // The default slack of 50 µs would be added to every sleep before an arrival.
        let _best_effort = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        self.processor.ask();
        let mut ready = Vec::with_capacity(256);
        let mut now = self.now();
        while self.obey(now) {
            let timeout = match self.users.start_due(now) {
                Some(now) => self.next_event().saturating_sub(now),
                None => Nanos::ZERO,
            };
            if self.users.take_finished() {
                self.finish();
                continue;
            }
            if let Err(error) = self.users.wait(timeout, &mut ready) {
                let reason = format!("epoll: {error}");
                return self.users.context().report(Body::Failed(reason));
            }
            // Before what has ended is taken in: it may have come long ago.
            let woken = self.now();
            self.tick(woken);
            for event in ready.drain(..) {
                self.users.on_ready(event);
            }
            now = self.now();
            self.tick(now);
            self.on_time(now);
        }
    }

    /// Counts how much later than asked the loop comes round. A thread that slept too long, waited for a processor, was
    /// stopped or was busy with a turn is late alike: whatever it sent or read meanwhile was late by as much.
    #[inline]
    fn tick(&mut self, now: Nanos) {
        if now < self.next_tick {
            return;
        }
        let late = now - self.next_tick;
        self.next_tick = now + TICK;
        self.processor.look(now);
        if self.window_end == Nanos::MAX {
            // Between levels nobody asks to be woken.
            return;
        }
        self.users.context().stalled(late, now);
    }

    #[inline]
    fn now(&mut self) -> Nanos {
        self.users.context().clock.now()
    }

    /// Takes commands; false means stop.
    fn obey(&mut self, now: Nanos) -> bool {
        loop {
            match self.commands.try_recv() {
                Ok(Command::Level(level)) => self.pending = Some(level),
                Ok(Command::Drain { level, until }) => {
                    self.pending = None;
                    // Read anew: the command may have been given while this thread waited for a processor.
                    let now = self.now();
                    self.change_level(level, now, now);
                    self.window_end = Nanos::MAX;
                    self.drain_until = Some(until);
                    // Of the window that was cut short: not of the drain.
                    self.processor.read();
                    self.users.stop_starting(now);
                }
                Ok(Command::Cleared(counted)) => {
                    self.spare.push(counted.recorder);
                    if let Some(script) = counted.script {
                        self.users.take_back(script);
                    }
                }
                Ok(Command::Flush) => self.end_window(now),
                Ok(Command::Script(command)) => {
                    if let Some(start) = self.users.obey(command) {
                        self.begin(start);
                    }
                }
                Ok(Command::Stop) | Err(TryRecvError::Disconnected) => return false,
                Err(TryRecvError::Empty) => return true,
            }
        }
    }

    /// Counts windows from `start`, and nothing of what was before.
    fn begin(&mut self, start: Nanos) {
        let context = &mut *self.users.context();
        *context.recorder = Recorder::default();
        context.recorder.begin(0, start, 0);
        self.window_end = start + WINDOW;
        self.next_tick = start + TICK;
        self.processor.read();
    }

    /// Everything that is due by the clock: sweeps, level changes, window ends, drains.
    fn on_time(&mut self, now: Nanos) {
        if now >= self.next_sweep && self.users.needs_sweep() {
            self.next_sweep = now + self.users.sweep(now);
        }
        if let Some(level) = self.pending.take_if(|level| now >= level.start) {
            self.change_level(level.number, level.start, now);
            if self.window_end == Nanos::MAX {
                // Nobody asked for ticks before the first level.
                self.next_tick = now + TICK;
            }
            self.level_end = level.end;
            self.window_end = self.window_after(level.start);
            self.processor.read();
            self.users.enter(&level, now);
        }
        self.users.on_time(now);
        // A window that is long over because this thread was not scheduled is followed by empty ones, so that the
        // windows of all workers stay in step.
        while now >= self.window_end {
            self.end_window(now);
            self.window_end = self.window_after(self.window_end);
        }
        if let Some(until) = self.drain_until
            && (now >= until || self.users.is_drained())
        {
            self.drain_until = None;
            self.finish();
        }
    }

    /// The end of the window that begins then: within a second, and with the level.
    fn window_after(&self, start: Nanos) -> Nanos {
        let usual = start + WINDOW;
        match self.level_end {
            Some(end) if start < end && end < usual => end,
            _ => usual,
        }
    }

    fn change_level(&mut self, level: u32, start: Nanos, now: Nanos) {
        let _of_the_level_before = self.users.connections();
        let context = &mut *self.users.context();
        context.recorder.advance(now, context.in_flight);
        context
            .recorder
            .change_level(level, start, context.in_flight);
    }

    fn end_window(&mut self, now: Nanos) {
        let counted = self.cut(now);
        self.users.context().report(Body::Window(counted));
    }

    /// Nothing more is counted.
    fn finish(&mut self) {
        self.window_end = Nanos::MAX;
        let now = self.now();
        let counted = self.cut(now);
        self.users.context().report(Body::Finished(counted));
    }

    /// Completes the counters of the running window and puts cleared ones in their place.
    fn cut(&mut self, now: Nanos) -> Counted {
        let (connections, wire_max) = self.users.connections();
        let next = self.spare.pop().unwrap_or_default();
        let mut recorder = self.users.context().cut(now, next);
        recorder.wire_max = wire_max;
        recorder.connections_open = connections;
        self.users.complete(&mut recorder);
        (recorder.run, recorder.wait) = self.processor.read();
        self.processor.adapt(recorder.run, WINDOW);
        let script = self.users.hand_over();
        Counted { recorder, script }
    }

    fn next_event(&mut self) -> Nanos {
        let mut next = self.users.next_event().min(self.window_end);
        if self.window_end != Nanos::MAX {
            next = next.min(self.next_tick);
        }
        if self.users.needs_sweep() {
            next = next.min(self.next_sweep);
        }
        if let Some(level) = &self.pending {
            next = next.min(level.start);
        }
        match self.drain_until {
            // Nothing in flight will wake the loop: `on_time` ends the drain at once.
            Some(_) if self.users.is_drained() => Nanos::ZERO,
            Some(until) => next.min(until),
            None => next,
        }
    }
}
