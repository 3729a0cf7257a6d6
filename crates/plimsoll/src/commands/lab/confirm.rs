//! The confirming experiment of `--confirm`: a variant that moves the suspected limit and nothing else, and a run of it.

use plimsoll_analysis::explain::{self, Knob};
use plimsoll_core::experiment::{Judged, LimitClaim};
use plimsoll_core::verdict::Limit;
use plimsoll_lab::experiment::{Tier, Variant};
use plimsoll_lab::tiers;

use super::plan::{Plan, Run};

/// A limit that ends requests is lifted so far that nothing of it should be left (D.4: slots sixteenfold).
const LIFT: f64 = 16.0;
/// A limit that bounds the rate is halved: the machine has room for that, and the rate must halve too.
const LOWER: f64 = 0.5;
/// Runs that would confirm what was found and that no variant of the experiment is; and for which limits none can.
pub(super) fn runs(plan: &Plan, judged: &Judged<'_>) -> (Vec<Run>, Vec<String>) {
    let (mut runs, mut notes) = (Vec::new(), Vec::new());
    for (variant, meaning) in judged.variants() {
        let first = meaning.limits.first.as_ref().filter(|first| {
            meaning.is_valid && first.limit.cause.is_known() && first.limit.experiment().is_none()
        });
        let like = plan
            .runs
            .iter()
            .find(|run| run.variant.name == variant.name);
        let Some((first, like)) = first.zip(like) else {
            continue;
        };
        match moved(&like.variant, first, meaning.is_failing) {
            Ok(confirming) => runs.push(like.of(confirming)),
            Err(why) => notes.push(format!("not confirmed: {}: {why}", variant.name)),
        }
    }
    (runs, notes)
}

/// The variant with the suspected limit moved; or why there is none.
fn moved(variant: &Variant, first: &LimitClaim, is_failing: bool) -> Result<Variant, String> {
    let cause = first.limit.cause.word();
    let mut confirming = variant.clone();
    let mut tiers = confirming.tiers.iter_mut();
    let location = first.location.as_ref();
    let tier = location.and_then(|place| tiers.find(|tier| tier.name == place.tier));
    let tier = tier.ok_or_else(|| {
        format!("{cause}: not in a tier of the experiment, so nothing of it can be moved")
    })?;
    let change = turn(tier, &first.limit, is_failing)?;
    confirming.about = format!(
        "{} with {change}: does it confirm {cause} of {}?",
        variant.name, tier.name
    );
    confirming.name = format!("{}-confirm", variant.name);
    confirming.base = Some(variant.name.clone());
    confirming.changes = vec![change];
    confirming.probe = true;
    // A stub may have another share than the tier.
    let cores = tiers::machine_cores().map_err(|error| error.to_string())?;
    tiers::check_shares(&confirming, cores.len()).map_err(|error| format!("{cause}: {error}"))?;
    Ok(confirming)
}

/// Moves the first knob of the limit's cause that the tier has; says how.
fn turn(tier: &mut Tier, limit: &Limit, is_failing: bool) -> Result<String, String> {
    let cause = limit.cause.word();
    let factor = if is_failing { LIFT } else { LOWER };
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
                if value * LOWER < tiers::SHARE_LEAST {
                    return Err(format!(
                        "{cause}: half of the {value} of a core of {} is less than a quota can be",
                        tier.name
                    ));
                }
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
