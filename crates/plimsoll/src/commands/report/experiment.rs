//! Records of one experiment, given together: its variants side by side instead of a row of reports.

use std::path::PathBuf;

use plimsoll_core::experiment::{Experiment, Run, Variant};
use plimsoll_core::record::{LabSetup, Record};

use crate::against_bases::{self, Side};
use crate::commands::lab::confirm;

/// None unless every record is of the same experiment and there are at least two variants.
pub(super) fn of<'r>(paths: &[PathBuf], records: &'r [Record]) -> Option<Experiment<'r>> {
    let setups: Option<Vec<&LabSetup>> = records.iter().map(|r| r.header.lab.as_ref()).collect();
    let setups = setups?;
    let first = *setups.first()?;
    if setups
        .iter()
        .any(|setup| setup.experiment != first.experiment)
    {
        return None;
    }
    let shown: Vec<String> = paths
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    let mut order: Vec<usize> = (0..records.len()).collect();
    // The order of their start is the order of the experiment; a variant comes where its first run does.
    order.sort_by_key(|index| (setups[*index].run, &records[*index].header.started_at));
    let mut variants: Vec<(&LabSetup, Vec<usize>)> = Vec::new();
    for index in order {
        let setup = setups[index];
        match variants
            .iter_mut()
            .find(|(known, _)| known.variant == setup.variant)
        {
            Some((_, runs)) => runs.push(index),
            None => variants.push((setup, vec![index])),
        }
    }
    if variants.len() < 2 {
        return None;
    }
    let sides = variants.iter().map(|(setup, runs)| Side {
        name: setup.variant.clone(),
        base: setup.base.clone(),
        runs: runs
            .iter()
            .map(|i| (shown[*i].as_str(), &records[*i]))
            .collect(),
    });
    let ran: Vec<confirm::Ran<'_>> = setups
        .iter()
        .zip(records)
        .map(|(setup, record)| (setup.variant.as_str(), record))
        .collect();
    let mut warnings = Vec::new();
    let comparison = against_bases::compared(sides.collect(), &mut warnings);
    let variants = variants.iter().map(|(setup, runs)| Variant {
        name: &setup.variant,
        about: &setup.about,
        base: setup.base.as_deref(),
        changes: &setup.changes,
        runs: runs
            .iter()
            .map(|index| Run {
                path: shown[*index].clone(),
                record: &records[*index],
            })
            .collect(),
        limit: confirm::limit_of(&setup.variant, &ran),
        predicted: None,
        probe: setup.probe,
    });
    Some(Experiment {
        title: &first.experiment,
        variants: variants.collect(),
        warnings,
        folder: "the records that were given".to_owned(),
        comparison,
        report: None,
    })
}
