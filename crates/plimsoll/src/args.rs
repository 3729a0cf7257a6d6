//! What a command was asked for: one typed field for each flag, filled by the rows of `flags::table`.

use std::ffi::OsString;
use std::net::{Ipv4Addr, SocketAddr};
use std::num::{NonZeroU32, NonZeroU64};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, anyhow};
use plimsoll_control::admission::Rule;
use plimsoll_core::Nanos;
use plimsoll_core::comparison::Figure;
use plimsoll_core::objective::Objectives;
use plimsoll_core::record::LabSetup;
use plimsoll_core::scenario::Strictness;
use plimsoll_core::schedule::{Arrivals, Leg, RateProfile};
use plimsoll_core::test::SearchSettings;
use plimsoll_docdb::server::{Config, Durability, Scheduler};
use plimsoll_guard::{LogTo, Place};
use plimsoll_lab::serve;
use plimsoll_net::resolve::ConnectTo;
use plimsoll_observe::Watch;
use plimsoll_report::k6;
use plimsoll_workload::Asked;

use crate::form::Form;
use crate::machine;
use crate::page::Page;
use crate::script::console::Logging;
use crate::vary::Vary;

/// Everything; a command finds what it does not know of as it is by default.
#[derive(Debug, Default)]
pub(crate) struct Args {
    /// What is no flag: the test, the targets, the records.
    pub(crate) words: Vec<OsString>,
    /// What the words are: the one decision, which everybody else looks up.
    pub(crate) form: Option<Form>,
    /// `--explain-config`: the table to print instead.
    pub(crate) explained: Option<String>,
    pub(crate) request: RequestArgs,
    pub(crate) load: LoadArgs,
    /// What only workloads have.
    pub(crate) workload: Asked,
    pub(crate) slo: Option<Objectives>,
    pub(crate) search: SearchSettings,
    pub(crate) vary: VaryArgs,
    pub(crate) script: ScriptSource,
    pub(crate) summary: SummaryArgs,
    pub(crate) compare: CompareArgs,
    pub(crate) sweep: SweepArgs,
    pub(crate) watch: Vec<Watch>,
    pub(crate) workers: Option<NonZeroU32>,
    pub(crate) seed: Option<u64>,
    pub(crate) insecure: bool,
    pub(crate) reuse: Option<PathBuf>,
    /// A target on another host may be loaded without asking.
    pub(crate) yes: bool,
    pub(crate) output: OutputArgs,
    pub(crate) audit: AuditArgs,
    pub(crate) lab: LabArgs,
    pub(crate) docdb: DocdbArgs,
    pub(crate) guard: GuardArgs,
    pub(crate) serve: serve::Args,
}

impl Args {
    /// The first word, which the parser demands where it is needed.
    pub(crate) fn word(&self) -> Result<String> {
        let first = self.words.first().cloned().unwrap_or_default();
        let wrong = |word: OsString| anyhow!("`{}` is not UTF-8", word.display());
        first.into_string().map_err(wrong)
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.words.first().map(PathBuf::from).unwrap_or_default()
    }

    /// `--seed`, or a new one.
    pub(crate) fn seed(&self) -> u64 {
        self.seed.unwrap_or_else(machine::fresh_seed)
    }
}

/// How a URL is requested.
#[derive(Debug, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each flag is switched by itself"
)]
pub(crate) struct RequestArgs {
    /// GET, or POST with a body, unless said.
    pub(crate) method: Option<String>,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    /// Fields of a form, as typed.
    pub(crate) form: Vec<String>,
    /// `NAME:PASSWORD`
    pub(crate) user: Option<String>,
    /// Rows that fill templates.
    pub(crate) rows: Option<PathBuf>,
    pub(crate) no_templates: bool,
    pub(crate) redirects: u32,
    pub(crate) no_preflight: bool,
    pub(crate) connect_to: Vec<ConnectTo>,
    pub(crate) unix: Option<PathBuf>,
    pub(crate) only_v4: bool,
    pub(crate) only_v6: bool,
    pub(crate) cert: Option<PathBuf>,
    pub(crate) key: Option<PathBuf>,
    pub(crate) cacert: Option<PathBuf>,
    pub(crate) tls_resumption: bool,
    /// Where every attempt is written by itself.
    pub(crate) csv: Option<PathBuf>,
    pub(crate) no_keepalive: bool,
    pub(crate) h2: bool,
    pub(crate) streams: Option<NonZeroU32>,
}

