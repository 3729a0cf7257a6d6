//! A command line as it was given: each value with where it was said, until all are read as the types of their fields.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

use std::path::Path;

use anyhow::{Result, anyhow, bail};
use plimsoll_core::nearest::nearest;
use plimsoll_core::schedule::Leg;
use plimsoll_workload::WorkloadFile;

use super::{FLAGS, Flag, Form, Group, Takes, Verb, flags_of, variable};
use crate::args::Args;
use crate::{form, request};

/// Keys of a file that say what a flag can, and whether they set the load.
const KEYS: [(&str, &str, bool); 10] = [
    ("connections", "connections", false),
    ("duration", "duration", true),
    ("operations", "requests", true),
    ("rate", "rate", true),
    ("ramp", "ramp", true),
    ("arrivals", "arrivals", false),
    ("timeout", "timeout", true),
    ("threads", "workers", false),
    ("seed", "seed", false),
    ("slo", "slo", false),
];

/// Where a value was said; what was not said has the default of its row, if any.
/// The last of them wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Origin {
    File,
    Environment,
    Flag,
}

/// What was said for one row.
#[derive(Debug)]
pub(super) struct Value {
    /// With their places on the line; a switch has none.
    pub(super) texts: Vec<(usize, OsString)>,
    pub(super) origin: Origin,
    /// `-q`, `--rate`, `PLIMSOLL_RATE` or `shop.toml:3`.
    pub(super) spelling: String,
}

#[derive(Debug)]
pub(super) struct Given {
    pub(super) verb: Verb,
    /// Of commands whose words have one.
    pub(super) form: Option<Form>,
    pub(super) words: Vec<OsString>,
    /// By the long name of the row.
    pub(super) values: BTreeMap<&'static str, Value>,
    /// Rates of the phases of a file.
    pub(super) legs: Vec<Leg>,
}

