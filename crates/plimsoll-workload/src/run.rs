//! A workload from its clean databases to the look at what is stored; in between it is a load like any other.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use plimsoll_base::clock::Clock;
use plimsoll_core::record::Verified;
use plimsoll_core::step::StepError;
use plimsoll_core::test::{How, Test, Until, Workload};
use plimsoll_core::{Nanos, Outcome};
use plimsoll_engine::EngineRunner;
use plimsoll_engine::sessions::SessionPlan;

use crate::driver::Driver;
use crate::host::{Post, SessionHost, Shelf};
use crate::keys::Ledger;
use crate::sayings::Sayings;
use crate::store;
use crate::{StoreKind, WorkloadError};

/// Longest wait for a store before and after the load; during it the client's own timeouts hold.
const PATIENCE: Duration = Duration::from_secs(5);

/// A workload whose databases are filled.
#[derive(Debug)]
pub struct Loaded {
    kind: StoreKind,
    workload: Workload,
    shelf: Shelf,
    sayings: Sayings,
}

/// Whether the store answers, and lets us in. Blocks.
pub fn greet(workload: &Workload) -> Result<(), WorkloadError> {
    match StoreKind::of(&workload.store)? {
        #[cfg(feature = "mongodb")]
        StoreKind::MongoDb => store::greet::<crate::mongo::Mongo>(workload, PATIENCE),
        #[cfg(feature = "cql")]
        StoreKind::Cql => store::greet::<crate::cql::Cql>(workload, PATIENCE),
    }
}

impl Loaded {
    /// Drops the databases of the workload and fills them anew. Blocks.
    pub fn new(workload: &Workload, clock: Clock) -> Result<Self, WorkloadError> {
        let kind = StoreKind::of(&workload.store)?;
        let ledgers = match kind {
            #[cfg(feature = "mongodb")]
            StoreKind::MongoDb => store::load::<crate::mongo::Mongo>(workload, (clock, PATIENCE))?,
            #[cfg(feature = "cql")]
            StoreKind::Cql => store::load::<crate::cql::Cql>(workload, (clock, PATIENCE))?,
        };
        let shelf = Arc::new(Mutex::new(ledgers.into_iter().map(Some).collect()));
        Ok(Self::of(kind, workload, shelf))
    }

    pub(crate) fn of(kind: StoreKind, workload: &Workload, shelf: Shelf) -> Self {
        Self {
            kind,
            workload: workload.clone(),
            shelf,
            sayings: Sayings::default(),
        }
    }

    /// Starts the workers and opens the connections; nothing is sent yet.
    pub fn start(
        &self,
        test: &Test,
        clock: Clock,
        interrupt: Arc<AtomicBool>,
    ) -> Result<EngineRunner, StepError> {
        match self.kind {
            #[cfg(feature = "mongodb")]
            StoreKind::MongoDb => self.start_with::<crate::mongo::Mongo>(test, clock, interrupt),
            #[cfg(feature = "cql")]
            StoreKind::Cql => self.start_with::<crate::cql::Cql>(test, clock, interrupt),
        }
    }

    pub(crate) fn start_with<D: Driver>(
        &self,
        test: &Test,
        clock: Clock,
        interrupt: Arc<AtomicBool>,
    ) -> Result<EngineRunner, StepError> {
        let generator = &test.generator;
        let attempts_max = match &test.how {
            How::Set { until, .. } => until.and_then(Until::attempts),
            How::Search { .. } => None,
        };
        let plan = SessionPlan {
            workers: generator.workers.get(),
            lanes: self.workload.databases.len() as u32,
            timeout: generator.timeout,
            bounds: test
                .objectives()
                .map(plimsoll_core::Objectives::bounds)
                .unwrap_or_default(),
            seed: generator.seed,
            attempts_max,
        };
        let post = Post {
            workload: self.workload.clone(),
            shelf: Arc::clone(&self.shelf),
            sayings: self.sayings.clone(),
            clock,
            seed: generator.seed,
            timeout: generator.timeout,
            patience: patience(generator.timeout),
        };
        EngineRunner::start_sessions(&plan, clock, interrupt, |_| {
            let post = post.clone();
            move |desk, woken| SessionHost::<D>::open(&post, &desk, woken)
        })
    }

    /// The first reason of each class of failures.
    pub fn reasons(&self) -> Vec<(Outcome, String)> {
        self.sayings.all()
    }

    /// Holds what is stored against what was acknowledged, if that was asked for, and drops the databases unless they are
    /// to stay. The workers must have ended. Blocks.
    pub fn look(self) -> Result<Option<Verified>, WorkloadError> {
        match self.kind {
            #[cfg(feature = "mongodb")]
            StoreKind::MongoDb => self.look_with::<crate::mongo::Mongo>(),
            #[cfg(feature = "cql")]
            StoreKind::Cql => self.look_with::<crate::cql::Cql>(),
        }
    }

    pub(crate) fn look_with<D: Driver>(self) -> Result<Option<Verified>, WorkloadError> {
        let mut shelf = self.shelf.lock().unwrap_or_else(PoisonError::into_inner);
        let ledgers: Vec<Ledger> = shelf.drain(..).flatten().collect();
        if ledgers.len() < self.workload.databases.len() {
            return Err(WorkloadError::Lost);
        }
        store::look::<D>(&self.workload, &ledgers, PATIENCE)
    }
}

/// A server that is gone is waited for as long as the client waits for an answer.
fn patience(timeout: Nanos) -> Duration {
    Duration::from_nanos(timeout.0).max(Duration::from_millis(100))
}
