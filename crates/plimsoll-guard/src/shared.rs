//! What all connections share, on one thread.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use plimsoll_base::clock::{Clock, wall_millis};
use plimsoll_base::random::Rng;
use plimsoll_control::admission::RetryBudget;
use plimsoll_core::Nanos;
use tokio::sync::watch;

use crate::access::AccessLog;
use crate::counts::Counts;
use crate::policy::Policy;
use crate::upstreams::{Member, Registry};

#[derive(Debug)]
pub(crate) struct Server {
    clock: Clock,
    policy: RefCell<Rc<Policy>>,
    pub(crate) registry: Registry,
    pub(crate) counts: Counts,
    pub(crate) retries: RefCell<RetryBudget>,
    pub(crate) rng: RefCell<Rng>,
    pub(crate) stop: watch::Sender<bool>,
    pub(crate) open: Cell<usize>,
    /// Exchanges without a permit.
    pub(crate) outside: Cell<usize>,
    /// More of them, beyond their bound: a trial let them in.
    pub(crate) outside_spared: Cell<usize>,
    log: RefCell<Option<Rc<AccessLog>>>,
}

impl Server {
    pub(crate) fn new(clock: Clock, registry: Registry, policy: Policy) -> Rc<Self> {
        registry.set_shadow(policy.config.shadow);
        Rc::new(Self {
            clock,
            registry,
            counts: Counts::default(),
            retries: RefCell::new(RetryBudget::new(policy.config.retries.ratio)),
            rng: RefCell::new(Rng::new(wall_millis().cast_unsigned(), 3)),
            stop: watch::Sender::new(false),
            open: Cell::new(0),
            outside: Cell::new(0),
            outside_spared: Cell::new(0),
            log: RefCell::new(None),
            policy: RefCell::new(Rc::new(policy)),
        })
    }

    /// The settings in force; a request keeps those that it began with.
    pub(crate) fn policy(&self) -> Rc<Policy> {
        Rc::clone(&self.policy.borrow())
    }

    /// The upstreams of all groups, each once.
    pub(crate) fn members(&self) -> Vec<Rc<Member>> {
        let groups = &self.policy().groups;
        let all = groups.iter().flat_map(|group| group.members());
        let named = all.map(|member| (member.name.clone(), member));
        named.collect::<BTreeMap<_, _>>().into_values().collect()
    }

    /// Others take their place, for whatever begins from now on.
    pub(crate) fn set_policy(&self, policy: Policy) {
        let ratio = policy.config.retries.ratio;
        self.retries.borrow_mut().set_ratio(ratio);
        self.registry.set_shadow(policy.config.shadow);
        *self.policy.borrow_mut() = Rc::new(policy);
    }

    pub(crate) fn log(&self) -> Option<Rc<AccessLog>> {
        self.log.borrow().clone()
    }

    /// The log where it is wanted now; whoever writes the old one does so to its end.
    pub(crate) fn set_log(&self, log: Option<Rc<AccessLog>>) {
        *self.log.borrow_mut() = log;
    }

    pub(crate) fn now(&self) -> Nanos {
        self.clock.now()
    }

    pub(crate) fn stopping(&self) -> watch::Receiver<bool> {
        self.stop.subscribe()
    }

    pub(crate) fn is_stopping(&self) -> bool {
        *self.stop.borrow()
    }

    pub(crate) fn open_connections(&self) -> usize {
        self.open.get()
    }
}