/// A load that is set.
#[derive(Debug, Default)]
pub(crate) struct LoadArgs {
    pub(crate) connections: Option<NonZeroU32>,
    pub(crate) duration: Option<Nanos>,
    pub(crate) requests: Option<NonZeroU64>,
    pub(crate) rate: Option<RateProfile>,
    /// From and to, per second.
    pub(crate) ramp: Option<(f64, f64)>,
    /// Rates of the phases of a file, one after the other.
    pub(crate) legs: Vec<Leg>,
    pub(crate) arrivals: Arrivals,
    pub(crate) timeout: Nanos,
}

/// What a search varies.
#[derive(Debug, Default)]
pub(crate) struct VaryArgs {
    pub(crate) over: Option<OverArg>,
    pub(crate) only_per_s: Option<f64>,
    pub(crate) max_per_s: Option<f64>,
    pub(crate) only_vus: Option<NonZeroU32>,
    pub(crate) scenario: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OverArg {
    Rate,
    Vus,
}

/// A script, and how it is read.
#[derive(Debug, Clone, Default)]
pub(crate) struct ScriptSource {
    /// `-` is standard input.
    pub(crate) script: String,
    /// Options of the test that flags give, as they were typed.
    pub(crate) options: Vec<(String, String)>,
    /// `-e NAME=VALUE`
    pub(crate) env: Vec<(String, String)>,
    pub(crate) config: Option<PathBuf>,
    pub(crate) strictness: Strictness,
    /// What k6 would find on this host counts: variables of the process in `__ENV`, the configuration file of the user.
    pub(crate) takes_surroundings: bool,
    /// Variables of k6 that the command does not follow, with what is said where one is set.
    pub(crate) unfollowed: Vec<(String, String)>,
    /// In its log.
    pub(crate) show_secrets: bool,
    /// `--include-system-env-vars`, where somebody said it.
    pub(crate) system_env: Option<bool>,
    pub(crate) outs: Vec<k6::Output>,
    /// The summary in the newer shape, for exports and `handleSummary`.
    pub(crate) machine_readable: bool,
}

/// What becomes of a script's results.
#[derive(Debug, Default)]
pub(crate) struct SummaryArgs {
    pub(crate) verbose: bool,
    pub(crate) logging: Logging,
    /// `--address`, for an interface that is not there.
    pub(crate) address: Option<String>,
    /// `inspect`: the scenarios that follow from the options, the longest duration and the most virtual users.
    pub(crate) requirements: bool,
    pub(crate) junit: Option<PathBuf>,
    pub(crate) markdown: Option<PathBuf>,
}

/// What is compared, and how it is judged.
#[derive(Debug, Default)]
pub(crate) struct CompareArgs {
    pub(crate) a: Vec<PathBuf>,
    pub(crate) b: Vec<PathBuf>,
    pub(crate) paired: bool,
    pub(crate) history: Vec<PathBuf>,
    pub(crate) aa: bool,
    pub(crate) pairs: Option<u32>,
    pub(crate) find: bool,
    pub(crate) primary: Option<Figure>,
    pub(crate) margin: f64,
    pub(crate) fail_on: FailOn,
    pub(crate) report: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum FailOn {
    #[default]
    Worse,
    Inconclusive,
    Never,
}

/// Which points a sweep plays, and how.
#[derive(Debug, Default)]
pub(crate) struct SweepArgs {
    /// The words of the command, which each point is read from with values of its own.
    pub(crate) line: Vec<OsString>,
    pub(crate) vary: Vec<Vary>,
    pub(crate) repeat: u32,
    pub(crate) find: bool,
    /// A command that brings the target back to its first state.
    pub(crate) before: Option<String>,
    pub(crate) stop_on: StopOn,
    pub(crate) resume: bool,
    pub(crate) clients: Option<NonZeroU32>,
    pub(crate) server_timeout: Option<Nanos>,
}

/// What ends a sweep before its last point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum StopOn {
    #[default]
    Unreachable,
    Invalid,
    Never,
}

/// Several runs that are shown one after the other.
#[derive(Debug, Clone, Default)]
pub(crate) struct Series {
    pub(crate) page: Option<Arc<Page>>,
}

/// Where results go.
#[derive(Debug, Clone, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each flag is switched by itself"
)]
pub(crate) struct OutputArgs {
    pub(crate) out: Option<PathBuf>,
    pub(crate) note: String,
    pub(crate) no_record: bool,
    pub(crate) hlog: Option<PathBuf>,
    pub(crate) format: Format,
    pub(crate) quiet: bool,
    /// No colours, whatever the terminal can do.
    pub(crate) no_color: bool,
    /// Files that are there already are written over.
    pub(crate) force: bool,
    /// Nothing is masked in what is kept.
    pub(crate) show_secrets: bool,
    /// The live page is asked for.
    pub(crate) live: bool,
    /// One run of several: its live page is that of all, if they have one.
    pub(crate) part_of: Option<Series>,
    /// What the lab says of the run.
    pub(crate) lab: Option<LabSetup>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Format {
    #[default]
    Text,
    Json,
    Markdown,
}

#[derive(Debug, Default)]
pub(crate) struct AuditArgs {
    pub(crate) baseline: Option<PathBuf>,
    pub(crate) declared_databases: Option<u64>,
    pub(crate) declared_in_flight: Option<u64>,
    pub(crate) declared_changes: Vec<String>,
}

#[derive(Debug, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each flag is switched by itself"
)]
pub(crate) struct LabArgs {
    pub(crate) experiment: PathBuf,
    pub(crate) real: bool,
    pub(crate) scale: f64,
    pub(crate) check: bool,
    pub(crate) dry_run: bool,
    pub(crate) only: Vec<String>,
    pub(crate) repeat: Option<u32>,
    pub(crate) confirm: bool,
    pub(crate) quick: bool,
    pub(crate) live: bool,
    pub(crate) out: Option<PathBuf>,
    pub(crate) format: Format,
    pub(crate) quiet: bool,
}

