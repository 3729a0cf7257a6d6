//! `--scheduler shared`: the published design. Workers take one command each from the deepest queue, carry it out
//! under one lock over one store, and commit it alone.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use plimsoll_base::Nanos;

use super::inbox::Inbox;
use super::letter::{IDLE, Letter, ShardExecutor, ShardJob, deliver};
use crate::scheduler::{DeepestQueue, Done, queue_full};

/// The published limit of each database's queue.
const QUEUE: usize = 100;
/// The published bound of the number of workers.
const WORKERS_MAX: usize = 256;

/// The queues, and the store that all workers share.
#[derive(Debug, Clone)]
pub(crate) struct Pool(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    queue: Mutex<Waiting>,
    work: Condvar,
    executor: Mutex<ShardExecutor>,
}

#[derive(Debug)]
struct Waiting {
    queue: DeepestQueue<ShardJob>,
    stopping: bool,
}

impl Pool {
    pub(crate) fn new(executor: ShardExecutor) -> Self {
        let waiting = Waiting {
            queue: DeepestQueue::new(QUEUE),
            stopping: false,
        };
        Self(Arc::new(Inner {
            queue: Mutex::new(waiting),
            work: Condvar::new(),
            executor: Mutex::new(executor),
        }))
    }

    /// Twice the cores or twice the databases, whichever is more, as published. Databases are counted at the start.
    pub(crate) fn workers(cores: usize, databases: usize) -> usize {
        (2 * cores).max(2 * databases).min(WORKERS_MAX)
    }

    pub(crate) fn submit(&self, database: &str, job: ShardJob) -> Result<(), Done> {
        let pushed = self.waiting().queue.push(database, job);
        self.0.work.notify_one();
        pushed.map_err(|job| job.refused(&queue_full(database, QUEUE)))
    }

    pub(crate) fn start(
        &self,
        workers: usize,
        inboxes: &Arc<Vec<Inbox<Letter>>>,
    ) -> std::io::Result<Vec<JoinHandle<()>>> {
        let spawn = |index: usize| {
            let (pool, inboxes) = (self.clone(), Arc::clone(inboxes));
            std::thread::Builder::new()
                .name(format!("worker-{index}"))
                .spawn(move || pool.work(&inboxes))
        };
        (0..workers).map(spawn).collect()
    }

    pub(crate) fn stop(&self) {
        self.waiting().stopping = true;
        self.0.work.notify_all();
    }

    fn work(&self, inboxes: &[Inbox<Letter>]) {
        let mut done = Vec::new();
        let mut idle = IDLE;
        loop {
            let next = self.next(idle);
            let mut executor = self.executor();
            match next {
                Assignment::Job(database, job) => {
                    if let Err(refused) = executor.submit(&database, *job) {
                        done.push(refused);
                    }
                    while executor.has_work() {
                        executor.turn(&mut done);
                    }
                }
                Assignment::Tend => executor.tend(),
                Assignment::Stop => {
                    executor.finish();
                    return;
                }
            }
            let is_due = executor.is_due();
            idle = executor.idle(IDLE);
            drop(executor);
            done.drain(..).for_each(|one| deliver(inboxes, one));
            // Whoever wrote last sees to it that it is synced in time, also where the queue is never empty.
            if is_due {
                let mut executor = self.executor();
                executor.tend();
                idle = executor.idle(IDLE);
            }
        }
    }

    fn executor(&self) -> MutexGuard<'_, ShardExecutor> {
        let executor = self.0.executor.lock();
        executor.unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits no longer than `idle` for a command.
    fn next(&self, idle: Nanos) -> Assignment {
        let mut waiting = self.waiting();
        loop {
            if let Some((database, job)) = waiting.queue.pop() {
                return Assignment::Job(database, Box::new(job));
            }
            if waiting.stopping {
                return Assignment::Stop;
            }
            let (woken, timeout) = self
                .0
                .work
                .wait_timeout(waiting, Duration::from_nanos(idle.0))
                .unwrap_or_else(PoisonError::into_inner);
            if timeout.timed_out() {
                return Assignment::Tend;
            }
            waiting = woken;
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.0.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a worker does next.
enum Assignment {
    Job(Arc<str>, Box<ShardJob>),
    Tend,
    Stop,
}
