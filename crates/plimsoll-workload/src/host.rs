//! Runs the sessions of one worker: an event loop of tokio inside of the worker's own, which is woken by both.

use std::io;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use plimsoll_base::clock::Clock;
use plimsoll_base::random::Rng;
use plimsoll_core::Nanos;
use plimsoll_core::test::Workload;
use plimsoll_engine::sessions::{Desk, Host, Traffic};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Semaphore;
use tokio::task::LocalSet;

use crate::driver::{Driver, Seat};
use crate::keys::Ledger;
use crate::sayings::Sayings;
use crate::session::{Lane, session};
use crate::wire;

/// The first stream of random numbers of sessions: one each.
const FIRST_STREAM: u64 = 1 << 32;

/// What the databases hold and owe: with the workers while they run, and here before and afterwards.
pub(crate) type Shelf = Arc<Mutex<Vec<Option<Ledger>>>>;

/// What every worker is handed.
#[derive(Debug, Clone)]
pub(crate) struct Post {
    pub(crate) workload: Workload,
    pub(crate) shelf: Shelf,
    pub(crate) sayings: Sayings,
    pub(crate) clock: Clock,
    pub(crate) seed: u64,
    pub(crate) timeout: Nanos,
    pub(crate) patience: Duration,
}

pub(crate) struct SessionHost<D: Driver> {
    /// Dropped before the runtime that it belongs to.
    sessions: LocalSet,
    alarms: Alarms,
    lanes: Vec<Rc<Lane<D>>>,
    shelf: Shelf,
    runtime: Runtime,
}

/// What ends a wait.
struct Alarms {
    /// The worker's own event loop: a command came.
    woken: AsyncFd<OwnedFd>,
    /// The timers of tokio are as fine as a millisecond, which is more than an arrival may be late.
    timer: AsyncFd<OwnedFd>,
}

impl<D: Driver> SessionHost<D> {
    /// Opens the pools of this worker's databases and starts their sessions. Called on the worker's thread.
    pub(crate) fn open(post: &Post, desk: &Desk, woken: OwnedFd) -> Result<Self, String> {
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| format!("event loop: {error}"))?;
        let places = desk.lanes();
        wire::begin(post.clock, places.len());
        let workload = Rc::new(post.workload.clone());
        let alarms = {
            let _inside = runtime.enter();
            Alarms::new(woken).map_err(|error| format!("event loop: {error}"))?
        };
        let sessions = LocalSet::new();
        let mut lanes = Vec::new();
        for (place, database) in places.into_iter().enumerate() {
            let seat = Seat {
                workload: &workload,
                database,
                lane: place,
                connections: workload.connections.get(),
                patience: post.patience,
            };
            let driver = runtime.block_on(sessions.run_until(D::open(seat)));
            let driver = driver.map_err(|failure| failure.reason)?;
            let ledger = taken(&post.shelf, database).ok_or("a database was loaded twice")?;
            let lane = Rc::new(Lane {
                driver,
                ledger: ledger.into(),
                workload: Rc::clone(&workload),
                database,
                place,
                timeout: post.timeout,
                places: workload
                    .room()
                    .map(|room| Arc::new(Semaphore::new(room as usize))),
                sayings: post.sayings.clone(),
            });
            for number in 0..workload.sessions.get() {
                let count = u64::from(workload.sessions.get());
                let stream = FIRST_STREAM + database as u64 * count + u64::from(number);
                let rng = Rng::new(post.seed, stream);
                sessions.spawn_local(session(Rc::clone(&lane), desk.clone(), rng));
            }
            lanes.push(lane);
        }
        Ok(Self {
            sessions,
            alarms,
            lanes,
            shelf: Arc::clone(&post.shelf),
            runtime,
        })
    }
}

fn taken(shelf: &Shelf, database: usize) -> Option<Ledger> {
    let mut shelf = shelf.lock().unwrap_or_else(PoisonError::into_inner);
    shelf.get_mut(database)?.take()
}

impl<D: Driver> Host for SessionHost<D> {
    fn wait(&mut self, timeout: Nanos) -> io::Result<()> {
        let Self {
            sessions,
            alarms,
            runtime,
            ..
        } = self;
        runtime.block_on(sessions.run_until(async {
            if timeout == Nanos::ZERO {
                tokio::task::yield_now().await;
                return Ok(());
            }
            alarms.set(timeout)?;
            std::future::poll_fn(|task| alarms.poll(task)).await
        }))
    }

    fn take_traffic(&mut self, now: Nanos) -> Traffic {
        wire::take(now)
    }
}

impl<D: Driver> Drop for SessionHost<D> {
    /// Whatever is under way stays unknown; what is known is put back.
    fn drop(&mut self) {
        let _inside = self.runtime.enter();
        drop(std::mem::take(&mut self.sessions));
        let mut shelf = self.shelf.lock().unwrap_or_else(PoisonError::into_inner);
        for lane in &self.lanes {
            shelf[lane.database] = Some(lane.ledger.take());
        }
        // Drivers say goodbye on the event loop that they were opened on.
        drop(shelf);
        self.lanes.clear();
    }
}

#[expect(
    deprecated,
    reason = "unsound for types that change their descriptor, which this one cannot; the new name needs unsafe code"
)]
fn watched(descriptor: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    AsyncFd::with_interest(descriptor, Interest::READABLE)
}

impl Alarms {
    fn new(woken: OwnedFd) -> io::Result<Self> {
        let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        Ok(Self {
            woken: watched(woken)?,
            timer: watched(timer)?,
        })
    }

    fn set(&self, timeout: Nanos) -> io::Result<()> {
        let never = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        let at = Itimerspec {
            it_interval: never,
            it_value: Timespec {
                tv_sec: (timeout.0 / 1_000_000_000).cast_signed(),
                tv_nsec: (timeout.0 % 1_000_000_000).cast_signed(),
            },
        };
        timerfd_settime(self.timer.get_ref(), TimerfdTimerFlags::empty(), &at)?;
        Ok(())
    }

    fn poll(&self, task: &mut Context<'_>) -> Poll<io::Result<()>> {
        for alarm in [&self.timer, &self.woken] {
            if let Poll::Ready(guard) = alarm.poll_read_ready(task) {
                // Who waits reads what is there: the worker's loop its commands, the next setting the timer.
                guard?.clear_ready();
                return Poll::Ready(Ok(()));
            }
        }
        Poll::Pending
    }
}
