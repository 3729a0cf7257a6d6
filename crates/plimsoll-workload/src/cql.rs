//! Databases of CQL (Apache Cassandra, `ScyllaDB`) through the driver `scylla`: a session with a pool of its own for each
//! keyspace.
//!
//! A store of CQL overwrites and never says whether there was something, so every write carries a version as its timestamp:
//! insertions the lowest, updates in the order in which they were sent, deletions the highest. What arrives late or twice
//! changes nothing then, and the number of the last update that arrived is what a row counts.

mod connect;
mod errors;
#[cfg(test)]
mod tests;
mod versions;
mod watch;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_base::random::Rng;
use plimsoll_core::test::workload::Consistency;
use plimsoll_core::{Outcome, test::Workload};
use scylla::client::session::Session;
use scylla::errors::ExecutionError;
use scylla::response::query_result::QueryResult;
use scylla::response::{PagingState, PagingStateResponse};
use scylla::statement::batch::{Batch, BatchType};
use scylla::statement::prepared::PreparedStatement;
use tokio::time::sleep;

use crate::driver::{Answer, Driver, Failure, Seat};
use crate::keys::Fate;
use crate::wire;
use versions::Versions;

/// What a row takes beside its payload: `id` and `n`.
const OVERHEAD_BYTES: u32 = 8 + 8;
/// Payloads are cut from so many bytes of noise, at places that differ from key to key.
const NOISE_BYTES: usize = 1 << 16;
/// Payloads are not compressible, and the same in every run.
const NOISE_SEED: u64 = 0x0BAD_CAFE;
/// Timestamps of insertions and of deletions; updates count up from the first.
const INSERTED: i64 = 1_000_000_000_000_000;
const DELETED: i64 = INSERTED + (1 << 40);
/// How long it takes to find out that there is no connection.
const UNSENT: Duration = Duration::from_millis(10);
/// Rows of a page when everything is read.
const PAGE: i32 = 5_000;

#[derive(Debug)]
pub(crate) struct Cql {
    session: Session,
    keyspace: String,
    workload: Workload,
    lane: usize,
    statements: RefCell<Option<Rc<Statements>>>,
    versions: Versions,
    payload_bytes: usize,
    noise: Vec<u8>,
    /// Connections that the counters know of.
    open: Cell<u64>,
}

/// What is prepared once the table is there.
#[derive(Debug)]
struct Statements {
    read: PreparedStatement,
    read_many: PreparedStatement,
    insert: PreparedStatement,
    update: PreparedStatement,
    delete: PreparedStatement,
    delete_many: PreparedStatement,
    all: PreparedStatement,
}

impl Cql {
    /// Prepares every statement on every node.
    async fn statements(&self) -> Result<Statements, Failure> {
        let table = format!("\"{}\".documents", self.keyspace);
        let attempts = Arc::new(watch::Attempts { lane: self.lane });
        let prepared = async |text: &str| {
            let prepared = self.session.prepare(text.replace('$', &table)).await;
            let mut prepared = prepared.map_err(|error| errors::of_prepare(&error))?;
            // With a version of its own each of them may be sent twice.
            prepared.set_is_idempotent(true);
            prepared.set_history_listener(Arc::clone(&attempts) as Arc<_>);
            Ok(prepared)
        };
        let mut all = prepared("SELECT id, n FROM $").await?;
        all.set_page_size(PAGE);
        let consistency = self.workload.client.consistency;
        all.set_consistency(connect::consistency(sure(consistency)));
        Ok(Statements {
            read: prepared("SELECT id, p FROM $ WHERE id = ?").await?,
            read_many: prepared("SELECT id, p FROM $ WHERE id IN ?").await?,
            insert: prepared("INSERT INTO $ (id, n, p) VALUES (?, 0, ?) USING TIMESTAMP ?").await?,
            update: prepared("UPDATE $ USING TIMESTAMP ? SET n = ?, p = ? WHERE id = ?").await?,
            delete: prepared("DELETE FROM $ USING TIMESTAMP ? WHERE id = ?").await?,
            delete_many: prepared("DELETE FROM $ USING TIMESTAMP ? WHERE id IN ?").await?,
            all,
        })
    }

    fn prepared(&self) -> Result<Rc<Statements>, Failure> {
        let statements = self.statements.borrow().clone();
        statements.ok_or_else(|| errors::malformed(&"the table of documents is not there"))
    }

    async fn tried<T>(
        &self,
        operation: impl Future<Output = Result<T, ExecutionError>>,
    ) -> Result<T, Failure> {
        let commands = wire::commands();
        let ended = watch::counted(self.lane, operation).await;
        self.count_connections();
        ended.map_err(|error| {
            let failure = errors::of_execution(&error);
            let is_of_attempt = matches!(error, ExecutionError::LastAttemptError(_));
            if is_of_attempt || wire::commands() == commands {
                return failure;
            }
            // The driver's next attempt found no connection: of the one before nobody says what became.
            Failure {
                fate: Fate::Unknown,
                ..failure
            }
        })
    }

