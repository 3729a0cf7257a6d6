//! One session: takes what is due, has the driver do it on documents of the ledger, tries again as its client would, and
//! says how that ended.

use std::cell::RefCell;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_base::random::Rng;
use plimsoll_core::test::Workload;
use plimsoll_core::test::workload::Operation;
use plimsoll_core::window::Effects;
use plimsoll_core::{Nanos, Outcome};
use plimsoll_engine::sessions::{Desk, Due, SessionEnd};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::spawn_local;
use tokio::time::timeout;

use crate::driver::{Answer, Driver, Failure};
use crate::keys::{Fate, Ledger};
use crate::sayings::Sayings;
use crate::wire::{self, Slot};

/// What the sessions of one database share.
#[derive(Debug)]
pub(crate) struct Lane<D> {
    pub(crate) driver: D,
    pub(crate) ledger: RefCell<Ledger>,
    pub(crate) workload: Rc<Workload>,
    /// Its place in the plan, and among the lanes of this worker.
    pub(crate) database: usize,
    pub(crate) place: usize,
    /// Of a whole operation.
    pub(crate) timeout: Nanos,
    /// On the connections of its pool; none: any number. Who waits for one here and gives up leaves no trace, whereas the
    /// pool of MongoDB's driver keeps the place of who left in its queue and hands out one place for each event, so that
    /// callers who give up in numbers find connections free and never get one.
    pub(crate) places: Option<Arc<Semaphore>>,
    pub(crate) sayings: Sayings,
}

/// One operation with the documents it is about.
#[derive(Debug)]
struct Task {
    operation: Operation,
    keys: Rc<[u32]>,
}

type Tried = Result<Answer, Failure>;
type Running = Pin<Box<dyn Future<Output = Tried>>>;

impl Task {
    /// What became of the documents after an error that says this, with so many commands sent. It answers the last of them: an
    /// attempt of the driver's own before that may have been carried out, and of several documents the first ones may have been.
    fn fate(&self, said: Fate, sent: u32) -> Fate {
        let is_several = self.keys.len() > 1;
        let is_in_doubt = sent > 1 || sent > 0 && is_several;
        match said {
            // Whatever the driver's error sounds like, nothing went out.
            Fate::Unknown if sent == 0 => Fate::NotDone,
            Fate::NotDone if is_in_doubt && self.operation != Operation::Read => Fate::Unknown,
            // Many large documents are inserted by several commands, and only the last one was refused.
            Fate::Untouched if sent > 1 && is_several && self.operation == Operation::Insert => {
                Fate::Unknown
            }
            Fate::Untouched => Fate::NotDone,
            Fate::Spent => Fate::Unknown,
            fate => fate,
        }
    }
}

/// Goes on until its worker ends.
pub(crate) async fn session<D: Driver>(lane: Rc<Lane<D>>, desk: Desk, mut rng: Rng) {
    let mut slot = Rc::new(Slot::default());
    loop {
        let due = desk.next(lane.place).await;
        let task = lane.draw(&desk, &mut rng);
        slot.clear();
        let ended = lane.carry_out(&task, &mut slot, (&desk, &due)).await;
        let end = lane.settle(&task, ended, &slot);
        desk.end(lane.place, due, &end);
    }
}

impl<D: Driver> Lane<D> {
    /// What is done next, by the mix of this moment.
    fn draw(&self, desk: &Desk, rng: &mut Rng) -> Task {
        let workload = &*self.workload;
        let database = &workload.databases[self.database];
        let since = desk.now().saturating_sub(desk.level_start());
        let operation = workload.mix_at(database, since).draw(rng.unit());
        let (batch, keys) = (workload.batch.get(), workload.keys);
        let mut ledger = self.ledger.borrow_mut();
        let taken = match operation {
            Operation::Insert => ledger.announce(batch),
            Operation::Read | Operation::Update => ledger.borrow(keys, batch, rng),
            Operation::Delete => ledger.withdraw(keys, batch, rng),
        };
        if taken.is_empty() {
            // Nothing is left to read, change or delete: the store is filled again.
            return Task {
                operation: Operation::Insert,
                keys: ledger.announce(batch).into(),
            };
        }
        if operation == Operation::Update {
            ledger.updating(&taken);
        }
        Task {
            operation,
            keys: taken.into(),
        }
    }

