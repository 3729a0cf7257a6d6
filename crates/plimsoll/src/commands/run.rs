//! `plimsoll run URL`: preflight, one level, drain, verdict.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Result;
use plimsoll_analysis::summary;
use plimsoll_core::Nanos;
use plimsoll_core::plan::{Load, Plan, Until};
use plimsoll_core::step::{Go, Phase, Step, StepError, StepLoad, StepRunner as _};
use plimsoll_core::verdict::{Judgement, Verdict};
use plimsoll_engine::{EngineRunner, Options};
use plimsoll_observe::Watch;

use crate::args::{OutputArgs, RunArgs};
use crate::exit::Exit;
use crate::session::{Session, drain_limit, interrupt_flag};
use crate::{explained, plan, reach, watching};

/// Longest a run may take without -z: a count at a rate that never ends would otherwise never end.
const WINDOWS_MAX: u32 = 7 * 24 * 3600;

pub(crate) fn execute(args: &RunArgs) -> Result<Exit> {
    let plan = plan::of_run(args)?;
    let watches = watching::parse(&args.watch)?;
    reach::check(&plan, &Options::new(&plan, None)?)?;
    let interrupt = interrupt_flag()?;
    let session = measure(&plan, &watches, &args.output, &interrupt)?;
    let verdict = verdict(&session);
    let exit = if interrupt.load(Ordering::Relaxed) {
        Exit::Interrupted
    } else {
        exit_of(&verdict)
    };
    session.conclude(verdict, &args.output)?;
    Ok(exit)
}

/// What a run's record means.
pub(super) fn verdict(session: &Session) -> Verdict {
    let mut verdict = summary::of_run(&session.record);
    explained::add(&session.record, &mut verdict);
    verdict
}

/// One run from the start of its record to all but its verdict; also one that a signal ended.
pub(super) fn measure(
    plan: &Plan,
    watches: &[Watch],
    output: &OutputArgs,
    interrupt: &Arc<AtomicBool>,
) -> Result<Session> {
    let attempts_max = match plan.until {
        Some(Until::AttemptsCount(count)) => Some(count.get()),
        _ => None,
    };
    let options = Options::new(plan, attempts_max)?;
    let mut session = Session::start("run", plan.clone(), output)?;
    session.watch(options.setup.address, watches)?;
    let mut runner = EngineRunner::start(&options, session.clock, Arc::clone(interrupt))?;
    play(&mut session, &mut runner, plan)?;
    drop(runner);
    session.settle()?;
    Ok(session)
}

/// Plays the level and the drain.
fn play(session: &mut Session, runner: &mut EngineRunner, plan: &Plan) -> Result<()> {
    let step = step_of(plan);
    let time_left = match plan.until {
        Some(Until::DurationNs(duration)) => Some(duration),
        _ => None,
    };
    session.level(&step, time_left)?;
    let mut failed = None;
    let played = runner.play(&step, &mut |window| match session.window(window) {
        Ok(()) => Go::On,
        Err(error) => {
            failed = Some(error);
            Go::Stop
        }
    });
    if let Some(error) = failed {
        return Err(StepError::Record(error).into());
    }
    let interrupted = matches!(played, Err(StepError::Interrupted));
    if interrupted {
        session.event("interrupted", "by a signal")?;
    } else {
        played?;
    }
    let drain = Step {
        level: step.level + 1,
        phase: Phase::Drain,
        ..step
    };
    session.level(&drain, None)?;
    let window = runner.drain(drain.level, drain_limit(plan, interrupted))?;
    session.window(&window)?;
    Ok(())
}

fn step_of(plan: &Plan) -> Step {
    let load = match plan.load {
        Load::Closed { in_flight } => StepLoad::Closed {
            in_flight: in_flight.get(),
        },
        Load::Open { profile, arrivals } => StepLoad::Open { profile, arrivals },
        Load::Search => unreachable!("a run has a load of its own"),
    };
    let windows_max = match plan.until {
        Some(Until::DurationNs(duration)) => duration.0.div_ceil(Nanos::from_secs(1).0) as u32,
        _ => WINDOWS_MAX,
    };
    Step {
        level: 0,
        phase: Phase::Run,
        load,
        windows_max,
    }
}

fn exit_of(verdict: &Verdict) -> Exit {
    match verdict.verdict {
        Judgement::Pass | Judgement::None => Exit::Passed,
        Judgement::Fail => Exit::ObjectiveMissed,
        Judgement::Inconclusive => Exit::Inconclusive,
        Judgement::Invalid => Exit::RunInvalid,
    }
}
