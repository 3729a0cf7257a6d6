//! Sessions of an asynchronous driver in the place of requests: each takes what is due, has its driver do it, and says
//! how that ended. Schedule, counters and windows are those of every other test.
//!
//! ```text
//! Worker (turns the loop) ── wait ──▶ Host: runs the sessions until something is due, or a command came
//!                                      session ── next ──▶ Desk (schedule of its lane) ──▶ Due
//!                                      session ── end ───▶ Desk ──▶ Context ──▶ Recorder
//! ```
//!
//! A lane is what has a schedule of its own, such as a database; it belongs to one worker, so that its connections do.

use std::cell::{RefCell, RefMut};
use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::task::{Poll, Waker};

use plimsoll_base::clock::Clock;
use plimsoll_base::poll::{Poll as Sockets, Ready};
use plimsoll_core::window::Effects;
use plimsoll_core::{Nanos, Outcome};

use crate::crew::Endpoint;
use crate::message::{Body, Report};
use crate::recorder::{Ending, Recorder};
use crate::source::{Arrival, Level, Part, Source};
use crate::worker::{Context, Users, Worker};

/// How often those that wait for a session are looked through for one whose time is over.
const SWEEP: Nanos = Nanos::from_millis(10);

/// What all workers of a test with sessions need to know.
#[derive(Debug, Clone)]
pub struct SessionPlan {
    pub workers: u32,
    /// Lane `n` belongs to worker `n % workers`.
    pub lanes: u32,
    /// Longest time of an operation, from its intended start.
    pub timeout: Nanos,
    /// Response-time bounds whose ok answers are counted exactly.
    pub bounds: Vec<Nanos>,
    pub seed: u64,
    /// Operations of all levels together; `None` is without end.
    pub attempts_max: Option<u64>,
}

/// What runs the sessions of one worker, on that worker's thread.
pub trait Host: 'static {
    /// Lets the sessions go on until that much time is over, or the descriptor that it was opened with can be read.
    fn wait(&mut self, timeout: Nanos) -> io::Result<()>;
    /// What went over its connections since it was asked last.
    fn take_traffic(&mut self, now: Nanos) -> Traffic;
}

/// What a driver's connections showed in a window.
#[derive(Debug, Clone, Default)]
pub struct Traffic {
    pub connections_open: u32,
    pub connects: u64,
    /// Operations whose first command was sent.
    pub sent: u64,
    /// Commands that were sent again for operations of that kind.
    pub resent: u64,
    /// Most commands on the wire at once, of all lanes.
    pub wire_max: u64,
    /// Only what the wire showed, by lane of this worker: time integral, most at once, commands.
    pub lanes: Vec<Effects>,
}

/// An operation that is due.
#[derive(Debug, Clone, Copy)]
pub struct Due {
    arrival: Arrival,
}

impl Due {
    /// When it was to begin, on the clock of the run.
    pub fn intended(&self) -> Nanos {
        self.arrival.intended
    }
}

/// How an operation ended.
#[derive(Debug, Clone)]
pub struct SessionEnd {
    pub outcome: Outcome,
    /// The code of the store's error; zero without one.
    pub status: u16,
    /// Which of the plan's operations it was.
    pub operation: u8,
    /// When its first command was sent; none if none was.
    pub sent: Option<Nanos>,
    /// Of the documents that it moved.
    pub bytes: u64,
    /// What the store says it did, if it acknowledged it.
    pub effects: Effects,
}

/// Where the sessions of one worker get what is due, and leave how it ended.
#[derive(Debug, Clone)]
pub struct Desk(Rc<RefCell<Room>>);

#[derive(Debug)]
struct Room {
    context: Context,
    timeout: Nanos,
    seed: u64,
    lanes: Vec<Lane>,
    /// Of all workers.
    lanes_count: u64,
    /// The level's start, from which phases count.
    level_start: Nanos,
}

#[derive(Debug)]
struct Lane {
    /// Its place among the lanes of all workers.
    number: u64,
    source: Source,
    /// Operations of a closed loop that are under way or due.
    looping: u32,
    /// Due, without a session.
    waiting: VecDeque<Arrival>,
    /// Sessions without anything to do.
    idle: Vec<Waker>,
    attempts_left: Option<u64>,
    /// The shortest time in which the store did one; zero until it did.
    fastest: Nanos,
    effects: Effects,
}

impl Desk {
    pub fn now(&self) -> Nanos {
        self.0.borrow().context.clock.now()
    }

    /// When the level began that is played.
    pub fn level_start(&self) -> Nanos {
        self.0.borrow().level_start
    }

    /// Lanes of this worker, by their places among all.
    pub fn lanes(&self) -> Vec<usize> {
        let room = self.0.borrow();
        room.lanes.iter().map(|lane| lane.number as usize).collect()
    }

