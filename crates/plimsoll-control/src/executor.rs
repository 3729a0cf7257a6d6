//! Decides when each VU starts an iteration: the executors of a scripted test, without clock or thread.
//!
//! One [`Executor`] per scenario and worker. The worker asks [`Executor::next`] what to do now, does
//! it, and asks again until the answer is to wait or that all is done; it reports with
//! [`Executor::ended`] when an iteration is over and with [`Executor::added`] when a VU that was
//! asked for is ready. All times count from the start of the test, after `setup`.
//!
//! Workers share nothing and yet are together the single schedule: VU *n* belongs to exactly one
//! worker, arrival *n* to the worker of VU *n* modulo the pre-allocated ones, and so does iteration
//! *n* of those that VUs share. VUs and arrivals are thus in the same proportion everywhere.
//!
//! | state | reported or reached | becomes |
//! |---|---|---|
//! | missing | `AddVu`, then [`Executor::added`] | idle |
//! | idle | `Start` | running |
//! | running | [`Executor::ended`] | idle, or gone when the ramp took it away |
//! | running | end of grace: `Interrupt` | interrupted |
//! | interrupted | [`Executor::ended`] | idle or gone |

mod arrivals;
mod ramp;
mod share;
mod slots;

use plimsoll_core::Nanos;
use plimsoll_core::scenario::{self, Scenario};

use arrivals::Walk;
use ramp::Ramp;
pub use share::{Share, VuRange, vu_ranges};
use slots::Slots;

/// One run of a scenario's function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Iteration {
    /// As scripts see it, from 1.
    pub vu: u32,
    /// When it should begin: the arrival's time, or when the VU became free.
    pub intended_at: Nanos,
    /// How many iterations this VU made in this scenario before.
    pub of_vu: u64,
    /// A number that no other iteration of the scenario has, on no worker; from 0.
    pub in_scenario: u64,
}

/// What says how much of a scenario is behind.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Progress {
    /// Iterations, where their number is given: such a share of them has ended.
    Counted(f64),
    /// Time from the start of the test.
    Timed { start: Nanos, length: Nanos },
}

impl Progress {
    /// The share that is behind then, 0 to 1.
    pub fn at(self, now: Nanos) -> f64 {
        match self {
            Self::Counted(share) => share,
            Self::Timed { start, length } => share_of(now.saturating_sub(start).0, length.0),
        }
    }
}

fn share_of(done: u64, all: u64) -> f64 {
    if done >= all {
        1.0
    } else {
        done as f64 / all as f64
    }
}

/// What the worker does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    Start(Iteration),
    /// Make one more VU, and say so when it is ready. Nothing waits for it.
    AddVu {
        vu: u32,
    },
    /// End the iteration of this VU now, and report it as ended.
    Interrupt {
        vu: u32,
    },
    /// An arrival found no VU within its bound; or so many iterations were left when the longest
    /// duration was over.
    Drop {
        intended_at: Nanos,
        count: u64,
    },
    /// Nothing to do until then, unless an iteration ends; [`Nanos::MAX`] when only that helps.
    Wait {
        until: Nanos,
    },
    /// No iteration runs and none will.
    Done,
}

/// The rule of one executor, with what is left of it.
#[derive(Debug)]
enum Rule {
    Shared {
        total: u64,
        left: u64,
    },
    PerVu {
        each: u64,
    },
    Looping,
    Ramping {
        ramp: Ramp,
        grace: Nanos,
    },
    Arriving {
        walk: Walk,
        wait_max: Nanos,
        /// It lasts until its regular end, also when nothing arrives any more: k6's rule where the rate is fixed.
        stays: bool,
    },
}

/// A scenario on one worker.
#[derive(Debug)]
pub struct Executor {
    rule: Rule,
    slots: Slots,
    /// Which indices of the whole scenario are this worker's.
    cycle: share::Cycle,
    start: Nanos,
    regular_end: Nanos,
    last_end: Nanos,
    /// Iterations begun here.
    begun: u64,
    completed: u64,
    /// What was left at the regular end has been dropped.
    is_rest_dropped: bool,
    /// Between its start and its regular end: a VU whose iteration is over begins the next.
    takes_on: bool,
}

