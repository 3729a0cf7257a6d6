//! A workload: operations on the documents of one or several databases, through a driver.

use std::fmt;
use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};

use super::mix::{MixPhase, mix_at};
use crate::units::Nanos;

/// What a workload does to a store, apart from how much of it; kept whole in the record's header.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Workload {
    /// Where the store is, with its scheme: `mongodb://127.0.0.1:27017`.
    pub store: String,
    pub databases: Vec<Database>,
    /// Of the driver's pool, for each database.
    pub connections: NonZeroU32,
    /// Concurrent callers of each database: as many operations as these are under way at once in a closed loop.
    pub sessions: NonZeroU32,
    pub keys: Keys,
    /// Documents of one operation.
    pub batch: NonZeroU32,
    /// Of the time line, in which the mix may change; none: the same throughout.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<MixPhase<Mix>>,
    pub client: Client,
    /// Copies that the store keeps of each document, where that is said when a database is made (CQL).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicas: Option<NonZeroU32>,
    /// The databases are left as they are when the run is over, instead of dropped.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keep: bool,
    /// After the load every document is read once and held against what was acknowledged.
    pub verify: bool,
}

/// One logical database with the documents that it holds before the load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Database {
    pub name: String,
    pub mix: Mix,
    pub documents: u32,
    /// Size of one document as the store keeps it.
    pub document_bytes: u32,
}

/// What an operation does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    Read,
    Insert,
    Update,
    Delete,
}

/// Percent of each operation; together 100.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Mix {
    read: f64,
    insert: f64,
    update: f64,
    delete: f64,
}

/// Which documents are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Keys {
    /// Each as likely as any other.
    Uniform,
    /// A few of them most of the time: the n-th most wanted in proportion to 1 ÷ n^exponent.
    Zipf { exponent: f64 },
    /// The same, and the most wanted are those that were inserted last.
    Latest { exponent: f64 },
}

/// How the client behaves, as it would in production. The time of a whole operation is [`super::Generator::timeout`].
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Client {
    /// Of one try, the wait for a connection of the pool included; no limit of its own unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub try_timeout_ns: Option<Nanos>,
    /// Longest wait for a connection of the pool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool_wait_ns: Option<Nanos>,
    /// Further tries of an operation that failed and may be tried again.
    #[serde(default)]
    pub retries: u32,
    /// Before each of them.
    #[serde(default)]
    pub retry_pause_ns: Nanos,
    /// The driver's own retries are on.
    #[serde(default)]
    pub driver_retries: bool,
    /// A try that is given up closes its connection (`MongoDB`), instead of keeping it until its answer has come.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub closes_given_up: bool,
    /// Operations at once on one connection, where its protocol carries several (CQL); as many as there are unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_connection: Option<NonZeroU32>,
    /// How many copies must have answered before the store does (CQL).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consistency: Option<Consistency>,
    /// A connection carries operations side by side (CQL).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shares_connections: bool,
}

/// How many copies must have answered before a store of CQL does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Consistency {
    One,
    Two,
    Three,
    Quorum,
    All,
    LocalQuorum,
    LocalOne,
}

impl Workload {
    /// Operations under way at once in a closed loop.
    pub fn in_flight(&self) -> NonZeroU32 {
        self.times_databases(self.sessions)
    }

    /// Connections of all pools.
    pub fn connections_max(&self) -> NonZeroU32 {
        self.times_databases(self.connections)
    }

    fn times_databases(&self, count: NonZeroU32) -> NonZeroU32 {
        let databases = NonZeroU32::new(self.databases.len() as u32).unwrap_or(NonZeroU32::MIN);
        count.saturating_mul(databases)
    }

    /// Commands on the wire at once, of one database in a closed loop: each waits for a connection, of its own unless the
    /// protocol carries several on one.
    pub fn wire_of_each(&self) -> u32 {
        let sessions = self.sessions.get();
        self.room().map_or(sessions, |room| room.min(sessions))
    }

