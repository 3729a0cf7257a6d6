//! What each command was asked for, typed; read from the rows that `flags` keeps.

mod compare;

use std::borrow::Cow;
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::str::FromStr;

use anyhow::{Result, bail};
pub(crate) use compare::{CompareArgs, FailOnArg, JudgeArgs};
use plimsoll_core::record::LabSetup;
use plimsoll_lab::serve;

use crate::flags::{Form, Given, Shell, Verb, explained};
use crate::script::args::ScriptArgs;

/// How often a variant may be played; nobody waits for more.
const REPEAT: (u32, u32) = (1, 1000);

/// A command with what it was given.
#[derive(Debug)]
pub(crate) enum Command {
    Run(RunArgs),
    /// `run` with a script, and `inspect`.
    Script(Box<ScriptArgs>),
    Find(FindArgs),
    Explain(RecordArgs),
    Audit(AuditArgs),
    Compare(Box<CompareArgs>),
    Report(ReportArgs),
    Doctor(DoctorArgs),
    Serve(Box<serve::Args>),
    Lab(LabArgs),
    Docdb(DocdbArgs),
    Completions(Shell),
    Man,
    /// `--explain-config`: the table to print instead.
    Explained(String),
}

impl Command {
    pub(crate) fn read(given: &Given) -> Result<Self> {
        let is_script = given.form == Some(Form::Script);
        if matches!(given.verb, Verb::Run | Verb::Inspect) && is_script {
            return Ok(Self::Script(Box::new(ScriptArgs::read(given)?)));
        }
        let command = match given.verb {
            Verb::Run | Verb::Inspect => Self::Run(RunArgs::read(given)?),
            Verb::Find => Self::Find(FindArgs::read(given)?),
            Verb::Explain => Self::Explain(RecordArgs::read(given)?),
            Verb::Audit => Self::Audit(AuditArgs::read(given)?),
            Verb::Compare => Self::Compare(Box::new(CompareArgs::read(given)?)),
            Verb::Report => Self::Report(ReportArgs::read(given)),
            Verb::Doctor => Self::Doctor(DoctorArgs::read(given)?),
            Verb::Serve => Self::Serve(Box::new(serve_args(given)?)),
            Verb::Lab => Self::Lab(LabArgs::read(given)?),
            Verb::Docdb => Self::Docdb(DocdbArgs::read(given)?),
            Verb::Completions => match given.word()?.parse() {
                Ok(shell) => Self::Completions(shell),
                Err(problem) => bail!("{problem}"),
            },
            Verb::Man => Self::Man,
        };
        // After the reading, so that a value that is none is refused here too.
        if given.is_explained {
            return Ok(Self::Explained(explained(given)));
        }
        Ok(command)
    }
}

/// What is requested.
#[derive(Debug, Clone)]
pub(crate) struct RequestArgs {
    pub(crate) url: String,
    pub(crate) with: RequestOptions,
}

impl RequestArgs {
    fn read(given: &Given) -> Result<Self> {
        Ok(Self {
            url: given.word()?,
            with: RequestOptions::read(given)?,
        })
    }
}

/// How it is requested.
#[derive(Debug, Clone)]
pub(crate) struct RequestOptions {
    pub(crate) method: String,
    pub(crate) headers: Vec<String>,
    pub(crate) data: Option<String>,
    pub(crate) insecure: bool,
    pub(crate) no_keepalive: bool,
    pub(crate) h2: bool,
    pub(crate) streams: Option<String>,
    pub(crate) workers: Option<String>,
    pub(crate) seed: Option<u64>,
}

impl RequestOptions {
    /// A script sends its own requests: then only what applies to both is read.
    fn read(given: &Given) -> Result<Self> {
        let common = Self {
            method: "GET".to_owned(),
            headers: Vec::new(),
            data: None,
            insecure: given.is_set("insecure"),
            no_keepalive: false,
            h2: false,
            streams: None,
            workers: given.text("workers")?,
            seed: given.parsed("seed")?,
        };
        if given.form == Some(Form::Script) {
            return Ok(common);
        }
        Ok(Self {
            method: given.some_text("method")?,
            headers: given.texts("header")?,
            data: given.text("data")?,
            no_keepalive: given.is_set("no-keepalive"),
            h2: given.is_set("h2"),
            streams: given.text("streams")?,
            ..common
        })
    }
}

/// Which tiers are sampled besides the process behind a local target port.
#[derive(Debug, Clone)]
pub(crate) struct WatchArgs {
    pub(crate) watch: Vec<String>,
}

impl WatchArgs {
    fn read(given: &Given) -> Result<Self> {
        let watch = given.texts("watch")?;
        Ok(Self { watch })
    }
}

