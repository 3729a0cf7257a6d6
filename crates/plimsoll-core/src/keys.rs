//! Files of settings in TOML: every key once, with its type, an example and its meaning; where each stands; and unknown
//! ones refused with the line and the nearest known key.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::DeserializeOwned;
use thiserror::Error;
use toml::Spanned;
use toml::de::{DeTable, DeValue, ValueDeserializer};

use crate::nearest::nearest;

/// Keys that stand together.
#[derive(Debug)]
pub struct Section {
    /// As the file writes it.
    pub name: &'static str,
    pub keys: &'static [Key],
}

#[derive(Debug)]
pub struct Key {
    pub name: &'static str,
    pub example: &'static str,
    pub about: &'static str,
}

impl Section {
    pub fn names(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.keys.iter().map(|key| key.name)
    }

    /// Its keys as a table for a page of the documentation.
    pub fn markdown(&self) -> String {
        let row = |key: &Key| {
            let (example, about) = (key.example.replace('|', "\\|"), key.about.trim());
            format!("| `{}` | `{example}` | {about} |\n", key.name)
        };
        let rows: String = self.keys.iter().map(row).collect();
        let head = "| key | example | meaning |\n|---|---|---|";
        format!("\n### {}\n\n{head}\n{rows}", self.name)
    }
}

/// The struct that a section is read into, and its [`Section`]. A key without a type is a table that is laid over others
/// before it is read.
#[macro_export]
macro_rules! section {
    (
        $(#[$of_spec:meta])*
        $spec:ident = $written:literal {
            $($(#[doc = $about:literal])+ $key:ident $(: $type:ty)? = $example:literal,)+
        }
    ) => {
        #[derive(Debug, Clone, Default, serde::Deserialize)]
        $(#[$of_spec])*
        pub(super) struct $spec {
            $($(pub(super) $key: $type,)?)+
        }

        impl $spec {
            pub(super) const SECTION: $crate::keys::Section = $crate::keys::Section {
                name: $written,
                keys: &[$($crate::keys::Key {
                    name: stringify!($key),
                    example: $example,
                    about: concat!($($about),+),
                }),+],
            };
        }
    };
}

/// What stands under a key.
#[derive(Debug, Clone, Copy)]
pub enum Inside {
    /// A value, or a table whose keys are names of somebody's own.
    Free,
    /// A table, or a list of them, with these keys.
    Keys(&'static Section),
    /// A table of named ones, each with these keys.
    Named(&'static Section),
}

/// Something wrong in a file: `FILE:LINE`, and what it is with the way out.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub struct Misplaced {
    pub place: String,
    pub problem: String,
}

impl fmt::Display for Misplaced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.problem)
    }
}

/// The file as messages name it, its text, and where each key stands.
#[derive(Debug)]
pub struct Place<'a> {
    file: &'a str,
    text: &'a str,
    /// Offset of each key by its path: `tiers.app.cpu`; of tables in a list, counted from 1: `routes.1.path`.
    keys: BTreeMap<String, usize>,
}

impl<'a> Place<'a> {
    pub fn new(file: &'a str, text: &'a str) -> Self {
        Self {
            file,
            text,
            keys: BTreeMap::new(),
        }
    }

    /// The text as TOML.
    pub fn parsed(&self) -> Result<DeTable<'a>, Misplaced> {
        let parsed = DeTable::parse(self.text).map_err(|error| self.toml(&error))?;
        Ok(parsed.into_inner())
    }

    /// Learns where the keys stand.
    #[must_use]
    pub fn with_keys(&self, top: &DeTable<'_>) -> Self {
        let mut keys = BTreeMap::new();
        collect("", top, &mut keys);
        Self { keys, ..*self }
    }

    /// Whether the file says this key.
    pub fn says(&self, path: &str) -> bool {
        self.keys.contains_key(path)
    }

    /// Where a key stands, as `FILE:LINE`; none if the file does not say it.
    pub fn origin(&self, path: &str) -> Option<String> {
        let offset = *self.keys.get(path)?;
        Some(format!("{}:{}", self.file, self.line_at(offset)))
    }

    fn line_at(&self, offset: usize) -> usize {
        let before = self.text.get(..offset).unwrap_or(self.text);
        before.matches('\n').count() + 1
    }

    /// Names in the table `path`, in the order of the file.
    pub fn in_order(&self, path: &str) -> Vec<String> {
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
    pub fn wrong(&self, offset: usize, problem: impl Into<String>) -> Misplaced {
        Misplaced {
            place: format!("{}:{}", self.file, self.line_at(offset)),
            problem: problem.into(),
        }
    }

    /// A problem that the reader of TOML or of a type found.
    pub fn toml(&self, error: &toml::de::Error) -> Misplaced {
        let offset = error.span().map_or(0, |span| span.start);
        self.wrong(offset, error.message().trim_end())
    }

    /// A problem of the first of these keys that the file has, or of the table around the last.
    pub fn at(&self, paths: &[&str], problem: impl Into<String>) -> Misplaced {
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
            None => Misplaced {
                place: self.file.to_owned(),
                problem: problem.into(),
            },
        }
    }

    /// A table as values; the error names the line of the value that is wrong.
    pub fn read<T: DeserializeOwned>(&self, table: DeTable<'_>) -> Result<T, Misplaced> {
        let value = Spanned::new(0..0, DeValue::Table(table));
        T::deserialize(ValueDeserializer::from(value)).map_err(|error| self.toml(&error))
    }

    /// The same, of a file whose values read themselves: the error names the key before the value, too.
    pub fn read_named<T: DeserializeOwned>(&self, table: DeTable<'_>) -> Result<T, Misplaced> {
        let value = Spanned::new(0..0, DeValue::Table(table));
        T::deserialize(ValueDeserializer::from(value)).map_err(|error| {
            let offset = error.span().map(|span| span.start);
            let before = |offset: usize| {
                let keys = self.keys.iter().filter(|(_, at)| **at <= offset);
                keys.max_by_key(|(_, at)| **at)
            };
            let Some((key, _)) = offset.and_then(before) else {
                return self.toml(&error);
            };
            let problem = format!("`{}`: {}", last(key), error.message().trim_end());
            self.wrong(offset.unwrap_or_default(), problem)
        })
    }
}

