//! What is simulated: a station of servers, what stands before and behind it, its clients, and what changes it.

mod condition;
mod error;
mod service_time;

use plimsoll_core::Nanos;

pub use condition::Condition;
pub use error::ModelError;
pub(crate) use service_time::Sampler;
pub use service_time::ServiceTime;

use error::{POSITIVE, ZERO_OR_MORE, require};

/// Connection slots or a pool in front of the station.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slots {
    /// Requests that hold one at the same time, from the station to the end of what is behind it.
    pub max: u64,
    /// How many wait for a slot; the rest is refused.
    pub waiting_max: u64,
}

/// A rule that answers 429 beyond a rate (token bucket).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateRule {
    pub per_s: f64,
    pub burst: f64,
}

/// A second station that every request visits after the first: two tiers in series. Conditions, contention
/// and passes are the first one's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Behind {
    pub servers: u32,
    pub service: ServiceTime,
    /// Places to wait for one of its servers; beyond them the request ends as refused.
    pub queue_max: Option<u64>,
}

/// Somebody between the measured clients and the service (a proxy, a client library) sends a request again.
///
/// A try fails when it is refused, shed or answered with an error, or when no answer came within `patience`. The
/// service works on a try that was given up, so every try loads it: that makes a service bistable. What is
/// measured is the request: one attempt, counted once, from its intended start to the first good answer to any
/// try that is still awaited, or to the failure of the last one, whose outcome it gets. The client's own timeout
/// ends the attempt and not its tries: whoever sends them does not notice that the client left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retries {
    /// Tries after the first.
    pub max: u32,
    pub patience: Nanos,
    /// From the failure of a try to the next one.
    pub delay: Nanos,
}

/// The simulated service and its clients' patience.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// Parallel servers of the station, first in, first out.
    pub servers: u32,
    pub service: ServiceTime,
    /// Passes per request; after each the request joins the end of the queue (an event loop).
    pub passes: u32,
    /// Places to wait for a server; beyond them a request is refused.
    pub queue_max: Option<u64>,
    /// Service grows by this share per other request at the station (locks, caches, collection).
    pub contention: f64,
    /// What changes the station over time.
    pub conditions: Vec<Condition>,
    pub behind: Option<Behind>,
    pub slots: Option<Slots>,
    pub rate_rule: Option<RateRule>,
    /// This share of the answers, at any rate, is an error (500) that took as long as a good one.
    pub failure_ratio: f64,
    pub retries: Option<Retries>,
    /// The client gives up after this; the service works on unless it notices.
    pub client_timeout: Option<Nanos>,
    /// Mean think time of closed-loop users, exponential.
    pub think_mean: Nanos,
}

impl Model {
    /// `servers` servers and nothing else.
    pub fn station(servers: u32, service: ServiceTime) -> Self {
        Self {
            servers,
            service,
            passes: 1,
            queue_max: None,
            contention: 0.0,
            conditions: Vec::new(),
            behind: None,
            slots: None,
            rate_rule: None,
            failure_ratio: 0.0,
            retries: None,
            client_timeout: None,
            think_mean: Nanos::ZERO,
        }
    }

    pub(crate) fn check(&self) -> Result<(), ModelError> {
        let servers = f64::from(self.servers);
        require("servers", servers, self.servers > 0, POSITIVE)?;
        require("passes", f64::from(self.passes), self.passes > 0, POSITIVE)?;
        self.service.check()?;
        let contention = self.contention;
        require("contention", contention, contention >= 0.0, ZERO_OR_MORE)?;
        let failing = self.failure_ratio;
        let fine = (0.0..=1.0).contains(&failing);
        require("failure ratio", failing, fine, "within 0 and 1")?;
        if let Some(rule) = self.rate_rule {
            require("rate rule", rule.per_s, rule.per_s > 0.0, POSITIVE)?;
            let burst = rule.burst;
            require("burst of the rate rule", burst, burst >= 1.0, "at least 1")?;
        }
        if let Some(behind) = self.behind {
            let servers = f64::from(behind.servers);
            require("servers behind", servers, behind.servers > 0, POSITIVE)?;
            behind.service.check()?;
        }
        if let Some(retries) = self.retries {
            let patience = retries.patience.as_secs_f64();
            require("patience of a try", patience, patience > 0.0, POSITIVE)?;
        }
        self.conditions.iter().try_for_each(Condition::check)
    }
}

#[cfg(test)]
mod tests;
