//! An experiment: tiers, variants, the test; read from `experiment.toml` and checked before anything starts.

mod after;
mod changes;
mod check;
mod choice;
mod file;
mod fill;
mod layers;
mod place;
mod resolve;
mod scale;
mod times;

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use plimsoll_base::random::Rng;
use plimsoll_core::Nanos;
use plimsoll_core::objective::Objectives;
use plimsoll_core::record::{FaultKind, Published};
use plimsoll_core::test::{Request, SearchSettings};
use serde::Deserialize;

use crate::LabError;
pub use after::AfterLoad;
pub(crate) use after::{collection, gauge};
pub(crate) use changes::Facts;
pub use fill::{Filler, Peer};
pub(crate) use place::Place;
pub(crate) use resolve::{DOCDB, GUARD};
pub use times::Times;

/// An experiment whose every value was understood. Paths are absolute.
#[derive(Debug, Clone)]
pub struct Experiment {
    /// As it is named in tables: the title, or the name of its folder.
    pub title: String,
    /// The file's folder, which its paths start from.
    pub folder: PathBuf,
    pub variants: Vec<Variant>,
    /// Runs of each variant.
    pub runs: u32,
    /// Between two runs.
    pub pause: Nanos,
    /// The variants that a short form plays; empty for all.
    pub quick: Vec<String>,
    /// What the load and the limits were multiplied with.
    pub scale: f64,
    /// What a reader of the plan has to know, as sentences.
    pub remarks: Vec<String>,
    /// Somebody else's figures, for the report.
    pub published: Option<Published>,
    /// Variants whose programs are not installed, and what is missing.
    left_out: BTreeMap<String, String>,
    /// Variants whose capacity others are loaded with multiples of, whether they are played or not.
    measured: Vec<Variant>,
}

/// One architecture, complete: what it shares with the others is in it.
#[derive(Debug, Clone)]
pub struct Variant {
    pub name: String,
    pub about: String,
    /// The variant that it is compared with; the first one has none.
    pub base: Option<String>,
    /// In what it differs from that, one entry each: `tiers.app.instances: 1 → 2`.
    pub changes: Vec<String>,
    /// In the order of their start: a tier comes after those that it needs.
    pub tiers: Vec<Tier>,
    /// It moves a suspected limit of its base to see what follows, and is no architecture of the file.
    pub probe: bool,
    pub test: Test,
    pub objectives: Option<Objectives>,
    /// To see in what it differs from any other.
    pub(crate) facts: Facts,
}

/// One tier: a program, started as often as it has instances.
#[derive(Debug, Clone)]
pub struct Tier {
    pub name: String,
    pub program: Program,
    /// With placeholders.
    pub args: Vec<String>,
    pub instances: u32,
    /// Cores that each instance may use.
    pub cpu: Option<f64>,
    pub memory_bytes: Option<u64>,
    /// Of the first instance.
    pub port: Option<u16>,
    pub ready: Ready,
    pub ready_within: Nanos,
    /// With placeholders.
    pub env: BTreeMap<String, String>,
    /// From a name inside the instance's folder to the file that is its pattern.
    pub files: BTreeMap<String, PathBuf>,
    /// What each instance takes at once, by name.
    pub limits: BTreeMap<String, f64>,
    /// Those of them that a placeholder uses: to change one changes the tier.
    pub limits_used: BTreeSet<String>,
    /// As after `--watch`, with placeholders.
    pub watch: Vec<String>,
    /// What is done to its first instance while the load is on, in the order of time.
    pub faults: Vec<TierFault>,
    /// What stands in its place when a confirming experiment stubs it.
    pub stub: Option<Box<Self>>,
    /// It is that stub.
    pub stubbed: bool,
}

/// Something that is done to an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TierFault {
    /// So long into the load.
    pub at: Nanos,
    pub what: FaultKind,
}