    /// The most of them: a try that was given up may still be on the wire when the next one is, if connections are left.
    pub fn wire_of_each_max(&self) -> u32 {
        let room = self.room().filter(|_| !self.client.shares_connections);
        let each = self.wire_of_each();
        room.map_or(each, |room| room.max(each))
    }

    /// Commands that the pool of one database takes at once; none: any number.
    pub fn room(&self) -> Option<u32> {
        let each = match (self.client.shares_connections, self.client.per_connection) {
            (true, each) => each?.get(),
            (false, _) => 1,
        };
        Some(self.connections.get().saturating_mul(each))
    }

    /// The mix of a database at that time after the start.
    pub fn mix_at(&self, database: &Database, at: Nanos) -> Mix {
        let (from, to) = mix_at(&self.phases, at);
        let from = from.copied().unwrap_or(database.mix);
        to.map_or(from, |(to, done)| from.towards(*to, done))
    }
}

impl Consistency {
    pub const ALL: [Self; 7] = [
        Self::One,
        Self::Two,
        Self::Three,
        Self::Quorum,
        Self::All,
        Self::LocalQuorum,
        Self::LocalOne,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::One => "one",
            Self::Two => "two",
            Self::Three => "three",
            Self::Quorum => "quorum",
            Self::All => "all",
            Self::LocalQuorum => "local_quorum",
            Self::LocalOne => "local_one",
        }
    }
}

impl Operation {
    pub const COUNT: usize = 4;

    pub const ALL: [Self; Self::COUNT] = [Self::Read, Self::Insert, Self::Update, Self::Delete];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Insert => "insert",
            Self::Update => "update",
            Self::Delete => "delete",
        }
    }

    pub const fn index(self) -> usize {
        self as usize
    }
}

impl Mix {
    /// Percentages of each; none if one is negative or they are not 100 together.
    pub fn new(read: f64, insert: f64, update: f64, delete: f64) -> Option<Self> {
        /// What thirds come to in two digits behind the point.
        const ROUNDED: f64 = 0.02;
        let all = [read, insert, update, delete];
        let is_fine = all.iter().all(|share| share.is_finite() && *share >= 0.0);
        let sum: f64 = all.iter().sum();
        (is_fine && (sum - 100.0).abs() <= ROUNDED).then_some(Self {
            read,
            insert,
            update,
            delete,
        })
    }

    pub fn share(self, operation: Operation) -> f64 {
        match operation {
            Operation::Read => self.read,
            Operation::Insert => self.insert,
            Operation::Update => self.update,
            Operation::Delete => self.delete,
        }
    }

    /// The operation that a number drawn evenly from 0 to 1 stands for.
    pub fn draw(self, unit: f64) -> Operation {
        let mut left = unit * (self.read + self.insert + self.update + self.delete);
        for operation in Operation::ALL {
            left -= self.share(operation);
            if left <= 0.0 && self.share(operation) > 0.0 {
                return operation;
            }
        }
        let most = |a: &Operation, b: &Operation| self.share(*a).total_cmp(&self.share(*b));
        Operation::ALL
            .into_iter()
            .max_by(most)
            .unwrap_or(Operation::Read)
    }

    /// The mix after so much of the way to another.
    fn towards(self, to: Self, done: f64) -> Self {
        let between = |from: f64, to: f64| from + (to - from) * done.clamp(0.0, 1.0);
        Self {
            read: between(self.read, to.read),
            insert: between(self.insert, to.insert),
            update: between(self.update, to.update),
            delete: between(self.delete, to.delete),
        }
    }
}

/// That of the published multi-database tool (`multidb_loadtest`): read 40, create 30, update 20, delete 10.
impl Default for Mix {
    fn default() -> Self {
        Self {
            read: 40.0,
            insert: 30.0,
            update: 20.0,
            delete: 10.0,
        }
    }
}

