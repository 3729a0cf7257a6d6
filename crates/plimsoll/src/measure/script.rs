//! Plays a script: with the load of its own options, or with those that a search asks for.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use anyhow::{Result, bail};
use plimsoll_control::search::{Config, Over, Search};
use plimsoll_core::ending::{Cause, Ending};
use plimsoll_core::metrics::{BuiltIn, Sample, Store};
use plimsoll_core::record::{EventKind, Iteration, Line, Scope, ScriptCounts, SelfCheck};
use plimsoll_core::step::{Phase, Step, StepError, StepLoad};
use plimsoll_core::threshold::{self, Thresholds};
use plimsoll_core::verdict::SearchResult;
use plimsoll_core::{Nanos, Tally, Window};
use plimsoll_engine::scripted::{LevelCounts, LogLine, MeanIteration, ScriptRunner, Tick, Watcher};

use super::level::{begin_drain, begin_set, refuse_the_dead};
use super::search::{Keep, config, drive, keep_anchor, self_check};
use super::setting::Setting;
use crate::exit::{Exit, Failure};
use crate::output;
use crate::page::PageOptions;
use crate::reach;
use crate::script::banner::banner;
use crate::script::console;
use crate::script::load::Loaded;
use crate::script::out::Outs;
use crate::script::play::{self, Played};
use crate::session::Session;
use crate::verdicts;

/// Longest trial: an iteration that takes longer is not what a search can be made of.
const TRIAL_SECONDS_MAX: u32 = 60;
/// Different warnings that are shown.
const WARNINGS_MAX: usize = 10;

pub(super) fn load(
    loaded: &Arc<Loaded>,
    session: &mut Session,
    setting: &Setting<'_>,
) -> Result<Played> {
    // A script may talk to many: only what was named is sampled.
    session.watch_only(setting.watches)?;
    let mut outs = Outs::open(setting.outs, &loaded.options)?;
    if let Some(said) = outs
        .page
        .as_ref()
        .filter(|_| setting.output.part_of.is_none())
    {
        session.show_page(PageOptions::asked(said)?)?;
    }
    if !setting.output.quiet {
        let record = session.path.as_deref();
        output::progress(&banner(loaded, setting.outs, record));
    }
    // From its first line on, progress is that of a script.
    session.script((0, 0), (0, 0), None);
    (setting.on_load)()?;
    let level = begin_set(session)?.0.level;
    let played = play::play(loaded, session, &mut outs, setting.interrupt)?;
    let at = session.clock.now();
    session.append(Line::Script(played.counts(level, at)));
    // What goes into a file or to a server costs no summary and no exit code.
    if let Err(error) = outs.close() {
        console::error(&format!("{error:#}"));
    }
    if setting.interrupt.load(Ordering::Relaxed) {
        session.event(EventKind::Interrupted);
    }
    Ok(played)
}

pub(super) fn search(
    loaded: &Arc<Loaded>,
    session: &mut Session,
    setting: &Setting<'_>,
) -> Result<SearchResult> {
    let check = self_check(session, setting)?;
    let vus_max = session.record.header.test.generator.connections_max.get();
    let script = Arc::clone(&loaded.script);
    let interrupt = Arc::clone(setting.interrupt);
    let console = Console::default();
    let counted = Rc::clone(&console.counted);
    let mut runner =
        ScriptRunner::start(script, session.clock, interrupt, console).map_err(play::of_runner)?;
    let mut ending = Ending::default();
    let data = play::set_up(loaded, &mut runner, &mut ending)?;
    if ending.cause() == Some(Cause::Interrupted) {
        let message = "interrupted during setup(); there is no verdict";
        return Err(Failure::new(Exit::Interrupted, message).into());
    }
    if ending.cause().is_some() {
        bail!("setup() failed, so the search cannot begin; see the lines above");
    }
    (setting.on_load)()?;
    runner.begin_search(data.as_deref(), vus_max);
    let mut keep = |session: &mut Session| keep_counts(session, &counted, &loaded.thresholds);
    let searched = try_and_search(session, &mut runner, (setting, &check), &mut keep);
    // What setup() made is torn down however the search ended.
    let is_interrupted = searched
        .as_ref()
        .map_or_else(is_signal, |(_, interrupted)| *interrupted);
    let (level, limit) = begin_drain(session, is_interrupted);
    let iteration = runner.iteration();
    session.window(&runner.drain(level, limit)?);
    keep(session);
    play::tear_down(loaded, &mut runner, data.as_deref(), &mut ending)?;
    drop(runner);
    let (search, _) = searched.map_err(with_exit)?;
    keep_anchor(session, &search);
    if let Some(MeanIteration { requests, .. }) = iteration {
        session.event(EventKind::Iteration(Iteration {
            requests_mean: requests,
        }));
    }
    Ok(verdicts::in_iterations(search.found(), &session.record))
}

