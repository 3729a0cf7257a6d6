//! The virtual users of one worker: what each is doing and what it waits for.

use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};

use plimsoll_control::executor::Executor;
use plimsoll_core::{Nanos, Outcome};
use plimsoll_script::http::{HttpCall, HttpResult, RequestUrl};
use plimsoll_script::tags::TagSetId;
use plimsoll_script::{Resumption, Vu};

use super::checks::Checks;
use crate::message::NamedEnding;

/// Calls of one iteration that a check may still fail by name.
const REMEMBERED: usize = 256;

/// One iteration under way.
#[derive(Debug, Clone, Copy)]
pub(super) struct RunningIteration {
    /// Index of the scenario; none for a function run alone.
    pub(super) scenario: Option<usize>,
    pub(super) began: Nanos,
    /// When it should have begun; the response time of its first request counts from there.
    pub(super) intended: Option<Nanos>,
    /// In which it was due.
    pub(super) level: u32,
    /// Requests it has sent.
    pub(super) calls: u32,
}

/// A virtual user and its state on this worker.
#[derive(Debug)]
pub(super) struct VirtualUser {
    pub(super) vu: Vu,
    /// From 1 over the whole test.
    pub(super) number: u32,
    pub(super) running: Option<RunningIteration>,
    /// Counts what it waited for: a timer of an earlier wait is void.
    pub(super) turn: u32,
    pub(super) iterations: u64,
    /// What the calls of the batch at hand have come to, in their order.
    results: Vec<Option<HttpResult>>,
    /// Where the calls on the wire go, by their place.
    hosts: Vec<Option<Rc<RequestUrl>>>,
    /// Calls of the batch that must wait for their place.
    queued: VecDeque<(usize, HttpCall)>,
    calls_running: usize,
    /// It waits until `rps` allows its next call; then that call may go.
    waits_for_turn: bool,
    may_call: bool,
    /// Its iteration is over, and ends in this scenario when the shortest allowed duration is over too.
    pub(super) resting: Option<usize>,
    pub(super) checks: Checks,
    /// What the calls of the iteration at hand came to, by their number: until it ends, a check may fail one of them.
    ended: Vec<(u64, NamedEnding)>,
}

impl VirtualUser {
    pub(super) fn new(vu: Vu, number: u32) -> Self {
        Self {
            vu,
            number,
            running: None,
            turn: 0,
            iterations: 0,
            results: Vec::new(),
            hosts: Vec::new(),
            queued: VecDeque::new(),
            calls_running: 0,
            waits_for_turn: false,
            may_call: false,
            resting: None,
            checks: Checks::default(),
            ended: Vec::new(),
        }
    }

    /// Remembers what a call of the iteration came to; the first ones are let go when they are very many.
    pub(super) fn remember(&mut self, call: u64, ended: NamedEnding, told: &mut Vec<NamedEnding>) {
        if self.ended.len() == REMEMBERED {
            told.extend(self.ended.drain(..).map(|(_, ended)| ended));
        }
        self.ended.push((call, ended));
    }

    /// A check failed on the answer of this call, or of the last good one.
    pub(super) fn fail_remembered(&mut self, call: Option<u64>) {
        let is_good = |(_, ended): &&mut (u64, NamedEnding)| !ended.ending.outcome.is_failure();
        let mut good = self.ended.iter_mut().rev().filter(is_good);
        let failed = match call {
            Some(call) => good.find(|(number, _)| *number == call),
            None => good.next(),
        };
        if let Some((_, ended)) = failed
            && ended.ending.outcome != Outcome::Interrupted
        {
            ended.ending.outcome = Outcome::CheckFailed;
        }
    }

