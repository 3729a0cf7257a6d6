//! Carries commands out over a shard; nothing counts before the next commit.

use bson::raw::cstr;
use plimsoll_base::Nanos;

use crate::command;
use crate::error::{Code, Result};
use crate::metrics::Committed;
use crate::scheduler::{Backend, Context, DatabaseSize, Step};
use crate::shard::{Flow, Resumable, Shard};
use crate::wire::Request;

/// Time that one call of [`Backend::tend`] may take before it leaves the rest to the next.
const TEND: Nanos = Nanos(2_000_000);

/// A command that gave way to others.
#[derive(Debug)]
pub struct Task {
    job: Box<dyn Resumable>,
    /// It is a write.
    is_write: bool,
    /// [`Shard::failures`] when it gave way.
    failures: u64,
    /// When `maxTimeMS` is over, by the shard's clock.
    deadline: Option<Nanos>,
}

impl Shard {
    fn step(&mut self, flow: Result<Flow>, deadline: Option<Nanos>, is_write: bool) -> Step<Task> {
        match flow {
            Ok(Flow::Done(mut reply)) => {
                if let Some(label) = self.label.as_ref().filter(|_| is_write) {
                    reply.append(cstr!("docdb"), label);
                }
                Step::Done(reply)
            }
            Ok(Flow::More(job)) if deadline.is_some_and(|time| self.clock.now() > time) => {
                drop(job);
                let error = Code::MaxTimeMSExpired.error("operation exceeded time limit");
                Step::Done(error.reply())
            }
            Ok(Flow::More(job)) => Step::More(Task {
                job,
                is_write,
                failures: self.failures,
                deadline,
            }),
            Err(error) => Step::Done(error.reply()),
        }
    }
}

impl Backend for Shard {
    type Task = Task;

    fn begin(&mut self, request: &Request, context: &Context) -> Step<Task> {
        let flow = command::begin(self, request, context);
        let deadline = match &flow {
            Ok(Flow::More(_)) => command::max_time(request)
                .map(|limit| Nanos(self.clock.now().0.saturating_add(limit.0))),
            _ => None,
        };
        let is_write = self.label.is_some() && command::is_write(request.name());
        self.step(flow, deadline, is_write)
    }

    fn go_on(&mut self, task: Task, _context: &Context) -> Step<Task> {
        let flow = if task.failures == self.failures {
            task.job.go_on(self)
        } else {
            Err(Code::Interrupted.error(
                "a part of this command could not be made durable, so the rest was not done",
            ))
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
                Err(error.into())
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
