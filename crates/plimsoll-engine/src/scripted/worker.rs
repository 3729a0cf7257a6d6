//! One worker of a scripted test: its own event loop, engine, virtual users and counters.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::num::NonZeroU64;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, Sender, TryRecvError};

use plimsoll_control::executor::Executor;
use plimsoll_core::Nanos;
use plimsoll_net::clock::Clock;

use plimsoll_script::host::Instance;
use plimsoll_script::{End, Got, Iteration, Runtime, ScriptError, Want};

use super::Script;
use super::client::Client;
use super::host::Surroundings;
use super::levels::{Coming, Levels};
use super::message::{Alone, Body, Busy, Command, Counted, Report};
use super::names::Names;
use super::play::Playing;
use super::vus::{Running, Slot, Vus};
use crate::crew::Post;
use crate::recorder::Recorder;
use crate::worker::{CpuMeter, WINDOW};

/// How often calls are looked through for those out of time: a timeout is late by this at most.
const SWEEP: Nanos = Nanos::from_millis(10);

/// A wait of a virtual user that ends by the clock.
type Timer = Reverse<(Nanos, usize, u32)>;

pub(super) struct Worker {
    pub(super) index: usize,
    pub(super) script: Arc<Script>,
    pub(super) clock: Clock,
    pub(super) client: Client,
    pub(super) runtime: Runtime,
    pub(super) host: Rc<Surroundings>,
    pub(super) vus: Vus,
    /// Runs setup, teardown and handleSummary; made when first needed.
    pub(super) alone: Option<usize>,
    pub(super) alone_deadline: Option<Nanos>,
    pub(super) playing: Vec<Playing>,
    /// In a search, instead of the executors.
    pub(super) levels: Option<Levels>,
    pub(super) data: Option<Rc<str>>,
    pub(super) timers: BinaryHeap<Timer>,
    pub(super) recorder: Recorder,
    pub(super) in_flight: u64,
    pub(super) busy: Busy,
    pub(super) window_end: Nanos,
    pub(super) next_sweep: Nanos,
    pub(super) commands: Receiver<Command>,
    pub(super) reports: Sender<Report>,
    pub(super) cpu: CpuMeter,
    pub(super) is_playing: bool,
    /// Between two requests of this worker, where `rps` limits them, and when the next may go.
    pub(super) request_gap: Nanos,
    pub(super) next_allowed: Nanos,
}

fn request_gap(script: &Script) -> Nanos {
    match script.requests_per_s_max {
        0 => Nanos::ZERO,
        most => Nanos::from_secs_f64(f64::from(script.workers) / most as f64),
    }
}

/// What a worker is made of, handed to its thread.
pub(super) struct Seat {
    pub(super) post: Post<Command>,
    pub(super) script: Arc<Script>,
    pub(super) clock: Clock,
    pub(super) stop: Arc<AtomicBool>,
    pub(super) reports: Sender<Report>,
}

/// The body of a worker's thread.
pub(super) fn work(seat: Seat) {
    let (index, reports) = (seat.post.index, seat.reports.clone());
    let tell = |body| {
        let _runner_gone = reports.send(Report {
            worker: index,
            body,
        });
    };
    match Worker::new(seat) {
        Ok(mut worker) => {
            tell(Body::Ready);
            if let Err(error) = worker.run() {
                tell(Body::Broken(format!("epoll: {error}")));
            }
        }
        Err(error) => tell(Body::NotReady(error)),
    }
}

impl Worker {
    /// Makes the engine and the virtual users that the scenarios start with.
    fn new(seat: Seat) -> Result<Self, ScriptError> {
        let script = Arc::clone(&seat.script);
        let surroundings = Surroundings::new(
            seat.post.index,
            seat.clock,
            script.store.clone(),
            &script,
            seat.reports.clone(),
        );
        let host = Rc::new(surroundings);
        let settings = script.settings.clone();
        let shown: Rc<dyn plimsoll_script::Host> = Rc::<Surroundings>::clone(&host);
        let runtime = Runtime::new(&script.program, settings, shown, seat.stop)?;
        let _first = host.tags.set(runtime.tags());
        let names = Names::new(Arc::clone(&script.naming), seat.post.poll.waker());
        let mut client = Client::new(
            seat.post.poll,
            seat.clock,
            names,
            Arc::clone(&script.user_agent),
        );
        client.reuses = script.reuses_connections;
        let mut worker = Self {
            index: seat.post.index,
            clock: seat.clock,
            client,
            runtime,
            host,
            vus: Vus::default(),
            alone: None,
            alone_deadline: None,
            playing: Vec::new(),
            levels: None,
            data: None,
            timers: BinaryHeap::new(),
            recorder: Recorder::default(),
            in_flight: 0,
            busy: Busy::default(),
            window_end: Nanos::MAX,
            next_sweep: Nanos::ZERO,
            commands: seat.post.commands,
            reports: seat.reports,
            cpu: CpuMeter::new(),
            is_playing: false,
            request_gap: request_gap(&script),
            next_allowed: Nanos::ZERO,
            script,
        };
        worker.seat_scenarios()?;
        Ok(worker)
    }

