//! `plimsoll find SCRIPT --slo …`: the same search, with a k6 script that says what a user does.

use std::collections::BTreeSet;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context as _, Result, bail};
use plimsoll_control::search::{self, Config, Over, Search};
use plimsoll_core::ending::Ending;
use plimsoll_core::metrics::{Sample, Store};
use plimsoll_core::objective::Objectives;
use plimsoll_core::plan::{Load, Plan, Request};
use plimsoll_core::record::ScriptSetup;
use plimsoll_core::scenario::{Executor, Scenario, Scenarios};
use plimsoll_core::step::{Phase, Step, StepError, StepLoad};
use plimsoll_core::units::parse_count;
use plimsoll_core::verdict::{Found, Verdict};
use plimsoll_core::{Nanos, Tally, Window};
use plimsoll_engine::scripted::{
    Drained, LogLine, MeanIteration, ScriptLevels, ScriptRunner, Seating, Tick, Watcher,
};

use super::Recording;
use crate::args::{FindArgs, OverArg, RequestOptions};
use crate::exit::{Exit, Failure};
use crate::reuse::Reused;
use crate::script::args::ScriptArgs;
use crate::script::load::{self, Loaded};
use crate::script::{console, play};
use crate::selfcheck::SelfCheck;
use crate::session::{Session, interrupt_flag};
use crate::{plan, watching};

/// Longest trial: an iteration that takes longer is not what a search can be made of.
const TRIAL_SECONDS_MAX: u32 = 60;
/// Different warnings that are shown.
const TOLD_MAX: usize = 10;

pub(super) fn execute(args: &FindArgs) -> Result<Exit> {
    let prepared = prepare(args)?;
    let reused = super::reused(args)?;
    let interrupt = interrupt_flag()?;
    let (session, verdict) = measure(args, prepared, &reused, &interrupt)?;
    super::conclude(args, session, verdict, &interrupt)
}

/// A search with a script that has been read and found in order; nothing was sent.
pub(in crate::commands) struct Prepared {
    loaded: Arc<Loaded>,
    plan: Plan,
    config: Config,
}

pub(in crate::commands) fn prepare(args: &FindArgs) -> Result<Prepared> {
    refuse_flags_of_urls(args)?;
    let objectives = Objectives::parse(&args.slo).context("--slo")?;
    let loaded = Arc::new(load(args, &objectives)?);
    let plan = plan_of(args, &loaded, objectives)?;
    // Refused before anything is sent; asked for again once it is known where requests go.
    watching::parse(&args.watch)?;
    let config = config(args, &plan)?;
    Ok(Prepared {
        loaded,
        plan,
        config,
    })
}

/// One search from the start of its record to its verdict, which is not written yet.
pub(in crate::commands) fn measure(
    args: &FindArgs,
    prepared: Prepared,
    reused: &Reused,
    interrupt: &Arc<AtomicBool>,
) -> Result<(Session, Verdict)> {
    let Prepared {
        loaded,
        plan,
        mut config,
    } = prepared;
    let vus_max = plan.connections_max.get();
    let setup = ScriptSetup {
        // The search decides the load.
        scenarios: Vec::new(),
        ..loaded.setup.clone()
    };
    let mut session = Session::start_script("find", plan, setup, &args.output)?;
    let check = super::self_check(&mut session, reused, interrupt)?;
    let mut console = Console::default();
    let script = Arc::clone(&loaded.script);
    let interrupt = Arc::clone(interrupt);
    let mut runner = ScriptRunner::start(script, session.clock, interrupt, &mut console)
        .map_err(play::of_runner)?;
    let mut ending = Ending::default();
    let data = play::set_up(&loaded, &mut runner, &mut console, &mut ending)?;
    if ending.cause().is_some() {
        bail!("setup() did not end well, so there is nothing to search with; see the lines above");
    }
    let mut levels = ScriptLevels::new(runner, data.as_deref(), vus_max, &mut console);
    config.generator_max_per_s = Some(check.max_per_s);
    config.anchor = reused.anchor;
    let searched = search_with(args, &mut session, &mut levels, config, &check);
    // What setup() made is torn down however the search ended.
    let is_interrupted = searched
        .as_ref()
        .map_or_else(is_signal, |(_, interrupted)| *interrupted);
    let (level, limit) = super::begin_drain(&mut session, is_interrupted)?;
    let iteration = levels.iteration();
    let Drained { window, mut runner } = levels.drain(level, limit)?;
    session.window(&window)?;
    let data = data.as_deref();
    play::tear_down(&loaded, &mut runner, data, &mut console, &mut ending)?;
    drop(runner);
    let (search, _) = searched.map_err(of_search)?;
    let found = in_iterations(search.found(), iteration);
    let verdict = super::judge(&mut session, &search, found)?;
    Ok((session, verdict))
}

