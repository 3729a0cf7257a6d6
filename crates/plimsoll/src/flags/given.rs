//! The values of a command, each with where it was said, and the ways to read them as types.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt::Display;
use std::path::PathBuf;
use std::str::FromStr;

use anyhow::{Context as _, Result, anyhow};

use super::{Flag, Form, Verb, flags_of, variable};

/// Where a value was said; what was not said has the default of its row, if any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    Flag,
    Environment,
}

/// What was said for one row.
#[derive(Debug)]
pub(super) struct Value {
    /// With their places on the line; a switch has none.
    pub(super) texts: Vec<(usize, OsString)>,
    pub(super) origin: Origin,
    /// `-q`, `--rate` or `PLIMSOLL_RATE`.
    pub(super) spelling: String,
}

/// A command line as it was given.
#[derive(Debug)]
pub(crate) struct Given {
    pub(crate) verb: Verb,
    /// Of commands whose test is a URL or a script.
    pub(crate) form: Option<Form>,
    pub(crate) words: Vec<OsString>,
    /// By the long name of the row.
    pub(super) values: BTreeMap<&'static str, Value>,
    /// `--explain-config`
    pub(crate) is_explained: bool,
}

impl Given {
    /// Takes from the environment what no flag says.
    pub(super) fn add_environment(
        &mut self,
        variable: &dyn Fn(&str) -> Option<OsString>,
    ) -> Result<()> {
        for flag in self.flags() {
            // Options of scripts are read with K6_* below them: see `scenario::Layer`.
            let Some(name) = flag.variable().filter(|_| flag.option.is_none()) else {
                continue;
            };
            let Some(text) = variable(&name).filter(|text| !text.is_empty()) else {
                continue;
            };
            let shown = text.to_string_lossy();
            variable::word(&name, flag, &shown)?;
            let switched = variable::SWITCHED.iter().find(|(word, _)| *word == shown);
            let texts = match (flag.value_name(), switched) {
                ("", Some((_, false))) => continue,
                ("", _) => Vec::new(),
                _ => vec![(0, text)],
            };
            self.values.entry(flag.long).or_insert(Value {
                texts,
                origin: Origin::Environment,
                spelling: name,
            });
        }
        Ok(())
    }

    /// The rows that serve this command and this form of the test.
    pub(super) fn flags(&self) -> impl Iterator<Item = &'static Flag> + use<> {
        let form = self.form;
        let flags = flags_of(self.verb).into_iter();
        flags.filter(move |flag| flag.serves(form))
    }

    fn flag(&self, long: &str) -> Option<&'static Flag> {
        let found = self.flags().find(|flag| flag.long == long);
        debug_assert!(found.is_some(), "{} has no row --{long}", self.verb.name());
        found
    }

    pub(crate) fn is_set(&self, long: &str) -> bool {
        debug_assert!(self.flag(long).is_some());
        self.values.contains_key(long)
    }

    fn raw(&self, long: &str) -> Vec<OsString> {
        let Some(flag) = self.flag(long) else {
            return Vec::new();
        };
        match self.values.get(long) {
            Some(value) => value.texts.iter().map(|(_, text)| text.clone()).collect(),
            None => flag.default.into_iter().map(OsString::from).collect(),
        }
    }

    /// How the value was given, for messages.
    fn spelling(&self, long: &str) -> String {
        let value = self.values.get(long);
        value.map_or_else(|| format!("--{long}"), |value| value.spelling.clone())
    }

    pub(crate) fn texts(&self, long: &str) -> Result<Vec<String>> {
        let all = self.raw(long).into_iter();
        all.map(|text| utf8(text, &self.spelling(long))).collect()
    }

    pub(crate) fn text(&self, long: &str) -> Result<Option<String>> {
        Ok(self.texts(long)?.pop())
    }

    /// Of a row that has a default, or is required.
    pub(crate) fn some_text(&self, long: &str) -> Result<String> {
        Ok(self.text(long)?.unwrap_or_default())
    }

    pub(crate) fn paths(&self, long: &str) -> Vec<PathBuf> {
        self.raw(long).into_iter().map(PathBuf::from).collect()
    }

    pub(crate) fn path(&self, long: &str) -> Option<PathBuf> {
        self.paths(long).pop()
    }

    /// Everything that can be read from one word.
    pub(crate) fn parsed_all<T: FromStr<Err: Display>>(&self, long: &str) -> Result<Vec<T>> {
        let read = |text: String| {
            let name = self.flag(long).map_or("", Flag::value_name);
            let spelling = self.spelling(long);
            let wrong = |error: T::Err| anyhow!("{spelling}: `{text}` is no {name}: {error}");
            text.parse().map_err(wrong)
        };
        self.texts(long)?.into_iter().map(read).collect()
    }

    pub(crate) fn parsed<T: FromStr<Err: Display>>(&self, long: &str) -> Result<Option<T>> {
        Ok(self.parsed_all(long)?.pop())
    }

    /// The same within bounds, which a default keeps too.
    pub(crate) fn within<T: FromStr<Err: Display> + PartialOrd + Display>(
        &self,
        long: &str,
        (least, most): (T, T),
    ) -> Result<Option<T>> {
        let Some(value) = self.parsed::<T>(long)? else {
            return Ok(None);
        };
        if value < least || value > most {
            let spelling = self.spelling(long);
            return Err(anyhow!(
                "{spelling} {value} is not between {least} and {most}"
            ));
        }
        Ok(Some(value))
    }

    /// The first word, which the parser demands where it is needed.
    pub(crate) fn word(&self) -> Result<String> {
        let first = self.words.first().cloned().unwrap_or_default();
        utf8(first, "the test")
    }

    pub(crate) fn word_path(&self) -> PathBuf {
        self.words.first().map(PathBuf::from).unwrap_or_default()
    }

    /// Each row that serves the command: as the help names it, the value, and where it was said.
    pub(super) fn explained(&self) -> impl Iterator<Item = (String, String, &'static str)> {
        let own = self.flags().filter(|flag| flag.option.is_none());
        own.filter(|flag| flag.group != super::Group::General)
            .map(|flag| {
                let name = format!("--{}", flag.long);
                let words = self.raw(flag.long);
                let words = words.iter().map(|text| text.to_string_lossy());
                let shown = words.collect::<Vec<_>>().join(" ");
                let said = self.values.get(flag.long);
                let shown = match flag.value_name() {
                    "" => said.is_some().to_string(),
                    _ => shown,
                };
                let origin = match said.map(|value| value.origin) {
                    Some(Origin::Flag) => "flag",
                    Some(Origin::Environment) => "environment",
                    None if flag.default.is_some() || flag.value_name().is_empty() => "default",
                    None => "not set",
                };
                (name, shown, origin)
            })
    }
}

fn utf8(text: OsString, place: &str) -> Result<String> {
    let wrong = |text: OsString| anyhow!("`{}` is not UTF-8", OsStr::display(&text));
    text.into_string()
        .map_err(wrong)
        .with_context(|| place.to_owned())
}