/// `read 40, insert 30, update 20, delete 10`; what is not in it is left out.
impl fmt::Display for Mix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shares = Operation::ALL.map(|operation| (operation, self.share(operation)));
        let shares = shares.iter().filter(|(_, share)| *share > 0.0);
        for (index, (operation, share)) in shares.enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            write!(f, "{comma}{} {share}", operation.name())?;
        }
        Ok(())
    }
}

impl Keys {
    /// That of YCSB, so that results can be held against each other.
    pub const EXPONENT: f64 = 0.99;
}

impl fmt::Display for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uniform => f.write_str("uniform"),
            Self::Zipf { exponent } => write!(f, "zipf:{exponent}"),
            Self::Latest { exponent } => write!(f, "latest:{exponent}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mix_adds_up_or_is_none() {
        assert!(Mix::new(40.0, 30.0, 20.0, 10.0).is_some());
        assert!(Mix::new(33.33, 33.33, 33.33, 0.0).is_some());
        for wrong in [
            [40.0, 30.0, 20.0, 9.0],
            [110.0, -10.0, 0.0, 0.0],
            [f64::NAN, 0.0, 0.0, 100.0],
        ] {
            let [read, insert, update, delete] = wrong;
            assert_eq!(Mix::new(read, insert, update, delete), None, "{wrong:?}");
        }
    }

    #[test]
    fn draws_have_the_shares_of_the_mix() {
        let mix = Mix::default();
        let mut counts = [0; Operation::COUNT];
        for number in 0..10_000 {
            counts[mix.draw((f64::from(number) + 0.5) / 10_000.0).index()] += 1;
        }
        assert_eq!(counts, [4000, 3000, 2000, 1000]);
        let only = Mix::new(0.0, 0.0, 100.0, 0.0).unwrap();
        for unit in [f64::MIN_POSITIVE, 0.5, 1.0] {
            assert_eq!(only.draw(unit), Operation::Update);
        }
        assert_eq!(only.to_string(), "update 100");
    }

    #[test]
    fn a_mix_changes_evenly_within_its_phase_and_stays_after_the_last() {
        let reads = Mix::new(100.0, 0.0, 0.0, 0.0).unwrap();
        let inserts = Mix::new(0.0, 100.0, 0.0, 0.0).unwrap();
        let database = Database {
            name: "a".to_owned(),
            mix: Mix::default(),
            documents: 1,
            document_bytes: 100,
        };
        let phase = |mix, mix_to| MixPhase {
            name: String::new(),
            length_ns: Nanos::from_secs(10),
            mix,
            mix_to,
        };
        let workload = Workload {
            store: String::new(),
            databases: vec![database.clone(); 3],
            connections: NonZeroU32::new(2).unwrap(),
            sessions: NonZeroU32::new(5).unwrap(),
            keys: Keys::Uniform,
            batch: NonZeroU32::MIN,
            phases: vec![phase(None, None), phase(Some(reads), Some(inserts))],
            client: Client::default(),
            replicas: None,
            keep: false,
            verify: true,
        };
        let reads_at = |seconds| {
            let mix = workload.mix_at(&database, Nanos::from_secs(seconds));
            mix.share(Operation::Read)
        };
        let reads = [1, 10, 15, 20, 99].map(|seconds| reads_at(seconds).to_string());
        assert_eq!(reads, ["40", "100", "50", "0", "0"]);
        assert_eq!(workload.in_flight().get(), 15);
        assert_eq!(workload.connections_max().get(), 6);
        assert_eq!(workload.wire_of_each(), 2);
        let mut shared = workload;
        shared.client.shares_connections = true;
        assert_eq!((shared.room(), shared.wire_of_each()), (None, 5));
        shared.client.per_connection = NonZeroU32::new(2);
        assert_eq!((shared.room(), shared.wire_of_each()), (Some(4), 4));
    }
}
