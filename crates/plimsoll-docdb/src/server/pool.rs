//! `--scheduler shared`: the published design. Workers take one command each from the deepest queue, carry it out
//! under one lock over one store, and commit it alone.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use super::Shared;
use super::dispatch::{Letter, LocalExecutor, LocalJob};
use crate::error::Code;
use crate::scheduler::{DeepestQueue, Done};

/// The published limit of each database's queue.
const QUEUE: usize = 100;
/// The published bound of the number of workers.
const WORKERS_MAX: usize = 256;

/// The queues, and the store that all workers share.
#[derive(Debug, Clone)]
pub(crate) struct Pool(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    queue: Mutex<State>,
    work: Condvar,
    executor: Mutex<LocalExecutor>,
}

#[derive(Debug)]
struct State {
    queue: DeepestQueue<LocalJob>,
    stopping: bool,
}

impl Pool {
    pub(crate) fn new(executor: LocalExecutor) -> Self {
        let state = State {
            queue: DeepestQueue::new(QUEUE),
            stopping: false,
        };
        Self(Arc::new(Inner {
            queue: Mutex::new(state),
            work: Condvar::new(),
            executor: Mutex::new(executor),
        }))
    }

    /// Twice the cores or twice the databases, whichever is more, as published. Databases are counted at the start.
    pub(crate) fn workers(cores: usize, databases: usize) -> usize {
        (2 * cores).max(2 * databases).min(WORKERS_MAX)
    }

    pub(crate) fn submit(&self, database: &str, job: LocalJob) -> Result<(), Done> {
        let pushed = self.state().queue.push(database, job);
        self.0.work.notify_one();
        pushed.map_err(|job| {
            let text = format!("the queue of database '{database}' is full: {QUEUE} commands wait");
            let error = Code::IngressRequestRateLimitExceeded.error(text);
            let labels = &[
                "SystemOverloadedError",
                "RetryableError",
                "NoWritesPerformed",
            ];
            Done {
                ticket: job.ticket,
                reply: error.with_labels(labels).reply(),
            }
        })
    }

    pub(crate) fn start(
        &self,
        workers: usize,
        shared: &Arc<Shared>,
    ) -> std::io::Result<Vec<JoinHandle<()>>> {
        let spawn = |index: usize| {
            let (pool, shared) = (self.clone(), Arc::clone(shared));
            std::thread::Builder::new()
                .name(format!("worker-{index}"))
                .spawn(move || pool.work(&shared))
        };
        (0..workers).map(spawn).collect()
    }

    pub(crate) fn stop(&self) {
        self.state().stopping = true;
        self.0.work.notify_all();
    }

    fn work(&self, shared: &Shared) {
        let mut done = Vec::new();
        loop {
            let next = self.next();
            let mut executor = self
                .0
                .executor
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            match next {
                Next::Job(database, job) => {
                    if let Err(refused) = executor.submit(&database, *job) {
                        done.push(refused);
                    }
                    while executor.has_work() {
                        executor.turn(&mut done);
                    }
                }
                Next::Tend => executor.tend(shared.clock.now()),
                Next::Stop => {
                    executor.finish();
                    return;
                }
            }
            drop(executor);
            for one in done.drain(..) {
                shared.inboxes[one.ticket.event_loop].send(Letter::Done(one));
            }
        }
    }

    fn next(&self) -> Next {
        const IDLE: Duration = Duration::from_millis(50);
        let mut state = self.state();
        loop {
            if let Some((database, job)) = state.queue.pop() {
                return Next::Job(database, Box::new(job));
            }
            if state.stopping {
                return Next::Stop;
            }
            let (woken, waited) = self
                .0
                .work
                .wait_timeout(state, IDLE)
                .unwrap_or_else(PoisonError::into_inner);
            if waited.timed_out() {
                return Next::Tend;
            }
            state = woken;
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

enum Next {
    Job(Arc<str>, Box<LocalJob>),
    Tend,
    Stop,
}
