//! `plimsoll sweep TEST --vary …`: one test at many points, each run a record, and the models that follow them.

mod file;
mod plan;
mod play;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Result;
use plimsoll_analysis::advice::Declared;
use plimsoll_analysis::sweep::{Asked, judged};
use plimsoll_core::Objectives;
use plimsoll_core::sweep::{Stopped, Sweep};
use plimsoll_report::terminal::Style;
use plimsoll_report::{html, json, markdown, terminal};

use plan::Plan;
use play::Played;

use crate::args::{Args, Format};
use crate::exit::Exit;
use crate::output;
use crate::page::Page;
use crate::reach::{self, Leave};
use crate::session::interrupt_flag;

pub(crate) fn execute(args: &Args) -> Result<Exit> {
    let mut plan = plan::of(args)?;
    let interrupt = interrupt_flag()?;
    if args.sweep.resume {
        file::check(&plan.folder, &plan.kept())?;
    } else {
        if args.sweep.before.is_none() {
            reach::check(&mut plan.first, Leave::of(args))?;
        }
        file::write(&plan.folder, &plan.kept())?;
    }
    if !args.output.quiet {
        plan.announce();
    }
    let page = Page::of_series(args.output.live)?;
    let played = play::all(args, &plan, page.as_ref(), &interrupt)?;
    let exit = conclude(args, &plan, &played, &interrupt);
    if let Some(page) = page {
        let report = plan.folder.join("report.html").display().to_string();
        page.end("The sweep is over.", exit == Exit::Passed, Some(&report));
    }
    Ok(exit)
}

/// From what was played to the pages, and how the command ends: whatever becomes of a file, the result has been said.
fn conclude(args: &Args, plan: &Plan, played: &Played, interrupt: &Arc<AtomicBool>) -> Exit {
    let is_interrupted = interrupt.load(Ordering::Relaxed);
    let why = match (is_interrupted, &played.stopped) {
        (true, _) => Some("it was interrupted".to_owned()),
        (false, why) => why.as_ref().map(|(_, why)| why.clone()),
    };
    let stopped = why.map(|why| Stopped {
        played_count: played.runs.len(),
        planned_count: plan.runs.len(),
        why,
    });
    let sweep = meaning(args, plan, played, stopped);
    let report = plan.folder.join("report.html");
    output::data(&match args.output.format {
        Format::Json => json::sweep(&sweep),
        Format::Markdown => markdown::sweep(&sweep),
        Format::Text => terminal::sweep(&sweep, &style(&report, &plan.folder)),
    });
    let page = html::sweep(&sweep, env!("CARGO_PKG_VERSION"));
    output::keep("the report", &report, page.as_bytes());
    let document = json::sweep(&sweep);
    output::keep(
        "the sweep",
        &plan.folder.join("sweep.json"),
        document.as_bytes(),
    );
    if sweep.stopped.is_some() && !args.output.quiet {
        output::progress(&format!("go on with:  {}", plan.resumed()));
    }
    match &played.stopped {
        _ if is_interrupted => Exit::Interrupted,
        Some((exit, _)) => *exit,
        None if sweep.is_valid() => Exit::Passed,
        None => Exit::RunInvalid,
    }
}

fn meaning(args: &Args, plan: &Plan, played: &Played, stopped: Option<Stopped>) -> Sweep {
    let points = plan.points.iter().enumerate();
    let points = points.map(|(place, values)| (values.clone(), played.of_point(plan, place)));
    let bound = args.slo.as_ref().and_then(Objectives::longest_bound);
    let asked = Asked {
        test: plan.test(),
        is_search: args.sweep.find,
        dimensions: plan.dimensions.clone(),
        remarks: plan.remarks(args),
        stopped,
        declared: Declared {
            clients: args.sweep.clients.map(std::num::NonZeroU32::get),
            server_timeout: args.sweep.server_timeout,
            bound,
        },
    };
    judged(asked, points.collect(), played.ends(plan))
}

fn style(report: &Path, folder: &Path) -> Style {
    Style {
        colour: output::colour_on_stdout(),
        width: output::terminal_columns().min(120),
        quiet: false,
        record: Some(format!("{}/", folder.display())),
        report: Some(report.display().to_string()),
    }
}
