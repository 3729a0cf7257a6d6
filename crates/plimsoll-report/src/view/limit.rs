//! What gives way first, in words, and every resource along the path.

use plimsoll_core::verdict::{Confidence, Limit, Resource, Verdict};

use crate::format;

/// One resource of one tier with its part in the story.
#[derive(Debug, Clone)]
pub(crate) struct TierRow<'a> {
    pub(crate) tier: &'a str,
    pub(crate) resource: &'a str,
    pub(crate) run_ratio: f64,
    pub(crate) wait_ratio: f64,
    pub(crate) demand_seconds: Option<f64>,
    /// Of what gives way first the ceiling that is named for it, so that a page shows one figure.
    pub(crate) full_at_per_s: Option<f64>,
    /// Gives way first.
    pub(crate) first: bool,
    /// And is full at the lowest rate of all.
    pub(crate) lowest: bool,
    /// Gives way next.
    pub(crate) next: bool,
}

impl TierRow<'_> {
    pub(crate) fn busy_ratio(&self) -> f64 {
        self.run_ratio + self.wait_ratio
    }

    /// Resources in the order of the record, with the first and the next limit marked.
    pub(crate) fn all(verdict: &Verdict) -> Vec<TierRow<'_>> {
        let limit = verdict.limit.as_ref();
        let first = limit.and_then(|limit| limit.resource_of(&verdict.resources));
        let next = verdict.next_limit.as_ref();
        let ceiling = limit.and_then(|limit| limit.ceiling_per_s);
        let full_at = |index: usize, resource: &Resource| {
            let named = ceiling.filter(|_| first == Some(index));
            named.or(resource.full_at_per_s)
        };
        let all = || verdict.resources.iter().enumerate();
        let rates = all().filter_map(|(index, resource)| full_at(index, resource));
        let lowest = rates.fold(f64::INFINITY, f64::min);
        all()
            .map(|(index, resource)| TierRow {
                tier: &resource.tier,
                resource: &resource.resource,
                run_ratio: resource.run_ratio,
                wait_ratio: resource.wait_ratio,
                demand_seconds: resource.demand_seconds,
                full_at_per_s: full_at(index, resource),
                first: first == Some(index),
                lowest: full_at(index, resource).is_some_and(|rate| rate <= lowest),
                next: first != Some(index)
                    && next.is_some_and(|next| {
                        next.tier == resource.tier && next.resource == resource.resource
                    }),
            })
            .collect()
    }
}

/// `one thread: node (pid 4711), tier shop-api`
pub(crate) fn limit_sentence(limit: &Limit) -> String {
    let mut text = limit.cause.noun().to_owned();
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

/// `supported by 3 independent signals, not yet confirmed by an experiment`
pub(crate) fn confidence_sentence(limit: &Limit) -> String {
    let signals = format::plural(
        limit.signals_count() as u64,
        "independent signal",
        "independent signals",
    );
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