/// Where results go.
#[derive(Debug, Clone)]
pub(crate) struct OutputArgs {
    pub(crate) out: Option<PathBuf>,
    pub(crate) note: String,
    pub(crate) no_record: bool,
    pub(crate) hlog: Option<PathBuf>,
    pub(crate) format: Format,
    pub(crate) quiet: bool,
    /// What the lab says of the run.
    pub(crate) lab: Option<LabSetup>,
}

impl OutputArgs {
    fn read(given: &Given) -> Result<Self> {
        Ok(Self {
            out: given.path("out"),
            note: given.some_text("note")?,
            no_record: given.is_set("no-record"),
            hlog: given.path("hlog"),
            format: given.some_text("format")?.parse()?,
            quiet: given.is_set("quiet"),
            lab: None,
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Text,
    Json,
    Markdown,
}

impl FromStr for Format {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "text" => Ok(Self::Text),
            "json" => Ok(Self::Json),
            "markdown" => Ok(Self::Markdown),
            _ => bail!("`{text}` is not one of text, json, markdown"),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ArrivalsArg {
    Uniform,
    Poisson,
}

impl FromStr for ArrivalsArg {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "uniform" => Ok(Self::Uniform),
            "poisson" => Ok(Self::Poisson),
            _ => bail!("`{text}` is not one of uniform, poisson"),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OverArg {
    Rate,
    Vus,
}

impl FromStr for OverArg {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "rate" => Ok(Self::Rate),
            "vus" => Ok(Self::Vus),
            _ => bail!("`{text}` is not one of rate, vus"),
        }
    }
}

#[derive(Debug)]
pub(crate) struct RunArgs {
    pub(crate) request: RequestArgs,
    pub(crate) connections: Option<String>,
    pub(crate) duration: Option<String>,
    pub(crate) requests: Option<String>,
    pub(crate) rate: Option<String>,
    pub(crate) arrivals: ArrivalsArg,
    pub(crate) ramp: Option<String>,
    pub(crate) timeout: String,
    pub(crate) slo: Option<String>,
    pub(crate) watch: WatchArgs,
    pub(crate) output: OutputArgs,
}

impl RunArgs {
    fn read(given: &Given) -> Result<Self> {
        Ok(Self {
            request: RequestArgs::read(given)?,
            connections: given.text("connections")?,
            duration: given.text("duration")?,
            requests: given.text("requests")?,
            rate: given.text("rate")?,
            arrivals: given.some_text("arrivals")?.parse()?,
            ramp: given.text("ramp")?,
            timeout: given.some_text("timeout")?,
            slo: given.text("slo")?,
            watch: WatchArgs::read(given)?,
            output: OutputArgs::read(given)?,
        })
    }
}

#[derive(Debug, Clone)]
pub(crate) struct FindArgs {
    pub(crate) request: RequestArgs,
    pub(crate) slo: String,
    pub(crate) within: String,
    pub(crate) goal_width: String,
    pub(crate) rate: Option<String>,
    pub(crate) over: Option<OverArg>,
    pub(crate) vus: Option<String>,
    pub(crate) max_rate: Option<String>,
    pub(crate) no_overshoot: bool,
    pub(crate) connections: Option<String>,
    pub(crate) arrivals: ArrivalsArg,
    pub(crate) reuse: Option<PathBuf>,
    pub(crate) yes: bool,
    pub(crate) env: Vec<String>,
    pub(crate) scenario: Option<String>,
    pub(crate) watch: WatchArgs,
    pub(crate) output: OutputArgs,
}

impl FindArgs {
    fn read(given: &Given) -> Result<Self> {
        let (env, scenario, vus) = match given.form {
            Some(Form::Script) => (
                given.texts("env")?,
                given.text("scenario")?,
                given.text("vus")?,
            ),
            _ => (Vec::new(), None, None),
        };
        Ok(Self {
            request: RequestArgs::read(given)?,
            slo: given.some_text("slo")?,
            within: given.some_text("within")?,
            goal_width: given.some_text("goal-width")?,
            rate: given.text("rate")?,
            over: given.parsed("over")?,
            vus,
            max_rate: given.text("max-rate")?,
            no_overshoot: given.is_set("no-overshoot"),
            connections: given.text("connections")?,
            arrivals: given.some_text("arrivals")?.parse()?,
            reuse: given.path("reuse"),
            yes: given.is_set("yes"),
            env,
            scenario,
            watch: WatchArgs::read(given)?,
            output: OutputArgs::read(given)?,
        })
    }
}

#[derive(Debug)]
pub(crate) struct RecordArgs {
    pub(crate) record: PathBuf,
    pub(crate) format: Format,
}

impl RecordArgs {
    fn read(given: &Given) -> Result<Self> {
        Ok(Self {
            record: given.word_path(),
            format: given.some_text("format")?.parse()?,
        })
    }
}

#[derive(Debug)]
pub(crate) struct AuditArgs {
    pub(crate) file: PathBuf,
    pub(crate) baseline: Option<PathBuf>,
    pub(crate) declared_databases: Option<u64>,
    pub(crate) declared_in_flight: Option<u64>,
    pub(crate) format: Format,
}

impl AuditArgs {
    fn read(given: &Given) -> Result<Self> {
        Ok(Self {
            file: given.word_path(),
            baseline: given.path("baseline"),
            declared_databases: given.parsed("declared-databases")?,
            declared_in_flight: given.parsed("declared-in-flight")?,
            format: given.some_text("format")?.parse()?,
        })
    }
}

#[derive(Debug)]
pub(crate) struct ReportArgs {
    pub(crate) records: Vec<PathBuf>,
    pub(crate) out: Option<PathBuf>,
}

impl ReportArgs {
    fn read(given: &Given) -> Self {
        Self {
            records: given.words.iter().map(PathBuf::from).collect(),
            out: given.path("out"),
        }
    }
}

#[derive(Debug)]
pub(crate) struct DoctorArgs {
    pub(crate) format: Format,
}

impl DoctorArgs {
    fn read(given: &Given) -> Result<Self> {
        let format = given.some_text("format")?.parse()?;
        Ok(Self { format })
    }
}

#[derive(Debug)]
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
    pub(crate) out: Option<PathBuf>,
    pub(crate) format: Format,
    pub(crate) quiet: bool,
}

impl LabArgs {
    fn read(given: &Given) -> Result<Self> {
        let scale: f64 = given.parsed("scale")?.unwrap_or(1.0);
        if !(scale > 0.0 && scale <= 1.0) {
            bail!("--scale {scale}: a factor above 0 and at most 1, such as 0.25");
        }
        Ok(Self {
            experiment: given.word_path(),
            real: given.is_set("real"),
            scale,
            check: given.is_set("check"),
            dry_run: given.is_set("dry-run"),
            only: given.texts("only")?,
            repeat: given.within("repeat", REPEAT)?,
            confirm: given.is_set("confirm"),
            quick: given.is_set("quick"),
            out: given.path("out"),
            format: given.some_text("format")?.parse()?,
            quiet: given.is_set("quiet"),
        })
    }
}

#[derive(Debug)]
pub(crate) struct DocdbArgs {
    pub(crate) listen: String,
    pub(crate) unix: Option<PathBuf>,
    pub(crate) data: PathBuf,
    pub(crate) durability: String,
    pub(crate) scheduler: String,
    pub(crate) shards: Option<u16>,
    pub(crate) auth: bool,
    pub(crate) queue: u32,
    pub(crate) connections: u32,
    pub(crate) cache: u32,
    pub(crate) slow_fsync: Option<String>,
}

impl DocdbArgs {
    fn read(given: &Given) -> Result<Self> {
        Ok(Self {
            listen: given.some_text("listen")?,
            unix: given.path("unix"),
            data: given.path("data").unwrap_or_default(),
            durability: given.some_text("durability")?,
            scheduler: given.some_text("scheduler")?,
            shards: given.within("shards", (1, 256))?,
            auth: given.is_set("auth"),
            queue: given.within("queue", (1, u32::MAX))?.unwrap_or(1),
            connections: given.within("connections", (1, u32::MAX))?.unwrap_or(1),
            cache: given.within("cache", (8, u32::MAX))?.unwrap_or(8),
            slow_fsync: given.text("slow-fsync")?,
        })
    }
}

fn serve_args(given: &Given) -> Result<serve::Args> {
    let words = given.words.iter().map(|word| word.to_string_lossy());
    let name: Vec<String> = words.map(Cow::into_owned).collect();
    let list = given.is_set("list");
    if name.is_empty() && !list {
        bail!("serve needs the NAME of a service; plimsoll serve --list shows them");
    }
    Ok(serve::Args {
        name,
        list,
        markdown: given.is_set("markdown"),
        healthy: given.is_set("healthy"),
        seed: given.parsed("seed")?.unwrap_or(1),
        set: given.parsed_all("set")?,
        port: given.parsed("port")?.unwrap_or_default(),
        host: given
            .parsed("host")?
            .unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST)),
        cores: given.parsed("cores")?,
        upstream: given.parsed_all("upstream")?,
        log: given.path("log"),
        dir: given.path("dir"),
        process_name: given.text("process-name")?,
        parent: given.parsed("parent")?,
    })
}
