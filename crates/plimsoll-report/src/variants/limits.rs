//! What gives way first in a variant, as its runs or the whole experiment say.

use std::collections::BTreeMap;
use std::fmt;

use plimsoll_core::record::{Record, TierSetup};
use plimsoll_core::verdict::{Cause, Confidence, Limit};

use super::{Variant, tiers};
use crate::format;
use crate::view::{cause_words, confidence_word};

/// The signal of evidence that comes from moving a limit.
const EXPERIMENT: &str = "experiment";

/// Another instance of the tier that uses less of its share than this part of what the named one uses has room left.
const AS_BUSY: f64 = 0.8;

/// Where a limit is: a tier, or one instance of several where the others have room left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place<'v> {
    tier: &'v str,
    /// How many instances the tier has, if only one of them is full.
    alone_of: Option<usize>,
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(count) = self.alone_of {
            write!(out, "one of the {count} instances of ")?;
        }
        out.write_str(self.tier)
    }
}

/// What the record calls `name`: an instance by its name, or a tier.
fn place<'r>(name: &'r str, record: &'r Record) -> Place<'r> {
    let setups = || record.header.lab.iter().flat_map(|lab| &lab.tiers);
    let Some(named) = setups().find(|setup| setup.name == name) else {
        return Place {
            tier: name,
            alone_of: None,
        };
    };
    let others = || setups().filter(|setup| setup.tier == named.tier && setup.name != name);
    let count = others().count() + 1;
    let busy = tiers::cores_used(record, name);
    let has_room = |other: &TierSetup| {
        let used = tiers::cores_used(record, &other.name);
        busy.zip(used)
            .is_some_and(|(busy, used)| used < AS_BUSY * busy)
    };
    Place {
        tier: &named.tier,
        alone_of: (count > 1 && others().all(has_room)).then_some(count),
    }
}

fn place_of<'r>(limit: &'r Limit, record: &'r Record) -> Option<Place<'r>> {
    let name = limit.tier.as_deref();
    name.map(|name| place(name, record))
}

/// A first limit and how many of the runs name it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Said<'v> {
    pub(crate) limit: &'v Limit,
    place: Option<Place<'v>>,
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

    /// `connection slots of proxy`, `the CPU quota of one of the 2 instances of app`, `the downstream service stock`
    pub(crate) fn place(&self) -> String {
        let cause = cause_words(self.limit.cause);
        // With a process the tier named is the one that is waited for, without one the tier that waits.
        let is_downstream = self.limit.cause == Cause::Downstream && self.limit.process.is_some();
        if let Some(place) = self.place.filter(|_| is_downstream) {
            return format!("the downstream service {place}");
        }
        let place = self
            .place
            .map_or(String::new(), |place| format!(" of {place}"));
        format!("{cause}{place}")
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
                place: self
                    .shown()
                    .next()
                    .and_then(|run| place_of(limit, run.record)),
                confidence: limit.confidence,
                runs: 1,
                of: 1,
            });
        }
        let mut named: BTreeMap<(Cause, Option<Place<'_>>), Vec<&Limit>> = BTreeMap::new();
        for run in self.shown() {
            let limit = run
                .record
                .verdict
                .as_ref()
                .and_then(|verdict| verdict.limit.as_ref());
            if let Some(limit) = limit {
                let key = (limit.cause, place_of(limit, run.record));
                named.entry(key).or_default().push(limit);
            }
        }
        let ((_, place), most) = named
            .into_iter()
            .max_by_key(|(_, limits)| (limits.len(), limits.iter().map(|l| l.confidence).max()))?;
        let least = most.iter().map(|limit| limit.confidence).min()?;
        Some(Said {
            limit: most.first()?,
            place,
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
    variant.said(|record, verdict| {
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
            place: place_of(limit, record),
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
    for record in variant.shown().map(|run| run.record) {
        let verdict = record.verdict.as_ref();
        if let Some(next) = verdict.and_then(|verdict| verdict.next_limit.as_ref()) {
            let name = format!("{} of {}", next.resource, place(&next.tier, record));
            named.entry(name).or_default().push(next.full_at_per_s);
        }
    }
    let most = named.into_iter().max_by_key(|(_, rates)| rates.len());
    most.map_or(format::ABSENT.to_owned(), |(name, rates)| {
        let full = super::cell::spread(&rates).median.unwrap_or_default();
        format!("{name}, predicted full at {}", format::rate(full))
    })
}
