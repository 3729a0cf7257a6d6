//! A store in memory behind a client whose faults are chosen: what the real ones must not do, and must be found if they did.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::Duration;

use plimsoll_core::Outcome;
use tokio::sync::Semaphore;

use crate::driver::{Answer, Driver, Failure, Seat};
use crate::keys::Fate;
use crate::wire;

type Documents = BTreeMap<i64, i64>;

/// Every database by its name; tests use names of their own.
static STORED: LazyLock<Mutex<BTreeMap<String, Documents>>> = LazyLock::new(Mutex::default);

/// More documents of one command than a workload of these tests asks for: the database is being filled.
const BATCH_MOST: usize = 10;
/// So many documents of a command that breaks off are stored.
const PART: usize = 3;

/// What a store of that name does: `double:delay=20,serial,refuse=30,lose=30,fail=10,tear=20,turn_away`.
#[derive(Debug, Clone, Copy, Default)]
struct Faults {
    delay_ms: u64,
    /// One command at a time, whatever the pool.
    serial: bool,
    /// Of 100 writes so many are acknowledged and not done, and the answer says so.
    refuse: u64,
    /// The same, and the answer says that they were done.
    lose: u64,
    /// Of 100 operations so many end without an answer.
    fail: u64,
    /// Of 100 insertions of several documents so many are cut off after the third, and nobody answers.
    tear: u64,
    /// The first command that fills is turned away after the third document.
    turn_away: bool,
}

#[derive(Debug)]
pub(super) struct Double {
    name: String,
    lane: usize,
    faults: Faults,
    pool: Semaphore,
    count: Cell<u64>,
    turns_away: Cell<bool>,
}

impl Faults {
    fn of(store: &str) -> Self {
        let mut faults = Self::default();
        for part in store.trim_start_matches("double:").split(',') {
            let (name, value) = part.split_once('=').unwrap_or((part, "1"));
            let value: u64 = value.parse().unwrap_or(0);
            match name {
                "delay" => faults.delay_ms = value,
                "serial" => faults.serial = true,
                "refuse" => faults.refuse = value,
                "lose" => faults.lose = value,
                "fail" => faults.fail = value,
                "tear" => faults.tear = value,
                "turn_away" => faults.turn_away = true,
                _ => {}
            }
        }
        faults
    }
}

fn failed(outcome: Outcome, fate: Fate) -> Failure {
    Failure {
        outcome,
        status: 0,
        fate,
        is_duplicate: false,
        may_retry: true,
        reason: "the double fails".to_owned(),
    }
}

impl Double {
    /// Goes over a connection of the pool, as a command does.
    async fn command(
        &self,
        keys: &[u32],
        is_write: bool,
        act: impl Fn(&mut Documents, i64) -> Result<bool, Failure>,
    ) -> Result<Answer, Failure> {
        let _connection = self.pool.acquire().await;
        wire::taken(self.lane);
        if self.faults.delay_ms > 0 {
            tokio::time::sleep(Duration::from_millis(self.faults.delay_ms)).await;
        } else {
            tokio::task::yield_now().await;
        }
        wire::given_back(self.lane);
        let number = self.count.get();
        // Filling the database goes well.
        let is_filling = keys.len() > BATCH_MOST;
        self.count.set(number + u64::from(!is_filling));
        // Spread evenly, so that a short test sees them all.
        let turn = number * 37 % 100;
        let faults = if is_filling {
            Faults::default()
        } else {
            self.faults
        };
        if turn < faults.fail {
            return Err(failed(Outcome::Eof, Fate::Unknown));
        }
        let mut answer = Answer::default();
        if is_write && turn < faults.refuse {
            return Ok(answer);
        }
        let mut all = STORED.lock().unwrap_or_else(PoisonError::into_inner);
        let documents = all.entry(self.name.clone()).or_default();
        for (place, key) in keys.iter().enumerate() {
            if place == PART && turn < faults.tear {
                return Err(failed(Outcome::Eof, Fate::Unknown));
            }
            if place == PART && is_filling && self.turns_away.take() {
                return Err(failed(Outcome::Shed, Fate::NotDone));
            }
            let is_lost = is_write && turn < faults.lose;
            if is_lost || act(documents, i64::from(*key))? {
                answer.documents += 1;
                answer.bytes += 100;
            }
        }
        Ok(answer)
    }
}

impl Driver for Double {
    async fn open(seat: Seat<'_>) -> Result<Self, Failure> {
        let faults = Faults::of(&seat.workload.store);
        let room = if faults.serial {
            1
        } else {
            seat.connections as usize
        };
        Ok(Self {
            name: seat.workload.databases[seat.database].name.clone(),
            lane: seat.lane,
            faults,
            pool: Semaphore::new(room),
            count: Cell::new(0),
            turns_away: Cell::new(faults.turn_away),
        })
    }

    async fn read(&self, keys: &[u32]) -> Result<Answer, Failure> {
        self.command(keys, false, |documents, key| {
            Ok(documents.contains_key(&key))
        })
        .await
    }

    async fn insert(&self, keys: &[u32]) -> Result<Answer, Failure> {
        self.command(keys, true, |documents, key| {
            if documents.contains_key(&key) {
                return Err(Failure {
                    is_duplicate: true,
                    may_retry: false,
                    ..failed(Outcome::CheckFailed, Fate::NotDone)
                });
            }
            documents.insert(key, 0);
            Ok(true)
        })
        .await
    }

    async fn update(&self, keys: &[u32]) -> Result<Answer, Failure> {
        let up = |documents: &mut Documents, key: i64| {
            Ok(documents.get_mut(&key).map(|count| *count += 1).is_some())
        };
        self.command(keys, true, up).await
    }

    async fn delete(&self, keys: &[u32]) -> Result<Answer, Failure> {
        self.command(keys, true, |documents, key| {
            Ok(documents.remove(&key).is_some())
        })
        .await
    }

    async fn clear(&self) -> Result<(), Failure> {
        STORED
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&self.name);
        Ok(())
    }

    async fn prepare(&self) -> Result<(), Failure> {
        Ok(())
    }

    async fn stored(&self) -> Result<BTreeMap<i64, i64>, Failure> {
        let all = STORED.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(all.get(&self.name).cloned().unwrap_or_default())
    }
}