    async fn sent<T>(
        &self,
        operation: impl Future<Output = Result<T, ExecutionError>>,
    ) -> Result<T, Failure> {
        let commands = wire::commands();
        let ended = self.tried(operation).await;
        if ended.is_err() && wire::commands() == commands {
            // Without a connection the driver fails at once: callers that ask again without a pause would keep it from
            // making one on this thread.
            sleep(UNSENT).await;
        }
        ended
    }

    /// The driver only says how many there are.
    fn count_connections(&self) {
        let now = self.session.get_metrics().get_total_connections();
        let known = self.open.replace(now);
        (known..now).for_each(|_| wire::connected());
        (now..known).for_each(|_| wire::closed());
    }

    fn payload(&self, key: u32) -> &[u8] {
        let places = self.noise.len() - self.payload_bytes;
        let place = (key as usize).wrapping_mul(61) % places.max(1);
        &self.noise[place..place + self.payload_bytes]
    }

    /// What a store says that only says that it took it.
    fn written(&self, keys: &[u32]) -> Answer {
        let documents = keys.len() as u64;
        Answer {
            documents,
            bytes: documents * (self.payload_bytes as u64 + u64::from(OVERHEAD_BYTES)),
            is_unacknowledged: false,
        }
    }

    /// Several rows in one request.
    fn batch(statement: &PreparedStatement, lane: usize, count: usize) -> Batch {
        let mut batch = Batch::new(BatchType::Unlogged);
        batch.set_is_idempotent(true);
        batch.set_history_listener(Arc::new(watch::Attempts { lane }));
        (0..count).for_each(|_| batch.append_statement(statement.clone()));
        batch
    }

    async fn define(&self, text: String) -> Result<(), Failure> {
        let defined = self.session.query_unpaged(text, &[]).await;
        defined
            .map(drop)
            .map_err(|error| errors::of_execution(&error))
    }
}

/// The copies that must answer so that everything that was acknowledged is among what they have.
fn sure(written: Option<Consistency>) -> Consistency {
    match written {
        Some(Consistency::All) => Consistency::One,
        Some(quorum @ (Consistency::Quorum | Consistency::LocalQuorum)) => quorum,
        _ => Consistency::All,
    }
}

/// Counts the documents that were asked for and are whole.
fn found(result: QueryResult, keys: &[u32], payload_bytes: usize) -> Result<Answer, Failure> {
    let rows = result.into_rows_result();
    let rows = rows.map_err(|error| errors::malformed(&error))?;
    let rows = rows.rows::<(i64, Option<&[u8]>)>();
    let mut answer = Answer::default();
    for row in rows.map_err(|error| errors::malformed(&error))? {
        let (id, payload) = row.map_err(|error| errors::malformed(&error))?;
        let payload = payload.unwrap_or_default();
        let is_asked = keys.iter().any(|key| i64::from(*key) == id);
        answer.documents += u64::from(is_asked && payload.len() == payload_bytes);
        answer.bytes += payload.len() as u64 + u64::from(OVERHEAD_BYTES);
    }
    Ok(answer)
}

fn ids(keys: &[u32]) -> Vec<i64> {
    keys.iter().map(|key| i64::from(*key)).collect()
}

impl Driver for Cql {
    // A batch of many would be refused; a connection carries many requests at once.
    const FILL_BATCH: u32 = 1;
    const FILLERS: u32 = 32;

    async fn open(seat: Seat<'_>) -> Result<Self, Failure> {
        let workload = seat.workload;
        let plan = &workload.databases[seat.database];
        let payload_bytes = plan.document_bytes.saturating_sub(OVERHEAD_BYTES) as usize;
        let mut rng = Rng::new(NOISE_SEED, 0);
        let words = NOISE_BYTES.max(payload_bytes * 2).div_ceil(8);
        let cql = Self {
            session: connect::session(seat).await?,
            keyspace: plan.name.clone(),
            workload: workload.clone(),
            lane: seat.lane,
            statements: RefCell::default(),
            versions: Versions::default(),
            payload_bytes,
            noise: (0..words)
                .flat_map(|_| rng.next_u64().to_le_bytes())
                .collect(),
            open: Cell::new(0),
        };
        cql.count_connections();
        match cql.statements().await {
            Ok(statements) => *cql.statements.borrow_mut() = Some(Rc::new(statements)),
            // Before the first load there is no table.
            Err(failure) if failure.outcome == Outcome::CheckFailed && failure.may_retry => {
                return Err(failure);
            }
            Err(failure) if failure.outcome == Outcome::CheckFailed => {}
            Err(failure) => return Err(failure),
        }
        Ok(cql)
    }

