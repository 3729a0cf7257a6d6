//! What every limit is told and asked: answers in, the number of requests that may be in flight out.

use std::fmt;

use plimsoll_core::Nanos;

/// How a request that was let through ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// A good answer, to a client that still waited.
    Served,
    /// Its client had left before the answer.
    Left,
    /// An answer that was no success, or none at all.
    Failed,
    /// The upstream said itself that it has too much (429, or 503).
    Busy,
    /// It says nothing about the service, which waited for its client: a body that comes slowly, or is none.
    Aside,
}

/// One answer of the upstream.
#[derive(Debug, Clone, Copy)]
pub(super) struct Answer {
    pub(super) now: Nanos,
    /// From the moment it was let through.
    pub(super) took: Nanos,
    pub(super) ended: Ended,
    /// With this one.
    pub(super) in_flight: u32,
}

/// Demand since the start, counted where requests arrive.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Demand {
    pub(super) arrived: u64,
    /// Refused, or failed after they were let through.
    pub(super) turned_away: u64,
}

/// A rule for how many requests may be in flight. Each is given time and never reads it.
pub(super) trait Limit: fmt::Debug + Send {
    /// At least one.
    fn limit(&self) -> u32;

    /// Time has passed, or the number in flight is about to change from `in_flight`.
    fn turn(&mut self, _now: Nanos, _in_flight: u32, _demand: Demand) {}

    fn answered(&mut self, answer: &Answer);

    /// The wall clock showed `wall` at `now`; guards of one upstream share it.
    fn set_wall(&mut self, _now: Nanos, _wall: Nanos) {}

    /// How long a permit of an answer that failed after `took` is kept, from its start.
    fn kept_after_failure(&self) -> Nanos {
        Nanos::ZERO
    }

    fn explain(&self) -> Explained;
}

/// What a limit knows, for people and for the next start.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Explained {
    /// The limit between whole numbers, without a probe.
    pub level: f64,
    /// Log-log slope of goodput over the limit, where the rule estimates one, and its standard deviation.
    pub slope: Option<(f64, f64)>,
    /// A slot at half the limit is under way.
    pub is_probing: bool,
    /// The limit is being raised, step by step.
    pub is_ramping: bool,
    pub probes_count: u64,
}
