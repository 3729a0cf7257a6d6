//! `--scheduler per-database`: a thread, a store and a journal for each database.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use super::ServerError;
use super::executors::Executors;
use super::inbox::Inbox;
use super::letter::{IDLE, Letter, ShardExecutor, ShardJob, deliver};
use crate::error::{Code, Result};
use crate::scheduler::Done;

/// Databases at most in this arrangement, since each costs a thread.
const THREADS_MAX: usize = 256;

#[derive(Debug)]
pub(crate) struct OwnThreads {
    executors: Arc<Executors>,
    inboxes: Arc<Vec<Inbox<Letter>>>,
    running: Mutex<BTreeMap<String, Thread>>,
    /// Opened at the start; their threads begin with their first command.
    opened: Mutex<BTreeMap<String, ShardExecutor>>,
}

#[derive(Debug)]
struct Thread {
    jobs: Sender<ShardJob>,
    handle: JoinHandle<()>,
}

impl OwnThreads {
    pub(crate) fn new(executors: Arc<Executors>, inboxes: Arc<Vec<Inbox<Letter>>>) -> Self {
        Self {
            executors,
            inboxes,
            running: Mutex::default(),
            opened: Mutex::default(),
        }
    }

    /// Passes a command to its database's thread, which is started at the first one.
    pub(crate) fn submit(&self, database: &str, job: ShardJob) -> Result<(), Done> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if !running.contains_key(database) {
            match self.start(database, running.len()) {
                Ok(thread) => drop(running.insert(database.to_owned(), thread)),
                Err(error) => return Err(job.refused(&error)),
            }
        }
        let Some(thread) = running.get(database) else {
            return Err(ended(&job));
        };
        thread.jobs.send(job).map_err(|unsent| ended(&unsent.0))
    }

    /// Opens a database that exists, so that it is listed before its first command.
    pub(crate) fn open(&self, database: &str) -> Result<(), ServerError> {
        let executor = self.executors.for_database(database)?;
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        opened.insert(database.to_owned(), executor);
        Ok(())
    }

    /// Ends every thread after its last command.
    pub(crate) fn stop(&self) {
        let running =
            std::mem::take(&mut *self.running.lock().unwrap_or_else(PoisonError::into_inner));
        for (_, Thread { jobs, handle }) in running {
            drop(jobs);
            // A thread that died was reported when it did.
            let _dead = handle.join();
        }
    }

    fn start(&self, database: &str, running: usize) -> Result<Thread> {
        if running >= THREADS_MAX {
            let text = format!(
                "--scheduler per-database serves {THREADS_MAX} databases at most; use --scheduler sharded"
            );
            return Err(Code::IllegalOperation.error(text));
        }
        let opened = self
            .opened
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(database);
        let executor = match opened {
            Some(executor) => executor,
            None => self.executors.for_database(database).map_err(|error| {
                Code::InternalError.error(format!("cannot open database '{database}': {error}"))
            })?,
        };
        let (sender, receiver) = channel();
        let (inboxes, name) = (Arc::clone(&self.inboxes), database.to_owned());
        let work = move || {
            run(&name, executor, &receiver, &|done| deliver(&inboxes, done));
        };
        let handle = std::thread::Builder::new()
            .name(format!("db-{database}"))
            .spawn(work)
            .map_err(|error| {
                Code::InternalError.error(format!("cannot start a thread: {error}"))
            })?;
        Ok(Thread {
            jobs: sender,
            handle,
        })
    }
}

/// Takes all that waits, carries it out as batches and sends the replies, until no more can come.
fn run(
    database: &str,
    mut executor: ShardExecutor,
    jobs: &Receiver<ShardJob>,
    reply: &dyn Fn(Done),
) {
    let mut done = Vec::new();
    loop {
        match jobs.recv_timeout(Duration::from_nanos(executor.idle(IDLE).0)) {
            Ok(first) => {
                for job in std::iter::once(first).chain(jobs.try_iter()) {
                    done.extend(executor.submit(database, job).err());
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                executor.finish();
                return;
            }
        }
        while executor.has_work() {
            executor.turn(&mut done);
            for job in jobs.try_iter() {
                done.extend(executor.submit(database, job).err());
            }
            done.drain(..).for_each(reply);
            executor.tend();
        }
        done.drain(..).for_each(reply);
        executor.tend();
    }
}

fn ended(job: &ShardJob) -> Done {
    job.refused(&Code::InterruptedAtShutdown.error("the thread of this database has ended"))
}
