//! Variants of an experiment side by side: what analysis found of their runs in words, as text, Markdown, JSON and HTML.

mod answer;
mod document;
pub(crate) mod rows;
mod text;
pub(crate) mod words;

use plimsoll_core::experiment::Judged;
use serde_json::Value;

pub(crate) use answer::Answer;

/// The verdict and the table for a terminal.
pub fn text(experiment: &Judged<'_>, columns: usize) -> String {
    text::table(experiment, columns)
}

/// The same for a pull request.
pub fn markdown(experiment: &Judged<'_>) -> String {
    text::markdown(experiment)
}

/// One document: the verdict, for each variant the spread of its figures, and the summary of every run.
pub fn document(experiment: &Judged<'_>) -> Value {
    document::whole(experiment)
}
