//! Where a command is carried out: on the loop of its shard, on its database's own thread, or by a pool.

use plimsoll_core::Nanos;

use super::Shared;
use super::own_thread::OwnThreads;
use super::placement::Placement;
use super::pool::Pool;
use super::stream::Stream;
use crate::scheduler::{Backend, Done, Executor, Job};
use crate::shard::Shard;

pub(crate) type LocalJob = Job<<Shard as Backend>::Task>;

/// What one thread sends to an event loop.
#[derive(Debug)]
pub(crate) enum Letter {
    /// A client that the first loop accepted.
    Accepted(Stream),
    /// A command for a database of this loop's shard.
    Job(String, Box<LocalJob>),
    /// A reply to a client of this loop.
    Done(Done),
    /// Answer what was accepted, then end.
    Stop,
}

#[derive(Debug)]
pub(crate) enum Dispatch {
    Sharded(Placement),
    PerDatabase(OwnThreads),
    Shared(Pool),
}

impl Dispatch {
    /// The event loop that carries out the commands of `database`; `None` where no loop does.
    pub(crate) fn owner(&self, database: &str) -> Option<usize> {
        match self {
            Self::Sharded(placement) => Some(placement.of(database)),
            Self::PerDatabase(_) | Self::Shared(_) => None,
        }
    }

    /// Passes a command to another thread, or gives the refusal.
    pub(crate) fn submit(
        &self,
        shared: &Shared,
        database: &str,
        job: LocalJob,
    ) -> Result<(), Done> {
        match self {
            Self::Sharded(placement) => {
                shared.inboxes[placement.of(database)]
                    .send(Letter::Job(database.to_owned(), Box::new(job)));
                Ok(())
            }
            Self::PerDatabase(threads) => threads.submit(shared, database, job),
            Self::Shared(pool) => pool.submit(database, job),
        }
    }
}

/// Wall time, as commands see it.
pub(crate) fn wall() -> bson::DateTime {
    bson::DateTime::from_millis(plimsoll_net::clock::wall_millis())
}

/// An executor and when its background work is due.
#[derive(Debug)]
pub(crate) struct LocalExecutor {
    executor: Executor<Shard>,
    /// Between two syncs, where writes are acknowledged before they are durable.
    interval: Option<Nanos>,
    next_sync: Nanos,
    next_tend: Nanos,
}

/// How often background work gets a slice.
const TEND_EVERY: Nanos = Nanos(100_000_000);

impl LocalExecutor {
    pub(crate) fn new(executor: Executor<Shard>, interval: Option<Nanos>) -> Self {
        Self {
            executor,
            interval,
            next_sync: Nanos(0),
            next_tend: Nanos(0),
        }
    }

    pub(crate) fn has_work(&self) -> bool {
        self.executor.has_work()
    }

    pub(crate) fn linger(&self) -> Option<Nanos> {
        self.executor.linger()
    }

    pub(crate) fn submit(&mut self, database: &str, job: LocalJob) -> Result<(), Done> {
        self.executor.submit(database, job)
    }

    pub(crate) fn turn(&mut self, out: &mut Vec<Done>) {
        self.executor.turn(out);
    }

    /// The last act: what was acknowledged early becomes durable.
    pub(crate) fn finish(&mut self) {
        if self.interval.is_some() {
            self.executor.sync();
        }
    }

    pub(crate) fn tend(&mut self, now: Nanos) {
        if let Some(interval) = self.interval.filter(|_| now.0 >= self.next_sync.0) {
            self.next_sync = Nanos(now.0 + interval.0);
            self.executor.sync();
        }
        if now.0 >= self.next_tend.0 {
            self.next_tend = Nanos(now.0 + TEND_EVERY.0);
            self.executor.tend(wall());
        }
    }
}
