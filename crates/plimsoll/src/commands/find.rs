//! `plimsoll find URL --slo …`: self-check, search, drain, verdict.

pub(super) mod script;

use std::ffi::OsStr;
use std::io::IsTerminal as _;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context as _, Result, bail};
use plimsoll_analysis::summary;
use plimsoll_control::search::{self, Config, Search};
use plimsoll_core::plan::Plan;
use plimsoll_core::record::{Line, Record};
use plimsoll_core::step::{Phase, Step, StepError, StepLoad};
use plimsoll_core::units::{parse_duration, parse_rate, parse_ratio};
use plimsoll_core::verdict::{Found, Judgement, LevelResult, Verdict};
use plimsoll_core::{Nanos, Window};
use plimsoll_engine::{EngineRunner, Options};
use plimsoll_observe::Watch;

use crate::args::{FindArgs, OverArg};
use crate::exit::{Exit, Failure};
use crate::reuse::{self, Reused};
use crate::script::args::names_script;
use crate::selfcheck::{self, SelfCheck};
use crate::session::{Session, drain_limit, interrupt_flag};
use crate::{explained, output, plan, reach, records, watching};

pub(crate) fn execute(args: &FindArgs) -> Result<Exit> {
    if names_script(OsStr::new(&args.request.url)) {
        return script::execute(args);
    }
    refuse_flags_of_scripts(args)?;
    let plan = plan::of_find(args)?;
    let watches = watching::parse(&args.watch)?;
    config(args, &plan)?;
    let reused = reused(args)?;
    let options = Options::new(&plan, None)?;
    ask_for_remote(args, options.setup.address)?;
    reach::check(&plan, &options)?;
    let interrupt = interrupt_flag()?;
    let (session, verdict) = measure(args, &plan, &watches, &reused, &interrupt)?;
    conclude(args, session, verdict, &interrupt)
}

/// One search from the start of its record to its verdict, which is not written yet.
pub(super) fn measure(
    args: &FindArgs,
    plan: &Plan,
    watches: &[Watch],
    reused: &Reused,
    interrupt: &Arc<AtomicBool>,
) -> Result<(Session, Verdict)> {
    let mut config = config(args, plan)?;
    let options = Options::new(plan, None)?;
    let mut session = Session::start("find", plan.clone(), &args.output)?;
    let check = self_check(&mut session, reused, interrupt)?;
    session.watch(options.setup.address, watches)?;
    config.spent = session.clock.now();
    config.generator_max_per_s = Some(check.max_per_s);
    config.anchor = reused.anchor;
    let mut search = Search::new(config)?;
    announce(&mut session, "generator", &search, &check);
    let mut runner = EngineRunner::start(&options, session.clock, Arc::clone(interrupt))?;
    let driven = search::drive(&mut search, &mut runner, &mut Recording(&mut session));
    let interrupted = is_interrupted(&mut session, driven.err())?;
    let (level, limit) = begin_drain(&mut session, interrupted)?;
    let window = runner.drain(level, limit)?;
    session.window(&window)?;
    drop(runner);
    let verdict = judge(&mut session, &search, search.found())?;
    Ok((session, verdict))
}

fn refuse_flags_of_scripts(args: &FindArgs) -> Result<()> {
    let url = &args.request.url;
    if !args.env.is_empty() || args.scenario.is_some() {
        bail!("-e and --scenario are for scripts, and {url} is a URL");
    }
    if args.vus.is_some() || args.over == Some(OverArg::Vus) {
        bail!("virtual users run a script, and {url} is a URL: write one that requests it");
    }
    Ok(())
}

fn reused(args: &FindArgs) -> Result<Reused> {
    match args.reuse.as_deref() {
        None => Ok(Reused::default()),
        Some(path) => reuse::of_record(&records::read(path)?)
            .with_context(|| format!("--reuse {}", path.display())),
    }
}

fn self_check(
    session: &mut Session,
    reused: &Reused,
    interrupt: &Arc<AtomicBool>,
) -> Result<SelfCheck> {
    let check = if let Some(check) = reused.self_check {
        check
    } else {
        session.say("self-check: the generator against its own echo, 6 s");
        selfcheck::measure(session.record.header.plan.workers, interrupt)?
    };
    session.event(reuse::SELF_CHECK, serde_json::to_string(&check)?)?;
    Ok(check)
}

/// Record, report and exit code of a search that is over.
fn conclude(
    args: &FindArgs,
    session: Session,
    verdict: Verdict,
    interrupt: &AtomicBool,
) -> Result<Exit> {
    let exit = if interrupt.load(Ordering::Relaxed) {
        Exit::Interrupted
    } else {
        exit_of(&verdict, &session.record)
    };
    session.conclude(verdict, &args.output)?;
    Ok(exit)
}

