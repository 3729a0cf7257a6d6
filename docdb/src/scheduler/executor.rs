//! Runs what is queued in batches: each batch is committed once, and only then are its replies released.

use std::sync::Arc;

use bson::RawDocumentBuf;
use plimsoll_base::Nanos;
use plimsoll_base::clock::Clock;

use super::job::{queue_full, wall_time};
use super::pace::Pace;
use super::{Census, Context, DatabaseSize, Done, FairQueue, Job, Operations, Work};
use crate::error::Result;
use crate::metrics::{Committed, Meter};
use crate::wire::Request;

/// How far a command came.
#[derive(Debug)]
pub enum Step<T> {
    /// The whole reply, with `ok`.
    Done(RawDocumentBuf),
    /// More is to do after others had their turn.
    More(T),
}

/// Why a command should not go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interrupt {
    /// Who sent it is gone.
    ClientLeft,
    /// `killOp`.
    Killed,
}

/// Carries commands out over one shard; the executor knows nothing else of it.
pub trait Backend {
    type Task;

    fn begin(&mut self, request: &Request, context: &Context) -> Step<Self::Task>;
    /// Goes on with a command that gave way, or ends it.
    fn go_on(
        &mut self,
        task: Self::Task,
        context: &Context,
        interrupt: Option<Interrupt>,
    ) -> Step<Self::Task>;
    /// A command that gave way goes on before others that did.
    fn keeps_turn(&self, _: &Self::Task) -> bool {
        false
    }
    /// Makes everything since the last commit durable. After an error nothing of it counts.
    fn commit(&mut self) -> Result<Committed>;
    /// Makes durable what was acknowledged before it was (`--durability interval`).
    fn sync(&mut self) -> Result<Committed>;
    /// A slice of background work: documents past their time, what dropped collections left, cursors nobody reads.
    fn tend(&mut self, now: bson::DateTime);
    /// Every database with its size, if that changed since it was last asked.
    fn census(&mut self) -> Option<Vec<DatabaseSize>>;
}

/// What bounds a batch and a queue.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Jobs that wait per database; the next is refused as retryable.
    pub queue: usize,
    /// Commands carried out per commit at most.
    pub batch: usize,
    /// No further command is begun in a batch after this time: who comes next waits no longer than this and one commit.
    pub turn: Nanos,
    /// Between two syncs, where writes are acknowledged before they are durable.
    pub(crate) sync_every: Option<Nanos>,
}

/// What long writes did is committed at least this often, whether or not anyone waits for it.
const COMMIT_WITHIN: Nanos = Nanos::from_millis(10);
/// How often background work gets a slice.
const TEND_EVERY: Nanos = Nanos::from_millis(100);

impl Default for Limits {
    fn default() -> Self {
        Self {
            queue: 1000,
            batch: 128,
            turn: Nanos(2_000_000),
            sync_every: None,
        }
    }
}

/// One thread's share of the databases.
#[derive(Debug)]
pub(crate) struct Executor<B: Backend> {
    backend: B,
    queue: FairQueue<Job<B::Task>>,
    limits: Limits,
    clock: Clock,
    meter: Arc<Meter>,
    census: Arc<Census>,
    operations: Arc<Operations>,
    finished: Vec<Finished>,
    /// Since when something is done that no commit followed.
    uncommitted: Option<Nanos>,
    pace: Pace,
    /// When what was acknowledged early is to be durable; `None` if all of it is.
    next_sync: Option<Nanos>,
    next_tend: Nanos,
}

/// A reply that waits for its batch's commit.
#[derive(Debug)]
struct Finished {
    done: Done,
    database: Arc<str>,
    arrived: Nanos,
}

impl<B: Backend> Executor<B> {
    pub(crate) fn new(
        mut backend: B,
        limits: Limits,
        clock: Clock,
        (meter, census, operations): (Arc<Meter>, Arc<Census>, Arc<Operations>),
    ) -> Self {
        let queue = FairQueue::new(limits.queue);
        let finished = Vec::new();
        if let Some(sizes) = backend.census() {
            census.publish(sizes);
        }
        Self {
            backend,
            queue,
            limits,
            clock,
            meter,
            census,
            operations,
            finished,
            uncommitted: None,
            pace: Pace::default(),
            next_sync: None,
            next_tend: Nanos::ZERO,
        }
    }

    /// Queues a job; the answer is the refusal if its database's queue is full.
    pub(crate) fn submit(&mut self, database: &str, job: Job<B::Task>) -> Result<(), Done> {
        self.queue.push(database, job).map_err(|job| {
            self.meter.refused(database);
            job.refused(&queue_full(database, self.limits.queue))
        })
    }

    /// How long to wait for further commands before the next batch; see [`Pace`].
    pub(crate) fn linger(&self) -> Option<Nanos> {
        let queued = self.queue.len();
        if queued == 0 {
            None
        } else {
            self.pace.linger(queued)
        }
    }

    pub(crate) fn has_work(&self) -> bool {
        !self.queue.is_empty()
    }

    /// Carries out one batch, commits it and appends the replies to `out`.
    pub(crate) fn turn(&mut self, out: &mut Vec<Done>) {
        let begun = self.clock.now();
        let mut now = begun;
        let mut carried_out = 0;
        while carried_out < self.limits.batch
            && let Some((database, job)) = self.queue.pop()
        {
            carried_out += 1;
            let (rest, end) = self.carry_out(&database, job, now);
            let gave_way = rest.is_some();
            self.queue.served(&database, end.0 - now.0, rest);
            now = end;
            // A slice of a long command was the longest that anyone should wait: who came meanwhile is looked for. And nobody whose
            // command is done waits for the commit until one that takes longer than a turn is done too.
            let spent = now.0 - begun.0;
            if gave_way || spent.saturating_add(self.queue.next_cost()) > self.limits.turn.0 {
                break;
            }
        }
        let since = self.uncommitted.or((carried_out > 0).then_some(begun));
        self.uncommitted = since;
        // Between the slices of a long write nobody waits for the disk.
        let due = since.is_some_and(|since| now.0 - since.0 >= COMMIT_WITHIN.0);
        if !self.finished.is_empty() || due {
            self.commit(now, out);
        }
        self.queue.tidy();
    }

