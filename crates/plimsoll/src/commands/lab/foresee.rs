//! What a variant should carry, worked out from its base's runs before it is played itself.

use std::collections::BTreeMap;

use plimsoll_analysis::explain::{PlannedTier, Predicted, predict};
use plimsoll_core::experiment::{Experiment, Prediction};
use plimsoll_core::verdict::Cause;
use plimsoll_lab::experiment::Variant;
use plimsoll_report::format::{self, quoted};

use super::play::Played;

/// By variant. What was said before the first run of a variant stays, whatever its base does later.
#[derive(Debug, Default)]
pub(super) struct Foresight(BTreeMap<String, Prediction>);

impl Foresight {
    /// Looks ahead to the first run of `variant`; gives the line to be shown, if there is anything to say.
    pub(super) fn look(&mut self, variant: &Variant, played: &[Played]) -> Option<String> {
        let name = &variant.name;
        let was_played = played.iter().any(|run| run.variant == *name);
        if was_played || self.0.contains_key(name) || !differs_in_shares(variant) {
            return None;
        }
        let base = variant.base.as_deref()?;
        let runs: Vec<&Played> = played.iter().filter(|run| run.variant == base).collect();
        if runs.is_empty() {
            return None;
        }
        match of_runs(variant, &runs) {
            Err(problem) => Some(format!(
                "{} cannot be predicted from {}: {problem}",
                quoted(name),
                quoted(base)
            )),
            Ok(predicted) => {
                let rate = format::rate(predicted.per_s);
                let text = format!("predicted for {}: {rate} ({})", quoted(name), predicted.why);
                let prediction = Prediction {
                    per_s: predicted.per_s,
                    from: base.to_owned(),
                    why: predicted.why,
                };
                self.0.insert(name.clone(), prediction);
                Some(text)
            }
        }
    }

    /// Gives each variant what was said of it.
    pub(super) fn tell(&self, experiment: &mut Experiment<'_>) {
        for variant in &mut experiment.variants {
            variant.predicted = self.0.get(variant.name).cloned();
        }
    }
}

/// Only in how many instances of its tiers there are, or in their cores: then demands per request stay what they were.
fn differs_in_shares(variant: &Variant) -> bool {
    let is_share = |change: &String| {
        let key = change.split(':').next().unwrap_or_default();
        let parts: Vec<&str> = key.split('.').collect();
        matches!(parts.as_slice(), ["tiers", _, "instances" | "cpu"])
    };
    !variant.changes.is_empty() && variant.changes.iter().all(is_share)
}

/// The middle one of what each valid run of the base says.
fn of_runs(variant: &Variant, runs: &[&Played]) -> Result<Predicted, String> {
    let planned: Vec<PlannedTier> = variant
        .tiers
        .iter()
        .map(|tier| PlannedTier {
            name: tier.name.clone(),
            instances: tier.instances,
            cpu_cores: tier.cpu,
        })
        .collect();
    let mut problem = "none of its runs is valid".to_owned();
    let mut predictions = Vec::new();
    for run in runs {
        let verdict = run.record.verdict.as_ref().filter(|verdict| verdict.valid);
        let Some(verdict) = verdict else { continue };
        if let Some(limit) = verdict
            .limit
            .as_ref()
            .filter(|limit| !moves_with_shares(limit.cause))
        {
            let cause = limit.cause.word();
            problem = format!("what gives way first in it is {cause}, which shares do not move");
            continue;
        }
        match predict(&run.record, &verdict.found, &planned) {
            Ok(predicted) => predictions.push(predicted),
            Err(why) => problem = why,
        }
    }
    predictions.sort_by(|one, other| one.per_s.total_cmp(&other.per_s));
    let middle = predictions.len() / 2;
    if predictions.is_empty() {
        return Err(problem);
    }
    Ok(predictions.swap_remove(middle))
}

/// More of it helps where processors are the limit, or nothing was one yet.
const fn moves_with_shares(cause: Cause) -> bool {
    matches!(
        cause,
        Cause::PinnedThread | Cause::Cpu | Cause::CpuQuota | Cause::EventLoop | Cause::NotReached
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_shares_scale_what_was_measured() {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../experiments/server-limits"
        );
        let experiment = plimsoll_lab::experiment::Experiment::load(path.as_ref(), false).unwrap();
        let predictable: Vec<&str> = experiment
            .variants
            .iter()
            .filter(|variant| differs_in_shares(variant))
            .map(|variant| variant.name.as_str())
            .collect();
        assert_eq!(predictable, ["1", "2", "3"]);
    }
}
