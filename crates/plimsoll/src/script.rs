//! `plimsoll run SCRIPT`: a k6 script as it is, with the summary its users know and what we add.

pub(crate) mod args;
pub(crate) mod console;
pub(crate) mod load;
mod out;
pub(crate) mod play;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::Write as _;
use std::num::{NonZeroU32, NonZeroU64};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use clap::error::ErrorKind;
use plimsoll_analysis::summary;
use plimsoll_core::Nanos;
use plimsoll_core::ending::{Cause, Ending};
use plimsoll_core::objective::Objectives;
use plimsoll_core::plan::{Load, Plan, Request};
use plimsoll_core::scenario::{self, Executor, Flag, Scenario};
use plimsoll_core::schedule::RateProfile;
use plimsoll_core::step::{Phase, Step, StepLoad};
use plimsoll_core::verdict::{GateState, Verdict};
use plimsoll_observe::Watch;
use plimsoll_report::{format, k6};
use serde_json::Value;

use args::ScriptArgs;
pub(crate) use args::is_for_scripts;
use load::{Loaded, Refused};
use play::Played;

use crate::args::{Format, OutputArgs};
use crate::page::PageOptions;
use crate::session::{Session, interrupt_flag};
use crate::{explained, output, watching};

/// How often a signal is looked for after the end.
const LINGER_PERIOD: Duration = Duration::from_millis(100);

/// From the command line to the exit code.
pub(crate) fn run(words: &[OsString]) -> ExitCode {
    let args = match args::parse(words) {
        Ok(args) => args,
        Err(error) => {
            // A closed pipe while printing help is nobody's failure.
            let _closed_pipe = error.print();
            let asked = matches!(
                error.kind(),
                ErrorKind::DisplayHelp | ErrorKind::DisplayVersion
            );
            return ExitCode::from(if asked { 0 } else { 104 });
        }
    };
    match execute(&args) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            output::error(&error);
            let refused = error.downcast_ref::<Refused>();
            ExitCode::from(refused.map_or(104, |refused| refused.code))
        }
    }
}

fn execute(args: &ScriptArgs) -> Result<u8> {
    if args.verbose {
        console::be_verbose();
    }
    let stop = Arc::new(AtomicBool::new(false));
    let loaded = Arc::new(load::load(args, &stop)?);
    if args.explain_config {
        output::data(&explain(&loaded));
        return Ok(0);
    }
    if args.inspect {
        output::data(&inspected(&loaded, args.requirements));
        return Ok(0);
    }
    let watches = watching::parse_texts(&args.watch)?;
    for path in args.junit.iter().chain(&args.markdown) {
        output::writable(path)?;
    }
    let interrupt = interrupt_flag()?;
    let output_args = output_args(args);
    let setup = loaded.setup.clone();
    let mut session = Session::start_script("run", plan(&loaded), setup, &output_args)?;
    session.watch_only(&watches)?;
    let mut outs = out::Outs::open(&args.outs, &loaded.options)?;
    if outs.wants_page {
        session.show_page(PageOptions::of_environment(true, |name| {
            std::env::var(name).ok()
        })?)?;
    }
    session.level(&step(&loaded), Some(longest(&loaded)))?;
    let played = play::play(&loaded, &mut session, &mut outs, &interrupt)?;
    outs.close()?;
    session.settle()?;
    show(&loaded, &played)?;
    keep(args, &loaded, &played)?;
    let mut verdict = summary::of_run(&session.record);
    explained::add(&session.record, &mut verdict);
    if loaded.options.settings.summary_mode != "disabled" && played.summary.is_none() {
        output::data(&truth(&verdict));
    }
    let record = session.path.as_ref().map(|path| path.display().to_string());
    let report = session.close(verdict)?;
    if let (false, Some(record), Some(report)) = (args.quiet, record, report) {
        output::progress(&format!("record  {record}\nreport  {}", report.display()));
    }
    if loaded.options.settings.is_set(Flag::Linger) {
        linger(&interrupt);
    }
    Ok(played.ending.exit_code())
}

