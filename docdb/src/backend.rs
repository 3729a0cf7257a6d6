//! Carries commands out over a shard; nothing counts before the next commit.

use bson::raw::cstr;
use plimsoll_base::Nanos;

use crate::command;
use crate::error::{Code, CommandError, Result};
use crate::memory::Claim;
use crate::metrics::Committed;
use crate::query::Lists;
use crate::scheduler::{Backend, Context, DatabaseSize, Interrupt, Step};
use crate::shard::{Flow, Resumable, Shard};
use crate::wire::Request;

/// Time that one call of [`Backend::tend`] may take before it leaves the rest to the next.
const TEND: Nanos = Nanos(2_000_000);

/// A command that gave way to others.
#[derive(Debug)]
pub struct Task {
    job: Box<dyn Resumable>,
    /// It is a write: it goes on without its client, as in MongoDB.
    is_write: bool,
    /// [`Shard::failures`] when it gave way.
    failures: u64,
    /// When `maxTimeMS` is over, by the shard's clock.
    deadline: Option<Nanos>,
    /// What its filter takes; after the job, which holds the filter.
    claim: Option<Claim>,
    lists: Lists,
}

impl Shard {
    fn step(&mut self, flow: Result<Flow>, deadline: Option<Nanos>, is_write: bool) -> Step<Task> {
        let claim = self.cursors.reading.take();
        let lists = std::mem::take(&mut self.lists);
        match flow {
            Ok(Flow::Done(mut reply)) => {
                if let Some(label) = self.label.as_ref().filter(|_| is_write) {
                    reply.append(cstr!("docdb"), label);
                }
                Step::Done(reply)
            }
            Ok(Flow::More(job)) if self.is_late(deadline) => self.give_up(job, &late()),
            Ok(Flow::More(job)) => Step::More(Task {
                job,
                is_write,
                failures: self.failures,
                deadline,
                claim,
                lists,
            }),
            Err(error) => Step::Done(error.reply()),
        }
    }

    /// The error of a command of which a part could not be made durable: the disk's own, which says what to do.
    fn lost(&self) -> CommandError {
        let (code, why) = match &self.failure {
            Some(failure) => (failure.code, format!(": {failure}")),
            None => (Code::Interrupted, String::new()),
        };
        code.error(format!(
            "a part of this command could not be made durable, so the rest was not done{why}"
        ))
    }

    fn is_late(&self, deadline: Option<Nanos>) -> bool {
        deadline.is_some_and(|time| self.clock.now() > time)
    }

    /// Ends a command between two slices.
    fn give_up(&mut self, job: Box<dyn Resumable>, error: &CommandError) -> Step<Task> {
        job.give_up(self);
        Step::Done(error.reply())
    }
}

fn late() -> CommandError {
    Code::MaxTimeMSExpired.error("operation exceeded time limit")
}

impl Backend for Shard {
    type Task = Task;

    fn begin(&mut self, request: &Request, context: &Context) -> Step<Task> {
        let flow = command::begin(self, request, context);
        let deadline = match &flow {
            Ok(Flow::More(job)) => job.deadline().or_else(|| {
                let limit = command::max_time(request)?;
                Some(Nanos(self.clock.now().0.saturating_add(limit.0)))
            }),
            _ => None,
        };
        let matters = self.label.is_some() || matches!(flow, Ok(Flow::More(_)));
        let is_write = matters && command::is_write(request.name());
        self.step(flow, deadline, is_write)
    }

    fn keeps_turn(&self, task: &Task) -> bool {
        task.job.keeps_turn()
    }

    fn go_on(&mut self, task: Task, _: &Context, interrupt: Option<Interrupt>) -> Step<Task> {
        match interrupt {
            Some(Interrupt::Killed) => {
                let error = Code::Interrupted.error("operation was interrupted");
                return self.give_up(task.job, &error);
            }
            Some(Interrupt::ClientLeft) if !task.is_write => {
                let error = Code::ClientDisconnect.error("the client of this operation has left");
                return self.give_up(task.job, &error);
            }
            _ if self.is_late(task.deadline) => return self.give_up(task.job, &late()),
            _ => {}
        }
        self.cursors.reading = task.claim;
        self.lists = task.lists;
        let flow = if task.failures == self.failures {
            task.job.go_on(self)
        } else {
            Err(self.lost())
        };
        self.step(flow, task.deadline, task.is_write)
    }

    fn commit(&mut self) -> Result<Committed> {
        self.sizes_changed |= self.catalog.put_counts(&mut self.store);
        match self.store.commit() {
            Ok(commit) => Ok(Committed {
                writes: usize::try_from(commit.operations).unwrap_or(usize::MAX),
                bytes: commit.bytes,
                fsync: (commit.is_durable && commit.bytes > 0).then_some(commit.sync_time),
            }),
            Err(error) => {
                // What was not committed never was: names, counts and multikey marks go back with it.
                self.failures += 1;
                self.catalog.reload(&mut self.store);
                let error = CommandError::from(error);
                self.failure = Some(error.clone());
                Err(error)
            }
        }
    }

    fn sync(&mut self) -> Result<Committed> {
        let time = self.store.sync()?;
        Ok(Committed {
            fsync: Some(time),
            ..Committed::default()
        })
    }

    /// Expired documents, cursors nobody asked for, keys of dropped collections.
    fn tend(&mut self, now: bson::DateTime) {
        let begun = self.clock.now();
        // An error of the store comes up again in the commit that follows, and in commands.
        while self.tend_once(now).unwrap_or(false) {
            if self.clock.now().0.saturating_sub(begun.0) > TEND.0 {
                break;
            }
        }
        self.catalog.names_changed |= std::mem::take(&mut self.sizes_changed);
    }

    /// Changed names are told at once, changed sizes after the next [`Backend::tend`]: every write changes some.
    fn census(&mut self) -> Option<Vec<DatabaseSize>> {
        std::mem::take(&mut self.catalog.names_changed).then(|| self.databases())
    }
}