    /// Turns the loop until told to quit.
    fn run(&mut self) -> std::io::Result<()> {
        // The default slack of 50 µs would be added to every sleep before an arrival.
        let _best_effort = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        let mut ready = Vec::with_capacity(256);
        loop {
            if !self.obey() {
                return Ok(());
            }
            let has_more = self.start_due();
            let now = self.clock.now();
            let timeout = if has_more {
                Nanos::ZERO
            } else {
                self.next_event().saturating_sub(now)
            };
            self.client.poll.wait(timeout, &mut ready)?;
            for event in ready.drain(..) {
                self.client.on_ready(event);
                self.settle();
            }
            if self.client.waits_for_names() {
                self.client.take_names(self.clock.now());
                self.settle();
            }
            self.on_time();
        }
    }

    /// Takes commands; false means quit.
    fn obey(&mut self) -> bool {
        loop {
            match self.commands.try_recv() {
                Ok(Command::Alone(alone)) => self.run_alone(&alone),
                Ok(Command::Begin { data, at }) => self.begin(data, at),
                Ok(Command::Search { data, vus_max }) => self.begin_search(data, vus_max),
                Ok(Command::Level {
                    level,
                    load,
                    start,
                    join,
                }) => {
                    self.expect_level(Coming {
                        level,
                        load,
                        start,
                        join,
                    });
                }
                Ok(Command::Drain { level, until }) => self.begin_drain(level, until),
                Ok(Command::Halt) => {
                    let now = self.test_time();
                    for playing in &mut self.playing {
                        playing.executor.stop(now);
                        playing.wait_until = Nanos::ZERO;
                    }
                }
                Ok(Command::Quit) | Err(TryRecvError::Disconnected) => return false,
                Err(TryRecvError::Empty) => return true,
            }
        }
    }

    fn begin(&mut self, data: Option<Box<str>>, at: Nanos) {
        self.data = data.map(Rc::from);
        self.host.origin.set(at);
        self.recorder = Recorder::default();
        self.recorder.begin(0, at, 0);
        self.window_end = at + WINDOW;
        self.cpu.read();
        self.is_playing = true;
    }

    /// Time since the scenarios began, which is what executors count in.
    pub(super) fn test_time(&self) -> Nanos {
        self.clock.now().saturating_sub(self.host.origin.get())
    }

    fn run_alone(&mut self, alone: &Alone) {
        let place = match self.alone {
            Some(place) => place,
            None => match self.runtime.vu(0) {
                Ok(vu) => {
                    let place = self.vus.add(Slot::new(vu, u32::MAX));
                    self.alone = Some(place);
                    place
                }
                Err(error) => return self.report(Body::NotReady(error)),
            },
        };
        let now = self.clock.now();
        self.alone_deadline = Some(now + alone.timeout);
        self.vus.slots[place].running = Some(Running {
            scenario: None,
            began: now,
            intended: None,
            level: self.recorder.level,
            calls: 0,
        });
        let iteration = Iteration {
            function: alone.function.into(),
            data: alone.data.as_deref().map(Rc::from),
            wants_return: alone.wants_return,
            root_group: alone.has_group.then_some(alone.function),
            ..Iteration::default()
        };
        self.resume(place, Got::Start(iteration));
        self.settle();
    }

    /// Everything that is due by the clock.
    fn on_time(&mut self) {
        let now = self.clock.now();
        while let Some(Reverse((due, place, turn))) = self.timers.peek().copied() {
            if due > now {
                break;
            }
            self.timers.pop();
            let slot = &mut self.vus.slots[place];
            if slot.turn != turn {
                continue;
            }
            if let Some(ended) = slot.resting.take() {
                self.free(place, ended.scenario);
            } else if slot.turn_came() {
                self.start_calls(place);
                self.settle();
            } else {
                self.resume(place, Got::Slept);
                self.settle();
            }
        }
        if now >= self.next_sweep {
            self.client.sweep(now);
            self.settle();
            self.next_sweep = now + SWEEP;
        }
        if self.alone_deadline.is_some_and(|deadline| now >= deadline) {
            self.time_out_alone(now);
        }
        self.on_time_of_level(now);
        while now >= self.window_end {
            self.end_window(now);
        }
    }