    /// The next operation of the `lane`-th lane of this worker, as soon as one is due.
    pub async fn next(&self, lane: usize) -> Due {
        std::future::poll_fn(|task| {
            let mut room = self.0.borrow_mut();
            let now = room.context.clock.now();
            room.fill(lane, now);
            if let Some(arrival) = room.take_waiting(lane, now) {
                return Poll::Ready(Due { arrival });
            }
            room.lanes[lane].idle.push(task.waker().clone());
            Poll::Pending
        })
        .await
    }

    /// Counts the end of an operation of that lane.
    pub fn end(&self, lane: usize, due: Due, end: &SessionEnd) {
        self.0.borrow_mut().end(lane, due.arrival, end);
    }
}

impl Room {
    /// Takes what is due by now to those that wait for a session.
    fn fill(&mut self, lane: usize, now: Nanos) {
        let level = self.context.recorder.level;
        let lane = &mut self.lanes[lane];
        while lane.attempts_left != Some(0)
            && let Some(arrival) = lane.source.take_due(now, lane.looping, level)
        {
            if let Some(left) = &mut lane.attempts_left {
                *left -= 1;
            }
            lane.looping += u32::from(arrival.closed);
            self.context
                .recorder
                .lag
                .record(now.saturating_sub(arrival.intended));
            self.context.begin(arrival.intended, arrival.level, now);
            lane.waiting.push_back(arrival);
        }
    }

    /// The one that has waited longest and could still be answered before its client gives up, if the store were as fast as
    /// it ever was. Sending others would only take time from those that can be.
    fn take_waiting(&mut self, lane: usize, now: Nanos) -> Option<Arrival> {
        while let Some(arrival) = self.lanes[lane].waiting.pop_front() {
            if now + self.lanes[lane].fastest < arrival.intended + self.timeout {
                return Some(arrival);
            }
            self.drop_unsent(lane, arrival);
        }
        None
    }

    fn drop_unsent(&mut self, lane: usize, arrival: Arrival) {
        let end = SessionEnd {
            outcome: Outcome::Dropped,
            status: 0,
            operation: 0,
            sent: None,
            bytes: 0,
            effects: Effects::default(),
        };
        self.end(lane, arrival, &end);
    }

    fn end(&mut self, lane: usize, arrival: Arrival, end: &SessionEnd) {
        let now = self.context.clock.now();
        let response = now - arrival.intended;
        let late = end.outcome.has_answer() && response > self.timeout;
        let ending = Ending {
            level: arrival.level,
            intended: arrival.intended,
            outcome: if late { Outcome::Timeout } else { end.outcome },
            status: if late { 0 } else { end.status },
            response,
            service: end.sent.map(|sent| now - sent),
            bytes: end.bytes,
            operation: end.operation,
        };
        // No session, or no connection of the pool, came free in time: all of them waited for the store.
        self.context.recorder.dropped_target += u64::from(ending.outcome == Outcome::Dropped);
        self.context.end(&ending, now);
        let lane = &mut self.lanes[lane];
        if let (Outcome::Ok, Some(service)) = (ending.outcome, ending.service) {
            lane.fastest = match lane.fastest {
                Nanos::ZERO => service,
                fastest => fastest.min(service),
            };
        }
        lane.effects.merge(&end.effects);
        lane.effects.attempts_count += 1;
        if arrival.closed {
            lane.looping -= 1;
            lane.source.free(lane.looping, now);
        }
    }

    /// An operation found no session within its time: all of them waited for the store.
    fn give_up_waiting(&mut self, now: Nanos) {
        for place in 0..self.lanes.len() {
            while let Some(arrival) = self.lanes[place].waiting.front().copied()
                && arrival.intended + self.timeout <= now
            {
                self.lanes[place].waiting.pop_front();
                self.drop_unsent(place, arrival);
            }
        }
    }
}

/// The sessions of one worker as its loop sees them.
struct Sessions<H> {
    desk: Desk,
    host: H,
    poll: Sockets,
    is_exhausted: bool,
}

/// The body of a worker's thread.
pub(crate) fn work<H: Host>(
    endpoint: Endpoint,
    clock: Clock,
    plan: &SessionPlan,
    open: impl FnOnce(Desk, OwnedFd) -> Result<H, String>,
) {
    let (index, reports) = (endpoint.index, endpoint.reports.clone());
    let commands = endpoint.commands;
    let desk = desk(plan, index, clock, endpoint.reports);
    let woken = endpoint
        .poll
        .descriptor()
        .map_err(|error| format!("epoll: {error}"));
    let host = woken.and_then(|woken| open(desk.clone(), woken));
    let (host, body) = match host {
        Ok(host) => (Some(host), Body::Ready),
        Err(reason) => (None, Body::Failed(reason)),
    };
    reports.send(Report {
        worker: index,
        body,
    });
    if let Some(host) = host {
        let users = Sessions {
            desk,
            host,
            poll: endpoint.poll,
            is_exhausted: false,
        };
        Worker::new(users, commands).run();
    }
}