/// Tries the script out and searches; also whether a signal ended the search.
fn search_with(
    args: &FindArgs,
    session: &mut Session,
    levels: &mut ScriptLevels<'_>,
    mut config: Config,
    check: &SelfCheck,
) -> Result<(Search, bool)> {
    try_out(session, levels)?;
    watch(args, session, levels)?;
    config.spent = session.clock.now();
    if config.over.is_vus() {
        // Known only now: whoever thinks for long needs long to join.
        config.over = over_vus(levels);
        levels.join_over(config.over.join());
    }
    let mut search = Search::new(config)?;
    super::announce(session, "generator, without the script", &search, check);
    let driven = search::drive(&mut search, levels, &mut Recording(session));
    let interrupted = super::is_interrupted(session, driven.err())?;
    Ok((search, interrupted))
}

/// The search looks for a number of virtual users.
pub(super) fn wants_vus(args: &FindArgs) -> bool {
    args.vus.is_some() || args.over == Some(OverArg::Vus)
}

pub(super) fn most_vus(args: &FindArgs) -> Result<NonZeroU32> {
    plan::most_in_flight(args.connections.as_deref())
}

fn over_vus(levels: &ScriptLevels<'_>) -> Over {
    let iteration = levels.iteration();
    Over::Vus {
        iteration: iteration.map_or(Nanos::ZERO, |iteration| iteration.duration),
    }
}

fn config(args: &FindArgs, plan: &Plan) -> Result<Config> {
    if !wants_vus(args) {
        return super::config(args, plan);
    }
    for (flag, is_given, instead) in [
        (
            "--over rate",
            args.over == Some(OverArg::Rate),
            "--vus is of the other kind",
        ),
        (
            "-q",
            args.rate.is_some(),
            "say --vus for one number of virtual users",
        ),
        (
            "--max-rate",
            args.max_rate.is_some(),
            "virtual users wait for the target; bound them with -c",
        ),
    ] {
        if is_given {
            bail!("{flag} does not go with a search over virtual users: {instead}");
        }
    }
    let vus = args
        .vus
        .as_deref()
        .map(parse_count)
        .transpose()
        .context("--vus")?;
    let vus = vus.map(u32::try_from).transpose().context("--vus")?;
    let check_vus = vus
        .map(|vus| NonZeroU32::new(vus).context("--vus is zero"))
        .transpose()?;
    let config = Config {
        over: Over::Vus {
            iteration: Nanos::ZERO,
        },
        check_vus,
        ..super::unchecked_config(args, plan)?
    };
    Search::new(config.clone())?;
    Ok(config)
}

fn is_signal(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(StepError::Interrupted))
}

/// A signal during the trial is no fault of usage.
fn of_search(error: anyhow::Error) -> anyhow::Error {
    if is_signal(&error) {
        return Failure::new(
            Exit::Interrupted,
            "interrupted during the trial; there is no verdict",
        )
        .into();
    }
    error
}

/// The script sends its own requests.
fn refuse_flags_of_urls(args: &FindArgs) -> Result<()> {
    refuse_of_urls(&args.request.with)
}

