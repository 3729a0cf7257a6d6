//! Every variant of an experiment held against its base over the repetitions, as `plimsoll compare` would.

use plimsoll_analysis::compare::{self, Fingerprint, MARGIN_RATIO};
use plimsoll_core::comparison::{Comparison, Design};
use plimsoll_core::record::Record;

use crate::commands::compare::{Asked, Loaded, judged};

/// The runs of one variant in the order of the repetitions, each with the path of its record.
pub(crate) struct Side<'r> {
    pub(crate) name: String,
    pub(crate) base: Option<String>,
    pub(crate) runs: Vec<(&'r str, &'r Record)>,
}

/// None where every variant ran once, or where the runs cannot be compared; then a warning says why. A variant that
/// ran less often than the others, to confirm something, is no part of it.
pub(crate) fn compared(mut sides: Vec<Side<'_>>, warnings: &mut Vec<String>) -> Option<Comparison> {
    let most = sides.iter().map(|side| side.runs.len()).max()?;
    sides.retain(|side| side.runs.len() == most);
    let pairs: Vec<(String, String)> = sides
        .iter()
        .filter_map(|side| Some((side.name.clone(), side.base.clone()?)))
        .filter(|(_, base)| sides.iter().any(|side| side.name == *base))
        .collect();
    if pairs.is_empty() || most < 2 {
        return None;
    }
    let seeds = sides.iter().flat_map(|side| &side.runs);
    let seed = seeds
        .map(|(_, record)| record.header.test.generator.seed)
        .min();
    let asked = Asked {
        // The n-th runs of all variants were played beside each other, with one seed.
        design: Design::Paired,
        is_calibration: false,
        seed: seed.unwrap_or(1),
        pairs: Some(pairs),
    };
    let loaded = sides.into_iter().map(|side| {
        (
            side.name,
            side.runs.into_iter().filter_map(loaded).collect(),
        )
    });
    match judged(loaded.collect(), None, MARGIN_RATIO, &asked) {
        Ok(comparison) => Some(comparison),
        Err(error) => {
            warnings.push(format!("no variant is held against its base: {error}"));
            None
        }
    }
}

fn loaded((path, record): (&str, &Record)) -> Option<Loaded> {
    let verdict = record.verdict.as_ref()?;
    Some(Loaded {
        run: compare::of_record(path, record, verdict),
        fingerprint: Fingerprint::of_record(&record.header),
        objectives: record.header.test.objectives().cloned(),
    })
}
