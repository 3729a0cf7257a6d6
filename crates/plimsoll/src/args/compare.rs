//! Flags of `plimsoll compare`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{ArrivalsArg, Format, RequestOptions, WatchArgs};

/// Targets to play in turns, or runs that were kept.
#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    /// Two or more targets to play in turns, the first being the one to beat: URLs, or scripts, each in quotes with the
    /// flags of its own: 'shop.js -e BASE=http://127.0.0.1:3001'. Or two or more records
    #[arg(value_name = "URL|SCRIPT|RECORD")]
    pub(crate) targets: Vec<String>,

    #[command(flatten)]
    pub(crate) saved: SavedArgs,

    #[command(flatten)]
    pub(crate) live: LiveArgs,

    #[command(flatten)]
    pub(crate) with: RequestOptions,

    #[command(flatten)]
    pub(crate) watch: WatchArgs,

    #[command(flatten)]
    pub(crate) judge: JudgeArgs,
}

/// Runs that were kept: our records, and other tools' results as far as their fields go.
#[derive(Debug, Args)]
pub(crate) struct SavedArgs {
    /// Runs of the variant to beat
    #[arg(long, value_name = "RECORD", num_args = 1.., requires = "b", conflicts_with = "targets")]
    pub(crate) a: Vec<PathBuf>,

    /// Runs of the variant that is judged
    #[arg(long, value_name = "RECORD", num_args = 1.., requires = "a", conflicts_with = "targets")]
    pub(crate) b: Vec<PathBuf>,

    /// The n-th run of --a was played beside the n-th of --b
    #[arg(long, requires = "a")]
    pub(crate) paired: bool,

    /// Runs of one target over time: where did a figure change?
    #[arg(long, value_name = "RECORD", num_args = 1.., conflicts_with_all = ["targets", "a", "b"])]
    pub(crate) history: Vec<PathBuf>,
}

/// What is played on every target.
#[derive(Debug, Args)]
pub(crate) struct LiveArgs {
    /// Play one target against itself: how small a change shows here?
    #[arg(long)]
    pub(crate) aa: bool,

    /// Pairs of runs [default: as many as can reach 5 %: 6 for two targets, 7 for three, 8 for four]
    #[arg(long, value_name = "COUNT")]
    pub(crate) pairs: Option<String>,

    /// The same arrival rate for all: 200, 200/s, 6000/m
    #[arg(short = 'q', long, value_name = "RATE")]
    pub(crate) rate: Option<String>,

    /// Connections; without a rate each sends its next request when the last is answered
    #[arg(short = 'c', long, value_name = "COUNT")]
    pub(crate) connections: Option<String>,

    /// In each run, find the highest rate that meets --slo, and compare those
    #[arg(long)]
    pub(crate) find: bool,

    /// Length of a run at a set load [default: 60s]
    #[arg(short = 'z', long, value_name = "TIME")]
    pub(crate) duration: Option<String>,

    /// Length of a run with --find
    #[arg(long, value_name = "TIME", default_value = "3m")]
    pub(crate) within: String,

    /// With --find: never offer more than this rate
    #[arg(long, value_name = "RATE")]
    pub(crate) max_rate: Option<String>,

    /// With scripts: a variable that all of them find in __ENV, repeatable
    #[arg(short = 'e', long, value_name = "NAME=VALUE")]
    pub(crate) env: Vec<String>,

    /// Spacing of arrivals with a rate or --find
    #[arg(long, value_enum, value_name = "PROCESS", default_value_t = ArrivalsArg::Poisson)]
    pub(crate) arrivals: ArrivalsArg,

    /// Longest wait for a complete answer, from the intended start
    #[arg(long, value_name = "TIME", default_value = "10s")]
    pub(crate) timeout: String,

    /// What goodput and capacity are within: 'p99<250ms,errors<0.1%'
    #[arg(long, value_name = "OBJECTIVES")]
    pub(crate) slo: Option<String>,

    /// Keep the records in this folder; default: plimsoll-compare-DATE-TIME
    #[arg(short = 'o', long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,

    /// With --find: do not ask before loading a target that is not on this host
    #[arg(long)]
    pub(crate) yes: bool,
}

/// How the runs are judged, and where the answer goes.
#[derive(Debug, Args)]
pub(crate) struct JudgeArgs {
    /// The figure that decides, and is not corrected for those beside it: goodput, p99,
    /// `failure_ratio` and so on [default: capacity where it was searched, else goodput]
    #[arg(long, value_name = "FIGURE")]
    pub(crate) primary: Option<String>,

    /// Changes smaller than this count as none
    #[arg(long, value_name = "RATIO", default_value = "5%")]
    pub(crate) margin: String,

    /// What makes the exit code say so
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = FailOnArg::Worse)]
    pub(crate) fail_on: FailOnArg,

    /// Write the page with the variants side by side here; live runs: report.html beside the records
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,

    /// What stdout gets
    #[arg(long, value_enum, default_value_t = Format::Text, value_name = "FORMAT")]
    pub(crate) format: Format,

    /// No progress on stderr
    #[arg(long)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailOnArg {
    /// 4 when a variant is worse than the first
    Worse,
    /// The same, and 5 when that cannot be told
    Inconclusive,
    /// 0 whatever the verdict, as long as there is one
    Never,
}
