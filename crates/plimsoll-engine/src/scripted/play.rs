//! Does what the executors ask: makes virtual users, starts, interrupts and ends iterations.

use std::cmp::Reverse;
use std::rc::Rc;
use std::sync::Arc;

use plimsoll_control::executor::{self, Action, Executor, Share};
use plimsoll_core::Nanos;
use plimsoll_core::metrics::BuiltIn;
use plimsoll_core::scenario::Scenario;
use plimsoll_script::tags::TagSetId;
use plimsoll_script::{End, Got, Iteration, ScriptError, Want};

use super::message::Body;
use super::vus::{Ended, Running, Slot};
use super::worker::Worker;
use super::{Seating, shown};

/// Iterations that need no waiting may start one after the other for this long before sockets get a turn.
pub(super) const BURST: Nanos = Nanos::from_millis(2);

/// One scenario as this worker plays it.
pub(super) struct Playing {
    pub(super) executor: Executor,
    pub(super) function: Rc<str>,
    pub(super) scenario: Rc<plimsoll_script::Scenario>,
    /// Tags of what the engine itself counts.
    pub(super) tags: TagSetId,
    pub(super) arrives: bool,
    pub(super) is_done: bool,
    pub(super) wait_until: Nanos,
}

impl Worker {
    pub(super) fn seat_scenarios(&mut self) -> Result<(), ScriptError> {
        let script = Arc::clone(&self.script);
        let share = Share::of_part(script.part, self.index as u32, script.workers);
        for (scenario, range) in script.scenarios.iter().zip(&script.ranges) {
            let executor = Executor::new(scenario, *range, share, script.settings.seed);
            let is_early = script.seating == Seating::Early;
            let early = executor.vus_before_start().filter(|_| is_early);
            for number in early.collect::<Vec<_>>() {
                self.make_vu(number)?;
            }
            let shown = shown(&script, scenario);
            let tags = self.tags_of(scenario);
            self.playing.push(Playing {
                executor,
                function: scenario.exec.as_str().into(),
                scenario: Rc::new(shown),
                tags,
                arrives: scenario.executor.arriving().is_some(),
                is_done: false,
                wait_until: Nanos::ZERO,
            });
        }
        Ok(())
    }

    /// Tags of what happens in a scenario outside of any group.
    pub(super) fn tags_of(&self, scenario: &Scenario) -> TagSetId {
        let table = self.runtime.tags();
        let mut table = table.borrow_mut();
        let mut tags = TagSetId::EMPTY;
        for (name, value) in &self.script.settings.tags {
            tags = table.with(tags, name, value);
        }
        if self.script.settings.system_tags.scenario {
            tags = table.with(tags, "scenario", &scenario.name);
        }
        if self.script.settings.system_tags.group {
            tags = table.with(tags, "group", "");
        }
        for (name, value) in &scenario.tags {
            tags = table.with(tags, name, value);
        }
        tags
    }

    pub(super) fn make_vu(&mut self, number: u32) -> Result<usize, ScriptError> {
        if let Some(place) = self.vus.place(number) {
            return Ok(place);
        }
        let vu = self.runtime.vu(u64::from(number))?;
        Ok(self.vus.add(Slot::new(vu, number)))
    }

    /// Plays what the executors ask for; true when there is more to do at once.
    pub(super) fn start_due(&mut self) -> bool {
        let began = self.clock.now();
        if self.levels.is_some() {
            return self.start_due_of_level(began);
        }
        if !self.is_playing {
            return false;
        }
        if began < self.host.origin.get() {
            // Every worker begins at the same moment, and windows count from there.
            return false;
        }
        for index in 0..self.playing.len() {
            loop {
                let now = self.test_time();
                let playing = &mut self.playing[index];
                if playing.is_done || now < playing.wait_until {
                    break;
                }
                match playing.executor.next(now) {
                    Action::Wait { until } => {
                        playing.wait_until = until;
                        break;
                    }
                    Action::Done => playing.is_done = true,
                    Action::Start(iteration) => self.start(index, iteration),
                    Action::AddVu { vu } => self.add_vu(index, vu),
                    Action::Interrupt { vu } => self.interrupt(index, vu),
                    Action::Drop { intended_at, count } => {
                        self.drop_all(index, intended_at, count);
                    }
                }
                self.settle();
                if self.clock.now() - began > BURST {
                    return true;
                }
            }
        }
        if self.playing.iter().all(|playing| playing.is_done) {
            self.finish();
        }
        false
    }

    pub(super) fn add_vu(&mut self, index: usize, number: u32) {
        match self.make_vu(number) {
            Ok(_) => {
                let now = self.test_time();
                self.playing[index].executor.added(number, now);
            }
            Err(error) => self.report(Body::NotReady(error)),
        }
    }

