//! Where in an experiment file something stands, for messages that name the line.

use plimsoll_core::keys;
use serde::de::DeserializeOwned;
use toml::de::DeTable;

use crate::LabError;

/// The file as messages name it, its text, and where each key stands.
#[derive(Debug)]
pub(crate) struct Place<'a> {
    pub(super) inner: keys::Place<'a>,
}

impl From<keys::Misplaced> for LabError {
    fn from(wrong: keys::Misplaced) -> Self {
        Self::Experiment {
            place: wrong.place,
            problem: wrong.problem,
        }
    }
}

impl<'a> Place<'a> {
    pub(super) fn new(file: &'a str, text: &'a str) -> Self {
        Self {
            inner: keys::Place::new(file, text),
        }
    }

    /// Learns where the keys stand.
    pub(super) fn with_keys(&self, top: &DeTable<'_>) -> Self {
        Self {
            inner: self.inner.with_keys(top),
        }
    }

    pub(super) fn parsed(&self) -> Result<DeTable<'a>, LabError> {
        Ok(self.inner.parsed()?)
    }

    /// Names in the table `path`, in the order of the file.
    pub(super) fn in_order(&self, path: &str) -> Vec<String> {
        self.inner.in_order(path)
    }

    /// A problem at an offset of the text.
    pub(super) fn wrong(&self, offset: usize, problem: impl Into<String>) -> LabError {
        self.inner.wrong(offset, problem).into()
    }

    /// A problem of the first of these keys that the file has, or of the table around the last.
    pub(super) fn at(&self, paths: &[&str], problem: impl Into<String>) -> LabError {
        self.inner.at(paths, problem).into()
    }

    /// A table as values; the error names the line of the value that is wrong.
    pub(super) fn read<T: DeserializeOwned>(&self, table: DeTable<'_>) -> Result<T, LabError> {
        Ok(self.inner.read(table)?)
    }
}
