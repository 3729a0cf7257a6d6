//! Does what the executors, or the levels of a search, ask: makes virtual users, starts, interrupts and ends iterations.

use std::cmp::Reverse;
use std::rc::Rc;
use std::sync::Arc;

use plimsoll_control::executor::{self, Action, Executor, Share};
use plimsoll_core::metrics::BuiltIn;
use plimsoll_core::scenario::Scenario;
use plimsoll_core::{Nanos, Outcome};
use plimsoll_script::tags::TagSetId;
use plimsoll_script::{End, Iteration, Resumption, ScriptError, Suspension};

use super::levels::{FreeVu, Levels};
use super::script::{Seating, shown};
use super::users::VirtualUsers;
use super::vus::{Playing, RunningIteration, VirtualUser};
use crate::message::Body;
use crate::source::{Arrival, Part};

/// Iterations that need no waiting may start one after the other for this long before sockets get a turn.
const BURST: Nanos = Nanos::from_millis(2);

impl VirtualUsers {
    pub(super) fn seat_scenarios(&mut self) -> Result<(), ScriptError> {
        let script = Arc::clone(&self.script);
        let index = self.context.part.index as u32;
        let share = Share::from_part(script.part, index, script.workers);
        for (scenario, range) in script.scenarios.iter().zip(&script.ranges) {
            let executor = Executor::new(scenario, *range, share, script.settings.seed);
            let is_early = script.seating == Seating::Early;
            let early = executor.vus_before_start().filter(|_| is_early);
            for number in early.collect::<Vec<_>>() {
                self.make_vu(number)?;
            }
            let shown = shown(scenario);
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
    fn tags_of(&self, scenario: &Scenario) -> TagSetId {
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

    fn make_vu(&mut self, number: u32) -> Result<usize, ScriptError> {
        if let Some(place) = self.vus.place(number) {
            return Ok(place);
        }
        let vu = self.runtime.vu(u64::from(number))?;
        let place = self.vus.add(VirtualUser::new(vu, number));
        self.count_vus();
        Ok(place)
    }

    /// Begins what is due of the level or the scenarios; true when there is more to do at once.
    pub(super) fn begin_due(&mut self) -> bool {
        let began = self.now();
        if self.levels.is_some() {
            return self.begin_due_of_level(began);
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
                let action = playing.executor.next(now);
                self.count_vus();
                let playing = &mut self.playing[index];
                match action {
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
                if self.now() - began > BURST {
                    return true;
                }
            }
        }
        if self.playing.iter().all(|playing| playing.is_done) {
            self.is_playing = false;
            self.is_finished = true;
        }
        false
    }

    fn add_vu(&mut self, index: usize, number: u32) {
        match self.make_vu(number) {
            Ok(_) => {
                let now = self.test_time();
                self.playing[index].executor.added(number, now);
            }
            Err(error) => self.context.report(Body::NotReady(error)),
        }
    }

    fn start(&mut self, index: usize, next: executor::Iteration) {
        let Some(place) = self.vus.place(next.vu) else {
            return;
        };
        let arrives = self.playing[index].arrives;
        let intended = arrives.then_some(self.host.origin.get() + next.intended_at);
        if let Some(intended) = intended {
            let now = self.now();
            self.context
                .recorder
                .lag
                .record(now.saturating_sub(intended));
        }
        let level = self.context.recorder.level;
        self.begin_iteration(place, index, (intended, level), next);
    }

    fn begin_iteration(
        &mut self,
        place: usize,
        index: usize,
        (intended, level): (Option<Nanos>, u32),
        next: executor::Iteration,
    ) {
        let playing = &self.playing[index];
        let vu = &mut self.vus.list[place];
        vu.running = Some(RunningIteration {
            scenario: Some(index),
            began: self.context.clock.now(),
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
            in_vu: vu.iterations,
            in_scenario: next.of_vu,
            in_instance: next.in_scenario,
            in_test: next.in_scenario,
        };
        vu.iterations += 1;
        self.resume(place, Resumption::Start(iteration));
    }

    fn drop_all(&mut self, index: usize, intended_at: Nanos, count: u64) {
        let now = self.now();
        let intended = self.host.origin.get() + intended_at;
        let playing = &self.playing[index];
        self.host
            .count(BuiltIn::DroppedIterations, count as f64, playing.tags);
        if !playing.arrives {
            // Iterations that were never due: the scenario ended before their turn.
            return;
        }
        let level = self.context.recorder.level;
        for _ in 0..count {
            self.drop_arrival(intended, level, now);
        }
    }

    fn interrupt(&mut self, index: usize, number: u32) {
        let Some(place) = self.vus.place(number) else {
            return;
        };
        let now = self.now();
        let vu = &mut self.vus.list[place];
        vu.turn += 1;
        vu.resting = None;
        if vu.running.is_none() {
            // Its iteration is over and only rested.
            let now = self.test_time();
            self.playing[index].executor.ended(number, now);
            return self.count_vus();
        }
        vu.forget_calls();
        self.client.cancel(place, now);
        self.count_finished_only();
        let mut suspension = self.vus.list[place].vu.resume(Resumption::Stop);
        for _ in 0..8 {
            if matches!(suspension, Suspension::Done(_)) {
                break;
            }
            suspension = self.vus.list[place].vu.resume(Resumption::Stop);
        }
        self.ended(place, &End::Interrupted);
    }

    /// A function of the script is over.
    pub(super) fn ended(&mut self, place: usize, end: &End) {
        let vu = &mut self.vus.list[place];
        let Some(running) = vu.running.take() else {
            return;
        };
        vu.checks.end_iteration();
        if running.scenario.is_some() {
            self.named.requests.ended.extend(vu.take_ended());
        } else {
            // What setup() and teardown() send is no load.
            vu.take_ended().for_each(drop);
        }
        let Some(scenario) = running.scenario else {
            self.lifecycle_deadline = None;
            let end = end.clone();
            return self.lifecycle_done(end, false);
        };
        let now = self.now();
        let took = now.saturating_sub(running.began);
        if matches!(end, End::Interrupted) {
            self.counts.interrupted += 1;
        } else {
            self.counts.completed += 1;
            self.counts.calls_of_completed += u64::from(running.calls);
            self.counts.time_of_completed += took;
            // With what the script has made of its tags meanwhile.
            let tags = self.vus.list[place].vu.tags();
            self.host.count(BuiltIn::Iterations, 1.0, tags);
            let took = took.as_millis_f64();
            self.host.count(BuiltIn::IterationDuration, took, tags);
        }
        match end {
            End::Abort { message } => self.context.report(Body::Aborted(message.to_string())),
            End::Missing { message } => self.context.report(Body::Missing(message.to_string())),
            _ => {}
        }
        if self.script.closes_idle {
            self.client.close_idle(place);
        }
        let rest = self.script.iteration_least.saturating_sub(took);
        let vu = &mut self.vus.list[place];
        if rest > Nanos::ZERO && !matches!(end, End::Interrupted) {
            vu.resting = Some(scenario);
            vu.turn += 1;
            self.timers.push(Reverse((now + rest, place, vu.turn)));
            return self.count_vus();
        }
        self.free(place, scenario);
    }

    /// The virtual user may start again.
    pub(super) fn free(&mut self, place: usize, scenario: usize) {
        if let Some(levels) = &mut self.levels {
            let now = self.context.clock.now();
            levels.freed(place, now);
            return self.count_vus();
        }
        let number = self.vus.list[place].number;
        let now = self.test_time();
        let playing = &mut self.playing[scenario];
        playing.executor.ended(number, now);
        playing.wait_until = Nanos::ZERO;
        self.count_vus();
    }
}

/// In a search.
impl VirtualUsers {
    /// Nothing more begins; those that wait will not be served.
    pub(super) fn give_up_waiting(&mut self, now: Nanos) {
        let waiting = self.levels.as_mut().map(Levels::stop);
        for due in waiting.into_iter().flatten() {
            // Its turn might still have come.
            self.end_unsent(due.intended, due.level, Outcome::Interrupted, now);
        }
    }

    /// Drops arrivals that waited for longer than a request may take.
    pub(super) fn drop_late(&mut self, now: Nanos) {
        let longest = self.script.settings.timeout;
        while let Some(levels) = &mut self.levels
            && let Some(due) = levels.take_late(longest, now)
        {
            self.drop_arrival(due.intended, due.level, now);
            if let Some(playing) = self.playing.first() {
                self.host
                    .count(BuiltIn::DroppedIterations, 1.0, playing.tags);
            }
        }
    }

    /// Begins what is due; true when there is more to do at once.
    fn begin_due_of_level(&mut self, began: Nanos) -> bool {
        let mut now = began;
        let level = self.context.recorder.level;
        while let Some(levels) = &mut self.levels
            && let Some((arrival, waited)) = levels.next_due(now, level)
        {
            if !arrival.closed && !waited {
                let lag = now - arrival.intended;
                self.context.recorder.lag.record(lag);
            }
            self.begin_of_level(arrival);
            self.settle();
            now = self.now();
            if now - began > BURST {
                return true;
            }
        }
        false
    }

    fn begin_of_level(&mut self, arrival: Arrival) {
        let levels = self.levels.as_mut();
        let Some(free) = levels.and_then(|levels| levels.take_vu(arrival)) else {
            return;
        };
        let Part { index, workers } = self.context.part;
        let place = match free {
            FreeVu::Known(place) => place,
            FreeVu::New(before) => {
                let number = u64::from(before) * workers + index + 1;
                match self.make_vu(number as u32) {
                    Ok(place) => place,
                    Err(error) => return self.context.report(Body::NotReady(error)),
                }
            }
        };
        let begun = self.levels.as_mut().map_or(0, Levels::count_begun);
        let vu = &self.vus.list[place];
        let next = executor::Iteration {
            vu: vu.number,
            intended_at: Nanos::ZERO,
            of_vu: vu.iterations,
            in_scenario: begun * workers + index,
        };
        let intended = (!arrival.closed).then_some(arrival.intended);
        self.count_vus();
        self.begin_iteration(place, 0, (intended, arrival.level), next);
    }
}
