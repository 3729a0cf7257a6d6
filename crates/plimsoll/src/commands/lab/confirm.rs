//! The confirming experiment: a variant that moves the suspected limit and nothing else, found among those that
//! were played, or made and played with `--confirm`.

use std::collections::BTreeMap;
use std::sync::Arc;

use plimsoll_analysis::explain::{self, Knob};
use plimsoll_core::record::Record;
use plimsoll_core::verdict::{Cause, Confidence, Limit, Verdict};
use plimsoll_lab::experiment::{Tier, Variant};
use plimsoll_lab::tiers;

use super::plan::{Plan, Run};
use super::play::Played;

/// A limit that ends requests is lifted so far that nothing of it should be left (D.4: slots sixteenfold).
const LIFT: f64 = 16.0;
/// A limit that bounds the rate is halved: the machine has room for that, and the rate must halve too.
const LOWER: f64 = 0.5;
/// Failures from which a limit is lifted rather than lowered.
const FAILING: f64 = 0.01;

/// Runs that would confirm what was found and that no variant of the experiment is; and for which limits none can.
pub(super) fn runs(plan: &Plan, played: &[Played]) -> (Vec<Run>, Vec<String>) {
    let (mut runs, mut notes) = (Vec::new(), Vec::new());
    let ran = ran(played);
    for variant in &plan.experiment.variants {
        let Some((limit, record)) = found(&variant.name, &ran) else {
            continue;
        };
        if limit_of(&variant.name, &ran).is_some_and(|limit| limit.experiment().is_some()) {
            continue;
        }
        match moved(variant, &limit, record) {
            Ok(confirming) => runs.extend(run_like(plan, &variant.name, confirming)),
            Err(why) => notes.push(format!("{}: {why}", variant.name)),
        }
    }
    (runs, notes)
}

/// A run of a variant.
pub(crate) type Ran<'r> = (&'r str, &'r Record);

pub(super) fn ran(played: &[Played]) -> Vec<Ran<'_>> {
    let all = played.iter();
    all.map(|run| (run.variant.as_str(), &run.record)).collect()
}

/// What gives way first in a variant as its runs say, and as the other variants' runs confirm or refute it.
pub(crate) fn limit_of(variant: &str, ran: &[Ran<'_>]) -> Option<Limit> {
    let (limit, record) = found(variant, ran)?;
    let others = ran.iter().filter(|(name, _)| *name != variant);
    let judged: Vec<Limit> = others
        .filter_map(|(_, after)| explain::confirm(&limit, record, after))
        .collect();
    // Of several runs that moved it, one that contradicts counts.
    let order = [Confidence::Suspected, Confidence::Confirmed];
    let of = |wanted: &Confidence| judged.iter().find(|limit| limit.confidence == *wanted);
    order
        .iter()
        .find_map(of)
        .or(judged.first())
        .cloned()
        .or(Some(limit))
}

/// The limit that most runs of a variant name, with the first of their records; none if they name none.
fn found<'r>(variant: &str, ran: &[Ran<'r>]) -> Option<(Limit, &'r Record)> {
    let mut named: BTreeMap<String, (usize, &Limit, &Record)> = BTreeMap::new();
    let limits = ran
        .iter()
        .filter(|(name, _)| *name == variant)
        .filter_map(|(_, record)| {
            let verdict = record.verdict.as_ref().filter(|verdict| verdict.valid)?;
            Some((verdict.limit.as_ref()?, *record))
        });
    for (limit, record) in limits {
        let key = format!("{:?} {:?}", limit.cause, limit.tier);
        named.entry(key).or_insert((0, limit, record)).0 += 1;
    }
    let (_, limit, record) = named.into_values().max_by_key(|(count, ..)| *count)?;
    let is_one = !matches!(limit.cause, Cause::Unknown | Cause::NotReached);
    is_one.then(|| (limit.clone(), record))
}

/// The variant with the suspected limit moved; or why there is none.
fn moved(variant: &Variant, limit: &Limit, record: &Record) -> Result<Variant, String> {
    let cause = limit.cause.word();
    let setup = record.header.lab.iter().flat_map(|lab| &lab.tiers);
    let name = setup
        .clone()
        .find(|setup| Some(&setup.name) == limit.tier.as_ref());
    let name = name.ok_or_else(|| {
        format!("{cause}: not in a tier of the experiment, so nothing of it can be moved")
    })?;
    let mut confirming = variant.clone();
    let place = confirming
        .tiers
        .iter_mut()
        .find(|tier| tier.name == name.tier);
    let tier = place.ok_or_else(|| format!("{cause}: tier {} is not in the file", name.tier))?;
    let failed = record.verdict.as_ref().map_or(0.0, Verdict::failed_ratio);
    let change = turn(tier, limit, failed)?;
    confirming.name = format!("{}-confirm", variant.name);
    confirming.about = format!(
        "{} with {change}: does it confirm {cause} of {}?",
        variant.name, tier.name
    );
    confirming.base = Some(variant.name.clone());
    confirming.changes = vec![change];
    confirming.probe = true;
    // A stub may have another share than the tier.
    let cores = tiers::machine_cores().map_err(|error| error.to_string())?;
    tiers::check_shares(&confirming, cores.len()).map_err(|error| format!("{cause}: {error}"))?;
    Ok(confirming)
}

/// Moves the first knob of the limit's cause that the tier has; says how.
fn turn(tier: &mut Tier, limit: &Limit, failed: f64) -> Result<String, String> {
    let cause = limit.cause.word();
    let factor = if failed >= FAILING { LIFT } else { LOWER };
    for knob in explain::knobs(limit) {
        let change = match knob {
            Knob::Slots | Knob::Connections | Knob::Pool => {
                let Some(value) = tier.limits.get(knob.name()).copied() else {
                    continue;
                };
                if !tier.limits_used.contains(knob.name()) {
                    return Err(format!(
                        "{cause}: limits.{name} of {} is only declared; write ${{limits.{name}}} where it is set, then it can be moved",
                        tier.name,
                        name = knob.name()
                    ));
                }
                // Half of one is none.
                let to = (value * factor).max(1.0).round();
                let to = if to < value || factor > 1.0 {
                    to
                } else {
                    value * LIFT
                };
                tier.limits.insert(knob.name().to_owned(), to);
                format!("limits.{}: {value} → {to}", knob.name())
            }
            Knob::Cpu => {
                let Some(value) = tier.cpu else { continue };
                tier.cpu = Some(value * LOWER);
                format!("cpu: {value} → {}", value * LOWER)
            }
            Knob::Stub => {
                let Some(stub) = tier.stub.take() else {
                    continue;
                };
                *tier = *stub;
                "stubbed: not set → true".to_owned()
            }
            Knob::Instances => continue,
        };
        return Ok(format!("tiers.{}.{change}", tier.name));
    }
    let stub = if explain::knobs(limit).contains(&Knob::Stub) {
        format!("a `stub` of {}, or ", tier.name)
    } else {
        String::new()
    };
    Err(format!(
        "{cause}: the file has no knob for it; {stub}a variant that moves it and nothing else would decide"
    ))
}

/// One run of the confirming variant, with the seed and the time of a run of the one that it confirms.
fn run_like(plan: &Plan, variant: &str, confirming: Variant) -> Option<Run> {
    let like = plan.runs.iter().find(|run| run.variant.name == variant)?;
    Some(Run {
        variant: Arc::new(confirming),
        number: 1,
        seed: like.seed,
        takes: like.takes,
    })
}
