//! One worker: its own event loop, connections, schedule and recorder; nothing shared.

use std::collections::VecDeque;
use std::num::NonZeroU64;
use std::sync::mpsc::{Receiver, Sender, TryRecvError};

use plimsoll_core::Nanos;
use plimsoll_core::step::StepLoad;
use plimsoll_net::clock::{Clock, thread_run_time};
use plimsoll_net::connection::SCRATCH_BYTES;
use plimsoll_net::poll::Poll;

use crate::arrival::{Arrival, Stream};
use crate::crew::Post;
use crate::message::{Body, Command, Report};
use crate::options::Options;
use crate::recorder::Recorder;
use crate::shared::Shared;
use crate::slots::Slots;

/// Windows are this long.
pub(crate) const WINDOW: Nanos = Nanos::from_secs(1);
/// A slot of a closed loop whose connection failed waits this long, so that a dead target is not
/// hammered and its failures do not crowd out everything else.
const PAUSE: Nanos = Nanos::from_millis(20);

/// Where new attempts come from.
#[derive(Debug)]
enum Source {
    None,
    Closed,
    Open(Stream),
}

#[derive(Debug)]
pub(crate) struct Worker {
    pub(crate) index: usize,
    pub(crate) clock: Clock,
    pub(crate) poll: Poll,
    pub(crate) options: Options,
    /// This worker's share of the connections.
    pub(crate) connections_max: u32,
    pub(crate) slots: Slots,
    /// Connections of HTTP/2, whose streams are slots.
    pub(crate) shared: Shared,
    pub(crate) waiting: VecDeque<Arrival>,
    pub(crate) recorder: Box<Recorder>,
    pub(crate) scratch: Vec<u8>,
    /// Attempts due and not ended.
    pub(crate) in_flight: u64,
    /// Those of them that a closed loop started.
    pub(crate) closed_running: u32,
    pub(crate) over: Vec<crate::slots::Token>,
    closed_target: u32,
    paused: VecDeque<Nanos>,
    source: Source,
    pending_level: Option<(u32, StepLoad, Nanos)>,
    attempts_left: Option<u64>,
    exhausted: bool,
    drain_until: Option<Nanos>,
    window_end: Nanos,
    next_sweep: Nanos,
    spare: Vec<Recorder>,
    commands: Receiver<Command>,
    reports: Sender<Report>,
    cpu: CpuMeter,
}

impl Worker {
    pub(crate) fn new(
        post: Post<Command>,
        clock: Clock,
        options: Options,
        reports: Sender<Report>,
    ) -> Self {
        let Post {
            index,
            poll,
            commands,
        } = post;
        let share = |total: u64| share_of(total, index as u64, u64::from(options.workers));
        Self {
            index,
            clock,
            poll,
            connections_max: share(u64::from(options.connections_max)).max(1) as u32,
            slots: Slots::default(),
            shared: Shared::default(),
            waiting: VecDeque::new(),
            recorder: Box::default(),
            scratch: vec![0; SCRATCH_BYTES],
            in_flight: 0,
            closed_running: 0,
            over: Vec::new(),
            closed_target: 0,
            paused: VecDeque::new(),
            source: Source::None,
            pending_level: None,
            attempts_left: options.attempts_max.map(share),
            exhausted: false,
            drain_until: None,
            window_end: Nanos::MAX,
            next_sweep: Nanos::ZERO,
            spare: vec![Recorder::default()],
            commands,
            reports,
            cpu: CpuMeter::new(),
            options,
        }
    }

    /// Turns the loop until told to stop.
    pub(crate) fn run(mut self) {
        // The default slack of 50 µs would be added to every sleep before an arrival.
        let _best_effort = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        let mut ready = Vec::with_capacity(256);
        let mut now = self.clock.now();
        loop {
            if !self.obey(now) {
                return;
            }
            self.start_due(now);
            self.flush_shared();
            let timeout = self.next_event().saturating_sub(now);
            if let Err(error) = self.poll.wait(timeout, &mut ready) {
                self.report(Body::Failed(format!("epoll: {error}")));
                return;
            }
            for event in ready.drain(..) {
                self.on_ready(event);
            }
            now = self.clock.now();
            self.on_time(now);
        }
    }

