//! The virtual users of one worker: their script engine, what they wait for, and what they count.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use plimsoll_base::poll::{Poll, Ready};
use plimsoll_base::random::Rng;
use plimsoll_control::executor::Executor;
use plimsoll_core::Nanos;
use plimsoll_script::host::Instance;
use plimsoll_script::{End, Iteration, Resumption, Runtime, ScriptError, Suspension};

use super::client::Client;
use super::host::WorkerHost;
use super::levels::Levels;
use super::named::Named;
use super::names::Names;
use super::script::Script;
use super::shared::Shared;
use super::vus::{Playing, RunningIteration, VirtualUser, Vus};
use crate::crew::Endpoint;
use crate::message::{
    Body, Lifecycle, NamedEnding, Report, ScriptCommand, ScriptCounted, VuCounts,
};
use crate::recorder::Recorder;
use crate::source::{Level, Part};
use crate::worker::{Context, Users, Worker};

/// How often calls are looked through for those out of time: a timeout is late by this at most.
const SWEEP: Nanos = Nanos::from_millis(10);

/// A wait of a virtual user that ends by the clock.
type Timer = Reverse<(Nanos, usize, u32)>;

pub(super) struct VirtualUsers {
    pub(super) context: Context,
    pub(super) script: Arc<Script>,
    pub(super) client: Client,
    pub(super) runtime: Runtime,
    pub(super) host: Rc<WorkerHost>,
    pub(super) vus: Vus,
    /// Runs setup, teardown and handleSummary; made when first needed.
    lifecycle_vu: Option<usize>,
    pub(super) lifecycle_deadline: Option<Nanos>,
    pub(super) playing: Vec<Playing>,
    /// In a search, instead of the executors.
    pub(super) levels: Option<Levels>,
    pub(super) data: Option<Rc<str>>,
    pub(super) timers: BinaryHeap<Timer>,
    pub(super) counts: VuCounts,
    /// What scripts on all workers have been told of them.
    told: Instance,
    /// Most virtual users at work in this window.
    active_max: u32,
    /// Cleared memory for windows to come.
    #[expect(
        clippy::vec_box,
        reason = "they go to the runner and back without a copy"
    )]
    spare: Vec<Box<ScriptCounted>>,
    pub(super) is_playing: bool,
    pub(super) is_finished: bool,
    /// Between two requests of all workers, where `rps` limits them, and when the next may go.
    pub(super) request_gap: Nanos,
    pub(super) next_allowed: Arc<AtomicU64>,
    /// Calls that ended, which numbers them.
    pub(super) calls: u64,
    /// The call whose answer the virtual user at hand sees now, and may check.
    pub(super) unchecked: Option<(u64, NamedEnding)>,
    pub(super) named: Named,
}

fn request_gap(script: &Script) -> Nanos {
    match script.requests_per_s_max {
        0 => Nanos::ZERO,
        most => Nanos::from_secs_f64(1.0 / most as f64),
    }
}

/// The body of a worker's thread.
pub(super) fn work(endpoint: Endpoint, script: Arc<Script>, shared: &Shared) {
    let (index, reports) = (endpoint.index, endpoint.reports.clone());
    let commands = endpoint.commands;
    let users = VirtualUsers::new(index, endpoint.poll, endpoint.reports, script, shared);
    let (users, body) = match users {
        Ok(users) => (Some(users), Body::Ready),
        Err(error) => (None, Body::NotReady(error)),
    };
    reports.send(Report {
        worker: index,
        body,
    });
    if let Some(users) = users {
        Worker::new(users, commands).run();
    }
}

impl VirtualUsers {
    /// Makes the engine and the virtual users that the scenarios start with.
    fn new(
        index: usize,
        poll: Poll,
        reports: plimsoll_base::mailbox::Sender<Report>,
        script: Arc<Script>,
        shared: &Shared,
    ) -> Result<Self, ScriptError> {
        let clock = shared.clock;
        let host = Rc::new(WorkerHost::new(index, shared, &script, reports.clone()));
        let settings = script.settings.clone();
        let shown: Rc<dyn plimsoll_script::Host> = Rc::<WorkerHost>::clone(&host);
        let runtime = Runtime::new(&script.program, settings, shown, Arc::clone(&shared.stop))?;
        let _first = host.tags.set(runtime.tags());
        // Streams from zero up are those of virtual users.
        let rng = Rng::new(script.settings.seed, u64::MAX - index as u64);
        let names = Names::new(Arc::clone(&script.naming), poll.waker(), rng);
        let part = Part {
            index: index as u64,
            workers: u64::from(script.workers),
        };
        let mut users = Self {
            context: Context::new(part, clock, script.bounds.clone(), reports),
            client: Client::new(poll, clock, names, &script),
            runtime,
            host,
            vus: Vus::default(),
            lifecycle_vu: None,
            lifecycle_deadline: None,
            playing: Vec::new(),
            levels: None,
            data: None,
            timers: BinaryHeap::new(),
            counts: VuCounts::default(),
            told: Instance::default(),
            active_max: 0,
            spare: Vec::new(),
            is_playing: false,
            is_finished: false,
            request_gap: request_gap(&script),
            next_allowed: Arc::clone(&shared.next_allowed),
            calls: 0,
            unchecked: None,
            named: Named::default(),
            script,
        };
        users.seat_scenarios()?;
        users.host.began.set(clock.now());
        Ok(users)
    }