    /// `setup`, `teardown` or `handleSummary` took too long.
    fn time_out_alone(&mut self, now: Nanos) {
        self.alone_deadline = None;
        let Some(place) = self.alone else {
            return;
        };
        let slot = &mut self.vus.slots[place];
        slot.turn += 1;
        slot.running = None;
        slot.forget_calls();
        self.client.cancel(place, now);
        self.count_finished_only();
        let end = match self.vus.slots[place].vu.resume(Got::Stop) {
            Want::Done(end) => end,
            Want::Http(_) | Want::Sleep(_) => End::Interrupted,
        };
        self.alone_done(end, true);
    }

    /// What `setup` and `teardown` did counts in the metrics, but is no load.
    pub(super) fn alone_done(&mut self, end: End, timed_out: bool) {
        let counted = Box::new(self.stored(Recorder::default()));
        self.report(Body::AloneDone {
            end,
            timed_out,
            counted,
        });
    }

    fn end_window(&mut self, now: Nanos) {
        let counted = self.counted(now);
        self.window_end += WINDOW;
        let progress = self.progress();
        let busy = self.now_busy();
        self.report(Body::Window(counted, busy, progress));
    }

    pub(super) fn counted(&mut self, now: Nanos) -> Box<Counted> {
        self.recorder.advance(now, self.in_flight);
        self.recorder.end = now;
        self.recorder.in_flight_end = self.in_flight;
        self.recorder.wire_max = std::mem::take(&mut self.client.wire_max);
        self.recorder.connections_open = self.client.open_count() as u32;
        (self.recorder.run, self.recorder.wait) = self.cpu.read();
        let recorder = std::mem::take(&mut self.recorder);
        self.recorder.begin(recorder.level, now, self.in_flight);
        Box::new(self.stored(recorder))
    }

    /// What the metrics have come to since the last time.
    fn stored(&self, recorder: Recorder) -> Counted {
        let mut store = self.host.store.borrow_mut();
        let samples = self.host.samples.as_ref().map(RefCell::take);
        let counted = Counted {
            recorder,
            store: store.clone(),
            samples: samples.unwrap_or_default(),
        };
        store.clear();
        counted
    }

    pub(super) fn now_busy(&mut self) -> Busy {
        let executors = || self.playing.iter().map(|playing| &playing.executor);
        self.busy.vus_active = executors().map(Executor::vus_active).sum();
        self.busy.vus_existing = executors().map(Executor::vus_existing).sum();
        if let Some(levels) = &self.levels {
            self.busy.vus_active = levels.running();
            self.busy.vus_existing = levels.made();
        }
        self.host.instance.set(Instance {
            iterations_completed: self.busy.completed,
            iterations_interrupted: self.busy.interrupted,
            vus_active: u64::from(self.busy.vus_active),
            vus_initialized: u64::from(self.busy.vus_existing),
        });
        self.busy
    }

    pub(super) fn progress(&self) -> Vec<(String, f64)> {
        let now = self.test_time();
        let of = |playing: &Playing| {
            let name = playing.scenario.name.to_string();
            (name, playing.executor.progress(now))
        };
        let progress: Vec<_> = self.playing.iter().map(of).collect();
        *self.host.progress.borrow_mut() = progress.iter().cloned().collect();
        progress
    }

    pub(super) fn finish(&mut self) {
        self.is_playing = false;
        self.window_end = Nanos::MAX;
        let now = self.clock.now();
        let counted = self.counted(now);
        let busy = self.now_busy();
        self.report(Body::Finished(counted, busy));
    }

    fn next_event(&self) -> Nanos {
        let mut next = self.window_end;
        if self.in_flight > 0 {
            next = next.min(self.next_sweep);
        }
        if let Some(Reverse((due, ..))) = self.timers.peek() {
            next = next.min(*due);
        }
        if let Some(deadline) = self.alone_deadline {
            next = next.min(deadline);
        }
        if let Some(levels) = &self.levels {
            return next.min(levels.next_event());
        }
        if self.is_playing {
            let origin = self.host.origin.get();
            for playing in self.playing.iter().filter(|playing| !playing.is_done) {
                let until = playing.wait_until;
                let due = if until == Nanos::MAX {
                    until
                } else {
                    origin + until
                };
                next = next.min(due);
            }
        }
        next
    }

    pub(super) fn report(&self, body: Body) {
        // The runner is gone only when the run is over; then nobody wants the report.
        let _runner_gone = self.reports.send(Report {
            worker: self.index,
            body,
        });
    }
}