    pub(super) fn start(&mut self, index: usize, next: executor::Iteration) {
        let Some(place) = self.vus.place(next.vu) else {
            return;
        };
        let arrives = self.playing[index].arrives;
        let intended = arrives.then_some(self.host.origin.get() + next.intended_at);
        if let Some(intended) = intended {
            let now = self.clock.now();
            self.recorder.lag.record(now.saturating_sub(intended));
        }
        self.begin_iteration(place, index, intended, self.recorder.level, next);
    }

    pub(super) fn begin_iteration(
        &mut self,
        place: usize,
        index: usize,
        intended: Option<Nanos>,
        level: u32,
        next: executor::Iteration,
    ) {
        let playing = &self.playing[index];
        let slot = &mut self.vus.slots[place];
        slot.running = Some(Running {
            scenario: Some(index),
            began: self.clock.now(),
            intended,
            level,
            calls: 0,
        });
        let iteration = Iteration {
            function: Rc::clone(&playing.function),
            data: self.data.clone(),
            wants_return: false,
            scenario: Some(Rc::clone(&playing.scenario)),
            root_group: None,
            vu_in_test: u64::from(next.vu),
            vu_in_instance: u64::from(next.vu),
            in_vu: slot.iterations,
            in_scenario: next.of_vu,
            in_instance: next.in_scenario,
            in_test: next.in_scenario,
        };
        slot.iterations += 1;
        self.resume(place, Got::Start(iteration));
    }

    pub(super) fn drop_all(&mut self, index: usize, intended_at: Nanos, count: u64) {
        let now = self.clock.now();
        let intended = self.host.origin.get() + intended_at;
        let playing = &self.playing[index];
        self.busy.dropped += count;
        self.host
            .count(BuiltIn::DroppedIterations, count as f64, playing.tags);
        if !playing.arrives {
            // Iterations that were never due: the scenario ended before their turn.
            return;
        }
        for _ in 0..count {
            self.drop_arrival(intended, self.recorder.level, now);
        }
    }

    pub(super) fn interrupt(&mut self, index: usize, number: u32) {
        let Some(place) = self.vus.place(number) else {
            return;
        };
        let now = self.clock.now();
        let slot = &mut self.vus.slots[place];
        slot.turn += 1;
        slot.resting = None;
        if slot.running.is_none() {
            // Its iteration is over and only rested.
            let now = self.test_time();
            return self.playing[index].executor.ended(number, now);
        }
        slot.forget_calls();
        self.client.cancel(place, now);
        self.count_finished_only();
        let mut want = self.vus.slots[place].vu.resume(Got::Stop);
        for _ in 0..8 {
            if matches!(want, Want::Done(_)) {
                break;
            }
            want = self.vus.slots[place].vu.resume(Got::Stop);
        }
        self.ended(place, &End::Interrupted);
    }

    /// A function of the script is over.
    pub(super) fn ended(&mut self, place: usize, end: &End) {
        let slot = &mut self.vus.slots[place];
        let Some(running) = slot.running.take() else {
            return;
        };
        let Some(scenario) = running.scenario else {
            self.alone_deadline = None;
            let end = end.clone();
            return self.alone_done(end, false);
        };
        let now = self.clock.now();
        let took = now.saturating_sub(running.began);
        let tags = self.playing[scenario].tags;
        if matches!(end, End::Interrupted) {
            self.busy.interrupted += 1;
        } else {
            self.busy.completed += 1;
            self.busy.calls_of_completed += u64::from(running.calls);
            self.busy.time_of_completed += took;
            self.host.count(BuiltIn::Iterations, 1.0, tags);
            let took = took.as_millis_f64();
            self.host.count(BuiltIn::IterationDuration, took, tags);
        }
        if let End::Abort { message } = end {
            self.report(Body::Aborted(message.to_string()));
        }
        if self.script.closes_idle {
            self.client.close_idle(place);
        }
        let rest = self.script.iteration_least.saturating_sub(took);
        let slot = &mut self.vus.slots[place];
        if rest > Nanos::ZERO && !matches!(end, End::Interrupted) {
            slot.resting = Some(Ended { scenario });
            slot.turn += 1;
            self.timers.push(Reverse((now + rest, place, slot.turn)));
            return;
        }
        self.free(place, scenario);
    }

    /// The virtual user may start again.
    pub(super) fn free(&mut self, place: usize, scenario: usize) {
        if let Some(levels) = &mut self.levels {
            return levels.freed(place);
        }
        let number = self.vus.slots[place].number;
        let now = self.test_time();
        let playing = &mut self.playing[scenario];
        playing.executor.ended(number, now);
        playing.wait_until = Nanos::ZERO;
    }
}