    /// Everything that is due by the clock: sweeps, level changes, window ends, drains.
    fn on_time(&mut self, now: Nanos) {
        if now >= self.next_sweep {
            self.sweep(now);
            // A hundredth of the timeout, so that a timeout is late by 1 % at most.
            let period = Nanos(self.options.timeout.0 / 100);
            self.next_sweep = now + period.clamp(Nanos::from_millis(1), Nanos::from_millis(100));
        }
        if let Some((_, _, start)) = self.pending_level
            && now >= start
            && let Some((level, load, start)) = self.pending_level.take()
        {
            self.enter_level(level, load, start, now);
        }
        if now >= self.window_end {
            self.end_windows(now);
        }
        self.check_exhausted();
        if let Some(until) = self.drain_until
            && (self.in_flight == 0 || now >= until)
        {
            self.drain_until = None;
            self.window_end = Nanos::MAX;
            let recorder = self.take_recorder(now);
            self.report(Body::Drained(recorder));
        }
    }

    /// Takes commands; false means stop.
    fn obey(&mut self, now: Nanos) -> bool {
        loop {
            match self.commands.try_recv() {
                Ok(Command::Level { level, load, start }) => {
                    self.pending_level = Some((level, load, start));
                }
                Ok(Command::Drain { level, until }) => {
                    self.source = Source::None;
                    self.closed_target = 0;
                    self.paused.clear();
                    self.recorder.advance(now, self.in_flight);
                    self.recorder.change_level(level, now, self.in_flight);
                    self.window_end = Nanos::MAX;
                    self.drain_until = Some(until);
                }
                Ok(Command::Cleared(recorder)) => self.spare.push(*recorder),
                Ok(Command::Flush) => self.end_window(now),
                Ok(Command::Stop) | Err(TryRecvError::Disconnected) => return false,
                Err(TryRecvError::Empty) => return true,
            }
        }
    }

    fn enter_level(&mut self, level: u32, load: StepLoad, start: Nanos, now: Nanos) {
        self.recorder.advance(now, self.in_flight);
        self.recorder.change_level(level, start, self.in_flight);
        self.window_end = start + WINDOW;
        self.cpu.read();
        let workers = u64::from(self.options.workers);
        match load {
            StepLoad::Closed { in_flight } => {
                self.source = Source::Closed;
                let share = share_of(u64::from(in_flight), self.index as u64, workers);
                self.closed_target = share as u32;
                let slots_owed = self.closed_target.saturating_sub(self.closed_running);
                for _ in 0..slots_owed {
                    self.start_closed(now);
                }
            }
            StepLoad::Open { profile, arrivals } => {
                self.closed_target = 0;
                self.paused.clear();
                let part = (self.index as u64, workers);
                let seed = self.options.seed;
                self.source =
                    Source::Open(Stream::new(profile, arrivals, seed, level, part, start));
            }
        }
    }

    /// Starts every attempt whose time has come.
    fn start_due(&mut self, now: Nanos) {
        while let Some(&due) = self.paused.front() {
            if due > now {
                break;
            }
            self.paused.pop_front();
            if self.wants_closed() {
                self.start_closed(now);
            }
        }
        while self.attempts_left != Some(0)
            && let Source::Open(stream) = &mut self.source
            && let Some(intended) = stream.take_due(now)
        {
            self.use_up();
            let level = self.recorder.level;
            self.dispatch(
                Arrival {
                    intended,
                    level,
                    closed: false,
                },
                now,
            );
        }
    }

    /// A closed loop starts its next attempt: due now.
    pub(crate) fn start_closed(&mut self, now: Nanos) {
        if !self.wants_closed() {
            return;
        }
        self.closed_running += 1;
        self.use_up();
        let level = self.recorder.level;
        self.dispatch(
            Arrival {
                intended: now,
                level,
                closed: true,
            },
            now,
        );
    }

