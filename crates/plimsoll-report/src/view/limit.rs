//! What gives way first, in words, and every resource along the path.

use plimsoll_core::verdict::{Cause, Confidence, Limit, Verdict};

use crate::format;

/// One resource of one tier with its part in the story.
#[derive(Debug, Clone)]
pub struct TierRow<'a> {
    pub tier: &'a str,
    pub resource: &'a str,
    pub run_ratio: f64,
    pub wait_ratio: f64,
    pub demand_seconds: Option<f64>,
    pub full_at_per_s: Option<f64>,
    /// Gives way first.
    pub first: bool,
    /// Gives way next.
    pub next: bool,
}

impl TierRow<'_> {
    pub fn busy_ratio(&self) -> f64 {
        self.run_ratio + self.wait_ratio
    }

    /// Resources in the order of the record, with the first and the next limit marked.
    pub fn all(verdict: &Verdict) -> Vec<TierRow<'_>> {
        let first = verdict
            .limit
            .as_ref()
            .and_then(|limit| first_row(verdict, limit));
        let next = verdict.next_limit.as_ref();
        verdict
            .resources
            .iter()
            .enumerate()
            .map(|(index, resource)| TierRow {
                tier: &resource.tier,
                resource: &resource.resource,
                run_ratio: resource.run_ratio,
                wait_ratio: resource.wait_ratio,
                demand_seconds: resource.demand_seconds,
                full_at_per_s: resource.full_at_per_s,
                first: first == Some(index),
                next: first != Some(index)
                    && next.is_some_and(|next| {
                        next.tier == resource.tier && next.resource == resource.resource
                    }),
            })
            .collect()
    }
}

/// The resource of the limit: the one that is full at its ceiling, else the busiest of its tier.
fn first_row(verdict: &Verdict, limit: &Limit) -> Option<usize> {
    let tier = limit.tier.as_deref()?;
    let of_tier = || {
        verdict
            .resources
            .iter()
            .enumerate()
            .filter(|(_, r)| r.tier == tier && is_of(limit.cause, &r.resource))
    };
    let at_ceiling = limit.ceiling_per_s.and_then(|ceiling| {
        of_tier().find(|(_, r)| {
            r.full_at_per_s
                .is_some_and(|full| (full - ceiling).abs() <= 0.005 * ceiling)
        })
    });
    let busy = |r: &plimsoll_core::verdict::Resource| r.run_ratio + r.wait_ratio;
    let busiest = || of_tier().max_by(|(_, a), (_, b)| busy(a).total_cmp(&busy(b)));
    at_ceiling.or_else(busiest).map(|(index, _)| index)
}

/// Whether a resource is what the cause names. Slots, locks and rules are no resource of the table: an idle processor
/// must not be marked for them.
fn is_of(cause: Cause, resource: &str) -> bool {
    match cause {
        Cause::PinnedThread | Cause::EventLoop | Cause::Memory => resource.starts_with("thread "),
        Cause::Cpu | Cause::CpuQuota => !resource.starts_with("thread ") && resource != "disk",
        Cause::Pool => resource.starts_with("pool "),
        Cause::Disk => resource == "disk",
        _ => false,
    }
}

/// The cause as a noun: `one thread`, `connection slots`.
pub const fn cause_words(cause: Cause) -> &'static str {
    match cause {
        Cause::PinnedThread => "one thread",
        Cause::Cpu => "the processor",
        Cause::CpuQuota => "the CPU quota",
        Cause::ConnectionSlots => "connection slots",
        Cause::Pool => "a connection pool",
        Cause::Downstream => "a downstream service",
        Cause::Lock => "a lock or serialised section",
        Cause::Disk => "the disk",
        Cause::EventLoop => "the event loop",
        Cause::Memory => "memory or garbage collection",
        Cause::Stalls => "rare stalls",
        Cause::Rule => "a configured refusal",
        Cause::NotReached => "nothing yet: the limit was not reached",
        Cause::Unknown => "unknown",
    }
}

/// `one thread: node (pid 4711), tier shop-api`
pub fn limit_sentence(limit: &Limit) -> String {
    let mut text = cause_words(limit.cause).to_owned();
    let places: Vec<&str> = [limit.process.as_deref(), limit.tier.as_deref()]
        .into_iter()
        .flatten()
        .collect();
    match places.as_slice() {
        [process, tier] if process.contains(tier) => {
            text.push_str(": ");
            text.push_str(process);
        }
        [process, tier] => {
            text.push_str(": ");
            text.push_str(process);
            text.push_str(", tier ");
            text.push_str(tier);
        }
        [place] => {
            text.push_str(": ");
            text.push_str(place);
        }
        _ => {}
    }
    text
}

pub const fn confidence_word(confidence: Confidence) -> &'static str {
    match confidence {
        Confidence::Unknown => "unknown",
        Confidence::Suspected => "suspected",
        Confidence::Supported => "supported",
        Confidence::Confirmed => "confirmed",
    }
}

/// Independent signals behind a limit; two lines of one signal count once.
pub fn signals(limit: &Limit) -> u64 {
    let names: std::collections::BTreeSet<&str> = limit
        .evidence
        .iter()
        .map(|evidence| evidence.signal.as_str())
        .collect();
    names.len() as u64
}

/// `supported by 3 independent signals, not yet confirmed by an experiment`
pub fn confidence_sentence(limit: &Limit) -> String {
    let signals = format::plural(signals(limit), "independent signal", "independent signals");
    match limit.confidence {
        Confidence::Unknown => "unknown: no signal is sufficient".to_owned(),
        Confidence::Suspected => format!("suspected, on {signals}; not enough to be sure"),
        Confidence::Supported => {
            format!("supported by {signals}, not yet confirmed by an experiment")
        }
        Confidence::Confirmed => {
            format!("confirmed: an experiment moved the limit as predicted ({signals})")
        }
    }
}
