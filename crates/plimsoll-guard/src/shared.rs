//! What all connections share, on one thread.

use std::cell::{Cell, RefCell};
use std::hash::{BuildHasher as _, RandomState};
use std::net::IpAddr;
use std::rc::Rc;

use plimsoll_base::clock::wall_millis;
use plimsoll_base::random::Rng;
use plimsoll_control::admission::RetryBudget;
use tokio::sync::watch;

use crate::access::AccessLog;
use crate::counts::Counts;
use crate::gate::Gate;
use crate::pool::Pool;
use crate::{Config, GuardError};

/// Of the upstream's answers, so many may be sent again by ourselves.
const RETRIES_RATIO: f64 = 0.1;

#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) gate: Rc<Gate>,
    pub(crate) pool: Pool,
    pub(crate) counts: Counts,
    pub(crate) retries: RefCell<RetryBudget>,
    pub(crate) rng: RefCell<Rng>,
    tenancy: Tenancy,
    pub(crate) stop: watch::Sender<bool>,
    pub(crate) open: Cell<usize>,
    /// Exchanges without a permit.
    pub(crate) outside: Cell<usize>,
    pub(crate) log: Option<AccessLog>,
    pub(crate) config: Config,
}

impl Server {
    pub(crate) fn new(config: &Config) -> Result<Rc<Self>, GuardError> {
        let log = config.access_log.as_ref().map(AccessLog::start);
        let log = log.transpose()?;
        Ok(Rc::new(Self {
            gate: Gate::new(config.rule),
            pool: Pool::new(config.upstream.clone()),
            counts: Counts::default(),
            retries: RefCell::new(RetryBudget::new(RETRIES_RATIO)),
            rng: RefCell::new(Rng::new(wall_millis().cast_unsigned(), 3)),
            tenancy: Tenancy::default(),
            stop: watch::Sender::new(false),
            open: Cell::new(0),
            outside: Cell::new(0),
            log,
            config: config.clone(),
        }))
    }

    pub(crate) fn stopping(&self) -> watch::Receiver<bool> {
        self.stop.subscribe()
    }

    pub(crate) fn is_stopping(&self) -> bool {
        *self.stop.borrow()
    }

    pub(crate) fn tenant(&self, address: IpAddr, key: Option<&[u8]>) -> u64 {
        self.tenancy.of(address, key)
    }

    pub(crate) fn open_connections(&self) -> usize {
        self.open.get()
    }
}

/// Hashes addresses so that nobody can choose whom they are counted with.
#[derive(Debug, Default)]
struct Tenancy(RandomState);

impl Tenancy {
    /// A client is an IPv4 address, or the first half of an IPv6 one: whoever has one has them all.
    fn of(&self, address: IpAddr, key: Option<&[u8]>) -> u64 {
        if let Some(key) = key {
            return self.0.hash_one(key);
        }
        match address {
            IpAddr::V4(address) => self.0.hash_one(address.octets()),
            IpAddr::V6(address) => {
                let octets = address.octets();
                self.0.hash_one(octets.get(..8).unwrap_or_default())
            }
        }
    }
}