    /// A closed loop may start another attempt.
    #[inline]
    pub(crate) fn wants_closed(&self) -> bool {
        matches!(self.source, Source::Closed)
            && self.closed_running < self.closed_target
            && self.attempts_left != Some(0)
    }

    #[inline]
    pub(crate) fn use_up(&mut self) {
        if let Some(left) = &mut self.attempts_left {
            *left = left.saturating_sub(1);
        }
    }

    pub(crate) fn pause(&mut self, now: Nanos) {
        if matches!(self.source, Source::Closed) {
            self.paused.push_back(now + PAUSE);
        }
    }

    fn check_exhausted(&mut self) {
        if self.attempts_left == Some(0) && self.in_flight == 0 && !self.exhausted {
            self.exhausted = true;
            self.report(Body::Exhausted);
        }
    }

    /// Ends the running window; one that is long over because this thread was not scheduled is
    /// followed by empty ones, so that the windows of all workers stay in step.
    fn end_windows(&mut self, now: Nanos) {
        self.end_window(now);
        self.window_end += WINDOW;
        while self.window_end <= now {
            self.end_window(now);
            self.window_end += WINDOW;
        }
    }

    fn end_window(&mut self, now: Nanos) {
        let level = self.recorder.level;
        let recorder = self.take_recorder(now);
        self.report(Body::Window(recorder));
        self.recorder.begin(level, now, self.in_flight);
    }

    /// Completes the running recorder and puts a cleared one in its place.
    fn take_recorder(&mut self, now: Nanos) -> Box<Recorder> {
        self.recorder.advance(now, self.in_flight);
        self.recorder.end = now;
        self.recorder.in_flight_end = self.in_flight;
        self.recorder.connections_open = self.connections_open();
        (self.recorder.run, self.recorder.wait) = self.cpu.read();
        let next = Box::new(self.spare.pop().unwrap_or_default());
        std::mem::replace(&mut self.recorder, next)
    }

    fn next_event(&self) -> Nanos {
        let mut next = self.next_sweep.min(self.window_end);
        if let Source::Open(stream) = &self.source
            && self.attempts_left != Some(0)
        {
            next = next.min(stream.next());
        }
        if let Some((_, _, start)) = &self.pending_level {
            next = next.min(*start);
        }
        if let Some(&due) = self.paused.front() {
            next = next.min(due);
        }
        match self.drain_until {
            Some(until) => next.min(until),
            None => next,
        }
    }

    fn report(&self, body: Body) {
        // The runner is gone only when the run is over; then nobody wants the report.
        let _runner_gone = self.reports.send(Report {
            worker: self.index,
            body,
        });
    }
}

/// The `index`-th of `parts` shares of a total; shares differ by one at most and add up.
pub(crate) fn share_of(total: u64, index: u64, parts: u64) -> u64 {
    total / parts + u64::from(index < total % parts)
}

/// Run time and run-queue wait of this thread since the last reading.
#[derive(Debug)]
pub(crate) struct CpuMeter {
    run: Nanos,
    wait: Nanos,
}

impl CpuMeter {
    pub(crate) fn new() -> Self {
        Self {
            run: thread_run_time(),
            wait: thread_wait_time(),
        }
    }

    pub(crate) fn read(&mut self) -> (Nanos, Nanos) {
        let (run, wait) = (thread_run_time(), thread_wait_time());
        let spent = (run - self.run, wait - self.wait);
        (self.run, self.wait) = (run, wait);
        spent
    }
}

/// Second field of schedstat; zero where the kernel does not keep it.
fn thread_wait_time() -> Nanos {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    Nanos(
        text.split_whitespace()
            .nth(1)
            .and_then(|field| field.parse().ok())
            .unwrap_or(0),
    )
}

#[cfg(test)]
mod tests {
    #[test]
    fn shares_add_up() {
        for (total, parts) in [(0, 3), (1, 3), (64, 3), (7, 7), (5, 8)] {
            let sum: u64 = (0..parts)
                .map(|index| super::share_of(total, index, parts))
                .sum();
            assert_eq!(sum, total);
        }
    }
}
