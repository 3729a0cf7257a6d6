//! Plays the runs of a sweep one after the other, and goes on where an earlier attempt ended.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use plimsoll_analysis::sweep;
use plimsoll_core::Nanos;
use plimsoll_core::sweep::Run as SweepRun;
use plimsoll_report::format;
use plimsoll_report::view::sweep as words;

use super::plan::{Plan, Run};
use crate::args::{Args, OutputArgs, StopOn};
use crate::exit::{Exit, Failure};
use crate::form::Form;
use crate::measure::{Setting, measure};
use crate::page::Page;
use crate::prepared::Prepared;
use crate::reach::{self, Leave};
use crate::recipe::WarmUp;
use crate::reuse::Reused;
use crate::script::console;
use crate::{output, records, secrets, selfcheck};

/// A load that is not kept, before the first run and after each new start of the target.
const WARM: Nanos = Nanos::from_secs(2);
/// How long a target may take to answer after `--before`, and how often it is asked.
const STARTED_WITHIN: Duration = Duration::from_secs(60);
const ASKED_EVERY: Duration = Duration::from_millis(200);

/// What came of it, in the order of the plan.
#[derive(Default)]
pub(super) struct Played {
    pub(super) runs: Vec<SweepRun>,
    /// What ended it before its end, and with which exit code; a signal is not told here.
    pub(super) stopped: Option<(Exit, String)>,
}

impl Played {
    pub(super) fn of_point(&self, plan: &Plan, point: usize) -> Vec<SweepRun> {
        let planned = plan.runs.iter().zip(&self.runs);
        let own = planned.filter(|(run, _)| run.point == point && !run.is_repeat);
        own.map(|(_, played)| played.clone()).collect()
    }

    /// The first run, and the same point as the last.
    pub(super) fn ends(&self, plan: &Plan) -> Option<[&SweepRun; 2]> {
        let is_whole = self.runs.len() == plan.runs.len();
        let ends = self.runs.first().zip(self.runs.last());
        ends.filter(|_| is_whole).map(|(first, last)| [first, last])
    }
}

/// What all runs have.
struct Series<'a> {
    args: &'a Args,
    plan: &'a Plan,
    page: Option<&'a Arc<Page>>,
    reused: Reused,
    /// A run was played.
    is_begun: bool,
    interrupt: &'a Arc<AtomicBool>,
}

pub(super) fn all(
    args: &Args,
    plan: &Plan,
    page: Option<&Arc<Page>>,
    interrupt: &Arc<AtomicBool>,
) -> Result<Played> {
    let mut series = Series {
        args,
        plan,
        page,
        reused: Reused::default(),
        is_begun: false,
        interrupt,
    };
    let mut played = Played::default();
    for (index, run) in plan.runs.iter().enumerate() {
        if interrupt.load(Ordering::Relaxed) {
            break;
        }
        let number = index + 1;
        let file = plan.file(number, *run);
        let path = plan.folder.join(format!("{file}.plimsoll.jsonl"));
        if let Some(kept) = series.kept(&path, run)? {
            played.runs.push(kept);
            continue;
        }
        series.say(&format!(
            "run {number} of {}: {}; {} left",
            plan.runs.len(),
            plan.name(run.point),
            format::duration(plan.time_left(index))
        ));
        let one = series.play(run, &path);
        // A signal ended it, and what `--before` started with it: it is played again when the sweep goes on.
        if interrupt.load(Ordering::Relaxed) {
            break;
        }
        let one = one?;
        series.say(&format!("  {}", words::run(&one)));
        let stop = series.stops(&one);
        played.runs.push(one);
        if stop.is_some() {
            played.stopped = stop;
            break;
        }
    }
    Ok(played)
}

