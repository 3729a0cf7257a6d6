//! Every Rust file opens with a sentence that says what it is for.

use super::Finding;
use super::source::Source;
use super::tree::File;

const FIX: &str = "open the file with `//! ` and one sentence that says what it is for";

pub(crate) fn check(file: &File, _source: &Source) -> Option<Finding> {
    let first = file.text.lines().next().unwrap_or_default();
    let sentence = first.strip_prefix("//!").map(str::trim).unwrap_or_default();
    let says_something = sentence.split_whitespace().count() >= 3;
    (!says_something).then(|| Finding::at_line(&file.path, 0, "no opening sentence", FIX))
}
