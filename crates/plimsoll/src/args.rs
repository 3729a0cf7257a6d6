//! Every command and flag with its unit and help: the one table behind parser, help and docs.

mod compare;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

pub(crate) use compare::{CompareArgs, FailOnArg, JudgeArgs};
use plimsoll_core::record::LabSetup;

use crate::exit::Exit;

/// Finds the load a service can carry, proves that the number is honest, and says what gives way first.
#[derive(Debug, Parser)]
#[command(name = "plimsoll", version, after_help = Exit::help(), max_term_width = 100)]
pub(crate) struct Cli {
    /// Print every value of the command with its origin, and do nothing else
    #[arg(long, global = true)]
    pub(crate) explain_config: bool,

    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Put a load on a URL, or run a k6 script (`plimsoll run script.js --help`), and measure it honestly
    Run(RunArgs),
    /// Find the highest rate that meets an objective, and what gives way first
    Find(FindArgs),
    /// Say again what gave way first in a record
    Explain(RecordArgs),
    /// Evaluate the validity gates over a record, or over another tool's result
    Audit(AuditArgs),
    /// Hold variants against each other: targets played in turns, or saved records; with --history, one over time
    Compare(CompareArgs),
    /// Render records as one self-contained HTML file
    Report(ReportArgs),
    /// Check this host as a load generator
    Doctor(DoctorArgs),
    /// Start an embedded service: a fixture with one injected cause, the shop, a proxy
    Serve(plimsoll_lab::serve::Args),
    /// Start the tiers of an experiment, put the same load on each variant, and show them side by side
    Lab(LabArgs),
    /// Start a document database for MongoDB drivers: a write is acknowledged after it is on disk
    Docdb(DocdbArgs),
}

/// What is requested.
#[derive(Debug, Clone, Args)]
pub(crate) struct RequestArgs {
    /// The target, with its scheme, such as `http://127.0.0.1:3000/cart`
    #[arg(value_name = "URL")]
    pub(crate) url: String,

    #[command(flatten)]
    pub(crate) with: RequestOptions,
}

/// How it is requested.
#[derive(Debug, Clone, Args)]
pub(crate) struct RequestOptions {
    /// Request method
    #[arg(short = 'm', long, default_value = "GET", value_name = "METHOD")]
    pub(crate) method: String,

    /// Header to send, repeatable: -H 'Accept: text/html'
    #[arg(short = 'H', long = "header", value_name = "NAME: VALUE")]
    pub(crate) headers: Vec<String>,

    /// Body to send; @FILE reads a file. With a body the method becomes POST unless -m says otherwise
    #[arg(short = 'd', long, value_name = "BODY")]
    pub(crate) data: Option<String>,

    /// Do not verify the server's certificate
    #[arg(short = 'k', long)]
    pub(crate) insecure: bool,

    /// A new connection for every request
    #[arg(long)]
    pub(crate) no_keepalive: bool,

    /// Speak HTTP/2: chosen by ALPN with https://, by prior knowledge with http://
    #[arg(long)]
    pub(crate) h2: bool,

    /// Requests at once on one connection of HTTP/2, if the server allows so many [default: 1 where each connection sends
    /// its next request when the last is answered; else 100]
    #[arg(long, value_name = "COUNT", requires = "h2")]
    pub(crate) streams: Option<String>,

    /// Load threads; default: half of the cores for a target on this host, else all
    #[arg(long, value_name = "COUNT")]
    pub(crate) workers: Option<String>,

    /// Seed of all randomness; kept in the record
    #[arg(long, value_name = "NUMBER")]
    pub(crate) seed: Option<u64>,
}

/// Which tiers are sampled besides the process behind a local target port.
#[derive(Debug, Clone, Args)]
pub(crate) struct WatchArgs {
    /// Sample a tier too, repeatable: pid:N, port:N, name:TEXT, nginx-log:FILE or metrics:URL, with
    /// TIER= in front to name it
    #[arg(long, value_name = "[TIER=]WHAT")]
    pub(crate) watch: Vec<String>,
}

/// Where results go.
#[derive(Debug, Clone, Args)]
pub(crate) struct OutputArgs {
    /// Write the record here; default: plimsoll-DATE-TIME/run.plimsoll.jsonl
    #[arg(short = 'o', long, value_name = "FILE", conflicts_with = "no_record")]
    pub(crate) out: Option<PathBuf>,