impl TierFault {
    /// The key of the file that asks for it.
    pub(crate) fn key(self) -> &'static str {
        match self.what {
            FaultKind::Restarted => "kill_at",
            FaultKind::Stopped => "stop_at",
            FaultKind::Continued => "continue_at",
            FaultKind::Ended => "end_at",
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum Program {
    Command(PathBuf),
    /// A service of this binary.
    Embedded {
        name: String,
        set: BTreeMap<String, Setting>,
    },
}

/// The value of a parameter: written out, or `${limits.slots}`, so that a limit is written once.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum Setting {
    Value(f64),
    Text(String),
}

/// How a tier says that it can be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ready {
    /// It accepts a connection on its port.
    Tcp,
    /// It answers a GET of this path with a status of 200 to 399.
    Http(String),
    /// Its output has a line with this text.
    Line(String),
}

/// The load. Exactly one kind.
#[derive(Debug, Clone)]
pub struct Test {
    pub load: Load,
    /// Requests, or iterations of a script, before what is measured.
    pub warm_up: u64,
    pub timeout: Option<Nanos>,
    pub insecure: bool,
    /// Whether HTTP/2 is spoken. Unless said: not by a URL load; by scripts and stages where the server does.
    pub h2: Option<bool>,
    /// Requests at once on one connection of HTTP/2.
    pub streams: Option<NonZeroU32>,
    /// Cores kept for the load generator.
    pub cpu: f64,
    /// None: drawn anew for every repetition.
    pub seed: Option<u64>,
    /// Of a script, with placeholders.
    pub env: BTreeMap<String, String>,
    /// What is looked at when the load has ended.
    pub after: Option<AfterLoad>,
    /// Its rates are multiples of a capacity that is measured first.
    pub times: Option<Times>,
}

/// What puts the load on, with placeholders in the URL.
#[derive(Debug, Clone, PartialEq)]
pub enum Load {
    Script(PathBuf),
    /// A workload file, and keys of it that differ, as TOML.
    Workload {
        path: PathBuf,
        with: String,
        duration: Nanos,
    },
    Url {
        request: Request,
        arrivals: Arrivals,
        connections: Option<NonZeroU32>,
        duration: Nanos,
    },
    /// A search for the capacity at the objectives.
    Find {
        request: Request,
        /// The most that may be open.
        connections: Option<NonZeroU32>,
        within: Nanos,
    },
    /// Virtual users over one URL; played as a script that is made of it.
    Stages {
        request: Request,
        stages: Vec<Stage>,
        think: Nanos,
    },
}

/// Per second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Arrivals {
    Closed,
    Rate(f64),
    Ramp { from: f64, to: f64 },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stage {
    pub target: u32,
    pub duration: Nanos,
}

impl Experiment {
    /// Reads and checks `path`, which may also be the folder of an `experiment.toml`. With `real` it is the `real.toml`
    /// beside that: the same question put to programs that are no part of this binary.
    pub fn load(path: &Path, real: bool) -> Result<Self, LabError> {
        let (folder, file) = if path.is_dir() {
            (path, path.join("experiment.toml"))
        } else {
            (path.parent().unwrap_or(Path::new("")), path.to_owned())
        };
        let file = if real { folder.join("real.toml") } else { file };
        if real && path.exists() && !file.is_file() {
            return Err(LabError::NoReal {
                folder: folder.to_owned(),
            });
        }
        let shown = file.display().to_string();
        let text = std::fs::read_to_string(&file)
            .map_err(LabError::io(format!("read the experiment {shown}")))?;
        let folder = Some(folder).filter(|folder| !folder.as_os_str().is_empty());
        let folder = std::path::absolute(folder.unwrap_or(Path::new(".")))
            .map_err(LabError::io("find the working folder"))?;
        Self::parse(&shown, &text, &folder)
    }

    /// Checks the text of a file that messages call `shown`, and whose paths start from `folder`.
    pub fn parse(shown: &str, text: &str, folder: &Path) -> Result<Self, LabError> {
        resolve::resolve(&Place::new(shown, text), folder)
    }

    pub fn variant(&self, name: &str) -> Option<&Variant> {
        self.variants.iter().find(|variant| variant.name == name)
    }

