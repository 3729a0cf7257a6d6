//! A workload as it was asked for, by a file and by flags, and the one place where it becomes a plan or is refused.

use std::num::{NonZeroU32, NonZeroU64};

use plimsoll_core::Nanos;
use plimsoll_core::objective::Objectives;
use plimsoll_core::schedule::{Arrivals, Leg};
use plimsoll_core::test::MixPhase;
use plimsoll_core::test::Workload;
use plimsoll_core::test::workload::{Client, Consistency, Database, Keys, Mix};
use thiserror::Error;

/// Every database that a workload makes, and drops, begins with this: no other is ever touched.
pub(crate) const PREFIX: &str = "plimsoll_";
const DATABASES_MAX: u32 = 1_000;
/// What MongoDB takes; with it the largest databases fit into a test.
const DOCUMENT_BYTES_MAX: u32 = 16 << 20;
const DOCUMENT_BYTES_LEAST: u32 = 64;
/// Keys are kept in memory: 16 bytes each.
const DOCUMENTS_MAX: u32 = 50_000_000;
const BATCH_MAX: u32 = 10_000;
const NAME_BYTES_MAX: usize = 30;

const CONNECTIONS: u32 = 10;
const DOCUMENTS: u32 = 1_000;
const DOCUMENT_BYTES: u32 = 1_024;

/// What was said; what was not is absent, and what a flag says takes the place of what a file says.
#[derive(Debug, Clone, Default)]
pub struct Asked {
    pub store: Option<String>,
    pub databases: Option<NonZeroU32>,
    pub connections: Option<NonZeroU32>,
    pub workers: Option<NonZeroU32>,
    pub mix: Option<Mix>,
    pub documents: Option<u32>,
    pub document_bytes: Option<u32>,
    pub keys: Option<Keys>,
    pub batch: Option<NonZeroU32>,
    pub keep: Option<bool>,
    pub replicas: Option<NonZeroU32>,
    pub consistency: Option<Consistency>,
    pub verify: Option<bool>,
    pub named: Vec<Named>,
    pub(crate) phases: Vec<MixPhase<Mix>>,
    pub client: AskedClient,
    pub load: AskedLoad,
}

/// A database with a name and what is its own.
#[derive(Debug, Clone, Default)]
pub struct Named {
    pub name: String,
    pub mix: Option<Mix>,
    pub documents: Option<u32>,
    pub document_bytes: Option<u32>,
}

#[derive(Debug, Clone, Default)]
pub struct AskedClient {
    pub try_timeout: Option<Nanos>,
    pub pool_wait: Option<Nanos>,
    pub retries: Option<u32>,
    pub(crate) retry_pause: Option<Nanos>,
    pub(crate) driver_retries: Option<bool>,
    pub per_connection: Option<NonZeroU32>,
    pub(crate) closes_given_up: Option<bool>,
}

/// How much of it; the rest of the test is made from this as for any other.
#[derive(Debug, Clone, Default)]
pub struct AskedLoad {
    pub duration: Option<Nanos>,
    pub operations: Option<NonZeroU64>,
    pub rate_per_s: Option<f64>,
    pub ramp_per_s: Option<(f64, f64)>,
    /// Rates of phases, one after the other.
    pub legs: Vec<Leg>,
    pub arrivals: Option<Arrivals>,
    pub timeout: Option<Nanos>,
    pub threads: Option<NonZeroU32>,
    pub seed: Option<u64>,
    pub objectives: Option<Objectives>,
}

/// What makes no plan, with the key that says it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{problem}")]
pub struct PlanError {
    /// As a file has it: `documents`, `database.1.name`.
    pub key: String,
    pub problem: String,
}

fn refused<T>(key: impl Into<String>, problem: impl Into<String>) -> Result<T, PlanError> {
    Err(PlanError {
        key: key.into(),
        problem: problem.into(),
    })
}