/// Flags that say what is sent, and whether each is given.
pub(in crate::commands) fn of_urls(request: &RequestOptions) -> [(&'static str, bool); 5] {
    [
        ("-m", request.method != "GET"),
        ("-H", !request.headers.is_empty()),
        ("-d", request.data.is_some()),
        ("--no-keepalive", request.no_keepalive),
        ("--h2", request.h2),
    ]
}

/// What a script says itself.
pub(in crate::commands) fn refuse_of_urls(request: &RequestOptions) -> Result<()> {
    for (flag, is_given) in of_urls(request) {
        if is_given {
            bail!("{flag} is for URLs; a script sends its own requests: say it there");
        }
    }
    Ok(())
}

fn load(args: &FindArgs, objectives: &Objectives) -> Result<Loaded> {
    let workers = args.request.with.workers.as_deref();
    let workers = workers.map(plan::worker_count).transpose()?;
    let asked = ScriptArgs {
        script: args.request.url.clone(),
        env: args
            .env
            .iter()
            .map(|text| crate::script::args::pair(text))
            .collect(),
        workers: workers.map(|count| count as u32),
        seed: args.request.with.seed,
        ..ScriptArgs::default()
    };
    let mut loaded = load::load(&asked, &Arc::new(AtomicBool::new(false)))?;
    let scenario = chosen(args, &loaded.script.scenarios)?;
    let script = Arc::get_mut(&mut loaded.script).context("the script is in use")?;
    script.set_scenarios(Scenarios::only(scenario));
    let naming = Arc::get_mut(&mut script.naming).context("the script is in use")?;
    naming.tls.insecure |= args.request.with.insecure;
    // The search decides the load, all of it.
    script.requests_per_s_max = 0;
    script.part = (0, 1);
    script.seating = Seating::WhenNeeded;
    script.bounds = objectives.bounds();
    // As for a URL; a request that names its own keeps it.
    script.settings.timeout = search::client_timeout(objectives);
    Ok(loaded)
}

/// What the search runs: the only scenario, or the one that was named, without its own load.
fn chosen(args: &FindArgs, scenarios: &Scenarios) -> Result<Scenario> {
    let names = || {
        let names: Vec<&str> = scenarios.iter().map(|scenario| &*scenario.name).collect();
        names.join(", ")
    };
    let scenario = match &args.scenario {
        Some(name) => scenarios
            .named(name)
            .with_context(|| format!("--scenario {name}: the script has {}", names()))?,
        None if scenarios.len() == 1 => scenarios.iter().next().context("a scenario")?,
        None => bail!(
            "the script has several scenarios; name the one to search with: --scenario {}",
            names().replace(", ", " or --scenario ")
        ),
    };
    Ok(Scenario {
        executor: Executor::ConstantVus {
            vus: NonZeroU32::MIN,
            duration_ns: Nanos::from_secs(1),
        },
        start_ns: Nanos::ZERO,
        ..scenario.clone()
    })
}

fn plan_of(args: &FindArgs, loaded: &Loaded, objectives: Objectives) -> Result<Plan> {
    let script = &loaded.script;
    Ok(Plan {
        request: Request {
            method: Request::SCRIPT.to_owned(),
            url: loaded.name.clone(),
            headers: Vec::new(),
            body: Vec::new(),
        },
        load: Load::Search,
        until: None,
        connections_max: plan::most_in_flight(args.connections.as_deref())?,
        workers: NonZeroU32::new(script.workers).context("--workers is zero")?,
        timeout_ns: script.settings.timeout,
        keepalive: script.reuses_connections,
        streams_per_connection: None,
        insecure: script.naming.tls.insecure,
        objectives: Some(objectives),
        seed: script.settings.seed,
    })
}

/// One virtual user by itself, to learn what an iteration is and where it goes.
fn try_out(session: &mut Session, levels: &mut ScriptLevels<'_>) -> Result<()> {
    session.say("trial: one virtual user by itself, a few seconds");
    let step = Step {
        level: 0,
        phase: Phase::WarmUp,
        load: StepLoad::Closed { in_flight: 1 },
        windows_max: TRIAL_SECONDS_MAX,
    };
    session.level(&step, None)?;
    let mut tally = Tally::default();
    levels.try_out(&step, &mut |window: &Window| {
        tally.merge(&window.total());
        session.window(window)
    })?;
    refuse_the_dead(&tally, "trial")?;
    let Some(MeanIteration { requests, duration }) = levels.iteration() else {
        if levels.iterations() == 0 {
            bail!(
                "no iteration ended within {TRIAL_SECONDS_MAX} s; a search needs shorter ones: take sleeps out"
            );
        }
        bail!(
            "the script sent no request in {} iterations; a search judges requests",
            levels.iterations()
        );
    };
    let iterations = levels.iterations();
    session.say(&format!(
        "trial: {iterations} iterations of {requests:.2} requests, {duration} each"
    ));
    Ok(())
}

/// Where nothing answers there is nothing to search for. Answers that are all errors are left to the warm-up:
/// a service may need some before it works. `what` sent the requests.
pub(in crate::commands) fn refuse_the_dead(tally: &Tally, what: &str) -> Result<()> {
    if tally.attempts() == 0 || tally.answers() > 0 {
        return Ok(());
    }
    let kinds: Vec<String> = tally
        .occurred()
        .map(|(outcome, class)| format!("{} {}", class.count, outcome.name()))
        .collect();
    let message = format!(
        "no request of the {what} got an answer: {}; is the address that the script calls right, and does the \
         service run?",
        kinds.join(", ")
    );
    Err(Failure::new(Exit::Unreachable, message).into())
}

/// Asks before another host is loaded, and finds the tier behind a port of this one.
fn watch(args: &FindArgs, session: &mut Session, levels: &ScriptLevels<'_>) -> Result<()> {
    let watches = watching::parse(&args.watch)?;
    let reached = levels.reached();
    match reached.address {
        Some(address) if reached.is_remote => super::ask_for_remote(args, address)?,
        Some(address) if !reached.has_others => return session.watch(address, &watches),
        _ => {}
    }
    session.watch_only(&watches)
}

/// Says what the rates are rates of, and what they are in iterations.
fn in_iterations(mut found: Found, iteration: Option<MeanIteration>) -> Found {
    let Some(MeanIteration { requests, .. }) = iteration else {
        return found;
    };
    let held = found.capacity_per_s.and_then(|bounds| bounds.lower);
    let rate = held.or(found.reached_per_s.map(|bounds| bounds.estimate));
    let here = rate.map_or_else(String::new, |rate| {
        let iterations = rate / requests;
        format!(", so {rate:.0}/s are {iterations:.1} iterations per second")
    });
    let text =
        format!("rates count requests; an iteration of the script sends {requests:.2}{here}");
    found.remarks.push(text);
    found
}

/// What scripts log goes to stderr. Under overload every request may have something to say: what repeats itself is
/// told once, because outcomes are counted by kind.
#[derive(Default)]
struct Console {
    told: BTreeSet<Box<str>>,
}

impl Watcher for Console {
    fn log(&mut self, line: &LogLine) {
        let is_own = line.source == Some("console");
        if is_own || self.told.len() < TOLD_MAX && self.told.insert(line.message.clone()) {
            console::line(line.level, &line.message, line.source);
        }
    }

    fn samples(&mut self, _store: &Store, _samples: &[Sample]) {}

    fn tick(&mut self, _tick: &Tick<'_>) -> bool {
        true
    }
}