/// Plays a script whole for the lab and for a comparison: nothing is printed, and the record has everything but the verdict.
pub(crate) fn measure(
    loaded: &Arc<Loaded>,
    objectives: Option<&Objectives>,
    watches: &[Watch],
    output: &OutputArgs,
    interrupt: &Arc<AtomicBool>,
) -> Result<(Session, Ending)> {
    let plan = Plan {
        objectives: objectives.cloned(),
        ..plan(loaded)
    };
    let mut session = Session::start_script("run", plan, loaded.setup.clone(), output)?;
    session.watch_only(watches)?;
    let mut outs = out::Outs::open(&[], &loaded.options)?;
    session.level(&step(loaded), Some(longest(loaded)))?;
    let played = play::play(loaded, &mut session, &mut outs, interrupt)?;
    session.settle()?;
    Ok((session, played.ending))
}

/// A script that threw or gave up has measured nothing; crossed thresholds of its own are its own affair.
pub(crate) fn came_to_its_end(ending: Ending) -> Result<()> {
    match ending.cause() {
        None | Some(Cause::ThresholdCrossed | Cause::Interrupted) => Ok(()),
        Some(_) => bail!(
            "the script did not come to its end: exit code {}",
            ending.exit_code()
        ),
    }
}

/// Stays until a signal comes; the one that ended the test counts.
fn linger(interrupt: &AtomicBool) {
    output::progress("the test is over; staying as asked, Ctrl-C ends it");
    while !interrupt.load(Ordering::Relaxed) {
        std::thread::sleep(LINGER_PERIOD);
    }
}

/// The options as the script states them; with `requirements` what follows from them.
fn inspected(loaded: &Loaded, requirements: bool) -> String {
    let mut options = loaded.options.to_json();
    if let Value::Object(map) = &mut options {
        if requirements {
            let longest = scenario::show_time(loaded.options.scenarios.longest_ns());
            map.insert("totalDuration".to_owned(), longest.into());
            map.insert("maxVUs".to_owned(), loaded.script.vus_max().into());
        } else {
            for name in ["vus", "duration", "iterations", "stages", "scenarios"] {
                let said = loaded.options.said(name).cloned();
                map.insert(name.to_owned(), said.unwrap_or_default());
            }
        }
    }
    format!("{options:#}\n")
}

/// Results in files that other programs read.
fn keep(args: &ScriptArgs, loaded: &Loaded, played: &Played) -> Result<()> {
    let results = play::results(loaded, played);
    if let Some(path) = &args.junit {
        write(path, &k6::junit(&results, &loaded.name))?;
    }
    let page = || k6::markdown(&results, &loaded.name);
    if let Some(path) = &args.markdown {
        write(path, &page())?;
    }
    // GitHub shows what a step appends to this file.
    if let Some(path) = std::env::var_os("GITHUB_STEP_SUMMARY").filter(|path| !path.is_empty()) {
        let file = std::fs::OpenOptions::new()
            .append(true)
            .create(true)
            .open(&path);
        let written = file.and_then(|mut file| file.write_all(page().as_bytes()));
        if let Err(error) = written {
            console::warn(&format!("GITHUB_STEP_SUMMARY {}: {error}", path.display()));
        }
    }
    Ok(())
}

fn write(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).with_context(|| format!("write {}", path.display()))
}

/// Each option with its value and who said it.
fn explain(loaded: &Loaded) -> String {
    let mut table = String::new();
    for (spec, value, origin) in loaded.options.explained() {
        let origin = origin.name();
        let _infallible = writeln!(table, "{:<24} {origin:<12} {value}", spec.name);
    }
    table
}

fn output_args(args: &ScriptArgs) -> OutputArgs {
    OutputArgs {
        out: args.record.clone(),
        note: String::new(),
        no_record: args.no_record,
        hlog: args.hlog.clone(),
        format: Format::Text,
        quiet: args.quiet,
        lab: None,
    }
}

/// Until no iteration starts any more.
pub(crate) fn longest(loaded: &Loaded) -> Nanos {
    let ends = loaded.script.scenarios.iter().map(Scenario::regular_end_ns);
    ends.max().unwrap_or_default()
}

/// The load as the record says it: the one arrival rate of the test, or so many virtual users.
fn step(loaded: &Loaded) -> Step {
    Step {
        level: 0,
        phase: Phase::Run,
        load: load_of(loaded),
        windows_max: u32::MAX,
    }
}

fn load_of(loaded: &Loaded) -> StepLoad {
    let mut all = loaded.script.scenarios.iter();
    let only = all.next().filter(|_| all.next().is_none());
    if let Some(scenario) = only
        && let Executor::ConstantArrivalRate { rate, arriving, .. } = &scenario.executor
    {
        let rate = rate.get() as f64 / arriving.time_unit_ns.as_secs_f64();
        if let Ok(profile) = RateProfile::constant(rate) {
            return StepLoad::Open {
                profile,
                arrivals: arriving.arrivals,
            };
        }
    }
    StepLoad::Closed {
        in_flight: loaded.script.vus_max(),
    }
}