/// A key without the tables that it stands in.
pub fn last(path: &str) -> &str {
    path.rsplit('.').next().unwrap_or(path)
}

fn collect(path: &str, table: &DeTable<'_>, keys: &mut BTreeMap<String, usize>) {
    for (name, value) in table {
        let path = if path.is_empty() {
            name.get_ref().to_string()
        } else {
            format!("{path}.{}", name.get_ref())
        };
        match value.get_ref() {
            DeValue::Table(inner) => collect(&path, inner, keys),
            DeValue::Array(list) => {
                for (index, item) in list.iter().enumerate() {
                    if let DeValue::Table(inner) = item.get_ref() {
                        let path = format!("{path}.{}", index + 1);
                        keys.insert(path.clone(), item.span().start);
                        collect(&path, inner, keys);
                    }
                }
            }
            _ => {}
        }
        keys.insert(path, name.span().start);
    }
}

/// Which keys there are, and what stands under each.
#[derive(Debug)]
pub struct Known<'a> {
    pub all: &'a [&'static Section],
    pub inside: fn(&str) -> Inside,
}

impl Known<'_> {
    /// Refuses the first unknown key. What is no table is left to the typed reader.
    pub fn check(&self, place: &Place<'_>, top: &DeTable<'_>) -> Result<(), Misplaced> {
        let Some(first) = self.all.first() else {
            return Ok(());
        };
        self.section(place, "", first, top)
    }

    fn section(
        &self,
        place: &Place<'_>,
        path: &str,
        known: &Section,
        table: &DeTable<'_>,
    ) -> Result<(), Misplaced> {
        for (key, value) in table {
            let name: &str = key.get_ref();
            if known.names().all(|known| known != name) {
                let fix = self.fix(name, known);
                let problem = format!("unknown key `{path}{name}`; {fix}");
                return Err(place.wrong(key.span().start, problem));
            }
            let path = format!("{path}{name}.");
            match (self.inside)(name) {
                Inside::Free => {}
                Inside::Keys(inner) => self.tables(place, &path, inner, value.get_ref())?,
                Inside::Named(inner) => {
                    let named = value.get_ref().as_table();
                    for (name, table) in named.into_iter().flat_map(|named| named.iter()) {
                        let path = format!("{path}{}.", name.get_ref());
                        self.tables(place, &path, inner, table.get_ref())?;
                    }
                }
            }
        }
        Ok(())
    }

    /// A table with these keys, or a list of them.
    fn tables(
        &self,
        place: &Place<'_>,
        path: &str,
        known: &Section,
        value: &DeValue<'_>,
    ) -> Result<(), Misplaced> {
        match value {
            DeValue::Table(table) => self.section(place, path, known, table),
            DeValue::Array(list) => list
                .iter()
                .try_for_each(|item| self.tables(place, path, known, item.get_ref())),
            _ => Ok(()),
        }
    }

    fn fix(&self, name: &str, known: &Section) -> String {
        if let Some(near) = nearest(name, known.names()) {
            return format!("did you mean `{near}`?");
        }
        let elsewhere = |section: &&&'static Section| section.names().any(|known| known == name);
        if let Some(section) = self.all.iter().find(elsewhere) {
            return format!("it belongs into {}", section.name);
        }
        let names: Vec<&str> = known.names().collect();
        format!("{} has {}", known.name, names.join(", "))
    }
}
