//! Plays a loaded script: setup, scenarios, teardown, summary; record, outputs and exit code.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::Result;
use plimsoll_core::Nanos;
use plimsoll_core::ending::{Cause, Ending};
use plimsoll_core::metrics::{BuiltIn, Names, Sample, Sink, Store};
use plimsoll_core::record::{Line, Scope, ScriptCounts};
use plimsoll_core::scenario::Flag;
use plimsoll_core::threshold::{EVALUATE_EVERY, Evaluation, Phase, Thresholds};
use plimsoll_engine::scripted::{LogLine, ScriptEnd, ScriptRunner, Tick, Watcher};
use plimsoll_report::format;
use plimsoll_report::k6::{self, Results};
use plimsoll_script::End;
use serde_json::Value;

use super::console;
use super::load::{Loaded, of_script};
use super::out::Outs;
use crate::exit;
use crate::session::Session;
use crate::{machine, output};

/// How often what was counted so far goes into the record: a run that is killed loses no more than that.
const KEEP_EVERY: Nanos = Nanos::from_secs(30);

/// Follows the test: record and progress, thresholds, console.
struct Following<'a> {
    session: &'a mut Session,
    loaded: &'a Loaded,
    thresholds: &'a Thresholds,
    /// Of all scenarios together.
    vus_max: u32,
    warned: Warned,
    next_judgement: Nanos,
    next_kept: Nanos,
    crossed: bool,
    /// Thresholds as last judged, until the live view has them.
    judged: Option<Vec<(String, bool)>>,
    elapsed: Nanos,
    outs: &'a mut Outs,
}

/// What has been said, once.
#[derive(Default)]
struct Warned {
    of_too_few: bool,
    of_lost_tags: bool,
    of_left_out: bool,
}

impl Watcher for Following<'_> {
    fn log(&mut self, line: &LogLine) {
        console::line(line.level, &line.message, line.source);
    }

    fn samples(&mut self, store: &Store, samples: &[Sample]) {
        self.outs.write(store, self.thresholds, samples);
    }

    fn tick(&mut self, tick: &Tick<'_>) -> bool {
        self.elapsed = tick.elapsed;
        let vus = (tick.vus_active, tick.vus_existing);
        let complete = counted(tick.store, BuiltIn::Iterations);
        let iterations = (complete, tick.interrupted);
        self.session.script(vus, iterations, self.judged.take());
        self.warn_of_too_few(tick);
        self.warn_of_samples(tick.store);
        self.session.window(tick.window);
        if tick.elapsed >= self.next_kept {
            self.next_kept = tick.elapsed + KEEP_EVERY;
            self.keep(tick);
        }
        if self.thresholds.is_empty() || tick.elapsed < self.next_judgement {
            return true;
        }
        self.next_judgement = tick.elapsed + EVALUATE_EVERY;
        let evaluation = self
            .thresholds
            .evaluate(tick.store, tick.elapsed, Phase::Running);
        self.crossed |= evaluation.abort;
        let judged = evaluation.results.iter();
        let told = judged.map(|j| (format!("{} {}", j.key.trim(), j.source), j.ok));
        self.judged = Some(told.collect());
        !evaluation.abort
    }
}

/// The sum of a counter.
fn counted(store: &Store, metric: BuiltIn) -> u64 {
    match store.built_in(metric) {
        Sink::Counter(counter) => counter.sum() as u64,
        _ => 0,
    }
}