fn plan(loaded: &Loaded) -> Plan {
    let vus = NonZeroU32::new(loaded.script.vus_max()).unwrap_or(NonZeroU32::MIN);
    Plan {
        request: Request {
            method: Request::SCRIPT.to_owned(),
            url: loaded.name.clone(),
            headers: Vec::new(),
            body: Vec::new(),
        },
        load: match load_of(loaded) {
            StepLoad::Open { profile, arrivals } => Load::Open { profile, arrivals },
            StepLoad::Closed { .. } => Load::Closed { in_flight: vus },
        },
        until: NonZeroU64::new(longest(loaded).0)
            .map(|length| plimsoll_core::plan::Until::DurationNs(Nanos(length.get()))),
        connections_max: vus,
        workers: NonZeroU32::new(loaded.script.workers).unwrap_or(NonZeroU32::MIN),
        timeout_ns: loaded.script.settings.timeout,
        keepalive: loaded.script.reuses_connections,
        streams_per_connection: None,
        insecure: loaded.script.naming.tls.insecure,
        objectives: None,
        seed: loaded.script.settings.seed,
    }
}

/// Summary on stdout, exports into files.
fn show(loaded: &Loaded, played: &Played) -> Result<()> {
    let results = play::results(loaded, played);
    let settings = &loaded.options.settings;
    if let Some(path) = &settings.summary_export {
        let export = if loaded.machine_readable {
            play::machine_readable(loaded, &results)
        } else {
            k6::export(&results)
        };
        let export = serde_json::to_string_pretty(&export)?;
        std::fs::write(path, export).with_context(|| format!("write --summary-export {path}"))?;
    }
    match &played.summary {
        Some(Value::Object(files)) => {
            let mut failed = BTreeSet::new();
            for (path, content) in files {
                if let Err(error) = put(path, content) {
                    failed.insert(format!("handleSummary: cannot write {path}: {error}"));
                }
            }
            // As in k6: told, and the exit code stays.
            for problem in failed {
                console::warn(&problem);
            }
        }
        _ if settings.summary_mode == "disabled" => {}
        _ => {
            let detail = if settings.summary_mode == "full" {
                k6::Detail::Full
            } else {
                k6::Detail::Compact
            };
            output::data(&k6::text(&results, detail, output::colour_on_stdout()));
        }
    }
    Ok(())
}

/// What k6 cannot tell: response time from the intended start, failures by kind, whether to believe it.
fn truth(verdict: &Verdict) -> String {
    let response = &verdict.response_time_ns;
    let mut outcomes: Vec<String> = Vec::new();
    for (outcome, count) in &verdict.outcomes {
        outcomes.push(format!("{} {}", outcome.name(), format::count(*count)));
    }
    let gates = |state| verdict.gates.iter().filter(move |gate| gate.state == state);
    let mut text = format!(
        "  PLIMSOLL\n  response time from the intended start: p50 {}, p95 {}, p99 {}\n  \
         goodput {} of {} sent; {}\n",
        format::quantile(response.p50),
        format::quantile(response.p95),
        format::quantile(response.p99),
        format::rate(verdict.goodput_per_s),
        format::rate(verdict.offered_per_s),
        outcomes.join(", "),
    );
    let failed: Vec<_> = gates(GateState::Fail).collect();
    let head = if failed.is_empty() {
        "run valid"
    } else {
        "run not valid"
    };
    let passed = gates(GateState::Pass).count();
    let _infallible = writeln!(
        text,
        "  {head}: {passed} gates passed, {} failed",
        failed.len()
    );
    for gate in failed.into_iter().chain(gates(GateState::Warning)) {
        let (number, name, note) = (gate.number, &gate.name, &gate.note);
        let _infallible = writeln!(text, "  ! gate {number} {name}: {note}");
    }
    text.push('\n');
    text
}

/// One entry of what `handleSummary` returned.
fn put(path: &str, content: &Value) -> std::io::Result<()> {
    let text = match content {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    match path {
        "stdout" => output::data(&text),
        "stderr" => output::progress(text.trim_end_matches('\n')),
        path => {
            if let Some(folder) = Path::new(path).parent() {
                std::fs::create_dir_all(folder)?;
            }
            std::fs::write(path, text)?;
        }
    }
    Ok(())
}