impl Executor {
    /// The part of a scenario that `share` plays with the VUs of `range`; `seed` decides Poisson
    /// arrivals and must be the same on all workers.
    pub fn new(scenario: &Scenario, range: VuRange, share: Share, seed: u64) -> Self {
        let owned = share.within(range);
        let cycle = share.cycle(&scenario.executor, range);
        let start = scenario.start_ns;
        let regular_end = scenario.regular_end_ns();
        let each = match &scenario.executor {
            scenario::Executor::PerVuIterations { iterations, .. } => iterations.get(),
            _ => u64::MAX,
        };
        let mut slots = Slots::new(owned, each);
        let rule = match &scenario.executor {
            scenario::Executor::SharedIterations { iterations, .. } => {
                let total = cycle.count_below(iterations.get());
                Rule::Shared { total, left: total }
            }
            scenario::Executor::PerVuIterations { .. } => Rule::PerVu { each },
            scenario::Executor::ConstantVus { .. } => Rule::Looping,
            scenario::Executor::RampingVus {
                start_vus,
                stages,
                graceful_ramp_down_ns,
            } => Rule::Ramping {
                ramp: Ramp::new(start, *start_vus, stages),
                grace: *graceful_ramp_down_ns,
            },
            arriving => Rule::Arriving {
                walk: Walk::new(arriving, start, cycle, seed),
                wait_max: arriving
                    .arriving()
                    .map(|a| a.wait_max_ns)
                    .unwrap_or_default(),
                stays: matches!(arriving, scenario::Executor::ConstantArrivalRate { .. }),
            },
        };
        match &rule {
            Rule::Ramping { ramp, .. } => slots.activate_below(ramp.count(), start),
            Rule::Arriving { .. } => slots.activate_below(cycle.length(), start),
            _ => slots.activate_below(u32::MAX, start),
        }
        Self {
            rule,
            slots,
            cycle,
            start,
            regular_end,
            last_end: scenario.last_end_ns(),
            begun: 0,
            completed: 0,
            is_rest_dropped: false,
            takes_on: false,
        }
    }

