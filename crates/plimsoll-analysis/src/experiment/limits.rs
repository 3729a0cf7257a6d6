//! What gives way first in a variant, as its runs or the whole experiment say, and what comes next.

use std::collections::BTreeMap;

use plimsoll_core::experiment::{LimitClaim, Limits, NextClaim, Place, RunClaim, Variant};
use plimsoll_core::record::{Record, TierSetup};
use plimsoll_core::verdict::{Cause, Limit};

use super::spread::spread;
use super::tiers;

/// Another instance of the tier that uses less of its share than this part of what the named one uses has room left.
const AS_BUSY: f64 = 0.8;

pub(super) fn of_variant(variant: &Variant<'_>) -> Limits {
    Limits {
        first: first(variant),
        of_runs: of_runs(variant),
        next: next(variant),
    }
}

/// What the record calls `name`: an instance by its name, or a tier.
fn place(name: &str, record: &Record) -> Place {
    let setups = || record.header.lab.iter().flat_map(|lab| &lab.tiers);
    let Some(named) = setups().find(|setup| setup.name == name) else {
        return Place {
            tier: name.to_owned(),
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
        tier: named.tier.clone(),
        alone_of: (count > 1 && others().all(has_room)).then_some(count),
    }
}

fn place_of(limit: &Limit, record: &Record) -> Option<Place> {
    let name = limit.tier.as_deref();
    name.map(|name| place(name, record))
}

fn of_one(limit: &Limit, record: &Record) -> LimitClaim {
    LimitClaim {
        place: place_of(limit, record),
        confidence: limit.confidence,
        limit: limit.clone(),
        runs_count: 1,
        of_runs_count: 1,
    }
}

/// What an experiment showed of it, else what most runs say.
fn first(variant: &Variant<'_>) -> Option<LimitClaim> {
    let moved = variant.limit.as_ref();
    if let Some(limit) = moved.filter(|limit| limit.experiment().is_some()) {
        let place = variant
            .shown()
            .next()
            .and_then(|run| place_of(limit, run.record));
        return Some(LimitClaim {
            limit: limit.clone(),
            place,
            confidence: limit.confidence,
            runs_count: 1,
            of_runs_count: 1,
        });
    }
    let mut named: BTreeMap<(Cause, Option<Place>), Vec<&Limit>> = BTreeMap::new();
    for run in variant.shown() {
        let verdict = run.record.verdict.as_ref();
        if let Some(limit) = verdict.and_then(|verdict| verdict.limit.as_ref()) {
            let key = (limit.cause, place_of(limit, run.record));
            named.entry(key).or_default().push(limit);
        }
    }
    let ((_, place), most) = named
        .into_iter()
        .max_by_key(|(_, limits)| (limits.len(), limits.iter().map(|l| l.confidence).max()))?;
    Some(LimitClaim {
        limit: (*most.first()?).clone(),
        place,
        confidence: most.iter().map(|limit| limit.confidence).min()?,
        runs_count: most.len(),
        of_runs_count: variant.verdicts().count(),
    })
}

/// What each run that is shown says.
fn of_runs(variant: &Variant<'_>) -> Vec<RunClaim> {
    let records = variant.shown().map(|run| run.record);
    let claims = records.filter_map(|record| {
        let verdict = record.verdict.as_ref()?;
        Some(match &verdict.limit {
            Some(limit) => RunClaim::Limit(of_one(limit, record)),
            None if verdict.valid => RunClaim::Nothing,
            None => RunClaim::NotValid,
        })
    });
    claims.collect()
}

/// What most runs expect after the first limit, with the middle of the rates at which it would be full.
fn next(variant: &Variant<'_>) -> Option<NextClaim> {
    let mut named: BTreeMap<(String, Place), Vec<f64>> = BTreeMap::new();
    for record in variant.shown().map(|run| run.record) {
        let verdict = record.verdict.as_ref();
        if let Some(next) = verdict.and_then(|verdict| verdict.next_limit.as_ref()) {
            let key = (next.resource.clone(), place(&next.tier, record));
            named.entry(key).or_default().push(next.full_at_per_s);
        }
    }
    let ((resource, place), rates) = named.into_iter().max_by_key(|(_, rates)| rates.len())?;
    Some(NextClaim {
        resource,
        place,
        full_at_per_s: spread(rates).median?,
    })
}
