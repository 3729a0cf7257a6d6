//! Records of one experiment put together: its variants with their runs, each held against its base over the
//! repetitions as `plimsoll compare` would.

use plimsoll_analysis::compare::MARGIN_RATIO;
use plimsoll_core::comparison::{Comparison, Design, Figure};
use plimsoll_core::experiment::{Experiment, Run, Variant};

use crate::commands::compare::{Loaded, Pairing, judged};

/// None unless every record is of the same experiment. A variant comes where its first run does.
pub(crate) fn experiment(mut runs: Vec<Run<'_>>, folder: String) -> Option<Experiment<'_>> {
    // The order of their start is the order of the experiment.
    runs.sort_by_key(|run| {
        let header = &run.record.header;
        (header.lab.as_ref().map(|lab| lab.run), &header.started_at)
    });
    let title = &runs.first()?.record.header.lab.as_ref()?.experiment;
    let mut variants: Vec<Variant<'_>> = Vec::new();
    for run in runs {
        let lab = run.record.header.lab.as_ref();
        let lab = lab.filter(|lab| lab.experiment == *title)?;
        if let Some(variant) = variants.iter_mut().find(|known| known.name == lab.variant) {
            variant.runs.push(run);
            continue;
        }
        variants.push(Variant {
            name: &lab.variant,
            about: &lab.about,
            base: lab.base.as_deref(),
            changes: &lab.changes,
            runs: vec![run],
            predicted: None,
            probe: lab.probe,
        });
    }
    let (comparison, warning) = against_bases(&variants);
    Some(Experiment {
        title,
        variants,
        warnings: warning.into_iter().collect(),
        folder,
        comparison,
        report: None,
    })
}

/// No comparison where every variant ran once, or where the runs cannot be compared; then a warning says why. A variant
/// that ran less often than the others, to confirm something, is no part of it.
fn against_bases(variants: &[Variant<'_>]) -> (Option<Comparison>, Option<String>) {
    let most = variants.iter().map(|variant| variant.runs.len()).max();
    let sides = variants
        .iter()
        .filter(|variant| Some(variant.runs.len()) == most);
    let sides: Vec<&Variant<'_>> = sides.collect();
    let pairs: Vec<(String, String)> = sides
        .iter()
        .filter_map(|side| Some((side.name.to_owned(), side.base?.to_owned())))
        .filter(|(_, base)| sides.iter().any(|side| side.name == base))
        .collect();
    if pairs.is_empty() || most < Some(2) {
        return (None, None);
    }
    let runs = sides.iter().flat_map(|side| &side.runs);
    let seed = runs.map(|run| run.record.header.test.generator.seed).min();
    let asked = Pairing {
        // The n-th runs of all variants were played beside each other, with one seed.
        design: Design::Paired,
        is_calibration: false,
        seed: seed.unwrap_or(1),
        pairs: Some(pairs),
    };
    let loaded = |side: &Variant<'_>| {
        let runs = side.runs.iter().filter_map(loaded).collect();
        (side.name.to_owned(), runs)
    };
    // What an experiment asks is how much each variant carries, whatever the load.
    let is_search = |side: &&Variant<'_>| {
        let mut runs = side.runs.iter();
        runs.any(|run| run.record.header.test.is_search())
    };
    let primary = (!sides.iter().any(is_search)).then_some(Figure::Goodput);
    let loaded = sides.into_iter().map(loaded).collect();
    match judged(loaded, primary, MARGIN_RATIO, &asked) {
        Ok(comparison) => (Some(comparison), None),
        Err(error) => {
            let warning = format!("no variant is held against its base: {error}");
            (None, Some(warning))
        }
    }
}

fn loaded(run: &Run<'_>) -> Option<Loaded> {
    let verdict = run.record.verdict.as_ref()?;
    Some(Loaded::new(&run.path, run.record, verdict))
}
