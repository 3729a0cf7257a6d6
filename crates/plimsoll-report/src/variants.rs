//! Variants of an experiment side by side: what analysis found of their runs in words, laid out as text, Markdown, JSON
//! and HTML.

mod answer;
mod document;
pub(crate) mod rows;
mod text;
pub(crate) mod words;

use plimsoll_core::experiment::Judged;

pub use document::document;
pub use text::{markdown, table as text};

use crate::format;
use answer::Answer;
use rows::Row;
use words::Words;

/// An experiment as it is shown: every sentence and every cell once, clean; renderings lay them out.
#[derive(Debug)]
pub struct Shown<'j> {
    pub(crate) judged: &'j Judged<'j>,
    pub(crate) title: String,
    pub(crate) answer: Answer,
    /// How often each variant ran.
    pub(crate) replication: String,
    /// The warnings, and those that follow from what the variants differ in and from their gates.
    pub(crate) remarks: Vec<String>,
    /// What is worth knowing beside the verdict.
    pub(crate) notes: Vec<String>,
    /// One for each variant, in their order.
    pub(crate) words: Vec<Words>,
    pub(crate) rows: Vec<Row>,
}

impl<'j> Shown<'j> {
    pub fn new(judged: &'j Judged<'j>) -> Self {
        let subjects = words::subjects(&judged.experiment.variants);
        let variants = judged.variants().zip(subjects);
        let words: Vec<Words> = variants
            .map(|((one, meaning), subject)| Words::new(one, subject, meaning))
            .collect();
        let mut answer = Answer::new(judged, &words);
        let of_variants = words.iter().flat_map(|words| &words.remarks);
        let remarks = judged.experiment.warnings.iter().chain(of_variants);
        let remarks = remarks.map(|remark| format::clean(remark)).collect();
        Self {
            judged,
            title: format::clean(judged.experiment.title),
            notes: std::mem::take(&mut answer.notes),
            answer,
            replication: words::replication(judged.meaning.replication),
            remarks,
            rows: rows::all(judged, &words),
            words,
        }
    }

    /// Names of the variants without quotes, as they head columns.
    pub(crate) fn names(&self) -> impl Iterator<Item = String> {
        let variants = self.judged.experiment.variants.iter();
        variants.map(|variant| format::clean(variant.name))
    }
}
