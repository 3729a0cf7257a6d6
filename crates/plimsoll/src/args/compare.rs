//! Flags of `plimsoll compare`.

use std::borrow::Cow;
use std::path::PathBuf;
use std::str::FromStr;

use anyhow::{Result, bail};

use crate::flags::Given;

use super::{ArrivalsArg, Format, RequestOptions, WatchArgs};

/// Targets to play in turns, or runs that were kept.
#[derive(Debug)]
pub(crate) struct CompareArgs {
    pub(crate) targets: Vec<String>,
    pub(crate) saved: SavedArgs,
    pub(crate) live: LiveArgs,
    pub(crate) with: RequestOptions,
    pub(crate) watch: WatchArgs,
    pub(crate) judge: JudgeArgs,
}

impl CompareArgs {
    pub(super) fn read(given: &Given) -> Result<Self> {
        let words = given.words.iter().map(|word| word.to_string_lossy());
        let args = Self {
            targets: words.map(Cow::into_owned).collect(),
            saved: SavedArgs::read(given),
            live: LiveArgs::read(given)?,
            with: RequestOptions::read(given)?,
            watch: WatchArgs::read(given)?,
            judge: JudgeArgs::read(given)?,
        };
        for (flag, is_given) in [
            ("--a and --b", !args.saved.a.is_empty()),
            ("--history", !args.saved.history.is_empty()),
        ] {
            if is_given && !args.targets.is_empty() {
                bail!("{flag} and targets together: give either records, or targets to play");
            }
        }
        Ok(args)
    }
}

/// Runs that were kept: our records, and other tools' results as far as their fields go.
#[derive(Debug)]
pub(crate) struct SavedArgs {
    pub(crate) a: Vec<PathBuf>,
    pub(crate) b: Vec<PathBuf>,
    pub(crate) paired: bool,
    pub(crate) history: Vec<PathBuf>,
}

impl SavedArgs {
    fn read(given: &Given) -> Self {
        Self {
            a: given.paths("a"),
            b: given.paths("b"),
            paired: given.is_set("paired"),
            history: given.paths("history"),
        }
    }
}

/// What is played on every target.
#[derive(Debug)]
pub(crate) struct LiveArgs {
    pub(crate) aa: bool,
    pub(crate) pairs: Option<String>,
    pub(crate) rate: Option<String>,
    pub(crate) connections: Option<String>,
    pub(crate) find: bool,
    pub(crate) duration: Option<String>,
    pub(crate) within: String,
    pub(crate) max_rate: Option<String>,
    pub(crate) env: Vec<String>,
    pub(crate) arrivals: ArrivalsArg,
    pub(crate) timeout: String,
    pub(crate) slo: Option<String>,
    pub(crate) out: Option<PathBuf>,
    pub(crate) yes: bool,
}

impl LiveArgs {
    fn read(given: &Given) -> Result<Self> {
        Ok(Self {
            aa: given.is_set("aa"),
            pairs: given.text("pairs")?,
            rate: given.text("rate")?,
            connections: given.text("connections")?,
            find: given.is_set("find"),
            duration: given.text("duration")?,
            within: given.some_text("within")?,
            max_rate: given.text("max-rate")?,
            env: given.texts("env")?,
            arrivals: given.some_text("arrivals")?.parse()?,
            timeout: given.some_text("timeout")?,
            slo: given.text("slo")?,
            out: given.path("out"),
            yes: given.is_set("yes"),
        })
    }
}

/// How the runs are judged, and where the answer goes.
#[derive(Debug)]
pub(crate) struct JudgeArgs {
    pub(crate) primary: Option<String>,
    pub(crate) margin: String,
    pub(crate) fail_on: FailOnArg,
    pub(crate) report: Option<PathBuf>,
    pub(crate) format: Format,
    pub(crate) quiet: bool,
}

impl JudgeArgs {
    fn read(given: &Given) -> Result<Self> {
        Ok(Self {
            primary: given.text("primary")?,
            margin: given.some_text("margin")?,
            fail_on: given.some_text("fail-on")?.parse()?,
            report: given.path("report"),
            format: given.some_text("format")?.parse()?,
            quiet: given.is_set("quiet"),
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FailOnArg {
    Worse,
    Inconclusive,
    Never,
}

impl FromStr for FailOnArg {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "worse" => Ok(Self::Worse),
            "inconclusive" => Ok(Self::Inconclusive),
            "never" => Ok(Self::Never),
            _ => bail!("`{text}` is not one of worse, inconclusive, never"),
        }
    }
}
