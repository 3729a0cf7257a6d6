//! Who comes first among equals: whoever had less service time lately, counted by tenant and by route.
//!
//! A tenant that asks for much waits behind those that ask for little, and so does a route whose requests are much more work
//! than those of the others. What a tenant had has no bound here; what a route had counts up to a bound, or whoever makes
//! up names of routes would be served before those that use real ones.

use plimsoll_core::Nanos;

use super::shares::{Bucket, Shares};

const TENANTS: u16 = 1024;
const ROUTES: u16 = 256;
/// A route that had more than so many fair shares is no worse for it.
const ROUTE_MOST: f64 = 2.0;
/// Answers that a route's mean latency looks back on.
const RECENT: f64 = 50.0;

#[derive(Debug)]
pub(super) struct Fairness {
    tenants: Shares,
    routes: Shares,
    /// Mean seconds of each route's good answers; zero before the first.
    seconds: Vec<f64>,
}

/// Whose request it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Owner {
    tenant: Bucket,
    route: Bucket,
}

impl Owner {
    /// Of its tenant among all that are told apart.
    pub(super) fn tenant_place(self) -> usize {
        self.tenant.index()
    }

    /// The same of its route.
    pub(super) fn route_place(self) -> usize {
        self.route.index()
    }
}

impl Fairness {
    pub(super) fn new(now: Nanos, salt: u64) -> Self {
        Self {
            tenants: Shares::new(now, salt, TENANTS),
            routes: Shares::new(now, salt, ROUTES),
            seconds: vec![0.0; usize::from(ROUTES)],
        }
    }

    /// Of the hashes of a tenant and a route.
    pub(super) fn owner(&self, tenant: u64, route: u64) -> Owner {
        Owner {
            tenant: self.tenants.bucket(tenant),
            route: self.routes.bucket(route),
        }
    }

    /// Negative takes back what was charged too much in advance.
    pub(super) fn charge(&mut self, now: Nanos, owner: Owner, seconds: f64) {
        self.tenants.charge(now, owner.tenant, seconds);
        self.routes.charge(now, owner.route, seconds);
    }

    /// A good answer took so long.
    pub(super) fn took(&mut self, owner: Owner, seconds: f64) {
        let mean = &mut self.seconds[owner.route.index()];
        let weight = if *mean > 0.0 { 1.0 / RECENT } else { 1.0 };
        *mean += weight * (seconds - *mean);
    }

    /// How long requests of the route at this place take; zero before the first answer.
    pub(super) fn seconds_of(&self, place: usize) -> f64 {
        self.seconds[place]
    }

    /// How long such a request takes, if any was answered yet.
    pub(super) fn expected(&self, owner: Owner) -> Option<f64> {
        Some(self.seconds[owner.route.index()]).filter(|seconds| *seconds > 0.0)
    }

    pub(super) fn pass(&mut self, now: Nanos) {
        self.tenants.pass(now);
        self.routes.pass(now);
    }

    /// The least goes first.
    pub(super) fn rank(&self, owner: Owner) -> f64 {
        let of_route = self.routes.of_fair(owner.route).min(ROUTE_MOST);
        self.tenants.of_fair(owner.tenant) + of_route
    }

    pub(super) fn is_greedy_tenant(&self, owner: Owner) -> bool {
        self.tenants.is_greedy(owner.tenant)
    }

    pub(super) fn is_greedy_route(&self, owner: Owner) -> bool {
        self.routes.is_greedy(owner.route)
    }
}