    /// What the calls of the iteration came to, which is over.
    pub(super) fn take_ended(&mut self) -> impl Iterator<Item = NamedEnding> + '_ {
        self.ended.drain(..).map(|(_, ended)| ended)
    }

    /// Starts to wait for `calls`.
    pub(super) fn expect(&mut self, calls: Vec<HttpCall>) {
        self.results.clear();
        self.results.resize_with(calls.len(), || None);
        self.hosts.clear();
        self.hosts.resize(calls.len(), None);
        self.queued = calls.into_iter().enumerate().collect();
        self.calls_running = 0;
    }

    /// The next call that the limits allow on the wire, with its place.
    pub(super) fn next_call(&mut self, most: usize, per_host: usize) -> Option<(usize, HttpCall)> {
        if self.calls_running >= most {
            return None;
        }
        let fits = |call: &HttpCall| {
            let same = |url: &&Rc<RequestUrl>| url.host == call.url.host;
            self.hosts.iter().flatten().filter(same).count() < per_host
        };
        let at = self.queued.iter().position(|(_, call)| fits(call))?;
        let (place, call) = self.queued.remove(at)?;
        self.hosts[place] = Some(Rc::clone(&call.url));
        self.calls_running += 1;
        self.may_call = false;
        Some((place, call))
    }

    /// A call of the batch is over. All of them once the last is.
    pub(super) fn take_in(&mut self, place: usize, result: HttpResult) -> Option<Resumption> {
        let slot = self.results.get_mut(place)?;
        *slot = Some(result);
        self.hosts[place] = None;
        self.calls_running -= 1;
        if self.calls_running > 0 || !self.queued.is_empty() {
            return None;
        }
        let results: Vec<HttpResult> = self.results.drain(..).flatten().collect();
        Some(Resumption::Http(results))
    }

    /// Takes the time at which the next call may go, if one waits and `next_allowed` is still to come. Calls of all virtual
    /// users of all workers are a gap apart at least: call n goes at tₙ = max(now, tₙ₋₁ + gap), and time that nobody used is
    /// not saved up.
    pub(super) fn wait_for_turn(
        &mut self,
        next_allowed: &AtomicU64,
        gap: Nanos,
        now: Nanos,
    ) -> Option<Nanos> {
        if gap == Nanos::ZERO || self.may_call || self.queued.is_empty() {
            return None;
        }
        let at = take_turn(next_allowed, gap, now);
        self.may_call = at <= now;
        self.waits_for_turn = !self.may_call;
        self.waits_for_turn.then_some(at)
    }

    /// Whether it waited for its turn, which has come.
    pub(super) fn turn_came(&mut self) -> bool {
        let came = std::mem::take(&mut self.waits_for_turn);
        self.may_call |= came;
        came
    }

    pub(super) fn waits_for_its_turn(&self) -> bool {
        self.waits_for_turn
    }

    pub(super) fn has_queued(&self) -> bool {
        !self.queued.is_empty()
    }

    /// Nothing is waited for any more.
    pub(super) fn forget_calls(&mut self) {
        self.results.clear();
        self.hosts.clear();
        self.queued.clear();
        self.calls_running = 0;
        self.waits_for_turn = false;
        self.may_call = false;
    }
}

/// When this call may go: nobody else gets the same time.
fn take_turn(next_allowed: &AtomicU64, gap: Nanos, now: Nanos) -> Nanos {
    let taken = |next: u64| Some(now.0.max(next) + gap.0);
    let (Ok(next) | Err(next)) =
        next_allowed.fetch_update(Ordering::Relaxed, Ordering::Relaxed, taken);
    now.max(Nanos(next))
}

/// All virtual users of a worker, by their place and by their number.
#[derive(Debug, Default)]
pub(super) struct Vus {
    pub(super) list: Vec<VirtualUser>,
    places: BTreeMap<u32, usize>,
}

impl Vus {
    pub(super) fn place(&self, number: u32) -> Option<usize> {
        self.places.get(&number).copied()
    }

    pub(super) fn add(&mut self, vu: VirtualUser) -> usize {
        let place = self.list.len();
        self.places.insert(vu.number, place);
        self.list.push(vu);
        place
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    /// Each worker had its part of the rate, and those without virtual users left theirs unused.
    #[test]
    fn whoever_asks_gets_the_next_turn_of_all_workers() {
        let (next_allowed, gap) = (AtomicU64::default(), Nanos(10));
        let turn = |now| take_turn(&next_allowed, gap, Nanos(now)).0;
        assert_eq!([turn(5), turn(5), turn(7), turn(90)], [5, 15, 25, 90]);
    }
}
