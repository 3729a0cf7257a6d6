//! `plimsoll run URL`: preflight, one level, drain, verdict.

use anyhow::Result;
use plimsoll_core::Nanos;
use plimsoll_core::plan::{Load, Plan, Until};
use plimsoll_core::step::{Go, Phase, Step, StepError, StepLoad, StepRunner as _};
use plimsoll_engine::preflight::preflight;
use plimsoll_engine::{EngineRunner, Options};

use crate::args::RunArgs;
use crate::exit::{Exit, Failure};
use crate::session::{Session, drain_limit, interrupt_flag};
use crate::{output, plan};

/// Longest a run may take without -z: a count at a rate that never ends would otherwise never end.
const WINDOWS_MAX: u32 = 7 * 24 * 3600;

pub(crate) fn execute(args: &RunArgs) -> Result<Exit> {
    let plan = plan::of_run(args)?;
    let attempts_max = match plan.until {
        Some(Until::AttemptsCount(count)) => Some(count.get()),
        _ => None,
    };
    let options = Options::new(&plan, attempts_max)?;
    preflight(&options).map_err(|failure| {
        let url = &plan.request.url;
        Failure::new(
            Exit::Unreachable,
            format!("{url}: {} ({})", failure.reason, failure.outcome.name()),
        )
    })?;
    let interrupt = interrupt_flag()?;
    let mut session = Session::start("run", plan.clone(), &args.output)?;
    let mut runner = EngineRunner::start(&options, session.clock, interrupt)?;
    let step = step_of(&plan);
    session.level(&step)?;
    let mut io_error = None;
    let played = runner.play(&step, &mut |window| match session.window(window) {
        Ok(()) => Go::On,
        Err(error) => {
            io_error = Some(error);
            Go::Stop
        }
    });
    if let Some(error) = io_error {
        return Err(StepError::Record(error).into());
    }
    let interrupted = match played {
        Ok(()) => false,
        Err(StepError::Interrupted) => true,
        Err(error) => return Err(error.into()),
    };
    let drain = Step {
        level: 1,
        phase: Phase::Drain,
        ..step
    };
    session.level(&drain)?;
    let window = runner.drain(1, drain_limit(&plan, interrupted))?;
    session.window(&window)?;
    let total = session.record.tally_of(0);
    output::data(&format!(
        "{} attempts, {} ok, p50 {:?} p99 {:?}\n",
        total.attempts(),
        total.ok(),
        total.response_quantile(0.5),
        total.response_quantile(0.99)
    ));
    Ok(if interrupted {
        Exit::Interrupted
    } else {
        Exit::Passed
    })
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
