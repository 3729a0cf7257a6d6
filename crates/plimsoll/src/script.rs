//! `plimsoll run SCRIPT`: a k6 script as it is, with the summary its users know and what we add.

pub(crate) mod banner;
pub(crate) mod console;
pub(crate) mod load;
pub(crate) mod out;
pub(crate) mod play;

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Result, bail};
use plimsoll_core::Nanos;
use plimsoll_core::scenario::{self, Flag};
use plimsoll_core::verdict::{GateState, Verdict};
use plimsoll_report::{format, k6};
use serde_json::Value;

use load::Loaded;
use play::Played;

use crate::args::{Args, SummaryArgs};
use crate::exit::Exit;
use crate::flags::{Verb, explained_line};
use crate::measure::{Measured, Setting, measure};
use crate::prepared::Subject;
use crate::reuse::Reused;
use crate::session::interrupt_flag;
use crate::{from_args, output};

/// How often a signal is looked for after the end.
const LINGER_PERIOD: Duration = Duration::from_millis(100);

/// `run SCRIPT` and `inspect`.
pub(crate) fn execute(args: &Args, verb: Verb) -> Result<Exit> {
    if args.summary.verbose {
        console::be_verbose();
    }
    console::configure(&args.summary.logging)?;
    warn_of_missing(args);
    let recipe = from_args::run(args)?;
    let prepared = recipe.prepare(args.seed())?;
    let Subject::Script(loaded) = &prepared.subject else {
        bail!("a script is read");
    };
    if let Some(flags) = &args.explained {
        output::data(&format!("{flags}{}", explain(loaded)));
        return Ok(Exit::Passed);
    }
    if verb == Verb::Inspect {
        output::data(&inspected(loaded, args.summary.requirements));
        return Ok(Exit::Passed);
    }
    for path in args.summary.junit.iter().chain(&args.summary.markdown) {
        output::writable(path)?;
    }
    let interrupt = interrupt_flag()?;
    let setting = Setting {
        output: &args.output,
        watches: &args.watch,
        outs: &args.script.outs,
        reused: &Reused::default(),
        may_load_remote: true,
        interrupt: &interrupt,
        on_load: &|| Ok(()),
    };
    let measured = measure(&prepared, &setting)?;
    let verdict = measured.verdict();
    let Measured {
        mut session,
        played: Some(played),
        ..
    } = measured
    else {
        bail!("a script has a load of its own");
    };
    // The summary comes before all files: one that cannot be written costs neither it nor the exit code.
    show(loaded, &played);
    keep(&args.summary, loaded, &played);
    if loaded.options.settings.summary_mode != "disabled" && played.summary.is_none() {
        let windows = session.record.windows.iter();
        let resent = windows.map(|window| window.resent_count).sum();
        output::data(&truth(&verdict, resent, session.record.interrupted_at()));
    }
    let record = session.path.as_ref().map(|path| path.display().to_string());
    let report = session.close(verdict);
    if let (false, Some(record), Some(report)) = (args.output.quiet, record, report) {
        output::progress(&format!("record  {record}\nreport  {}", report.display()));
    }
    if loaded.options.settings.is_set(Flag::Linger) {
        linger(&interrupt);
    }
    if let Some(why) = played.why() {
        console::error(&why);
    }
    Ok(played.ending.cause().map_or(Exit::Passed, Exit::from))
}