    /// The order of the runs, as indices into the variants: each repetition plays all of them, in an order of its own that is
    /// drawn, so that whatever the machine does meanwhile meets all variants alike. A single repetition keeps that of the file.
    pub fn order(&self, seed: u64) -> Vec<usize> {
        let count = self.variants.len();
        if self.runs == 1 {
            return (0..count).collect();
        }
        let mut rng = Rng::new(seed, 5);
        (0..self.runs).flat_map(|_| rng.order(count)).collect()
    }
}

impl Variant {
    /// The same in about `factor` of the time: loads last whole seconds, and faults stay at their part of the load.
    pub fn shorten(&mut self, factor: f64) {
        let before = self.test.load.duration();
        self.test.load = self.test.load.shortened(factor);
        let lengths = before.zip(self.test.load.duration());
        let factor = lengths
            .filter(|(before, _)| *before > Nanos::ZERO)
            .map_or(factor, |(before, after)| {
                after.as_secs_f64() / before.as_secs_f64()
            });
        for tier in &mut self.tiers {
            let shortened = |at: Nanos| Nanos::from_secs_f64(at.as_secs_f64() * factor);
            for fault in &mut tier.faults {
                fault.at = shortened(fault.at);
            }
        }
    }

    pub fn tier(&self, name: &str) -> Option<&Tier> {
        self.tiers.iter().find(|tier| tier.name == name)
    }

    /// Cores that all its tiers may use together.
    pub fn cpu(&self) -> f64 {
        let of = |tier: &Tier| tier.cpu.unwrap_or(0.0) * f64::from(tier.instances);
        self.tiers.iter().map(of).sum()
    }
}

impl Setting {
    /// The value among these limits. The error is a sentence without its place.
    pub(crate) fn value(&self, limits: &BTreeMap<String, f64>) -> Result<f64, String> {
        match self {
            Self::Value(value) => Ok(*value),
            Self::Text(text) => {
                let limit = text
                    .strip_prefix("${limits.")
                    .and_then(|t| t.strip_suffix('}'));
                let name = limit.ok_or_else(|| {
                    format!("`{text}` is no number; write one, or ${{limits.NAME}} for a limit of the tier")
                })?;
                limits
                    .get(name)
                    .copied()
                    .ok_or_else(|| fill::undeclared(name))
            }
        }
    }
}

impl Tier {
    /// `app`, or `app-2` of several.
    pub fn instance_name(&self, index: u32) -> String {
        if self.instances == 1 {
            self.name.clone()
        } else {
            format!("{}-{}", self.name, index + 1)
        }
    }
}

impl Load {
    /// How long it lasts, a search at most; a script's own options say.
    pub fn duration(&self) -> Option<Nanos> {
        match self {
            Self::Script(_) => None,
            Self::Url { duration, .. } | Self::Workload { duration, .. } => Some(*duration),
            Self::Find { within, .. } => Some(*within),
            Self::Stages { stages, .. } => Some(
                stages
                    .iter()
                    .fold(Nanos::ZERO, |sum, stage| sum + stage.duration),
            ),
        }
    }

    /// The same load in `factor` of the time; a search is not made shorter than it can be.
    #[must_use]
    pub fn shortened(&self, factor: f64) -> Self {
        let short = |time: Nanos| {
            let seconds = (time.as_secs_f64() * factor).floor().max(1.0);
            Nanos::from_secs_f64(seconds).min(time)
        };
        let mut shortened = self.clone();
        match &mut shortened {
            Self::Script(_) => {}
            Self::Url { duration, .. } | Self::Workload { duration, .. } => {
                *duration = short(*duration);
            }
            Self::Find { within, .. } => {
                *within = short(*within).max(SearchSettings::SHORTEST).min(*within);
            }
            Self::Stages { stages, .. } => {
                for stage in stages {
                    stage.duration = short(stage.duration);
                }
            }
        }
        shortened
    }
}

#[cfg(test)]
mod tests;