/// Tries the script out and searches; also whether a signal ended the search.
fn try_and_search(
    session: &mut Session,
    runner: &mut ScriptRunner<Console>,
    (setting, check): (&Setting<'_>, &SelfCheck),
    keep: Keep<'_>,
) -> Result<(Search, bool)> {
    try_out(session, runner)?;
    watch(session, runner, setting)?;
    let mut config: Config = config(session, setting, check)?;
    if config.over.is_vus() {
        // Known only now: whoever thinks for long needs long to join.
        let iteration = runner.iteration();
        config.over = Over::Vus {
            iteration: iteration.map_or(Nanos::ZERO, |iteration| iteration.duration),
        };
        runner.join_over(config.over.join());
    }
    let generator = ("generator, without the script", check);
    drive(config, generator, runner, session, keep)
}

fn is_signal(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(StepError::Interrupted))
}

/// A signal during the trial is no fault of usage.
fn with_exit(error: anyhow::Error) -> anyhow::Error {
    if is_signal(&error) {
        return Failure::new(
            Exit::Interrupted,
            "interrupted during the trial; there is no verdict",
        )
        .into();
    }
    error
}

/// One virtual user by itself, to learn what an iteration is and where it goes.
fn try_out(session: &mut Session, runner: &mut ScriptRunner<Console>) -> Result<()> {
    session.say("trial: one virtual user by itself, a few seconds");
    let step = Step {
        level: 0,
        phase: Phase::WarmUp,
        load: StepLoad::Closed { in_flight: 1 },
        windows_max: TRIAL_SECONDS_MAX,
    };
    session.level(&step, None);
    let mut tally = Tally::default();
    runner.try_out(&step, &mut |window: &Window| {
        tally.merge(&window.total());
        session.window(window);
    })?;
    refuse_the_dead(&tally, "trial")?;
    let Some(MeanIteration { requests, duration }) = runner.iteration() else {
        if runner.iterations() == 0 {
            bail!(
                "no iteration ended within {TRIAL_SECONDS_MAX} s; a search needs shorter ones: take sleeps out"
            );
        }
        bail!(
            "the script sent no request in {} iterations; a search judges requests",
            runner.iterations()
        );
    };
    let iterations = runner.iterations();
    session.say(&format!(
        "trial: {iterations} iterations of {requests:.2} requests, {duration} each"
    ));
    Ok(())
}

/// Asks before another host is loaded, and finds the tier behind a port of this one.
fn watch(
    session: &mut Session,
    runner: &ScriptRunner<Console>,
    setting: &Setting<'_>,
) -> Result<()> {
    let reached = runner.reached();
    match reached.address {
        Some(address) if reached.is_remote => {
            let test = &session.record.header.test;
            reach::ask_for(test, &address.to_string(), setting.may_load_remote)?;
        }
        Some(address) if !reached.has_others => {
            return session.watch(Some(address), setting.watches);
        }
        _ => {}
    }
    session.watch_only(setting.watches)
}

/// What the script counted in each level, judged by its thresholds there. A level speaks with the windows that the search
/// judged, and with what was due in them and ended later.
fn keep_counts(
    session: &mut Session,
    counted: &RefCell<Vec<LevelCounts>>,
    thresholds: &Thresholds,
) {
    for counts in counted.take() {
        let level = counts.level;
        let result = session.record.level_result(level);
        let discarded = result.map_or(0, |result| result.discarded_windows);
        let (store, names) = counts.judged(discarded as usize);
        let windows = session.record.judged_windows(level);
        let elapsed = windows.fold(Nanos::ZERO, |sum, window| sum + window.length_ns);
        let is_empty = names.is_empty() && store.built_in(BuiltIn::Iterations).is_empty();
        if elapsed == Nanos::ZERO || is_empty {
            continue;
        }
        let scope = Scope {
            level,
            at_ns: session.clock.now(),
            elapsed_ns: elapsed,
            is_final: true,
            interrupted_count: counts.interrupted(),
        };
        let judged = thresholds.evaluate(&store, elapsed, threshold::Phase::Final);
        let counts = ScriptCounts::new(scope, &store, &names, &judged.results);
        session.append(Line::Script(counts));
    }
}

/// What scripts log goes to stderr. Under overload every request may have something to say: what repeats itself is
/// shown once, because outcomes are counted by kind.
#[derive(Default)]
struct Console {
    shown: BTreeSet<Box<str>>,
    /// Of levels that are over.
    counted: Rc<RefCell<Vec<LevelCounts>>>,
}

impl Watcher for Console {
    fn log(&mut self, line: &LogLine) {
        let is_own = line.source == Some("console");
        if is_own || self.shown.len() < WARNINGS_MAX && self.shown.insert(line.message.clone()) {
            console::line(line.level, &line.message, line.source);
        }
    }

    fn samples(&mut self, _store: &Store, _samples: &[Sample]) {}

    fn tick(&mut self, _tick: &Tick<'_>) -> bool {
        true
    }

    fn level(&mut self, counts: LevelCounts) {
        self.counted.borrow_mut().push(counts);
    }
}