impl Asked {
    /// The plan, with whatever is left open as it is by default.
    pub fn plan(&self) -> Result<Workload, PlanError> {
        let Some(store) = self.store.clone() else {
            return refused(
                "store",
                "a workload needs `store`, such as mongodb://127.0.0.1:27017 or cql://127.0.0.1:9042",
            );
        };
        let kind = match crate::StoreKind::of(&store) {
            Ok(kind) => kind,
            Err(error) => return refused("store", error.to_string()),
        };
        self.check_kind(kind, &store)?;
        let connections = self.connections.unwrap_or(number(CONNECTIONS));
        let batch = self.batch.unwrap_or(NonZeroU32::MIN);
        if batch.get() > BATCH_MAX {
            return refused(
                "batch",
                format!("a batch of {batch} documents is more than {BATCH_MAX}"),
            );
        }
        let databases = self.databases()?;
        let client = &self.client;
        let workload = Workload {
            store,
            databases,
            connections,
            sessions: self.workers.unwrap_or(connections),
            keys: self.keys.unwrap_or(Keys::Uniform),
            batch,
            phases: self.phases.clone(),
            client: Client {
                try_timeout_ns: client.try_timeout,
                pool_wait_ns: client.pool_wait,
                retries: client.retries.unwrap_or_default(),
                retry_pause_ns: client.retry_pause.unwrap_or_default(),
                driver_retries: client.driver_retries.unwrap_or(!kind.is_cql()),
                closes_given_up: client.closes_given_up.unwrap_or(false),
                per_connection: client.per_connection,
                consistency: self
                    .consistency
                    .or(kind.is_cql().then_some(Consistency::LocalQuorum)),
                shares_connections: kind.is_cql(),
            },
            replicas: self.replicas.or(kind.is_cql().then_some(NonZeroU32::MIN)),
            keep: self.keep.unwrap_or(false),
            verify: self.verify.unwrap_or(true),
        };
        let lengths = workload.phases.iter().map(|phase| phase.length_ns);
        check_lengths(lengths, self.load.duration)?;
        Ok(workload)
    }

    /// What one kind of store has and another has not.
    fn check_kind(&self, kind: crate::StoreKind, store: &str) -> Result<(), PlanError> {
        if kind.is_cql() {
            if let Err(problem) = crate::store::check_cql(store) {
                return refused("store", problem);
            }
            if self.client.pool_wait.is_some() && self.client.per_connection.is_none() {
                return refused(
                    "client.pool_wait",
                    "`pool_wait`: nobody waits for a connection that takes any number of operations; give `per_connection` (--per-connection), too",
                );
            }
            if self.client.closes_given_up.is_some() {
                return refused(
                    "client.given_up",
                    "`given_up` is for MongoDB: a connection of CQL carries other operations, too, and stays open whichever of them is given up",
                );
            }
            let mut named = (1..).zip(&self.named);
            return match named.find(|(_, named)| named.name.contains('-')) {
                Some((place, named)) => refused(
                    format!("database.{place}.name"),
                    format!(
                        "`{}` is no name of a keyspace: letters, digits and _",
                        named.name
                    ),
                ),
                None => Ok(()),
            };
        }
        let only_cql = [
            (
                self.consistency.is_some(),
                "consistency",
                "MongoDB has it in its URL: ?w=majority&readConcernLevel=majority",
            ),
            (
                self.replicas.is_some(),
                "replicas",
                "those of MongoDB are an affair of its replica set",
            ),
            (
                self.client.per_connection.is_some(),
                "client.per_connection",
                "a connection of MongoDB carries one operation at a time",
            ),
        ];
        match only_cql.iter().find(|(is_said, ..)| *is_said) {
            Some((_, key, why)) => refused(
                *key,
                format!("`{key}` is for stores of CQL (cql://…): {why}"),
            ),
            None => Ok(()),
        }
    }

    fn databases(&self) -> Result<Vec<Database>, PlanError> {
        let count = match (self.databases, self.named.len() as u32) {
            (None, 0) => 1,
            (None, named) => named,
            (Some(count), named) if count.get() < named => {
                return refused(
                    "databases",
                    format!("{count} databases, and {named} of them have a table [[database]]"),
                );
            }
            (Some(count), _) => count.get(),
        };
        if count > DATABASES_MAX {
            return refused(
                "databases",
                format!("{count} databases are more than {DATABASES_MAX}"),
            );
        }
        let mut databases: Vec<Database> = Vec::new();
        for place in 0..count {
            let named = self.named.get(place as usize).cloned().unwrap_or_default();
            let is_named = place < self.named.len() as u32;
            let key = |name: &str| {
                if is_named {
                    format!("database.{}.{name}", place + 1)
                } else {
                    name.to_owned()
                }
            };
            let database = self.database(place, &named, key)?;
            if databases.iter().any(|known| known.name == database.name) {
                return refused(
                    key("name"),
                    format!("two databases are called {}", database.name),
                );
            }
            databases.push(database);
        }
        Ok(databases)
    }

