//! A test as it was asked for: prepared anew for every run that plays it, with a seed of its own.

mod load;
mod script;
mod url;
mod workload;

use std::num::NonZeroU64;

use anyhow::Result;
use plimsoll_core::Nanos;

pub(crate) use load::LoadPlan;
pub(crate) use script::{ScriptLoad, ScriptTest, WARM_STOP};
pub(crate) use url::{Protocol, UrlTest, most_in_flight};
pub(crate) use workload::{WorkloadTest, address as address_of_store, check_descriptors};

use crate::prepared::Prepared;

/// What may be asked of a service.
#[derive(Clone)]
pub(crate) enum Recipe {
    Url(Box<UrlTest>),
    Script(Box<ScriptTest>),
    Workload(Box<WorkloadTest>),
}

/// How much is sent before what is measured.
#[derive(Clone, Copy)]
pub(crate) enum WarmUp {
    /// The load itself for a while; of a script a few virtual users.
    Time(Nanos),
    /// So many requests or iterations, a few at a time, and no longer than this.
    Count(NonZeroU64, Nanos),
}

impl Recipe {
    pub(crate) fn prepare(&self, seed: u64) -> Result<Prepared> {
        match self {
            Self::Url(test) => test.prepare(seed),
            Self::Script(test) => test.prepare(seed),
            Self::Workload(test) => test.prepare(seed),
        }
    }

    /// What is not measured: without objectives, and far from a load test unless it is the load itself.
    pub(crate) fn warm_up(&self, seed: u64, warm_up: WarmUp) -> Result<Prepared> {
        match (self, warm_up) {
            (Self::Url(test), WarmUp::Time(time)) => test.warm_up(seed, time),
            (Self::Url(test), WarmUp::Count(count, most)) => test.few_requests(seed, count, most),
            (Self::Script(test), warm_up) => test.warm_up(seed, warm_up.into()),
            (Self::Workload(test), WarmUp::Time(time)) => test.warm_up(seed, time),
            (Self::Workload(test), WarmUp::Count(count, most)) => test.few(seed, count, most),
        }
    }
}

impl From<WarmUp> for script::FewUsers {
    fn from(warm_up: WarmUp) -> Self {
        match warm_up {
            WarmUp::Time(time) => Self::For(time),
            WarmUp::Count(iterations, most) => Self::Iterations(iterations, most),
        }
    }
}