impl Series<'_> {
    fn say(&self, text: &str) {
        if !self.args.output.quiet {
            output::progress(text);
        }
    }

    /// A run that an earlier attempt played to its end.
    fn kept(&self, path: &Path, run: &Run) -> Result<Option<SweepRun>> {
        if !self.args.sweep.resume || !path.exists() {
            return Ok(None);
        }
        let record = records::read(path)?;
        let Some(verdict) = record.verdict.as_ref() else {
            return Ok(None);
        };
        if record.interrupted_at().is_some() {
            return Ok(None);
        }
        let prepared = self.recipe(run)?.prepare(run.seed)?;
        ensure!(
            [&prepared.test, &secrets::masked(prepared.test.clone())]
                .contains(&&record.header.test),
            "{} was played differently: go on with the same flags and the same environment as before",
            path.display()
        );
        Ok(Some(sweep::run(
            path.display().to_string(),
            &record,
            verdict,
            self.users(run),
        )))
    }

    fn recipe(&self, run: &Run) -> Result<&crate::recipe::Recipe> {
        self.plan.recipes.get(run.point).context("no such point")
    }

    fn users(&self, run: &Run) -> Option<f64> {
        self.plan.users.get(run.point).copied().flatten()
    }

    /// One run from the clean target to its record; what goes wrong with the target is the run's reason.
    fn play(&mut self, run: &Run, path: &Path) -> Result<SweepRun> {
        match self.record(run, path) {
            Ok(run) => Ok(run),
            Err(error) if is_of_target(&error) => Ok(SweepRun {
                record: path.display().to_string(),
                excluded: Some(format!("{error:#}")),
                figures: None,
            }),
            Err(error) => Err(error.context(self.plan.name(run.point))),
        }
    }

    fn record(&mut self, run: &Run, path: &Path) -> Result<SweepRun> {
        let mut prepared = self.recipe(run)?.prepare(run.seed)?;
        let log = path.with_extension("").with_extension("log");
        let is_script = self.args.form == Some(Form::Script);
        let _logged = is_script.then(|| console::Logged::into(&log)).transpose()?;
        self.make_ready(run, &mut prepared)?;
        let output = OutputArgs {
            // What an interrupted attempt left of this run.
            force: true,
            show_secrets: self.args.output.show_secrets,
            ..OutputArgs::part(Some(path.into()), self.page)
        };
        let measured = measure(&prepared, &self.setting(&output))?;
        measured.refuse_unfinished()?;
        let verdict = measured.verdict();
        let mut session = measured.session;
        let shown = path.display().to_string();
        let mut played = sweep::run(shown, &session.record, &verdict, self.users(run));
        let failed = played
            .figures
            .is_some_and(|figures| figures.failed_ratio > 0.0);
        if failed && let Err(error) = reach::check(&mut prepared, Leave::AGAIN) {
            played.excluded = Some(format!("the target went away during the run: {error:#}"));
            // Without a verdict its record is no whole one: the run is played again when the sweep goes on.
            return Ok(played);
        }
        session.close(verdict);
        Ok(played)
    }

    fn setting<'s>(&'s self, output: &'s OutputArgs) -> Setting<'s> {
        Setting {
            output,
            watches: &self.args.watch,
            outs: &[],
            reused: &self.reused,
            may_load_remote: true,
            interrupt: self.interrupt,
            on_load: &|| Ok(()),
        }
    }

    /// The target in its first state and warm; before the first search the generator is checked.
    fn make_ready(&mut self, run: &Run, prepared: &mut Prepared) -> Result<()> {
        if let Some(command) = &self.args.sweep.before {
            start_anew(command, &self.plan.name(run.point))?;
            await_answer(prepared, self.interrupt)?;
        }
        reach::check(prepared, Leave::of(self.args))?;
        let is_first = !std::mem::replace(&mut self.is_begun, true);
        if self.args.sweep.find {
            if is_first {
                let workers = prepared.test.generator.workers;
                self.reused.self_check = Some(selfcheck::measure(workers, self.interrupt)?);
            }
            return Ok(());
        }
        if !is_first && self.args.sweep.before.is_none() {
            return Ok(());
        }
        let warm = self.recipe(run)?.warm_up(run.seed, WarmUp::Time(WARM))?;
        let output = OutputArgs::part(None, None);
        let setting = Setting {
            watches: &[],
            ..self.setting(&output)
        };
        measure(&warm, &setting)?.refuse_unfinished()
    }

    /// Whether the sweep ends with this run, as was asked.
    fn stops(&self, run: &SweepRun) -> Option<(Exit, String)> {
        let reason = run.excluded.as_ref()?;
        let is_gone = run.figures.is_none() || reason.contains("went away");
        match (self.args.sweep.stop_on, is_gone) {
            (StopOn::Unreachable | StopOn::Invalid, true) => {
                Some((Exit::Unreachable, reason.clone()))
            }
            (StopOn::Invalid, false) => Some((Exit::RunInvalid, reason.clone())),
            (StopOn::Unreachable, false) | (StopOn::Never, _) => None,
        }
    }
}

/// The target is to blame, not the command line.
fn is_of_target(error: &anyhow::Error) -> bool {
    let failure = error.downcast_ref::<Failure>();
    failure.is_some_and(|failure| failure.exit == Exit::Unreachable)
}

/// Brings the target back to its first state.
fn start_anew(command: &str, point: &str) -> Result<()> {
    let status = Command::new("sh")
        .args(["-c", command])
        .env("PLIMSOLL_POINT", point)
        .stdin(Stdio::null())
        // stdout is data, and not the command's.
        .stdout(std::io::stderr())
        .status()
        .with_context(|| format!("--before {command}"))?;
    if !status.success() {
        // A Ctrl-C goes to the command, too, which may end before this process has heard of it.
        std::thread::sleep(ASKED_EVERY);
        bail!("--before {command}: {status}");
    }
    Ok(())
}

/// Waits until it answers again; what it says then is told by the check that follows.
fn await_answer(prepared: &mut Prepared, interrupt: &AtomicBool) -> Result<()> {
    let mut left = STARTED_WITHIN;
    while let Err(error) = reach::check(prepared, Leave::AGAIN) {
        if left.is_zero() || interrupt.load(Ordering::Relaxed) {
            return Err(error);
        }
        std::thread::sleep(ASKED_EVERY);
        left = left.saturating_sub(ASKED_EVERY);
    }
    Ok(())
}