    /// What the report says of the set-up: 'proxy slots scaled down to 56'
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "",
        hide_default_value = true
    )]
    pub(crate) note: String,

    /// Keep no record and write no report
    #[arg(long)]
    pub(crate) no_record: bool,

    /// Write the response and service times as a histogram log, too
    #[arg(long, value_name = "FILE")]
    pub(crate) hlog: Option<PathBuf>,

    /// What stdout gets
    #[arg(long, value_enum, default_value_t = Format::Text, value_name = "FORMAT")]
    pub(crate) format: Format,

    /// No progress on stderr
    #[arg(long)]
    pub(crate) quiet: bool,

    /// What the lab says of the run.
    #[arg(skip)]
    pub(crate) lab: Option<LabSetup>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Text,
    /// The summary as one JSON document
    Json,
    /// A summary for a pull request
    Markdown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ArrivalsArg {
    /// Equal gaps
    Uniform,
    /// Exponential gaps, as independent people make them
    Poisson,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OverArg {
    /// Arrivals per second: an open loop, as many people make it
    Rate,
    /// Virtual users: each waits for its answers and thinks as the script says
    Vus,
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) request: RequestArgs,

    /// Connections; without a rate each sends its next request when the last is answered [default:
    /// 16; with -q or --ramp as many as needed, up to 10,000]
    #[arg(short = 'c', long, value_name = "COUNT")]
    pub(crate) connections: Option<String>,

    /// How long: 30s, 5m [default: 10s without -n]
    #[arg(short = 'z', long, value_name = "TIME")]
    pub(crate) duration: Option<String>,

    /// How many requests: 5000, 10k
    #[arg(short = 'n', long, value_name = "COUNT")]
    pub(crate) requests: Option<String>,

    /// Arrival rate, independent of the answers: 200, 200/s, 6000/m
    #[arg(short = 'q', long, value_name = "RATE", conflicts_with = "ramp")]
    pub(crate) rate: Option<String>,

    /// Spacing of arrivals with -q or --ramp
    #[arg(long, value_enum, value_name = "PROCESS", default_value_t = ArrivalsArg::Poisson)]
    pub(crate) arrivals: ArrivalsArg,

    /// Arrival rate that rises or falls evenly over -z: 100/s..2000/s
    #[arg(long, value_name = "FROM..TO")]
    pub(crate) ramp: Option<String>,

    /// Longest wait for a complete answer, from the intended start
    #[arg(long, value_name = "TIME", default_value = "10s")]
    pub(crate) timeout: String,

    /// Objectives for a pass or fail: 'p99<250ms,errors<0.1%'
    #[arg(long, value_name = "OBJECTIVES")]
    pub(crate) slo: Option<String>,

    #[command(flatten)]
    pub(crate) watch: WatchArgs,

    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct FindArgs {
    #[command(flatten)]
    pub(crate) request: RequestArgs,

    /// What the service must keep: 'p99<250ms,errors<0.1%'
    #[arg(long, value_name = "OBJECTIVES")]
    pub(crate) slo: String,

    /// Time for everything. Below 8m without the recovery probe, below 4m without overshoot; below
    /// 150s only whether -q passes
    #[arg(long, value_name = "TIME", default_value = "12m")]
    pub(crate) within: String,

    /// How close the bounds must come: 5%
    #[arg(long, value_name = "RATIO", default_value = "5%")]
    pub(crate) goal_width: String,

    /// Only say whether this arrival rate passes
    #[arg(short = 'q', long, value_name = "RATE")]
    pub(crate) rate: Option<String>,

    /// With a script: what to search over, the arrival rate (default) or the number of virtual users
    #[arg(long, value_enum, value_name = "WHAT")]
    pub(crate) over: Option<OverArg>,

    /// With a script: only say whether so many virtual users pass
    #[arg(long, value_name = "COUNT")]
    pub(crate) vus: Option<String>,

    /// Never offer more than this rate
    #[arg(long, value_name = "RATE")]
    pub(crate) max_rate: Option<String>,

    /// Do not go beyond the capacity: no collapse, no recovery probe
    #[arg(long)]
    pub(crate) no_overshoot: bool,

    /// Most connections to open; with a script, most virtual users
    #[arg(short = 'c', long, value_name = "COUNT")]
    pub(crate) connections: Option<String>,

    /// Spacing of arrivals
    #[arg(long, value_enum, value_name = "PROCESS", default_value_t = ArrivalsArg::Poisson)]
    pub(crate) arrivals: ArrivalsArg,

    /// Take self-check and anchor from an earlier search on this host
    #[arg(long, value_name = "RECORD")]
    pub(crate) reuse: Option<PathBuf>,

    /// Do not ask before loading a target that is not on this host
    #[arg(long)]
    pub(crate) yes: bool,

    /// With a script: a variable that it finds in __ENV, repeatable
    #[arg(short = 'e', long, value_name = "NAME=VALUE")]
    pub(crate) env: Vec<String>,

    /// With a script: the scenario whose function is run; its own load is replaced by the search
    #[arg(long, value_name = "NAME")]
    pub(crate) scenario: Option<String>,

    #[command(flatten)]
    pub(crate) watch: WatchArgs,

    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct RecordArgs {
    /// A record: run.plimsoll.jsonl
    #[arg(value_name = "RECORD")]
    pub(crate) record: PathBuf,

    /// What stdout gets
    #[arg(long, value_enum, default_value_t = Format::Text, value_name = "FORMAT")]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct AuditArgs {
    /// A record, or a result of k6 (summary export, handleSummary data, --out json), oha, vegeta,
    /// hey, wrk, latte or the load tool of `DocDB`
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// Another tool's result of the same workload, to hold work per success and goodput against
    #[arg(long, value_name = "FILE")]
    pub(crate) baseline: Option<PathBuf>,

    /// How many databases the test is said to have used
    #[arg(long, value_name = "COUNT")]
    pub(crate) declared_databases: Option<u64>,

    /// How many requests at once the test is said to have kept
    #[arg(long, value_name = "COUNT")]
    pub(crate) declared_in_flight: Option<u64>,

    /// What stdout gets
    #[arg(long, value_enum, default_value_t = Format::Text, value_name = "FORMAT")]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// Records to show side by side, in this order, or a folder of them; those of one experiment of the lab make its
    /// page
    #[arg(value_name = "RECORD", required = true)]
    pub(crate) records: Vec<PathBuf>,

    /// Write the page here [default: report.html, in the folder if one is named, else in this one]
    #[arg(short = 'o', long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// What stdout gets
    #[arg(long, value_enum, default_value_t = Format::Text, value_name = "FORMAT")]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each flag is switched by itself"
)]
pub(crate) struct LabArgs {
    /// The experiment: a file, or a folder with an experiment.toml
    #[arg(value_name = "EXPERIMENT")]
    pub(crate) experiment: PathBuf,

    /// Play the experiment's real.toml: real servers instead of embedded tiers
    #[arg(long)]
    pub(crate) real: bool,

    /// Multiply virtual users, connections and rates of the load with this, and the limits that tiers read as
    /// ${limits.NAME}: above 0, at most 1; for small machines
    #[arg(long, default_value_t = 1.0, value_name = "FACTOR", value_parser = scale)]
    pub(crate) scale: f64,

    /// Only say whether everything is in order
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) check: bool,

    /// Only print what would be done, and the time it takes
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Play this variant only, repeatable
    #[arg(long, value_name = "VARIANT")]
    pub(crate) only: Vec<String>,

    /// Runs of each variant, interleaved; instead of what the experiment says
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) repeat: Option<u32>,

    /// Then move each suspected limit that no variant moves, alone, in one run more, and see whether the system
    /// follows as predicted: only that makes a limit confirmed
    #[arg(long)]
    pub(crate) confirm: bool,

    /// One run of each variant, in at most 8 minutes: a look, without an interval
    #[arg(long, conflicts_with = "repeat")]
    pub(crate) quick: bool,

    /// Keep records, reports and logs in this new folder; default: plimsoll-lab-DATE-TIME
    #[arg(short = 'o', long, value_name = "FOLDER")]
    pub(crate) out: Option<PathBuf>,

    /// What stdout gets
    #[arg(long, value_enum, default_value_t = Format::Text, value_name = "FORMAT")]
    pub(crate) format: Format,

    /// No progress on stderr
    #[arg(long)]
    pub(crate) quiet: bool,
}

