//! What `plimsoll run SCRIPT` was asked for: k6's flags, and a few of ours.

use std::ffi::OsStr;
use std::path::PathBuf;

use anyhow::Result;
use plimsoll_core::scenario::{OPTIONS, Strictness};

use crate::flags::{Form, Given, Verb, explained};

/// Load threads of one process.
const WORKERS: (u32, u32) = (1, 1024);

/// What the flags say besides options of the test.
#[derive(Debug, Clone, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each flag is switched by itself"
)]
pub(crate) struct ScriptArgs {
    /// `-` is standard input.
    pub(crate) script: String,
    /// Option flags with their values, in order.
    pub(crate) flags: Vec<(String, String)>,
    /// `-e NAME=VALUE`.
    pub(crate) env: Vec<(String, String)>,
    pub(crate) outs: Vec<String>,
    pub(crate) config: Option<PathBuf>,
    pub(crate) quiet: bool,
    pub(crate) verbose: bool,
    pub(crate) strictness: Strictness,
    pub(crate) system_env: bool,
    pub(crate) watch: Vec<String>,
    pub(crate) workers: Option<u32>,
    pub(crate) record: Option<PathBuf>,
    pub(crate) no_record: bool,
    pub(crate) seed: Option<u64>,
    /// `--explain-config`: what the flags beside options say, to be shown in front of them.
    pub(crate) explain_config: Option<String>,
    /// `inspect`: print the options and send nothing.
    pub(crate) inspect: bool,
    /// `inspect`: the scenarios that follow from them, the longest duration and the most virtual users.
    pub(crate) requirements: bool,
    /// The summary in the newer shape, for exports and `handleSummary`.
    pub(crate) machine_readable: bool,
    pub(crate) junit: Option<PathBuf>,
    pub(crate) markdown: Option<PathBuf>,
    pub(crate) hlog: Option<PathBuf>,
}

/// A script by its extension, or `-`; not a URL.
pub(crate) fn names_script(word: &OsStr) -> bool {
    Form::of_test(word) == Form::Script
}

impl ScriptArgs {
    pub(crate) fn read(given: &Given) -> Result<Self> {
        let strictness = match (given.is_set("lenient"), given.is_set("strict")) {
            (true, _) => Strictness::Lenient,
            (_, true) => Strictness::Strict,
            _ => Strictness::Normal,
        };
        let env = given.texts("env")?;
        let inspect = given.verb == Verb::Inspect;
        Ok(Self {
            script: given.word()?,
            flags: option_flags(given)?,
            env: env.iter().map(|text| pair(text)).collect(),
            outs: given.texts("out")?,
            config: given.path("config"),
            quiet: given.is_set("quiet"),
            verbose: given.is_set("verbose"),
            strictness,
            system_env: given.is_set("include-system-env-vars"),
            watch: given.texts("watch")?,
            workers: given.within("workers", WORKERS)?,
            record: given.path("record"),
            no_record: given.is_set("no-record"),
            seed: given.parsed("seed")?,
            explain_config: given.is_explained.then(|| explained(given)),
            inspect,
            requirements: inspect && given.is_set("execution-requirements"),
            machine_readable: given.is_set("new-machine-readable-summary"),
            junit: given.path("junit"),
            markdown: given.path("markdown"),
            hlog: given.path("hlog"),
        })
    }
}

/// What was given, in the order of the table.
fn option_flags(given: &Given) -> Result<Vec<(String, String)>> {
    let mut flags = Vec::new();
    for flag in OPTIONS.iter().filter_map(|spec| spec.flag) {
        let texts = given.texts(flag)?.into_iter();
        flags.extend(texts.map(|text| (flag.to_owned(), text)));
    }
    Ok(flags)
}

pub(crate) fn pair(text: &str) -> (String, String) {
    let (name, value) = text.split_once('=').unwrap_or((text, ""));
    (name.to_owned(), value.to_owned())
}