    async fn read(&self, keys: &[u32]) -> Result<Answer, Failure> {
        let statements = self.prepared()?;
        let result = if let [key] = keys {
            let values = (i64::from(*key),);
            let asked = self.session.execute_unpaged(&statements.read, values);
            self.sent(asked).await?
        } else {
            let values = (ids(keys),);
            let asked = self.session.execute_unpaged(&statements.read_many, values);
            self.sent(asked).await?
        };
        found(result, keys, self.payload_bytes)
    }

    async fn insert(&self, keys: &[u32]) -> Result<Answer, Failure> {
        let statements = self.prepared()?;
        let row = |key: &u32| (i64::from(*key), self.payload(*key), INSERTED);
        if let [key] = keys {
            let inserted = self.session.execute_unpaged(&statements.insert, row(key));
            self.sent(inserted).await?;
        } else {
            let batch = Self::batch(&statements.insert, self.lane, keys.len());
            let rows: Vec<_> = keys.iter().map(row).collect();
            self.sent(self.session.batch(&batch, rows)).await?;
        }
        Ok(self.written(keys))
    }

    async fn update(&self, keys: &[u32]) -> Result<Answer, Failure> {
        let statements = self.prepared()?;
        let versions = self.versions.next(keys);
        let row = |(key, version): (&u32, &i64)| {
            let id = i64::from(*key);
            (INSERTED + version, *version, self.payload(*key), id)
        };
        let rows: Vec<_> = keys.iter().zip(&versions).map(row).collect();
        let commands = wire::commands();
        let updated = if let [row] = rows.as_slice() {
            let updated = self.session.execute_unpaged(&statements.update, *row);
            self.tried(updated).await
        } else {
            let batch = Self::batch(&statements.update, self.lane, keys.len());
            self.tried(self.session.batch(&batch, rows)).await
        };
        match updated {
            Ok(_) => Ok(self.written(keys)),
            Err(failure) if wire::commands() == commands => {
                // Before anything is awaited.
                let is_unused = self.versions.take_back(keys, &versions);
                sleep(UNSENT).await;
                let fate = if is_unused {
                    Fate::NotDone
                } else {
                    Fate::Spent
                };
                Err(Failure { fate, ..failure })
            }
            // Its version is spent: a later update counts it, too, so that it may seem to be there.
            Err(failure) => Err(Failure {
                fate: Fate::Unknown,
                ..failure
            }),
        }
    }

    async fn delete(&self, keys: &[u32]) -> Result<Answer, Failure> {
        let statements = self.prepared()?;
        if let [key] = keys {
            let values = (DELETED, i64::from(*key));
            let deleted = self.session.execute_unpaged(&statements.delete, values);
            self.sent(deleted).await?;
        } else {
            let values = (DELETED, ids(keys));
            let deleted = self
                .session
                .execute_unpaged(&statements.delete_many, values);
            self.sent(deleted).await?;
        }
        Ok(Answer {
            bytes: 0,
            ..self.written(keys)
        })
    }

    async fn clear(&self) -> Result<(), Failure> {
        self.define(format!("DROP KEYSPACE IF EXISTS \"{}\"", self.keyspace))
            .await
    }

    async fn prepare(&self) -> Result<(), Failure> {
        let copies = self.workload.replicas.map_or(1, std::num::NonZero::get);
        let keyspace = &self.keyspace;
        self.define(format!(
            "CREATE KEYSPACE \"{keyspace}\" WITH replication = \
             {{'class': 'SimpleStrategy', 'replication_factor': {copies}}}"
        ))
        .await?;
        self.define(format!(
            "CREATE TABLE \"{keyspace}\".documents (id bigint PRIMARY KEY, n bigint, p blob)"
        ))
        .await?;
        let statements = self.statements().await?;
        *self.statements.borrow_mut() = Some(Rc::new(statements));
        Ok(())
    }

    async fn stored(&self) -> Result<BTreeMap<i64, i64>, Failure> {
        let statements = self.prepared()?;
        let mut stored = BTreeMap::new();
        let mut page = PagingState::start();
        loop {
            let asked = self.session.execute_single_page(&statements.all, (), page);
            let (result, next) = self.sent(asked).await?;
            let rows = result.into_rows_result();
            let rows = rows.map_err(|error| errors::malformed(&error))?;
            let rows = rows.rows::<(i64, Option<i64>)>();
            for row in rows.map_err(|error| errors::malformed(&error))? {
                let (id, updates) = row.map_err(|error| errors::malformed(&error))?;
                stored.insert(id, updates.unwrap_or(i64::MIN));
            }
            match next {
                PagingStateResponse::HasMorePages { state } => page = state,
                PagingStateResponse::NoMorePages => return Ok(stored),
            }
        }
    }
}