/// What `plimsoll guard` is told; what no flag says a file may say, and the guard has the other values.
#[derive(Debug, Default)]
pub(crate) struct GuardArgs {
    pub(crate) config: Option<PathBuf>,
    pub(crate) check: bool,
    /// The record whose load line it begins with.
    pub(crate) from: Option<PathBuf>,
    pub(crate) shadow: bool,
    pub(crate) listen: Option<Place>,
    pub(crate) tls_cert: Vec<PathBuf>,
    pub(crate) tls_key: Vec<PathBuf>,
    pub(crate) no_http2: bool,
    pub(crate) upstream_ca: Option<PathBuf>,
    pub(crate) stream_idle: Option<Duration>,
    pub(crate) access_log: Option<LogTo>,
    /// As they were typed.
    pub(crate) upstreams: Vec<String>,
    pub(crate) admin: Option<SocketAddr>,
    pub(crate) rule: Option<Rule>,
    pub(crate) class_header: Option<String>,
    pub(crate) tenant_header: Option<String>,
    pub(crate) drain: Option<Duration>,
}

#[derive(Debug)]
pub(crate) struct DocdbArgs {
    pub(crate) config: Config,
    pub(crate) tls_cert: Option<PathBuf>,
    pub(crate) tls_key: Option<PathBuf>,
}

impl Default for DocdbArgs {
    fn default() -> Self {
        let config = Config {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            unix: None,
            tls: None,
            data: PathBuf::new(),
            durability: Durability::Always,
            scheduler: Scheduler::Sharded,
            shards: None,
            auth: false,
            queue: 1,
            connections: 1,
            cache_bytes: 0,
            memory_bytes: 0,
            slow_fsync: Duration::ZERO,
            log: |_| {},
        };
        Self {
            config,
            tls_cert: None,
            tls_key: None,
        }
    }
}