fn desk(
    plan: &SessionPlan,
    index: usize,
    clock: Clock,
    reports: plimsoll_base::mailbox::Sender<Report>,
) -> Desk {
    let part = Part {
        index: index as u64,
        workers: plan.workers.into(),
    };
    let all = u64::from(plan.lanes);
    let own = (0..all).filter(|lane| lane % part.workers == part.index);
    let lanes = own.map(|number| {
        let share = Part {
            index: number,
            workers: all,
        };
        Lane {
            number,
            source: Source::None,
            looping: 0,
            waiting: VecDeque::new(),
            idle: Vec::new(),
            attempts_left: plan.attempts_max.map(|total| share.share_of(total)),
            fastest: Nanos::ZERO,
            effects: Effects::default(),
        }
    });
    Desk(Rc::new(RefCell::new(Room {
        lanes: lanes.collect(),
        context: Context::new(part, clock, plan.bounds.clone(), reports),
        timeout: plan.timeout,
        seed: plan.seed,
        lanes_count: all,
        level_start: Nanos::ZERO,
    })))
}

impl<H: Host> Sessions<H> {
    fn room(&self) -> RefMut<'_, Room> {
        self.desk.0.borrow_mut()
    }
}

impl<H: Host> Users for Sessions<H> {
    type Held<'a>
        = RefMut<'a, Context>
    where
        Self: 'a;

    fn context(&mut self) -> RefMut<'_, Context> {
        RefMut::map(self.room(), |room| &mut room.context)
    }

    fn poll(&self) -> &Sockets {
        &self.poll
    }

    fn wait(&mut self, timeout: Nanos, ready: &mut Vec<Ready>) -> io::Result<()> {
        self.host.wait(timeout)?;
        self.poll.wait(Nanos::ZERO, ready)
    }

    /// What is due finds a session that has nothing to do; those that are busy come for it themselves.
    fn start_due(&mut self, now: Nanos) -> Option<Nanos> {
        let mut wakers = Vec::new();
        let mut room = self.desk.0.borrow_mut();
        for lane in 0..room.lanes.len() {
            room.fill(lane, now);
            let lane = &mut room.lanes[lane];
            let wanted = lane.waiting.len().min(lane.idle.len());
            wakers.extend(lane.idle.drain(..wanted));
        }
        let mut lanes = room.lanes.iter();
        let is_over =
            lanes.all(|lane| lane.attempts_left == Some(0)) && room.context.in_flight == 0;
        if is_over && !self.is_exhausted {
            room.context.report(Body::Exhausted);
        }
        self.is_exhausted |= is_over;
        drop(room);
        wakers.into_iter().for_each(Waker::wake);
        Some(now)
    }

    fn on_ready(&mut self, _ready: Ready) {}

    fn on_time(&mut self, _now: Nanos) {}

    fn next_event(&self) -> Nanos {
        let room = self.room();
        let due = room.lanes.iter().map(|lane| match lane.attempts_left {
            Some(0) => Nanos::MAX,
            // Who ends an operation of a closed loop begins the next: the loop need not come round for it.
            _ if lane.idle.is_empty() && matches!(lane.source, Source::Closed(_)) => Nanos::MAX,
            _ => lane.source.next(lane.looping),
        });
        due.min().unwrap_or(Nanos::MAX)
    }

    fn needs_sweep(&self) -> bool {
        self.room().context.in_flight > 0
    }

    fn sweep(&mut self, now: Nanos) -> Nanos {
        self.room().give_up_waiting(now);
        SWEEP
    }

    fn enter(&mut self, level: &Level, now: Nanos) {
        let _of_the_level_before = self.host.take_traffic(now);
        let mut room = self.room();
        let (seed, workers) = (room.seed, room.lanes_count);
        room.level_start = level.start;
        for place in 0..room.lanes.len() {
            let lane = &mut room.lanes[place];
            let share = Part {
                index: lane.number,
                workers,
            };
            lane.source = Source::from_level(level, share, seed, lane.looping);
            room.fill(place, now);
        }
    }

    fn stop_starting(&mut self, _now: Nanos) {
        for lane in &mut self.room().lanes {
            lane.source = Source::None;
        }
    }

    fn is_drained(&self) -> bool {
        self.room().context.in_flight == 0
    }

    fn connections(&mut self) -> (u32, u64) {
        (0, 0)
    }

    fn complete(&mut self, recorder: &mut Recorder) {
        let traffic = self.host.take_traffic(recorder.end);
        recorder.connections_open = traffic.connections_open;
        recorder.connects = traffic.connects;
        recorder.sent = traffic.sent;
        recorder.resent = traffic.resent;
        recorder.wire_max = traffic.wire_max;
        let mut room = self.desk.0.borrow_mut();
        for (lane, wire) in room.lanes.iter_mut().zip(traffic.lanes) {
            let mut effects = std::mem::take(&mut lane.effects);
            effects.merge(&wire);
            recorder.databases.push((lane.number as usize, effects));
        }
    }
}
