//! What gives way first in a variant, as its own runs say and those of other variants confirm or refute it, and what comes
//! next.

use std::collections::BTreeMap;

use plimsoll_core::experiment::{LimitClaim, LimitLocation, Limits, NextClaim, RunClaim, Variant};
use plimsoll_core::record::{Record, TierSetup};
use plimsoll_core::verdict::{Cause, Confidence, Limit};

use super::spread::spread;
use super::tiers;
use crate::explain;

/// Another instance of the tier that uses less of its share than this part of what the named one uses has room left.
const AS_BUSY: f64 = 0.8;

pub(super) fn of_variant(variant: &Variant<'_>, all: &[Variant<'_>]) -> Limits {
    Limits {
        first: first(variant, all),
        of_runs: of_runs(variant),
        next: next(variant),
    }
}

/// What the record calls `name`: an instance by its name, or a tier.
fn location(name: &str, record: &Record) -> LimitLocation {
    let setups = || record.header.lab.iter().flat_map(|lab| &lab.tiers);
    let Some(named) = setups().find(|setup| setup.name == name) else {
        return LimitLocation {
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
    LimitLocation {
        tier: named.tier.clone(),
        alone_of: (count > 1 && others().all(has_room)).then_some(count),
    }
}

fn location_of(limit: &Limit, record: &Record) -> Option<LimitLocation> {
    let name = limit.tier.as_deref();
    name.map(|name| location(name, record))
}

fn of_one(limit: &Limit, record: &Record) -> LimitClaim {
    LimitClaim {
        location: location_of(limit, record),
        confidence: limit.confidence,
        limit: limit.clone(),
        runs_count: 1,
        of_runs_count: 1,
    }
}

/// What the runs of other variants showed of it, else what most of its own runs say. An intervention decides before any one
/// run's sampling does: on a busy machine a full processor is suspected easily.
fn first(variant: &Variant<'_>, all: &[Variant<'_>]) -> Option<LimitClaim> {
    let named = most_named(variant);
    let own = named.as_ref().and_then(|(_, named)| named.first().copied());
    let tried = own.and_then(|(limit, record)| Some((tried(limit, record, all)?, record)));
    if let Some((limit, record)) = &tried
        && limit.confidence == Confidence::Confirmed
    {
        return Some(of_one(limit, record));
    }
    if let Some((limit, record)) = intervened(variant, all, own.map(|(limit, _)| limit)) {
        return Some(of_one(&limit, record));
    }
    if let Some((limit, record)) = tried {
        return Some(of_one(&limit, record));
    }
    let (location, named) = named?;
    let (limit, _) = *named.first()?;
    Some(LimitClaim {
        limit: limit.clone(),
        location,
        confidence: named.iter().map(|(limit, _)| limit.confidence).min()?,
        runs_count: named.len(),
        of_runs_count: variant.verdicts().count(),
    })
}

/// The limit of this variant that another one lifts, and with it the failures; `suspected` is what its own runs said.
fn intervened<'r>(
    variant: &Variant<'r>,
    all: &[Variant<'_>],
    suspected: Option<&Limit>,
) -> Option<(Limit, &'r Record)> {
    let runs = all.iter().flat_map(|variant| &variant.runs);
    let shown = variant.shown().map(|run| run.record);
    let mut pairs = shown.flat_map(|record| runs.clone().map(move |run| (record, run.record)));
    let (mut limit, record) = pairs.find_map(|(record, other)| {
        let limit = tried(&explain::lifted(record, other)?, record, all)?;
        (limit.confidence == Confidence::Confirmed).then_some((limit, record))
    })?;
    let other = suspected.filter(|own| own.cause != limit.cause && own.cause.is_known());
    limit.ruled_out.extend(other.map(|own| {
        format!(
            "{}: it looked so in a run, and the failures went with the other limit alone",
            own.cause.word()
        )
    }));
    Some((limit, record))
}

/// What a run names, with its record.
type Named<'r> = (&'r Limit, &'r Record);

/// The runs that agree on a limit and its location: the most of them, then the surest.
fn most_named<'r>(variant: &Variant<'r>) -> Option<(Option<LimitLocation>, Vec<Named<'r>>)> {
    let mut named: BTreeMap<(Cause, Option<LimitLocation>), Vec<Named<'r>>> = BTreeMap::new();
    for record in variant.shown().map(|run| run.record) {
        let verdict = record.verdict.as_ref();
        if let Some(limit) = verdict.and_then(|verdict| verdict.limit.as_ref()) {
            let key = (limit.cause, location_of(limit, record));
            named.entry(key).or_default().push((limit, record));
        }
    }
    let surest = |named: &[Named<'_>]| named.iter().map(|(limit, _)| limit.confidence).max();
    let most = named
        .into_iter()
        .max_by_key(|(_, named)| (named.len(), surest(named)));
    most.map(|((_, location), named)| (location, named))
}

/// The limit that `record` names, as the runs that moved it and nothing else confirm or refute it; none if none did.
fn tried(limit: &Limit, record: &Record, all: &[Variant<'_>]) -> Option<Limit> {
    let runs = all.iter().flat_map(|variant| &variant.runs);
    let judged = runs.filter_map(|run| explain::confirm(limit, record, run.record));
    // Of several runs that moved it, one that contradicts counts.
    judged.min_by_key(|limit| match limit.confidence {
        Confidence::Suspected => 0,
        Confidence::Confirmed => 1,
        _ => 2,
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
    let mut named: BTreeMap<(String, LimitLocation), Vec<f64>> = BTreeMap::new();
    for record in variant.shown().map(|run| run.record) {
        let verdict = record.verdict.as_ref();
        if let Some(next) = verdict.and_then(|verdict| verdict.next_limit.as_ref()) {
            let key = (next.resource.clone(), location(&next.tier, record));
            named.entry(key).or_default().push(next.full_at_per_s);
        }
    }
    let ((resource, location), rates) = named.into_iter().max_by_key(|(_, rates)| rates.len())?;
    Some(NextClaim {
        resource,
        location,
        full_at_per_s: spread(rates).median?,
    })
}
