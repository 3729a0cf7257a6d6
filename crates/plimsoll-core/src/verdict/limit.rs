//! What gives way: causes with their words, how sure a cause is, the figures that speak for it, resources along the path.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::Signal;
use crate::units::is_alike;

/// How sure the naming of a cause is (capacity-science D.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    Unknown,
    /// One signal.
    Suspected,
    /// Two or more independent signals.
    Supported,
    /// An experiment moved the limit as predicted.
    Confirmed,
}

/// What gives way first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    PinnedThread,
    Cpu,
    CpuQuota,
    ConnectionSlots,
    Pool,
    Downstream,
    Lock,
    /// Only so many at a time: workers, connections of a pool that is not seen, permits.
    Concurrency,
    Disk,
    EventLoop,
    Memory,
    Stalls,
    /// A configured refusal, such as 429 from a rate rule.
    Rule,
    NotReached,
    Unknown,
}

impl Cause {
    /// As one resource among others: `CPU quota`, `one thread`. The one table of a cause's words is this and [`Self::noun`].
    pub const fn word(self) -> &'static str {
        self.words().0
    }

    /// In a sentence: `the CPU quota`, `a connection pool`.
    pub const fn noun(self) -> &'static str {
        self.words().1
    }

    const fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::PinnedThread => ("one thread", "one thread"),
            Self::Cpu => ("processors", "the processor"),
            Self::CpuQuota => ("CPU quota", "the CPU quota"),
            Self::ConnectionSlots => ("connection slots", "connection slots"),
            Self::Pool => ("connection pool", "a connection pool"),
            Self::Downstream => ("downstream", "a downstream service"),
            Self::Lock => ("lock or serialised section", "a lock or serialised section"),
            Self::Concurrency => (
                "limit on requests served at once",
                "a limit on requests served at once",
            ),
            Self::Disk => ("disk", "the disk"),
            Self::EventLoop => ("event loop", "the event loop"),
            Self::Memory => (
                "memory or garbage collection",
                "memory or garbage collection",
            ),
            Self::Stalls => ("stalls", "rare stalls"),
            Self::Rule => ("configured rate rule", "a configured refusal"),
            Self::NotReached => (
                "limit not reached",
                "nothing yet: the limit was not reached",
            ),
            Self::Unknown => ("unknown", "unknown"),
        }
    }

    /// Something gave way, and it is known what.
    pub const fn is_known(self) -> bool {
        !matches!(self, Self::Unknown | Self::NotReached)
    }

    /// Whether a resource of this kind is what the cause names. Slots, locks and rules are no resource of the table: an
    /// idle processor must not be marked for them.
    pub(crate) const fn is_of(self, kind: ResourceKind) -> bool {
        match kind {
            ResourceKind::Thread => {
                matches!(self, Self::PinnedThread | Self::EventLoop | Self::Memory)
            }
            ResourceKind::Processors => matches!(self, Self::Cpu | Self::CpuQuota),
            ResourceKind::Pool => matches!(self, Self::Pool),
            ResourceKind::Disk => matches!(self, Self::Disk),
            ResourceKind::Other => false,
        }
    }
}

impl Confidence {
    pub const fn word(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Suspected => "suspected",
            Self::Supported => "supported",
            Self::Confirmed => "confirmed",
        }
    }
}

/// Predictions and advice go no further than so many times what was measured.
pub const REACH: f64 = 5.0;

/// How far a figure may be shown where so much was measured: itself, or the most that can be said.
pub fn within_reach(rate_per_s: f64, measured_per_s: f64) -> Result<f64, f64> {
    let most = REACH * measured_per_s;
    if measured_per_s > 0.0 && rate_per_s > most {
        Err(most)
    } else {
        Ok(rate_per_s)
    }
}

/// One figure that speaks for (or rules out) a cause.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// The independent signal this belongs to; two lines of one signal count once.
    pub signal: Signal,
    pub text: String,
}

/// The resource that gives way first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Limit {
    pub cause: Cause,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tier: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<String>,
    pub confidence: Confidence,
    /// The rate at which this resource is full, where a figure carries it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ceiling_per_s: Option<f64>,
    pub evidence: Vec<Evidence>,
    /// Resources ruled out, each with the figure that did it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ruled_out: Vec<String>,
}

impl Limit {
    /// Independent signals behind it; two lines of one signal count once, and what is no figure does not count.
    pub fn signals_count(&self) -> usize {
        let signals = self.evidence.iter().map(|line| &line.signal);
        let figures = signals.filter(|signal| **signal != Signal::None);
        figures.collect::<BTreeSet<_>>().len()
    }