impl Following<'_> {
    /// Told once, when the first arrival has found all of them busy and no more may be made.
    fn warn_of_too_few(&mut self, tick: &Tick<'_>) {
        let dropped = counted(tick.store, BuiltIn::DroppedIterations);
        if self.warned.of_too_few || dropped == 0 || tick.vus_existing < self.vus_max {
            return;
        }
        self.warned.of_too_few = true;
        let arriving = self.loaded.script.scenarios.iter();
        let arriving = arriving.filter(|scenario| scenario.executor.arriving().is_some());
        let limits: Vec<String> = arriving
            .map(|scenario| {
                format!(
                    "maxVUs {} of {}",
                    scenario.executor.vus_max(),
                    scenario.name
                )
            })
            .collect();
        if !limits.is_empty() {
            console::warn(&format!(
                "Insufficient VUs, reached {} active VUs and cannot initialize more: {dropped} iterations have been \
                 dropped so far; raise {}",
                tick.vus_existing,
                limits.join(", ")
            ));
        }
    }

    /// Told once, when it begins.
    fn warn_of_samples(&mut self, store: &Store) {
        let takes_tags = self.loaded.script.keeps_samples;
        let lost = store.lost_tags().filter(|_| takes_tags);
        let warned = &mut self.warned;
        for (has_warned, warning) in [
            (&mut warned.of_lost_tags, lost),
            (&mut warned.of_left_out, store.left_out()),
        ] {
            if let Some(warning) = warning
                && !std::mem::replace(has_warned, true)
            {
                console::warn(&warning);
            }
        }
    }

    /// What was counted so far.
    fn keep(&mut self, tick: &Tick<'_>) {
        let (store, elapsed) = (tick.store, tick.elapsed);
        let judged = self.thresholds.evaluate(store, elapsed, Phase::Running);
        let scope = Scope {
            level: tick.window.level,
            at_ns: self.session.clock.now(),
            elapsed_ns: elapsed,
            is_final: false,
            interrupted_count: tick.interrupted,
        };
        let counts = ScriptCounts::new(scope, store, tick.names, &judged.results);
        self.session.append(Line::Script(counts));
    }
}

/// What a test came to.
pub(crate) struct Played {
    pub(crate) ending: Ending,
    pub(crate) store: Store,
    names: Names,
    interrupted_count: u64,
    pub(crate) evaluation: Evaluation,
    pub(crate) elapsed: Nanos,
    pub(crate) setup_data: Option<Value>,
    /// What the script's `handleSummary` returned, if it has one and it did not throw.
    pub(crate) summary: Option<Value>,
}

pub(crate) fn play(
    loaded: &Arc<Loaded>,
    session: &mut Session,
    outs: &mut Outs,
    interrupt: &Arc<AtomicBool>,
) -> Result<Played> {
    let clock = session.clock;
    let unix = Nanos(machine::since_1970().as_nanos() as u64);
    outs.count_from(unix.saturating_sub(clock.now()));
    let following = Following {
        session,
        loaded,
        thresholds: &loaded.thresholds,
        vus_max: loaded.script.vus_max(),
        warned: Warned::default(),
        next_judgement: EVALUATE_EVERY,
        next_kept: KEEP_EVERY,
        crossed: false,
        judged: None,
        elapsed: Nanos::ZERO,
        outs,
    };
    let script = Arc::clone(&loaded.script);
    let mut runner =
        ScriptRunner::start(script, clock, Arc::clone(interrupt), following).map_err(of_runner)?;
    let mut ending = Ending::default();
    let data = run(loaded, &mut runner, &mut ending, |following| {
        following.crossed
    })?;
    note_failed(&runner, &mut ending);
    let elapsed = runner.watcher().elapsed;
    let store = runner.store().clone();
    let (names, interrupted_count) = runner.names();
    let names = names.clone();
    let evaluation = loaded.thresholds.evaluate(&store, elapsed, Phase::Final);
    if !evaluation.passed() {
        ending.note(Cause::ThresholdCrossed);
    }
    let setup_data = data
        .as_deref()
        .and_then(|json| serde_json::from_str(json).ok());
    let mut played = Played {
        ending,
        store,
        names,
        interrupted_count,
        evaluation,
        elapsed,
        setup_data,
        summary: None,
    };
    let was_failed = runner.marked_failed().is_some();
    played.summary = summarise(loaded, &mut runner, &mut played)?;
    if let (false, Some(message)) = (was_failed, runner.marked_failed()) {
        // Too late to change anything, as in k6.
        console::error(&format!("test marked as failed: {message}"));
    }
    Ok(played)
}