    pub(super) fn now(&self) -> Nanos {
        self.context.clock.now()
    }

    /// Time since the scenarios began, which is what executors count in.
    pub(super) fn test_time(&self) -> Nanos {
        self.now().saturating_sub(self.host.origin.get())
    }

    /// The scenarios begin at that moment.
    fn begin_at(&mut self, at: Nanos) {
        self.host.origin.set(at);
        for (playing, scenario) in self.playing.iter_mut().zip(self.script.scenarios.iter()) {
            let starts = self.host.unix_ms_at(at + scenario.start_ns);
            Rc::make_mut(&mut playing.scenario).start_unix_ms = starts;
        }
    }

    fn run_lifecycle(&mut self, lifecycle: &Lifecycle) {
        let place = match self.lifecycle_vu {
            Some(place) => place,
            None => match self.runtime.vu(0) {
                Ok(vu) => {
                    let place = self.vus.add(VirtualUser::new(vu, u32::MAX));
                    self.lifecycle_vu = Some(place);
                    place
                }
                Err(error) => return self.context.report(Body::NotReady(error)),
            },
        };
        let now = self.now();
        self.lifecycle_deadline = Some(now + lifecycle.timeout);
        self.vus.list[place].running = Some(RunningIteration {
            scenario: None,
            began: now,
            intended: None,
            level: self.context.recorder.level,
            calls: 0,
        });
        let iteration = Iteration {
            function: lifecycle.function.into(),
            data: lifecycle.data.as_deref().map(Rc::from),
            wants_return: lifecycle.wants_return,
            root_group: lifecycle.has_group.then_some(lifecycle.function),
            ..Iteration::default()
        };
        self.resume(place, Resumption::Start(iteration));
        self.settle();
    }

    /// Virtual users whose waits are over go on.
    fn wake(&mut self, now: Nanos) {
        while let Some(Reverse((due, place, turn))) = self.timers.peek().copied() {
            if due > now {
                break;
            }
            self.timers.pop();
            let vu = &mut self.vus.list[place];
            if vu.turn != turn {
                continue;
            }
            if let Some(scenario) = vu.resting.take() {
                self.free(place, scenario);
            } else if vu.turn_came() {
                self.start_calls(place);
                self.settle();
            } else {
                self.resume(place, Resumption::Slept);
                self.settle();
            }
        }
    }

    /// `setup`, `teardown` or `handleSummary` took too long.
    fn time_out_lifecycle(&mut self, now: Nanos) {
        self.lifecycle_deadline = None;
        let Some(place) = self.lifecycle_vu else {
            return;
        };
        let vu = &mut self.vus.list[place];
        vu.turn += 1;
        vu.running = None;
        vu.forget_calls();
        self.client.cancel(place, now);
        self.count_finished_only();
        let end = match self.vus.list[place].vu.resume(Resumption::Stop) {
            Suspension::Done(end) => end,
            Suspension::Http(_) | Suspension::Sleep(_) => End::Interrupted,
        };
        self.lifecycle_done(end, true);
    }

    /// What `setup` and `teardown` did counts in the metrics, but is no load.
    pub(super) fn lifecycle_done(&mut self, end: End, timed_out: bool) {
        let counted = self.hand_over_metrics();
        self.context.report(Body::LifecycleDone {
            end,
            timed_out,
            counted,
        });
    }

    /// What was counted since the last time; cleared memory takes its place.
    fn hand_over_metrics(&mut self) -> Box<ScriptCounted> {
        let spare = self.spare.pop();
        let mut counted = spare.unwrap_or_else(|| Box::new(ScriptCounted::new(&self.script.store)));
        std::mem::swap(&mut counted.metrics, &mut *self.host.metrics.borrow_mut());
        counted
    }

    /// Tells scripts on all workers what has changed. To be called wherever it does: they may ask at any time.
    pub(super) fn count_vus(&mut self) {
        let executors = self.playing.iter().map(|playing| &playing.executor);
        self.counts.active = match &self.levels {
            Some(levels) => levels.running(),
            None => executors.map(Executor::vus_active).sum(),
        };
        self.active_max = self.active_max.max(self.counts.active);
        let lifecycle = usize::from(self.lifecycle_vu.is_some());
        self.counts.existing = (self.vus.list.len() - lifecycle) as u32;
        let now = Instance {
            iterations_completed: self.counts.completed,
            iterations_interrupted: self.counts.interrupted,
            vus_active: u64::from(self.counts.active),
            vus_initialized: u64::from(self.counts.existing),
        };
        self.host.counts.change(&self.told, &now);
        self.told = now;
        let progress = self
            .playing
            .iter()
            .map(|playing| playing.executor.progress());
        self.host.tell_progress(progress);
    }