/// Flags that are understood and not followed: never silently.
fn warn_of_missing(args: &Args) {
    if let Some(address) = &args.summary.address {
        console::warn(&format!(
            "--address {address} is not followed: there is no REST API; --live serves a page that shows the test"
        ));
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
fn keep(args: &SummaryArgs, loaded: &Loaded, played: &Played) {
    let results = play::results(loaded, played);
    if let Some(path) = &loaded.options.settings.summary_export {
        let export = if loaded.machine_readable {
            play::machine_readable(loaded, &results)
        } else {
            k6::export(&results)
        };
        let text = format!("{export:#}");
        output::keep("--summary-export", Path::new(path), text.as_bytes());
    }
    if let Some(path) = &args.junit {
        let junit = k6::junit(&results, &loaded.name);
        output::keep("--junit", path, junit.as_bytes());
    }
    let page = || k6::markdown(&results, &loaded.name);
    if let Some(path) = &args.markdown {
        output::keep("--markdown", path, page().as_bytes());
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
}

/// Each option with its value and who said it.
fn explain(loaded: &Loaded) -> String {
    let mut table = String::new();
    for (spec, value, origin) in loaded.options.explained() {
        table.push_str(&explained_line(spec.name, &value, origin.name()));
    }
    table
}

/// The summary, where it goes.
fn show(loaded: &Loaded, played: &Played) {
    let results = play::results(loaded, played);
    let settings = &loaded.options.settings;
    match played.summary.as_ref().map(k6::summary_targets) {
        Some(Ok(texts)) if !matches!(played.summary, Some(Value::Null)) => write_all(texts),
        _ if settings.summary_mode == "disabled" => {}
        problem => {
            if let Some(Err(problem)) = problem {
                console::error(&format!("{problem}; this is the usual summary"));
            }
            let detail = if settings.summary_mode == "full" {
                k6::Detail::Full
            } else {
                k6::Detail::Compact
            };
            output::data(&k6::text(&results, detail, output::colour_on_stdout()));
        }
    }
}

/// What `handleSummary` returned. As in k6, what goes nowhere is told, and the exit code stays.
fn write_all(texts: Vec<k6::Written>) {
    for written in texts {
        let put = match written {
            Ok((target, text)) => put(&target, &text),
            Err(problem) => Err(problem.to_string()),
        };
        if let Err(problem) = put {
            console::error(&problem);
        }
    }
}

/// What k6 cannot tell: response time from the intended start, failures by kind, whether to believe it.
fn truth(verdict: &Verdict, resent: u64, interrupted_at: Option<Nanos>) -> String {
    let response = &verdict.response_time_ns;
    let mut outcomes: Vec<String> = Vec::new();
    for (outcome, count) in &verdict.outcomes {
        outcomes.push(format!("{} {}", outcome.name(), format::count(*count)));
    }
    let gates = |state| verdict.gates.iter().filter(move |gate| gate.state == state);
    let interrupted = interrupted_at.map_or(String::new(), |at| {
        let at = format::duration(at);
        format!(
            "  no verdict: the run was interrupted after {at}; this is what was seen until then\n"
        )
    });
    let mut text = format!(
        "  PLIMSOLL\n{interrupted}  response time from the intended start: p50 {}, p95 {}, p99 {}\n  \
         goodput {} of {} sent; {}\n",
        format::quantile(response.p50),
        format::quantile(response.p95),
        format::quantile(response.p99),
        format::rate(verdict.goodput_per_s),
        format::rate(verdict.offered_per_s),
        outcomes.join(", "),
    );
    if resent > 0 {
        let count = format::plural(resent, "request was", "requests were");
        let _infallible = writeln!(text, "  {count} written once more");
    }
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
        let (number, name, note) = (gate.id.number(), &gate.name, &gate.note);
        let _infallible = writeln!(text, "  ! gate {number} {name}: {note}");
    }
    text.push('\n');
    text
}

/// One entry of it.
fn put(target: &k6::Target, text: &str) -> Result<(), String> {
    match target {
        k6::Target::Stdout => output::data(text),
        k6::Target::Stderr => output::progress(text.trim_end_matches('\n')),
        k6::Target::File(path) => {
            let folder = Path::new(path).parent().unwrap_or(Path::new(""));
            let made = std::fs::create_dir_all(folder);
            made.map_err(anyhow::Error::from)
                .and_then(|()| output::write_whole(Path::new(path), text.as_bytes()))
                .map_err(|error| format!("handleSummary: cannot write {path}: {error:#}"))?;
        }
    }
    Ok(())
}
