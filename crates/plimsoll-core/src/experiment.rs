//! An experiment: variants of one system under one load, their runs, and what those mean.
//!
//! The description is put together by whoever holds the records; analysis adds the [`Meaning`]; every rendering reads both.

mod load_line;
mod meaning;

pub use load_line::{Axis, LoadLines, Point};
pub use meaning::{
    AfterLoad, Capacity, Carrier, Difference, Foreseen, InvalidRuns, Lead, LimitClaim,
    LimitLocation, Limits, Meaning, Measure, NextClaim, PoolUse, Recovery, Replication, RunClaim,
    Spread, Tested, TierUse, Tiers, TimeSpread, Trouble, Unprobed, VariantMeaning,
};

use crate::comparison::{Comparison, Contrast};
use crate::outcome::Outcome;
use crate::record::Record;
use crate::verdict::Verdict;

/// What is compared.
#[derive(Debug)]
pub struct Experiment<'a> {
    pub title: &'a str,
    /// In the order of the experiment.
    pub variants: Vec<Variant<'a>>,
    /// What a reader has to know before believing anything else, as sentences.
    pub warnings: Vec<String>,
    /// Where the records are.
    pub folder: String,
    /// Every variant against its base over the runs, where there are several.
    pub comparison: Option<Comparison>,
    /// Path of the page, if one is written.
    pub report: Option<String>,
}

/// One variant with its runs.
#[derive(Debug)]
pub struct Variant<'a> {
    pub name: &'a str,
    pub about: &'a str,
    /// What it is compared with, and in what it differs from that.
    pub base: Option<&'a str>,
    pub changes: &'a [String],
    pub runs: Vec<Run<'a>>,
    /// Worked out from its base's runs before it was measured.
    pub predicted: Option<Prediction>,
    /// It moves a suspected limit of its base to see what follows: it is shown, and never recommended.
    pub probe: bool,
}

/// What a variant should carry.
#[derive(Debug, Clone, PartialEq)]
pub struct Prediction {
    pub per_s: f64,
    /// The variant whose runs it comes from.
    pub from: String,
    /// The arithmetic in one line.
    pub why: String,
}

#[derive(Debug)]
pub struct Run<'a> {
    /// Path of the record.
    pub path: String,
    pub record: &'a Record,
}

/// An experiment with what it means.
#[derive(Debug)]
pub struct Judged<'a> {
    pub experiment: Experiment<'a>,
    pub meaning: Meaning,
}

impl<'a> Judged<'a> {
    /// Each variant with what its runs say.
    pub fn variants(&self) -> impl Iterator<Item = (&Variant<'a>, &VariantMeaning)> {
        self.experiment.variants.iter().zip(&self.meaning.variants)
    }

    /// A variant by its place.
    pub fn name(&self, index: usize) -> &'a str {
        let variant = self.experiment.variants.get(index);
        variant.map_or("", |variant| variant.name)
    }
}

impl Experiment<'_> {
    pub fn place_of(&self, name: &str) -> Option<usize> {
        self.variants
            .iter()
            .position(|variant| variant.name == name)
    }

    /// The variant against its base in the figure that the experiment is decided by.
    pub fn contrast(&self, variant: &Variant<'_>) -> Option<&Contrast> {
        let base = variant.base?;
        let mut primaries = self.comparison.as_ref()?.primaries();
        primaries.find(|contrast| contrast.variant == variant.name && contrast.baseline == base)
    }
}

impl<'a> Variant<'a> {
    /// The runs whose figures are shown: the valid ones; all of them where none is.
    pub fn shown(&self) -> impl Iterator<Item = &Run<'a>> {
        let any_valid = self.is_valid();
        let is_shown =
            move |run: &&Run<'a>| run.is_valid() || !any_valid && run.record.verdict.is_some();
        self.runs.iter().filter(is_shown)
    }

    /// At least one run carries a verdict.
    pub fn is_valid(&self) -> bool {
        self.runs.iter().any(Run::is_valid)
    }

    /// Of the runs that are shown.
    pub fn verdicts(&self) -> impl Iterator<Item = &'a Verdict> {
        self.shown().filter_map(|run| run.record.verdict.as_ref())
    }
}

impl Run<'_> {
    pub fn is_valid(&self) -> bool {
        let verdict = self.record.verdict.as_ref();
        verdict.is_some_and(|verdict| verdict.valid)
    }
}

impl Verdict {
    /// Failed attempts as a share of all.
    pub fn failed_ratio(&self) -> f64 {
        let failures = self
            .outcomes
            .iter()
            .filter(|(outcome, _)| outcome.is_failure());
        ratio(failures.map(|(_, count)| count).sum(), self.attempts_count)
    }

    /// Attempts of one outcome as a share of all.
    pub fn share(&self, outcome: Outcome) -> f64 {
        let count = self.outcomes.get(&outcome).copied().unwrap_or(0);
        ratio(count, self.attempts_count)
    }
}

fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        0.0
    } else {
        part as f64 / whole as f64
    }
}