    fn database(
        &self,
        place: u32,
        named: &Named,
        key: impl Fn(&str) -> String,
    ) -> Result<Database, PlanError> {
        let name = match named.name.as_str() {
            "" => (place + 1).to_string(),
            name => name.to_owned(),
        };
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "_-".contains(letter);
        if name.len() > NAME_BYTES_MAX || !name.chars().all(is_plain) {
            return refused(
                key("name"),
                format!(
                    "`{name}` is no name of a database here: up to {NAME_BYTES_MAX} letters, digits, - and _"
                ),
            );
        }
        let mix = named.mix.or(self.mix).unwrap_or_default();
        let documents = named.documents.or(self.documents).unwrap_or(DOCUMENTS);
        let at =
            |name: &'static str, is_own: bool| if is_own { key(name) } else { name.to_owned() };
        let at_documents = at("documents", named.documents.is_some());
        if documents == 0 {
            return refused(
                at_documents,
                "no documents: nothing could be read, changed or deleted; give 1 at least",
            );
        }
        if documents > DOCUMENTS_MAX {
            return refused(
                at_documents,
                format!("{documents} documents are more than {DOCUMENTS_MAX}"),
            );
        }
        let bytes = named
            .document_bytes
            .or(self.document_bytes)
            .unwrap_or(DOCUMENT_BYTES);
        if !(DOCUMENT_BYTES_LEAST..=DOCUMENT_BYTES_MAX).contains(&bytes) {
            return refused(
                at("document_size", named.document_bytes.is_some()),
                format!(
                    "documents of {bytes} bytes: give between {DOCUMENT_BYTES_LEAST} bytes and 16MiB"
                ),
            );
        }
        Ok(Database {
            name: format!("{PREFIX}{name}"),
            mix,
            documents,
            document_bytes: bytes,
        })
    }

    /// This, and where it says nothing what the other says.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        let named = if self.named.is_empty() {
            other.named
        } else {
            self.named
        };
        let phases = if self.phases.is_empty() {
            other.phases
        } else {
            self.phases
        };
        // A count of requests and a time exclude each other, and so do a rate and a ramp.
        let says_end = self.load.duration.is_some() || self.load.operations.is_some();
        let says_rate = self.load.rate_per_s.is_some() || self.load.ramp_per_s.is_some();
        let (mine, theirs) = (self.load, other.load);
        Self {
            store: self.store.or(other.store),
            databases: self.databases.or(other.databases),
            connections: self.connections.or(other.connections),
            workers: self.workers.or(other.workers),
            mix: self.mix.or(other.mix),
            documents: self.documents.or(other.documents),
            document_bytes: self.document_bytes.or(other.document_bytes),
            keys: self.keys.or(other.keys),
            batch: self.batch.or(other.batch),
            keep: self.keep.or(other.keep),
            verify: self.verify.or(other.verify),
            replicas: self.replicas.or(other.replicas),
            consistency: self.consistency.or(other.consistency),
            named,
            phases,
            client: AskedClient {
                try_timeout: self.client.try_timeout.or(other.client.try_timeout),
                pool_wait: self.client.pool_wait.or(other.client.pool_wait),
                retries: self.client.retries.or(other.client.retries),
                retry_pause: self.client.retry_pause.or(other.client.retry_pause),
                driver_retries: self.client.driver_retries.or(other.client.driver_retries),
                per_connection: self.client.per_connection.or(other.client.per_connection),
                closes_given_up: self.client.closes_given_up.or(other.client.closes_given_up),
            },
            load: AskedLoad {
                duration: mine.duration.or(theirs.duration.filter(|_| !says_end)),
                operations: mine.operations.or(theirs.operations.filter(|_| !says_end)),
                rate_per_s: mine.rate_per_s.or(theirs.rate_per_s.filter(|_| !says_rate)),
                ramp_per_s: mine.ramp_per_s.or(theirs.ramp_per_s.filter(|_| !says_rate)),
                legs: match (mine.legs.is_empty(), says_rate) {
                    (false, _) => mine.legs,
                    (true, true) => Vec::new(),
                    (true, false) => theirs.legs,
                },
                arrivals: mine.arrivals.or(theirs.arrivals),
                timeout: mine.timeout.or(theirs.timeout),
                threads: mine.threads.or(theirs.threads),
                seed: mine.seed.or(theirs.seed),
                objectives: mine.objectives.or(theirs.objectives),
            },
        }
    }
}

/// Phases that would begin after the end of the load do nothing.
pub(crate) fn check_lengths(
    lengths: impl Iterator<Item = Nanos>,
    duration: Option<Nanos>,
) -> Result<(), PlanError> {
    let mut start = Nanos::ZERO;
    for (place, length) in (1..).zip(lengths) {
        if length == Nanos::ZERO {
            return refused(
                format!("phase.{place}.duration"),
                "a phase lasts longer than no time",
            );
        }
        if let Some(duration) = duration.filter(|duration| start >= *duration) {
            return refused(
                format!("phase.{place}.duration"),
                format!("the phase would begin at {start}, and the load ends at {duration}"),
            );
        }
        start += length;
    }
    Ok(())
}

fn number(count: u32) -> NonZeroU32 {
    NonZeroU32::new(count).unwrap_or(NonZeroU32::MIN)
}