    /// Which of these resources it is: the one that is full at its ceiling, else the busiest of its tier.
    pub fn resource_of(&self, resources: &[Resource]) -> Option<usize> {
        let tier = self.tier.as_deref()?;
        let own = || {
            let all = resources.iter().enumerate();
            all.filter(|(_, r)| r.tier == tier && self.cause.is_of(r.resource_kind))
        };
        let at_ceiling = self.ceiling_per_s.and_then(|ceiling| {
            own().find(|(_, r)| r.full_at_per_s.is_some_and(|full| is_alike(full, ceiling)))
        });
        let busy = |r: &Resource| r.run_ratio + r.wait_ratio;
        let busiest = || own().max_by(|(_, a), (_, b)| busy(a).total_cmp(&busy(b)));
        at_ceiling.or_else(busiest).map(|(index, _)| index)
    }

    /// What happened when an experiment moved it, if one did.
    pub fn experiment(&self) -> Option<&str> {
        let mut lines = self.evidence.iter();
        let found = lines.find(|line| line.signal == Signal::Experiment);
        found.map(|line| line.text.as_str())
    }
}

/// What a resource is, whatever its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResourceKind {
    /// The busiest thread of a process.
    Thread,
    /// All cores that the tier may use.
    Processors,
    Pool,
    Disk,
    #[serde(other)]
    Other,
}

impl ResourceKind {
    #[expect(
        clippy::trivially_copy_pass_by_ref,
        reason = "serde asks for a reference"
    )]
    fn is_other(&self) -> bool {
        *self == Self::Other
    }

    /// Of a record that does not say it: written before kinds were, with names of these shapes.
    fn from_name(name: &str) -> Self {
        match name.split(' ').next() {
            Some("thread") => Self::Thread,
            Some("processors" | "processor") => Self::Processors,
            Some("pool") => Self::Pool,
            Some("disk") => Self::Disk,
            _ => Self::Other,
        }
    }
}

/// One resource of one tier: how busy at the load line, and where it would be full.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "ReadResource")]
pub struct Resource {
    pub tier: String,
    #[serde(skip_serializing_if = "ResourceKind::is_other")]
    pub resource_kind: ResourceKind,
    /// Its name: `thread worker`, `pool of 20`.
    pub resource: String,
    /// How many it has: connections of a pool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<f64>,
    /// Share of the resource in use at the deciding level, running.
    pub run_ratio: f64,
    /// Share runnable but waiting.
    pub wait_ratio: f64,
    /// Seconds of the resource per request (utilisation law), where it has that meaning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub demand_seconds: Option<f64>,
    /// The rate at which it would be full; predicted unless it is the limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full_at_per_s: Option<f64>,
}

/// The resource expected to give way after the first is lifted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NextLimit {
    pub tier: String,
    pub resource: String,
    pub full_at_per_s: f64,
}

/// As any version wrote it.
#[derive(Deserialize)]
struct ReadResource {
    tier: String,
    resource_kind: Option<ResourceKind>,
    resource: String,
    size: Option<f64>,
    run_ratio: f64,
    wait_ratio: f64,
    demand_seconds: Option<f64>,
    full_at_per_s: Option<f64>,
}

impl From<ReadResource> for Resource {
    fn from(read: ReadResource) -> Self {
        let kind = read.resource_kind;
        let kind = kind.unwrap_or_else(|| ResourceKind::from_name(&read.resource));
        let pool_size = || read.resource.strip_prefix("pool of ")?.parse().ok();
        Self {
            size: read.size.or_else(pool_size),
            tier: read.tier,
            resource_kind: kind,
            resource: read.resource,
            run_ratio: read.run_ratio,
            wait_ratio: read.wait_ratio,
            demand_seconds: read.demand_seconds,
            full_at_per_s: read.full_at_per_s,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resource_of_an_older_record_gets_its_kind_from_its_name() {
        let old = r#"{"tier":"db","resource":"pool of 20","run_ratio":1.0,"wait_ratio":0.0}"#;
        let read: Resource = serde_json::from_str(old).unwrap();
        assert_eq!(
            (read.resource_kind, read.size),
            (ResourceKind::Pool, Some(20.0))
        );
        let again: Resource = serde_json::from_str(&serde_json::to_string(&read).unwrap()).unwrap();
        assert_eq!(again, read);
    }

    #[test]
    fn a_cause_marks_only_resources_of_its_kind() {
        assert!(Cause::CpuQuota.is_of(ResourceKind::Processors));
        assert!(!Cause::ConnectionSlots.is_of(ResourceKind::Processors));
        assert!(!Cause::Cpu.is_of(ResourceKind::Other));
    }
}