/// Ends the sampling and says what the search came to.
fn judge(session: &mut Session, search: &Search, found: Found) -> Result<Verdict> {
    if let Some(anchor) = search.anchor() {
        session.event(reuse::ANCHOR, reuse::anchor_text(anchor))?;
    }
    session.settle()?;
    let mut verdict = summary::of_search(&session.record, found);
    explained::add(&session.record, &mut verdict);
    Ok(verdict)
}

pub(super) fn config(args: &FindArgs, plan: &Plan) -> Result<Config> {
    let config = unchecked_config(args, plan)?;
    // Refused now rather than after the self-check; what it measures only narrows the search.
    Search::new(config.clone())?;
    Ok(config)
}

fn unchecked_config(args: &FindArgs, plan: &Plan) -> Result<Config> {
    let objectives = plan.objectives.clone().context("--slo")?;
    let mut config = Config::new(objectives, plan.in_flight_max());
    config.within = parse_duration(&args.within).context("--within")?;
    config.goal_width = parse_ratio(&args.goal_width).context("--goal-width")?;
    config.max_rate_per_s = args
        .max_rate
        .as_deref()
        .map(parse_rate)
        .transpose()
        .context("--max-rate")?;
    config.check_rate_per_s = args
        .rate
        .as_deref()
        .map(parse_rate)
        .transpose()
        .context("-q")?;
    config.overshoot = !args.no_overshoot;
    config.arrivals = plan::arrivals(args.arrivals);
    Ok(config)
}

/// A target that is not on this host is loaded only after a yes.
pub(super) fn ask_for_remote(args: &FindArgs, address: SocketAddr) -> Result<()> {
    if address.ip().is_loopback() || args.yes {
        return Ok(());
    }
    let most = match (&args.max_rate, script::wants_vus(args)) {
        (Some(rate), _) => rate.clone(),
        (None, true) => format!("{} virtual users", script::most_vus(args)?),
        (None, false) => "as much as this generator can send".to_owned(),
    };
    let question = format!(
        "{address} is not this host. The search may offer up to {most}, beyond what the target carries."
    );
    if !std::io::stdin().is_terminal() {
        bail!("{question} Say --yes if you may do that, and --max-rate to bound it");
    }
    output::progress(&format!("{question} Go on? [y/N]"));
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    if matches!(answer.trim(), "y" | "Y" | "yes") {
        return Ok(());
    }
    Err(Failure::new(Exit::Interrupted, "not started").into())
}

fn announce(session: &mut Session, who: &str, search: &Search, check: &SelfCheck) {
    session.say(&format!(
        "{who}: up to {:.0}/s, lag p99 {} at {:.0}/s",
        check.max_per_s, check.lag_p99_ns, check.open_rate_per_s
    ));
    let plan = Nanos::from_secs_f64(search.plan_seconds());
    session.say(&format!(
        "search: at most {plan} from now; Ctrl-C keeps what is known by then"
    ));
}

/// Whether a signal ended the search; any other error is one.
fn is_interrupted(session: &mut Session, error: Option<StepError>) -> Result<bool> {
    match error {
        None => Ok(false),
        Some(StepError::Interrupted) => {
            session.event("interrupted", "by a signal")?;
            Ok(true)
        }
        Some(error) => Err(error.into()),
    }
}

/// Begins the level after the last one, and says how long it may take.
fn begin_drain(session: &mut Session, interrupted: bool) -> Result<(u32, Nanos)> {
    let levels = session.record.levels.iter();
    let last = levels.map(|start| start.step.level).max();
    let level = last.unwrap_or(0) + 1;
    let drain = Step {
        level,
        phase: Phase::Drain,
        load: StepLoad::Closed { in_flight: 0 },
        windows_max: 1,
    };
    session.level(&drain, None)?;
    let limit = drain_limit(&session.record.header.plan, interrupted);
    Ok((level, limit))
}

/// Writes every level and window of a search as it happens.
struct Recording<'a>(&'a mut Session);

impl search::Observer for Recording<'_> {
    fn level_start(&mut self, step: &Step, time_left: Nanos) -> Result<(), StepError> {
        Ok(self.0.level(step, Some(time_left))?)
    }

    fn window(&mut self, window: &Window) -> Result<(), StepError> {
        Ok(self.0.window(window)?)
    }

    fn level_end(&mut self, result: &LevelResult) -> Result<(), StepError> {
        Ok(self.0.append(Line::LevelEnd(result.clone()))?)
    }
}

fn exit_of(verdict: &Verdict, record: &Record) -> Exit {
    let answered = record
        .windows
        .iter()
        .any(|window| window.total().answers() > 0);
    match verdict.verdict {
        _ if !answered => Exit::Unreachable,
        Judgement::Pass | Judgement::None => Exit::Passed,
        Judgement::Fail => Exit::ObjectiveMissed,
        Judgement::Inconclusive => Exit::NotConverged,
        Judgement::Invalid => Exit::RunInvalid,
    }
}