    /// Tries until it is done, may not be tried again, or its time is over.
    async fn carry_out(
        self: &Rc<Self>,
        task: &Task,
        slot: &mut Rc<Slot>,
        (desk, due): (&Desk, &Due),
    ) -> Tried {
        let policy = &self.workload.client;
        let deadline = due.intended() + self.timeout;
        let mut was_unsure = false;
        let mut tries = 0;
        loop {
            let failure = match self.try_once(task, slot, (desk, deadline)).await {
                Ok(answer) => return Ok(forgiven(task, answer, was_unsure)),
                Err(failure) if failure.is_duplicate && was_unsure => {
                    return done_before(task, failure);
                }
                Err(failure) => failure,
            };
            let is_unsure = failure.fate == Fate::Unknown;
            let pause = policy.retry_pause_ns;
            let is_over = desk.now() + pause >= deadline;
            if tries >= policy.retries || !failure.may_retry || is_over {
                let fate = if was_unsure {
                    Fate::Unknown
                } else {
                    failure.fate
                };
                return Err(Failure { fate, ..failure });
            }
            if is_unsure && !was_unsure {
                self.expect_late(task);
            }
            if is_unsure && task.operation == Operation::Update {
                // The next try may be a second update.
                self.ledger.borrow_mut().updating(&task.keys);
            }
            was_unsure |= is_unsure;
            tries += 1;
            if pause > Nanos::ZERO {
                tokio::time::sleep(Duration::from_nanos(pause.0)).await;
            }
        }
    }

    /// An insertion that was given up may reach the store when a later try has been acknowledged and the document deleted
    /// again, and would bring it back: such a document is never deleted.
    fn expect_late(&self, task: &Task) {
        if task.operation == Operation::Insert {
            self.ledger.borrow_mut().hold(&task.keys);
        }
    }

    /// One try: a place on a connection, then the driver.
    async fn try_once(
        self: &Rc<Self>,
        task: &Task,
        slot: &mut Rc<Slot>,
        (desk, deadline): (&Desk, Nanos),
    ) -> Tried {
        let policy = &self.workload.client;
        let began = desk.now();
        let left = deadline.saturating_sub(began);
        let limit = policy.try_timeout_ns.unwrap_or(left).min(left);
        let place = self.place(policy.pool_wait_ns, limit).await?;
        let rest = (began + limit).saturating_sub(desk.now());
        let before = slot.commands();
        let mut running = self.running(task, place);
        let tried = wire::tracked(slot, running.as_mut());
        match timeout(Duration::from_nanos(rest.0), tried).await {
            Ok(Err(failure)) => {
                let fate = task.fate(failure.fate, slot.commands() - before);
                Err(Failure { fate, ..failure })
            }
            Ok(Ok(answer)) => Ok(answer),
            Err(_) if self.driver.must_finish() => {
                let is_sent = slot.commands() > before;
                let given_up = Rc::clone(slot);
                *slot = Rc::new(given_up.followed_by(desk.now()));
                spawn_local(async move {
                    let _nobody_waits = wire::tracked(&given_up, running).await;
                });
                // Also what waits for its connection may be sent yet.
                Err(Failure {
                    fate: Fate::Unknown,
                    ..out_of_time(is_sent, limit)
                })
            }
            Err(_) => Err(out_of_time(slot.commands() > before, limit)),
        }
    }

    /// A place on a connection of the pool, if one comes free in time.
    async fn place(
        &self,
        pool_wait: Option<Nanos>,
        limit: Nanos,
    ) -> Result<Option<OwnedSemaphorePermit>, Failure> {
        let Some(places) = &self.places else {
            return Ok(None);
        };
        if let Ok(place) = Arc::clone(places).try_acquire_owned() {
            return Ok(Some(place));
        }
        let wait = pool_wait.unwrap_or(limit).min(limit);
        let place = Arc::clone(places).acquire_owned();
        match timeout(Duration::from_nanos(wait.0), place).await {
            Ok(place) => Ok(place.ok()),
            Err(_) if wait < limit => Err(unsent(wait)),
            Err(_) => Err(out_of_time(false, limit)),
        }
    }

    /// What the driver does, with all that it needs, so that it can be left to itself.
    fn running(self: &Rc<Self>, task: &Task, place: Option<OwnedSemaphorePermit>) -> Running {
        let (lane, keys, operation) = (Rc::clone(self), Rc::clone(&task.keys), task.operation);
        Box::pin(async move {
            let _place = place;
            match operation {
                Operation::Read => lane.driver.read(&keys).await,
                Operation::Insert => lane.driver.insert(&keys).await,
                Operation::Update => lane.driver.update(&keys).await,
                Operation::Delete => lane.driver.delete(&keys).await,
            }
        })
    }