/// Setup, scenarios and teardown; what `setup` returned. As in k6, what failed to set up is not torn down.
fn run<W: Watcher>(
    loaded: &Loaded,
    runner: &mut ScriptRunner<W>,
    ending: &mut Ending,
    has_crossed: impl Fn(&W) -> bool,
) -> Result<Option<Box<str>>> {
    let data = set_up(loaded, runner, ending)?;
    if ending.cause().is_none() {
        let end = runner.play_scenarios(data.as_deref());
        let crossed = has_crossed(runner.watcher());
        note_end(&end.map_err(of_runner)?, crossed, ending);
        tear_down(loaded, runner, data.as_deref(), ending)?;
    }
    Ok(data)
}

impl Played {
    /// Of an end that nothing has named yet, for whoever sees the exit code alone.
    pub(crate) fn why(&self) -> Option<String> {
        match self.ending.cause()? {
            Cause::Interrupted => Some("the test was interrupted by a signal".to_owned()),
            Cause::ThresholdCrossed => {
                let crossed = self.evaluation.results.iter().filter(|one| !one.ok);
                let (mut metrics, mut rules) = (Vec::new(), Vec::new());
                for one in crossed {
                    let key = one.key.trim();
                    if !metrics.contains(&key) {
                        metrics.push(key);
                    }
                    let was = if one.is_without_data {
                        "no data".to_owned()
                    } else {
                        format!("was {}", format::number(one.value))
                    };
                    rules.push(format!("{key} {} ({was})", one.source));
                }
                Some(format!(
                    "thresholds on metrics '{}' have been crossed: {}",
                    metrics.join(", "),
                    rules.join("; ")
                ))
            }
            _ => None,
        }
    }

    /// What the script counted, for the record of `level`.
    pub(crate) fn counts(&self, level: u32, at: Nanos) -> ScriptCounts {
        let scope = Scope {
            level,
            at_ns: at,
            elapsed_ns: self.elapsed,
            is_final: true,
            interrupted_count: self.interrupted_count,
        };
        ScriptCounts::new(scope, &self.store, &self.names, &self.evaluation.results)
    }
}

pub(crate) fn of_runner(error: plimsoll_engine::scripted::ScriptError) -> anyhow::Error {
    match error {
        plimsoll_engine::scripted::ScriptError::Script(error) => of_script(&error),
        other => other.into(),
    }
}

fn exports(loaded: &Loaded, name: &str) -> bool {
    let functions = loaded.script.program.functions();
    functions.iter().any(|known| &**known == name)
}

/// What `setup` returned, as JSON.
pub(crate) fn set_up(
    loaded: &Loaded,
    runner: &mut ScriptRunner<impl Watcher>,
    ending: &mut Ending,
) -> Result<Option<Box<str>>> {
    let settings = &loaded.options.settings;
    if runner.is_interrupted() {
        ending.note(Cause::Interrupted);
        return Ok(None);
    }
    if !exports(loaded, "setup") || settings.is_set(Flag::NoSetup) {
        return Ok(None);
    }
    let timeout = settings.setup_timeout_ns;
    let (end, timed_out) = runner
        .run_function("setup", None, true, timeout)
        .map_err(of_runner)?;
    note_function(
        &end,
        timed_out,
        Cause::SetupTimeout,
        "setup",
        timeout,
        ending,
    );
    Ok(match end {
        End::Ok { returned } => returned,
        _ => None,
    })
}

pub(crate) fn tear_down(
    loaded: &Loaded,
    runner: &mut ScriptRunner<impl Watcher>,
    data: Option<&str>,
    ending: &mut Ending,
) -> Result<()> {
    let settings = &loaded.options.settings;
    if !exports(loaded, "teardown") || settings.is_set(Flag::NoTeardown) {
        return Ok(());
    }
    let timeout = settings.teardown_timeout_ns;
    let (end, timed_out) = runner
        .run_function("teardown", data, false, timeout)
        .map_err(of_runner)?;
    note_function(
        &end,
        timed_out,
        Cause::TeardownTimeout,
        "teardown",
        timeout,
        ending,
    );
    Ok(())
}