    /// VUs to make before the start of the test; others come with [`Action::AddVu`].
    pub fn vus_before_start(&self) -> impl Iterator<Item = u32> + '_ {
        let most = match self.rule {
            Rule::Arriving { .. } => self.cycle.length(),
            _ => u32::MAX,
        };
        self.slots.vus_below(most)
    }

    /// What to do at `now`, which never goes back.
    pub fn next(&mut self, now: Nanos) -> Action {
        if now < self.start {
            return Action::Wait { until: self.start };
        }
        self.takes_on = now < self.regular_end;
        if now >= self.last_end {
            return self.finish();
        }
        match self.rule {
            Rule::Arriving { .. } => self.next_arrival(now),
            _ => self.next_loop(now),
        }
    }

    /// An iteration is over, completed or not. Reports about VUs that do not run are left out.
    pub fn ended(&mut self, vu: u32, now: Nanos) {
        self.completed += u64::from(self.slots.end(vu, now));
    }

    /// A VU that was asked for is ready.
    pub fn added(&mut self, vu: u32, now: Nanos) {
        self.slots.add(vu, now);
    }

    /// Ends the scenario: nothing starts from `now` on, and what runs is interrupted.
    pub fn stop(&mut self, now: Nanos) {
        self.start = self.start.min(now);
        self.regular_end = self.regular_end.min(now);
        self.last_end = self.last_end.min(now);
    }

    /// VUs at work: those whose iteration runs, and those that loop and are between two iterations. None before the
    /// start, and none once all is done.
    pub fn vus_active(&self) -> u32 {
        let loops_on = self.takes_on
            && match self.rule {
                Rule::Arriving { .. } => false,
                Rule::Shared { left, .. } => left > 0,
                Rule::PerVu { .. } | Rule::Looping | Rule::Ramping { .. } => true,
            };
        let between = if loops_on { self.slots.ready() } else { 0 };
        self.slots.running() + between
    }

    /// What says how much of the scenario is behind.
    pub fn progress(&self) -> Progress {
        let counted = |all| Progress::Counted(share_of(self.completed, all));
        match self.rule {
            Rule::Shared { total, .. } => counted(total),
            Rule::PerVu { each } => counted(each * u64::from(self.slots.len())),
            _ => Progress::Timed {
                start: self.start,
                length: self.regular_end - self.start,
            },
        }
    }

    /// After the last end: interrupts what runs, one by one.
    fn finish(&mut self) -> Action {
        if let Rule::Arriving { walk, .. } = &mut self.rule
            && let Some(due) = walk.peek()
        {
            // An arrival before the end that never found a VU; later ones are not due any more.
            if due < self.regular_end {
                walk.advance();
                return Action::Drop {
                    intended_at: due,
                    count: 1,
                };
            }
        }
        if let Some(dropped) = self.drop_rest() {
            return dropped;
        }
        match self.slots.interrupt_any() {
            Some(vu) => Action::Interrupt { vu },
            None if self.slots.running() > 0 => Action::Wait { until: Nanos::MAX },
            None => Action::Done,
        }
    }

    fn next_loop(&mut self, now: Nanos) -> Action {
        self.follow_ramp(now);
        if let Some(vu) = self.slots.interrupt_overdue(now) {
            return Action::Interrupt { vu };
        }
        if now < self.regular_end
            && let Some(iteration) = self.start_loop()
        {
            return Action::Start(iteration);
        }
        if now >= self.regular_end
            && let Some(dropped) = self.drop_rest()
        {
            return dropped;
        }
        let is_over = now >= self.regular_end || self.is_used_up();
        if is_over && self.slots.running() == 0 {
            return Action::Done;
        }
        let end = if now < self.regular_end {
            self.regular_end
        } else {
            self.last_end
        };
        let step = match &self.rule {
            Rule::Ramping { ramp, .. } => ramp.next_step().filter(|at| *at < self.regular_end),
            _ => None,
        };
        let others = step.into_iter().chain(self.slots.next_deadline());
        Action::Wait {
            until: others.fold(end, Nanos::min),
        }
    }

    /// Applies the steps of the ramp that are due.
    fn follow_ramp(&mut self, now: Nanos) {
        let Rule::Ramping { ramp, grace } = &mut self.rule else {
            return;
        };
        while let Some(at) = ramp
            .next_step()
            .filter(|at| *at <= now && *at < self.regular_end)
        {
            let before = ramp.count();
            ramp.take_step();
            let after = ramp.count();
            if after > before {
                self.slots.activate(before, at);
            } else {
                self.slots.retire(after, at, *grace);
            }
        }
    }

    fn start_loop(&mut self) -> Option<Iteration> {
        if matches!(self.rule, Rule::Shared { left: 0, .. }) {
            return None;
        }
        let (vu, of_vu, free_since) = self.slots.take_idle()?;
        if let Rule::Shared { left, .. } = &mut self.rule {
            *left -= 1;
        }
        Some(self.iteration(vu, of_vu, free_since))
    }

    fn iteration(&mut self, vu: u32, of_vu: u64, intended_at: Nanos) -> Iteration {
        let in_scenario = self.cycle.index(self.begun);
        self.begun += 1;
        Iteration {
            vu,
            intended_at,
            of_vu,
            in_scenario,
        }
    }

    /// No iteration is left to start, whatever the time.
    fn is_used_up(&self) -> bool {
        let is_used_up = match self.rule {
            Rule::Shared { left, .. } => left == 0,
            Rule::PerVu { .. } => !self.slots.has_idle(),
            _ => false,
        };
        is_used_up || self.slots.len() == 0
    }

    fn next_arrival(&mut self, now: Nanos) -> Action {
        let Rule::Arriving {
            walk,
            wait_max,
            stays,
        } = &mut self.rule
        else {
            return Action::Done;
        };
        let Some(due) = walk.peek() else {
            return match self.slots.running() {
                _ if *stays && now < self.regular_end => Action::Wait {
                    until: self.regular_end,
                },
                0 => Action::Done,
                _ => Action::Wait {
                    until: self.last_end,
                },
            };
        };
        let last_end = self.last_end;
        if due > now {
            return Action::Wait {
                until: due.min(last_end),
            };
        }
        if let Some((vu, of_vu, _)) = self.slots.take_idle() {
            walk.advance();
            return Action::Start(self.iteration(vu, of_vu, due));
        }
        if let Some(vu) = self.slots.ask_for_one() {
            return Action::AddVu { vu };
        }
        let bound = due + *wait_max;
        if now < bound {
            return Action::Wait {
                until: bound.min(last_end),
            };
        }
        walk.advance();
        Action::Drop {
            intended_at: due,
            count: 1,
        }
    }

    /// At the regular end: iterations that nobody came to begin, as k6 counts them, too.
    fn drop_rest(&mut self) -> Option<Action> {
        if std::mem::replace(&mut self.is_rest_dropped, true) {
            return None;
        }
        let rest = match &mut self.rule {
            Rule::Shared { left, .. } => std::mem::take(left),
            Rule::PerVu { .. } => self.slots.left(),
            _ => 0,
        };
        (rest > 0).then_some(Action::Drop {
            intended_at: self.regular_end,
            count: rest,
        })
    }
}

#[cfg(test)]
mod tests;