    fn progress(&self) -> Vec<(String, f64)> {
        let now = self.test_time();
        let progress_of = |playing: &Playing| {
            let name = playing.scenario.name.to_string();
            (name, playing.executor.progress().at(now))
        };
        self.playing.iter().map(progress_of).collect()
    }

    /// When the next executor wants to be asked.
    fn next_of_executors(&self) -> Nanos {
        if !self.is_playing {
            return Nanos::MAX;
        }
        let waiting = self.playing.iter().filter(|playing| !playing.is_done);
        let next = waiting.map(|playing| playing.wait_until).min();
        // Time without end plus the origin is without end too.
        self.host.origin.get() + next.unwrap_or(Nanos::MAX)
    }
}

impl Users for VirtualUsers {
    type Held<'a>
        = &'a mut Context
    where
        Self: 'a;

    fn context(&mut self) -> &mut Context {
        &mut self.context
    }

    fn poll(&self) -> &Poll {
        &self.client.pool.poll
    }

    fn start_due(&mut self, _now: Nanos) -> Option<Nanos> {
        let has_more = self.begin_due();
        (!has_more).then(|| self.now())
    }

    fn on_ready(&mut self, ready: Ready) {
        self.client.on_ready(ready);
        self.settle();
    }

    fn on_time(&mut self, now: Nanos) {
        if self.client.waits_for_names() {
            self.client.take_names(now);
            self.settle();
        }
        self.wake(now);
        if self
            .lifecycle_deadline
            .is_some_and(|deadline| now >= deadline)
        {
            self.time_out_lifecycle(now);
        }
        self.drop_late(now);
    }

    fn next_event(&self) -> Nanos {
        let mut next = match &self.levels {
            Some(levels) => levels.next_event(),
            None => self.next_of_executors(),
        };
        if let Some(Reverse((due, ..))) = self.timers.peek() {
            next = next.min(*due);
        }
        next.min(self.lifecycle_deadline.unwrap_or(Nanos::MAX))
    }

    fn needs_sweep(&self) -> bool {
        self.context.in_flight > 0
    }

    fn sweep(&mut self, now: Nanos) -> Nanos {
        self.client.sweep(now);
        self.settle();
        SWEEP
    }

    fn enter(&mut self, level: &Level, _now: Nanos) {
        if let Some(levels) = &mut self.levels {
            levels.enter(level, self.context.part, self.script.settings.seed);
        }
    }

    fn stop_starting(&mut self, now: Nanos) {
        self.give_up_waiting(now);
    }

    fn is_drained(&self) -> bool {
        self.levels
            .as_ref()
            .is_none_or(|levels| levels.running() == 0)
    }

    fn take_finished(&mut self) -> bool {
        std::mem::take(&mut self.is_finished)
    }

    fn connections(&mut self) -> (u32, u64) {
        let pool = &mut self.client.pool;
        (pool.open_count(), std::mem::take(&mut pool.wire_max))
    }

    fn complete(&mut self, recorder: &mut Recorder) {
        self.count_vus();
        if self.levels.is_none() {
            // Nobody is left at the end of the last window, in which they were at work.
            let active = self.counts.active;
            let shown = if self.is_playing {
                active
            } else {
                self.active_max
            };
            recorder.vus = Some(shown);
            self.active_max = active;
        }
    }

    fn hand_over(&mut self) -> Option<Box<ScriptCounted>> {
        let mut counted = self.hand_over_metrics();
        counted.progress = self.progress();
        std::mem::swap(&mut counted.requests, &mut self.named.requests);
        counted.vus = self.counts;
        Some(counted)
    }

    fn take_back(&mut self, spare: Box<ScriptCounted>) {
        self.spare.push(spare);
    }

    fn obey(&mut self, command: ScriptCommand) -> Option<Nanos> {
        match command {
            ScriptCommand::Lifecycle(lifecycle) => self.run_lifecycle(&lifecycle),
            ScriptCommand::EndLifecycle if self.lifecycle_deadline.is_some() => {
                self.lifecycle_deadline = Some(self.now());
            }
            // It has ended meanwhile.
            ScriptCommand::EndLifecycle => {}
            ScriptCommand::Begin { data, at } => {
                self.data = data.map(Rc::from);
                self.begin_at(at);
                self.is_playing = true;
                return Some(at);
            }
            ScriptCommand::Search { data, vus_max } => {
                let now = self.now();
                self.data = data.map(Rc::from);
                self.begin_at(now);
                let share = self.context.part.share_of(u64::from(vus_max)) as u32;
                self.levels = Some(Levels::new(share.max(1)));
                // Windows begin with the first level.
                *self.context.recorder = Recorder::default();
                self.context.recorder.begin(0, now, 0);
            }
            ScriptCommand::Halt => {
                let now = self.test_time();
                for playing in &mut self.playing {
                    playing.executor.stop(now);
                    playing.wait_until = Nanos::ZERO;
                }
            }
        }
        None
    }
}
