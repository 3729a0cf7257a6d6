//! Where in an experiment file something stands, for messages that name the line.

use std::collections::BTreeMap;

use toml::de::{DeTable, DeValue};

use crate::LabError;

/// The file as messages name it, its text, and where each key stands.
#[derive(Debug)]
pub(crate) struct Place<'a> {
    pub(super) file: &'a str,
    pub(super) text: &'a str,
    /// Offset of each key by its path: `tiers.app.cpu`.
    keys: BTreeMap<String, usize>,
}

impl<'a> Place<'a> {
    pub(super) fn new(file: &'a str, text: &'a str) -> Self {
        Self {
            file,
            text,
            keys: BTreeMap::new(),
        }
    }

    /// Learns where the keys stand.
    pub(super) fn with_keys(&self, top: &DeTable<'_>) -> Self {
        let mut keys = BTreeMap::new();
        collect("", top, &mut keys);
        Self { keys, ..*self }
    }

    /// Names in the table `path`, in the order of the file.
    pub(super) fn in_order(&self, path: &str) -> Vec<String> {
        let inside = format!("{path}.");
        let mut found: Vec<(usize, String)> = self
            .keys
            .iter()
            .filter_map(|(key, offset)| {
                let name = key.strip_prefix(&inside)?;
                Some((*offset, name.to_owned()))
            })
            .filter(|(_, name)| !name.contains('.'))
            .collect();
        found.sort();
        found.into_iter().map(|(_, name)| name).collect()
    }

    /// A problem at an offset of the text.
    pub(super) fn wrong(&self, offset: usize, problem: impl Into<String>) -> LabError {
        let before = self.text.get(..offset).unwrap_or(self.text);
        LabError::Experiment {
            place: format!("{}:{}", self.file, before.matches('\n').count() + 1),
            problem: problem.into(),
        }
    }

    /// A problem of the first of these keys that the file has, or of the table around the last.
    pub(super) fn at(&self, paths: &[&str], problem: impl Into<String>) -> LabError {
        let exact = paths.iter().find_map(|path| self.keys.get(*path));
        let around = || {
            let mut path = *paths.last()?;
            while let Some((above, _)) = path.rsplit_once('.') {
                path = above;
                if let Some(offset) = self.keys.get(path) {
                    return Some(offset);
                }
            }
            None
        };
        match exact.or_else(around) {
            Some(offset) => self.wrong(*offset, problem),
            None => LabError::Experiment {
                place: self.file.to_owned(),
                problem: problem.into(),
            },
        }
    }
}

fn collect(path: &str, table: &DeTable<'_>, keys: &mut BTreeMap<String, usize>) {
    for (name, value) in table {
        let path = if path.is_empty() {
            name.get_ref().to_string()
        } else {
            format!("{path}.{}", name.get_ref())
        };
        if let DeValue::Table(inner) = value.get_ref() {
            collect(&path, inner, keys);
        }
        keys.insert(path, name.span().start);
    }
}