    /// Writes down what became of the documents, and what the attempt counts as.
    fn settle(&self, task: &Task, ended: Tried, slot: &Slot) -> SessionEnd {
        let asked = task.keys.len() as u64;
        let (fate, outcome, status, answer) = match ended {
            Ok(answer) if answer.is_unacknowledged => {
                (Fate::Unknown, Outcome::Accepted, 0, Some(answer))
            }
            Ok(answer) if answer.documents == asked => (Fate::Done, Outcome::Ok, 0, Some(answer)),
            Ok(answer) => {
                let reason = format!(
                    "{} of {asked} documents: {} (acknowledged without an error)",
                    task.operation.name(),
                    answer.documents
                );
                self.sayings.note(Outcome::CheckFailed, &reason);
                // The store says that it did less than it was asked for: of which document is not said.
                let fate = if answer.documents == 0 {
                    Fate::NotDone
                } else {
                    Fate::Unknown
                };
                (fate, Outcome::CheckFailed, 0, Some(answer))
            }
            Err(failure) => {
                self.sayings.note(failure.outcome, &failure.reason);
                (failure.fate, failure.outcome, failure.status, None)
            }
        };
        let mut ledger = self.ledger.borrow_mut();
        match task.operation {
            Operation::Read => ledger.give_back(&task.keys),
            Operation::Insert => ledger.inserted(&task.keys, fate),
            Operation::Update => {
                ledger.updated(&task.keys, fate);
                ledger.give_back(&task.keys);
            }
            Operation::Delete => ledger.deleted(&task.keys, fate),
        }
        SessionEnd {
            outcome,
            status,
            operation: task.operation.index() as u8,
            sent: slot.sent(),
            bytes: answer.map_or(0, |answer| answer.bytes),
            effects: answer.map_or_else(Effects::default, |answer| effects(task, answer)),
        }
    }
}

fn effects(task: &Task, answer: Answer) -> Effects {
    let mut effects = Effects {
        acknowledged_count: 1,
        asked_count: task.keys.len() as u64,
        ..Effects::default()
    };
    let count = match task.operation {
        Operation::Read => &mut effects.returned_count,
        Operation::Insert => &mut effects.inserted_count,
        Operation::Update => &mut effects.matched_count,
        Operation::Delete => &mut effects.deleted_count,
    };
    *count = answer.documents;
    effects
}

/// What an earlier try has deleted already cannot be deleted again, and that was what was wanted.
fn forgiven(task: &Task, answer: Answer, was_unsure: bool) -> Answer {
    if was_unsure && task.operation == Operation::Delete {
        return Answer {
            documents: task.keys.len() as u64,
            ..answer
        };
    }
    answer
}

/// An earlier try has inserted it; of several documents at least the first, and nobody says how many more.
fn done_before(task: &Task, failure: Failure) -> Tried {
    if task.keys.len() > 1 {
        return Err(Failure {
            fate: Fate::Unknown,
            ..failure
        });
    }
    Ok(Answer {
        documents: 1,
        ..Answer::default()
    })
}

fn unsent(wait: Nanos) -> Failure {
    Failure {
        outcome: Outcome::Dropped,
        status: 0,
        fate: Fate::NotDone,
        is_duplicate: false,
        may_retry: true,
        reason: format!("no connection of the pool came free within {wait}"),
    }
}

fn out_of_time(is_sent: bool, limit: Nanos) -> Failure {
    let (outcome, fate, what) = match (is_sent, wire::open()) {
        (true, _) => (Outcome::Timeout, Fate::Unknown, "no answer"),
        (false, 0) => (Outcome::ConnectTimeout, Fate::NotDone, "no connection"),
        (false, _) => (
            Outcome::Dropped,
            Fate::NotDone,
            "no free connection of the pool",
        ),
    };
    Failure {
        outcome,
        status: 0,
        fate,
        is_duplicate: false,
        may_retry: true,
        reason: format!("{what} within {limit}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fate(operation: Operation, documents: u32, said: Fate, sent: u32) -> Fate {
        let keys = (0..documents).collect();
        Task { operation, keys }.fate(said, sent)
    }

    #[test]
    fn not_done_is_believed_where_one_command_asked_for_one_document() {
        for operation in [Operation::Insert, Operation::Update, Operation::Delete] {
            let after = |documents, sent| fate(operation, documents, Fate::NotDone, sent);
            assert_eq!(after(1, 0), Fate::NotDone, "{operation:?}");
            assert_eq!(after(10, 0), Fate::NotDone, "{operation:?}");
            assert_eq!(after(1, 1), Fate::NotDone, "{operation:?}");
            assert_eq!(after(1, 2), Fate::Unknown, "{operation:?}");
            assert_eq!(after(10, 1), Fate::Unknown, "{operation:?}");
        }
        assert_eq!(fate(Operation::Read, 10, Fate::NotDone, 2), Fate::NotDone);
    }

    #[test]
    fn a_store_that_says_that_nothing_was_written_is_believed() {
        let untouched =
            |operation, documents, sent| fate(operation, documents, Fate::Untouched, sent);
        assert_eq!(untouched(Operation::Update, 10, 3), Fate::NotDone);
        assert_eq!(untouched(Operation::Insert, 1, 3), Fate::NotDone);
        assert_eq!(untouched(Operation::Insert, 10, 1), Fate::NotDone);
        assert_eq!(untouched(Operation::Insert, 10, 2), Fate::Unknown);
    }
}
