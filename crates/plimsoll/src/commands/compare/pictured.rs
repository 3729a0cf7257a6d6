//! The records of the runs that were compared, read again for the page: what is compared holds figures only.

use std::path::Path;

use plimsoll_analysis::experiment::judged;
use plimsoll_core::comparison::{Comparison, Variant};
use plimsoll_core::experiment::{self, Experiment, Judged};
use plimsoll_core::record::Record;

use crate::records;

/// The records of each variant, with their paths.
pub(super) struct Pictured<'c> {
    variants: Vec<(&'c str, Vec<(String, Record)>)>,
}

impl<'c> Pictured<'c> {
    /// None unless every run that counts has a record: results of other tools have none, and a picture of some
    /// runs would not be that of the comparison.
    pub(super) fn of(comparison: &'c Comparison) -> Option<Self> {
        let read = |variant: &'c Variant| {
            let runs = variant.usable().map(|run| record(&run.name));
            let runs: Option<Vec<(String, Record)>> = runs.collect();
            runs.filter(|runs| !runs.is_empty())
                .map(|runs| (variant.name.as_str(), runs))
        };
        let variants: Option<Vec<_>> = comparison.variants.iter().map(read).collect();
        variants.map(|variants| Self { variants })
    }

    pub(super) fn experiment(&self) -> Judged<'_> {
        let first = self.variants.first().map(|(name, _)| *name);
        let variants = self
            .variants
            .iter()
            .map(|(name, runs)| experiment::Variant {
                name,
                about: runs
                    .first()
                    .map_or("", |(_, record)| record.header.test.what.request_line().1),
                base: first.filter(|first| first != name),
                changes: &[],
                runs: runs
                    .iter()
                    .map(|(path, record)| experiment::Run {
                        path: path.clone(),
                        record,
                    })
                    .collect(),
                predicted: None,
                probe: false,
            });
        judged(Experiment {
            title: "comparison",
            variants: variants.collect(),
            warnings: Vec::new(),
            folder: String::new(),
            comparison: None,
            report: None,
        })
    }
}

fn record(path: &str) -> Option<(String, Record)> {
    let record = records::read(Path::new(path)).ok()?;
    Some((path.to_owned(), record))
}