impl Given {
    /// Takes from the environment what no flag says.
    pub(super) fn add_environment(
        &mut self,
        variable: &dyn Fn(&str) -> Option<OsString>,
    ) -> Result<()> {
        for flag in self.flags() {
            // Options of scripts are read with K6_* below them: see `scenario::Layer`.
            let said = |name: String| {
                let text = variable(&name).filter(|text| !text.is_empty())?;
                Some((name, text))
            };
            let Some((name, text)) = flag.variables().find_map(said) else {
                continue;
            };
            let texts = match flag.takes {
                Takes::Nothing if variable::switches(&name, &text)? => Vec::new(),
                Takes::Nothing => continue,
                // As k6 reads its lists.
                Takes::Each(_) if flag.k6_variable == Some(&*name) => parts(&text),
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

    /// Takes from the file that the test is, if it loads a URL, what nobody else says. Where the load is searched for, that of
    /// the file does not count.
    pub(super) fn add_file(&mut self) -> Result<()> {
        let name = match self.words.first() {
            Some(word) if self.form == Some(Form::Url) && form::is_file(word) => word,
            _ => return Ok(()),
        };
        if self.verb == Verb::Compare {
            return Ok(());
        }
        let file = request::file(Path::new(name))?;
        let is_searched = self.verb == Verb::Find || self.values.contains_key("find");
        for (key, long, is_of_load) in KEYS {
            let is_said = self.values.contains_key(long) || is_searched && is_of_load;
            let row = self.flags().find(|flag| flag.long == long);
            let said = file.said(key).or_else(|| of_phases(key, &file));
            let (Some((text, place)), Some(flag), false) = (said, row, is_said) else {
                continue;
            };
            let value = Value {
                texts: vec![(0, text.into())],
                origin: Origin::File,
                spelling: place,
            };
            self.values.insert(flag.long, value);
        }
        let says_rate = ["rate", "ramp"].into_iter().any(|long| {
            let value = self.values.get(long);
            value.is_some_and(|value| value.origin > Origin::File)
        });
        let load = file.asked.load;
        if is_searched || says_rate {
            return Ok(());
        }
        if !load.legs.is_empty() {
            self.values.remove("rate");
            self.legs = load.legs;
        }
        Ok(())
    }

    /// The rows that serve this command and this form of the test.
    pub(super) fn flags(&self) -> impl Iterator<Item = &'static Flag> + use<> {
        let form = self.form;
        let flags = flags_of(self.verb).into_iter();
        flags.filter(move |flag| flag.serves(form))
    }

    /// What was said for a row, or its default.
    pub(super) fn words_of(&self, flag: &Flag) -> Vec<&OsStr> {
        match self.values.get(flag.long) {
            Some(value) => value.texts.iter().map(|(_, text)| &**text).collect(),
            None => flag.default.into_iter().map(OsStr::new).collect(),
        }
    }

    /// Every value as the type of its field. The one place that says which flag or variable has a bad one.
    pub(super) fn args(&self) -> Result<Args> {
        let mut args = Args {
            words: self.words.clone(),
            form: self.form,
            ..Args::default()
        };
        for flag in self.flags() {
            let said = self.values.get(flag.long);
            let mut words = self.words_of(flag);
            if matches!(flag.takes, Takes::Nothing) && said.is_some() {
                words = vec![OsStr::new("")];
            }
            for word in words {
                (flag.read)(&mut args, word).map_err(|error| match said {
                    Some(value) => anyhow!("{}: {error:#}", value.spelling),
                    None => anyhow!("--{}: {error:#}", flag.long),
                })?;
            }
        }
        if self.form == Some(Form::Script) && self.verb != Verb::Compare {
            args.script.script = args.word()?;
        }
        if self.verb == Verb::Inspect {
            // As in k6: what a script is does not depend on where one looks at it.
            args.script.system_env.get_or_insert(false);
        }
        args.script.unfollowed = unfollowed(self.verb);
        args.load.legs.clone_from(&self.legs);
        args.lab.experiment = args.path();
        Ok(args)
    }

    /// Gives a number of the test another value.
    pub(super) fn vary(&mut self, name: &str, value: &str) -> Result<()> {
        let is_variable = name.strip_prefix("env.").map(|variable| ("env", variable));
        let (long, text) = match is_variable {
            Some((long, variable)) => (long, format!("{variable}={value}")),
            None => (name, value.to_owned()),
        };
        let known = || self.flags().filter(|flag| flag.may_vary());
        let flags = flags_of(self.verb);
        let Some(flag) = known().find(|flag| flag.long == long) else {
            if let Some(other) = flags
                .iter()
                .find(|flag| flag.long == long && flag.may_vary())
            {
                let forms = other.forms_words();
                bail!("--vary {name} is for {forms}; {}", other.instead);
            }
            let names: Vec<&str> = known().map(|flag| flag.long).collect();
            let nearest = nearest(name, names.iter().copied());
            let meant = nearest.map_or(String::new(), |near| format!("did you mean `{near}`? "));
            bail!(
                "--vary {name}: there is no such number; {meant}one can vary {}",
                names.join(", ").replace("env", "env.NAME")
            );
        };
        let value = self.values.entry(flag.long).or_insert(Value {
            texts: Vec::new(),
            origin: Origin::Flag,
            spelling: String::new(),
        });
        if is_variable.is_none() {
            value.texts.clear();
        }
        value.texts.push((usize::MAX, text.into()));
        value.origin = Origin::Flag;
        value.spelling = format!("--vary {name}");
        Ok(())
    }

    /// Refuses a side of a comparison that says what belongs to the whole, or to one run by itself.
    pub(super) fn refuse_beside_others(&self) -> Result<()> {
        for long in [
            "out",
            "record",
            "no-record",
            "seed",
            "workers",
            "watch",
            "junit",
            "markdown",
            "hlog",
        ] {
            if self.values.contains_key(long) {
                bail!(
                    "--{long} in `{}`: a side has only what changes its test, such as -e, --vus or --duration",
                    self.words
                        .first()
                        .map_or_else(String::new, |word| word.display().to_string())
                );
            }
        }
        Ok(())
    }

    /// Each row that serves the command: as the help names it, the value, and where it was said.
    pub(super) fn explained(&self) -> impl Iterator<Item = (String, String, &'static str)> {
        let own = self.flags().filter(|flag| flag.option.is_none());
        own.filter(|flag| flag.group != Group::General).map(|flag| {
            let words = self.words_of(flag).into_iter().map(OsStr::to_string_lossy);
            let shown = words.collect::<Vec<_>>().join(" ");
            let said = self.values.get(flag.long);
            let shown = match flag.takes {
                Takes::Nothing => said.is_some().to_string(),
                _ => shown,
            };
            let origin = match said.map(|value| value.origin) {
                Some(Origin::Flag) => "flag",
                Some(Origin::Environment) => "environment",
                Some(Origin::File) => "file",
                None if flag.default.is_some() || flag.value_name().is_empty() => "default",
                None => "not set",
            };
            (format!("--{}", flag.long), shown, origin)
        })
    }
}

/// Variables of k6 that say what another command has a flag for and this one has not, each with the words that say so.
pub(super) fn unfollowed(verb: Verb) -> Vec<(String, String)> {
    let served: Vec<String> = flags_of(verb).into_iter().filter_map(k6_says).collect();
    let missing = |flag: &Flag| {
        let name = k6_says(flag).filter(|name| !served.contains(name))?;
        let words = format!(
            "{name} is not followed: plimsoll {} has no --{}",
            verb.name(),
            flag.long
        );
        Some((name, words))
    };
    FLAGS.iter().filter_map(missing).collect()
}

/// The variable of k6 that says the same; of the options of scripts only those that say what becomes of the results, because
/// the others are read for every command.
fn k6_says(flag: &Flag) -> Option<String> {
    // These change nothing anywhere.
    if matches!(flag.long, "type" | "compatibility-mode") {
        return None;
    }
    let of_results = flag.option.filter(|spec| spec.name.starts_with("summary"));
    let option = of_results.and_then(|spec| spec.env);
    let variable = flag.k6_variable.map(str::to_owned);
    variable.or_else(|| Some(format!("K6_{}", option?)))
}

/// Phases last as long as they say, where nothing else does.
fn of_phases(key: &str, file: &WorkloadFile) -> Option<(String, String)> {
    let length = file.asked.load.duration.filter(|_| key == "duration")?;
    Some((
        format!("{}s", length.as_secs_f64()),
        "the phases".to_owned(),
    ))
}

/// A list in one variable.
fn parts(text: &OsStr) -> Vec<(usize, OsString)> {
    let text = text.to_string_lossy();
    let parts = text.split(',').filter(|part| !part.trim().is_empty());
    parts.map(|part| (0, part.trim().into())).collect()
}