    fn carry_out(
        &mut self,
        database: &Arc<str>,
        job: Job<B::Task>,
        now: Nanos,
    ) -> (Option<Job<B::Task>>, Nanos) {
        let Job {
            ticket,
            work,
            context,
            arrived,
            started,
            ..
        } = job;
        if started.is_none() {
            self.meter.waited(Nanos(now.0.saturating_sub(arrived.0)));
        }
        let (step, listed) = match work {
            Work::Fresh(request) => {
                let step = self.backend.begin(&request, &context);
                let list = || self.operations.list(&request, &ticket.client, now);
                let listed = matches!(step, Step::More(_)).then(list);
                (step, listed)
            }
            Work::Begun(task, listed) => {
                let interrupt = match (listed.is_killed(), ticket.client.has_left()) {
                    (true, _) => Some(Interrupt::Killed),
                    (false, true) => Some(Interrupt::ClientLeft),
                    (false, false) => None,
                };
                let step = self.backend.go_on(task, &context, interrupt);
                (step, Some(listed))
            }
        };
        let end = self.clock.now();
        let rest = match (step, listed) {
            (Step::Done(reply), _) => {
                let done = Done { ticket, reply };
                self.finished.push(Finished {
                    done,
                    database: Arc::clone(database),
                    arrived,
                });
                None
            }
            (Step::More(task), Some(listed)) => {
                let keeps_turn = self.backend.keeps_turn(&task);
                let (work, started) = (Work::Begun(task, listed), started.or(Some(now)));
                Some(Job {
                    ticket,
                    work,
                    context,
                    arrived,
                    started,
                    keeps_turn,
                })
            }
            (Step::More(_), None) => None,
        };
        (rest, end)
    }

    /// Every reply of the batch waits for the commit, reads too: what they saw may come from its writes.
    fn commit(&mut self, begun: Nanos, out: &mut Vec<Done>) {
        self.uncommitted = None;
        let committed = self.backend.commit();
        let now = self.clock.now();
        self.note_written(&committed, now);
        self.meter
            .committed(&committed, self.finished.len(), Nanos(now.0 - begun.0));
        self.pace.committed(&committed, self.finished.len());
        if let Some(sizes) = self.backend.census() {
            self.census.publish(sizes);
        }
        let failed = committed.err();
        for Finished {
            mut done,
            database,
            arrived,
        } in self.finished.drain(..)
        {
            if let Some(error) = &failed {
                done.reply = error.reply();
            }
            let failed = failed.is_some() || !is_ok(&done.reply);
            self.meter
                .answered(&database, Nanos(now.0.saturating_sub(arrived.0)), failed);
            out.push(done);
        }
    }

    /// The first write since a sync says when the next one is due.
    fn note_written(&mut self, committed: &Result<Committed>, now: Nanos) {
        if let Some(every) = self.limits.sync_every
            && committed.as_ref().is_ok_and(|done| done.bytes > 0)
        {
            self.next_sync.get_or_insert(now + every);
        }
    }

    /// How long [`Self::tend`] may be left alone: until the next sync, and never longer than `most`.
    pub(crate) fn idle(&self, most: Nanos) -> Nanos {
        let left = |due: Nanos| Nanos(due.0.saturating_sub(self.clock.now().0));
        self.next_sync.map_or(most, |due| left(due).min(most))
    }

    /// Whether [`Self::tend`] has something to do.
    pub(crate) fn is_due(&self) -> bool {
        let now = self.clock.now();
        now >= self.next_tend || self.next_sync.is_some_and(|due| now >= due)
    }

    /// What is due without a command: a sync, where writes are acknowledged before they are durable, and a slice of
    /// the backend's own work. Asked for between batches too: a server that never rests must do it as well.
    pub(crate) fn tend(&mut self) {
        let now = self.clock.now();
        if self.next_sync.is_some_and(|due| now >= due) {
            self.next_sync = None;
            self.sync();
        }
        if now >= self.next_tend {
            self.next_tend = now + TEND_EVERY;
            self.tend_backend();
        }
    }

    fn tend_backend(&mut self) {
        self.backend.tend(wall_time());
        self.uncommitted = None;
        let begun = self.clock.now();
        let committed = self.backend.commit();
        let now = self.clock.now();
        self.note_written(&committed, now);
        self.meter.committed(&committed, 0, now - begun);
        if let Some(sizes) = self.backend.census() {
            self.census.publish(sizes);
        }
        self.meter.depths(self.queue.depths());
    }

    /// The last act: what was acknowledged early becomes durable.
    pub(crate) fn finish(&mut self) {
        if self.limits.sync_every.is_some() {
            self.sync();
        }
    }

    fn sync(&mut self) {
        let begun = self.clock.now();
        let synced = self.backend.sync();
        self.meter.committed(&synced, 0, self.clock.now() - begun);
    }
}

/// Whether a reply is free of errors, those of single writes included.
fn is_ok(reply: &RawDocumentBuf) -> bool {
    let ok = reply.get_f64("ok").is_ok_and(|ok| ok > 0.0);
    ok && !matches!(reply.get("writeErrors"), Ok(Some(_)))
}

#[cfg(test)]
mod tests;
