//! What gives way first in a variant, as its runs or the whole experiment say.

use std::collections::BTreeMap;

use plimsoll_core::verdict::{Cause, Confidence, Limit};

use super::Variant;
use crate::format;
use crate::view::{cause_words, confidence_word};

/// The signal of evidence that comes from moving a limit.
const EXPERIMENT: &str = "experiment";

/// A first limit and how many of the runs name it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Said<'v> {
    pub(crate) limit: &'v Limit,
    /// As sure as the least sure of the runs that name it.
    pub(crate) confidence: Confidence,
    pub(crate) runs: usize,
    pub(crate) of: usize,
}

/// What happened when the limit was moved, if it was.
fn moved(limit: &Limit) -> Option<&str> {
    let mut lines = limit.evidence.iter();
    let found = lines.find(|line| line.signal == EXPERIMENT);
    found.map(|line| line.text.as_str())
}

impl<'v> Said<'v> {
    /// The line of the confirming experiment, whether it confirmed or not.
    pub(crate) fn experiment(&self) -> Option<&'v str> {
        moved(self.limit)
    }

    pub(crate) fn is_known(&self) -> bool {
        !matches!(self.limit.cause, Cause::Unknown | Cause::NotReached)
    }

    /// `connection slots of proxy`
    pub(crate) fn place(&self) -> String {
        let tier = self.limit.tier.as_deref();
        let tier = tier.map_or(String::new(), |tier| format!(" of {tier}"));
        format!("{}{tier}", cause_words(self.limit.cause))
    }

    /// `supported`, `supported in 2 of 3 runs`
    pub(crate) fn sureness(&self) -> String {
        let word = confidence_word(self.confidence);
        if self.runs == self.of {
            word.to_owned()
        } else {
            let runs = format::plural(self.of as u64, "run", "runs");
            format!("{word} in {} of {runs}", self.runs)
        }
    }
}

impl Variant<'_> {
    /// What an experiment showed of it, else what most runs say.
    pub(crate) fn first(&self) -> Option<Said<'_>> {
        let limit = self.limit.as_ref();
        if let Some(limit) = limit.filter(|limit| moved(limit).is_some()) {
            return Some(Said {
                limit,
                confidence: limit.confidence,
                runs: 1,
                of: 1,
            });
        }
        let mut named: BTreeMap<(Cause, Option<&str>), Vec<&Limit>> = BTreeMap::new();
        for limit in self.verdicts().filter_map(|verdict| verdict.limit.as_ref()) {
            let key = (limit.cause, limit.tier.as_deref());
            named.entry(key).or_default().push(limit);
        }
        let most = named
            .into_values()
            .max_by_key(|limits| (limits.len(), limits.iter().map(|l| l.confidence).max()))?;
        let least = most.iter().map(|limit| limit.confidence).min()?;
        Some(Said {
            limit: most.first()?,
            confidence: least,
            runs: most.len(),
            of: self.verdicts().count(),
        })
    }
}

pub(super) fn first_words(variant: &Variant<'_>) -> String {
    if let Some(said) = variant.first().filter(|said| said.experiment().is_some()) {
        return format!("{}, {}", said.place(), said.sureness());
    }
    variant.said(|verdict| {
        let Some(limit) = &verdict.limit else {
            let why = if verdict.valid {
                "not said"
            } else {
                "not said: the run is not valid"
            };
            return why.to_owned();
        };
        let one = Said {
            limit,
            confidence: limit.confidence,
            runs: 1,
            of: 1,
        };
        if !one.is_known() {
            return one.place();
        }
        format!("{}, {}", one.place(), one.sureness())
    })
}

/// What comes next, with the middle of the rates at which it would be full.
pub(super) fn next_words(variant: &Variant<'_>) -> String {
    let mut named: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    let nexts = variant.verdicts().filter_map(|f| f.next_limit.as_ref());
    for next in nexts {
        let name = format!("{} of {}", next.resource, next.tier);
        named.entry(name).or_default().push(next.full_at_per_s);
    }
    let most = named.into_iter().max_by_key(|(_, rates)| rates.len());
    most.map_or(format::ABSENT.to_owned(), |(name, rates)| {
        let full = super::cell::spread(&rates).median.unwrap_or_default();
        format!("{name}, predicted full at {}", format::rate(full))
    })
}
