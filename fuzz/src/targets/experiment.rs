//! Experiment files: any text is understood whole or refused with the place and the problem.

use std::collections::BTreeSet;
use std::path::Path;

use plimsoll_lab::LabError;
use plimsoll_lab::experiment::Experiment;

use super::{Outcome, variant};

pub(super) const WORDS: &[&str] = &[
    "[tiers.app]\n",
    "[variants.B]\n",
    "[test]\n",
    "[objectives]\nslo = \"p99<1s\"\n",
    "[repeat]\nruns = 2\n",
    "quick = [\"A\"]\n",
    "embedded = \"echo\"\n",
    "command = \"sh\"\n",
    "base = \"A\"\n",
    "without = [\"app\"]\n",
    "instances = 2\n",
    "kill_at = \"1s\"\n",
    "limits = { slots = 64, per_request = 2 }\n",
    "stages = [{ target = 1, duration = \"1s\" }]\n",
    "stored = [\"mongodb://${app.address}/a.b\"]\n",
    "backlog = [\"http://${app.address}/metrics#x\"]\n",
    "requires = [\"sh\"]\n",
    "taken = [\"http://${app.address}/metrics#y_total\"]\n",
    "${app.address}",
    "${app.*.port}",
    "${app.2.dir}",
    "${limits.slots}",
    "$${",
    "1e308",
    "nan",
    "-1",
];

/// Where no file is: what a text names outside itself is missing.
const FOLDER: &str = "/nonexistent";

pub(super) fn read(data: &[u8]) -> Outcome {
    let text = String::from_utf8_lossy(data);
    let scale = if data.len().is_multiple_of(3) {
        0.25
    } else {
        1.0
    };
    let parsed = Experiment::parse("experiment.toml", &text, Path::new(FOLDER));
    let experiment = match parsed.and_then(|experiment| experiment.scaled(scale)) {
        Ok(experiment) => experiment,
        Err(error) => return refused(&error),
    };
    let names: BTreeSet<&str> = experiment
        .variants
        .iter()
        .map(|variant| variant.name.as_str())
        .collect();
    assert_eq!(
        names.len(),
        experiment.variants.len(),
        "a name stands for one variant"
    );
    for variant in &experiment.variants {
        let base = variant.base.as_deref();
        assert!(
            base.is_none_or(|base| names.contains(base)),
            "{base:?} is no variant"
        );
        assert!(
            base.is_some() || variant.changes.is_empty(),
            "changed from nothing"
        );
        assert!(variant.cpu().is_finite(), "a share without bound");
    }
    let runs = experiment.order(1).len();
    assert_eq!(runs, names.len() * experiment.runs as usize);
    let first: Vec<String> = names
        .iter()
        .take(1)
        .map(|name| (*name).to_owned())
        .collect();
    let only = experiment.clone().only(&first);
    assert_eq!(only.expect("its name is known").variants.len(), 1);
    format!("{} variants", names.len().min(4))
}

/// The problem without what is quoted in it.
fn refused(error: &LabError) -> Outcome {
    let LabError::Experiment { place, problem } = error else {
        return variant(error);
    };
    assert!(place.starts_with("experiment.toml"), "{place} is no place");
    assert!(!problem.is_empty(), "a refusal without a reason");
    let outside = problem.split('`').step_by(2);
    let words: String = outside
        .flat_map(str::chars)
        .filter(|c| c.is_alphabetic())
        .take(40)
        .collect();
    words
}