fn note_function(
    end: &End,
    timed_out: bool,
    cause: Cause,
    name: &str,
    timeout: Nanos,
    ending: &mut Ending,
) {
    match end {
        // A signal that came before it has not ended it: then its time was over.
        _ if timed_out && exit::is_interrupted() && ending.cause() != Some(Cause::Interrupted) => {
            ending.note(Cause::Interrupted);
        }
        _ if timed_out => {
            console::warn(&format!("{name} was ended after {timeout}"));
            ending.note(cause);
        }
        End::Ok { .. } => {}
        End::Exception(_) => ending.note(Cause::HookException),
        End::Abort { message } => {
            console::error(message);
            ending.note(Cause::Aborted);
        }
        End::Missing { message } => {
            console::error(&format!("{name}: {message}"));
            ending.note(Cause::Unsupported);
        }
        End::Interrupted => {
            console::warn(&format!(
                "{name} was ended: it ran too long without a pause"
            ));
            ending.note(cause);
        }
    }
}

fn note_end(end: &ScriptEnd, crossed: bool, ending: &mut Ending) {
    if let Some(message) = &end.aborted {
        console::error(message);
        ending.note(Cause::Aborted);
    }
    if let Some(message) = &end.missing {
        console::error(message);
        ending.note(Cause::Unsupported);
    }
    if end.interrupted {
        ending.note(Cause::Interrupted);
    }
    if crossed {
        ending.note(Cause::ThresholdCrossed);
    }
}

/// `exec.test.fail`, wherever it was called; told once.
fn note_failed(runner: &ScriptRunner<impl Watcher>, ending: &mut Ending) {
    if let Some(message) = runner.marked_failed()
        && ending.cause() != Some(Cause::Failed)
    {
        if ending.cause().is_none() {
            console::error(&format!("test marked as failed: {message}"));
        }
        ending.note(Cause::Failed);
    }
}

/// Calls `handleSummary`. An exception in it is told and changes nothing else, as in k6.
fn summarise(
    loaded: &Loaded,
    runner: &mut ScriptRunner<impl Watcher>,
    played: &mut Played,
) -> Result<Option<Value>> {
    let settings = &loaded.options.settings;
    if !exports(loaded, "handleSummary") || settings.summary_mode == "disabled" {
        return Ok(None);
    }
    let state = k6::State {
        stdout_is_terminal: output::colour_on_stdout(),
        stderr_is_terminal: output::stderr_is_terminal(),
        no_colour: !output::colour_allowed(),
    };
    let shown = results(loaded, played);
    let data = if loaded.machine_readable {
        machine_readable(loaded, &shown)
    } else {
        k6::handle_summary_data(&shown, state)
    };
    let data = data.to_string();
    let timeout = settings.handle_summary_timeout_ns;
    let (end, timed_out) = runner
        .run_function("handleSummary", Some(&data), true, timeout)
        .map_err(of_runner)?;
    // An exception, or the wish to end the test, comes too late to change anything, as in k6.
    if let End::Abort { message } = &end {
        console::error(message);
    } else if timed_out || matches!(end, End::Interrupted | End::Missing { .. }) {
        let ending = &mut played.ending;
        note_function(
            &end,
            timed_out,
            Cause::SummaryTimeout,
            "handleSummary",
            timeout,
            ending,
        );
    }
    let End::Ok { returned } = end else {
        return Ok(None);
    };
    Ok(returned.and_then(|json| serde_json::from_str(&json).ok()))
}

pub(crate) fn machine_readable(loaded: &Loaded, results: &Results<'_>) -> Value {
    let config = k6::Config {
        version: env!("CARGO_PKG_VERSION"),
        script: &loaded.name,
        generated_at: &machine::wall_time(),
    };
    k6::machine_readable(results, &config)
}

/// What every rendering reads.
pub(crate) fn results<'a>(loaded: &'a Loaded, played: &'a Played) -> Results<'a> {
    Results {
        store: &played.store,
        judgements: &played.evaluation.results,
        elapsed: played.elapsed,
        trend_stats: &loaded.options.settings.summary_trend_stats,
        unit: loaded.options.settings.summary_unit,
        setup_data: played.setup_data.as_ref(),
    }
}

#[cfg(test)]
mod tests;