/// The value of --scale.
fn scale(text: &str) -> Result<f64, String> {
    let parsed = text.parse().ok();
    let inside = parsed.filter(|factor: &f64| *factor > 0.0 && *factor <= 1.0);
    inside.ok_or_else(|| "a factor above 0 and at most 1, such as 0.25".to_owned())
}

#[derive(Debug, Args)]
pub(crate) struct DocdbArgs {
    /// Listen here; port 0 takes a free one
    #[arg(long, default_value = "127.0.0.1:27017", value_name = "HOST:PORT")]
    pub(crate) listen: String,

    /// Listen on this Unix socket too
    #[arg(long, value_name = "PATH")]
    pub(crate) unix: Option<PathBuf>,

    /// Keep the data in this folder, which is made if it is missing
    #[arg(long, value_name = "DIR")]
    pub(crate) data: PathBuf,

    /// When a write is acknowledged: `always` after it is on disk, `interval=50ms` at once, with a sync that often
    #[arg(long, default_value = "always", value_name = "WHEN")]
    pub(crate) durability: String,

    /// Who carries commands out: an executor per group of databases, a thread per database, or a pool over one store
    #[arg(long, default_value = "sharded", value_parser = ["sharded", "per-database", "shared"], value_name = "NAME")]
    pub(crate) scheduler: String,

    /// Executors of the sharded scheduler, fixed when the folder is made; default: half of the cores
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) shards: Option<u16>,

    /// Clients must log in (SCRAM-SHA-256); the first user is made from this host
    #[arg(long)]
    pub(crate) auth: bool,

    /// Commands that may wait per database; further ones get an error that drivers retry
    #[arg(long, default_value_t = 1000, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) queue: u32,

    /// Connections at most
    #[arg(long, default_value_t = 20_000, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) connections: u32,

    /// Memory for blocks of the data, in MiB
    #[arg(long, default_value_t = 128, value_name = "MIB", value_parser = clap::value_parser!(u32).range(8..))]
    pub(crate) cache: u32,

    /// Let each fsync take this much longer, to see what a slower disk would do
    #[arg(long, value_name = "TIME")]
    pub(crate) slow_fsync: Option<String>,
}
