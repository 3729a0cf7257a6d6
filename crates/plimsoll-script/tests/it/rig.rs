//! Plays scripts: a host that remembers everything, and a driver that answers every suspension at once.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use plimsoll_core::Nanos;
use plimsoll_core::metrics::{BUILT_IN, BuiltIn, MetricId};
use plimsoll_script::host::{ConsoleLine, HttpSample, Instance, LogLevel};
use plimsoll_script::{
    End, Host, Iteration, Load, Memory, Program, Resumption, Runtime, Scenario, ScriptError,
    Settings, Sources, Suspension, TagSetId, Vu,
};

use crate::httpbin;

/// One value that a script gave.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) metric: String,
    pub(crate) value: f64,
    pub(crate) tags: BTreeMap<String, String>,
}

/// Remembers what scripts say.
#[derive(Default)]
pub(crate) struct Recorder {
    now: Cell<u64>,
    raw: RefCell<Vec<(MetricId, f64, TagSetId)>>,
    pub(crate) lines: RefCell<Vec<(LogLevel, Option<&'static str>, String)>>,
    pub(crate) failures: RefCell<Vec<String>>,
    pub(crate) failed_checks: RefCell<Vec<Option<u64>>>,
    pub(crate) requests: RefCell<Vec<String>>,
    pub(crate) slept: Cell<Nanos>,
}

impl Host for Recorder {
    fn now(&self) -> Nanos {
        Nanos(self.now.get())
    }

    fn unix_ms(&self) -> i64 {
        1_700_000_000_000 + (self.now.get() / 1_000_000).cast_signed()
    }

    fn sample(&self, metric: MetricId, value: f64, tags: TagSetId) {
        self.raw.borrow_mut().push((metric, value, tags));
    }

    fn http(&self, sample: &HttpSample<'_>) {
        let mut raw = self.raw.borrow_mut();
        raw.push((BuiltIn::HttpReqs.into(), 1.0, sample.tags));
        let duration = sample.result.timings.duration().as_millis_f64();
        raw.push((BuiltIn::HttpReqDuration.into(), duration, sample.tags));
        if let Some(expected) = sample.expected {
            let failed = f64::from(u8::from(!expected));
            raw.push((BuiltIn::HttpReqFailed.into(), failed, sample.tags));
        }
    }

    fn check_failed(&self, call: Option<u64>) {
        self.failed_checks.borrow_mut().push(call);
    }

    fn console(&self, line: &ConsoleLine<'_>) {
        let line = (line.level, line.source, line.message.to_owned());
        self.lines.borrow_mut().push(line);
    }

    fn mark_failed(&self, message: &str) {
        self.failures.borrow_mut().push(message.to_owned());
    }

    fn instance(&self) -> Instance {
        Instance {
            iterations_completed: 7,
            iterations_interrupted: 1,
            vus_active: 2,
            vus_initialized: 3,
        }
    }

    fn scenario_progress(&self, _scenario: &str) -> f64 {
        0.25
    }
}

impl Recorder {
    /// Lines of `console.*`.
    pub(crate) fn console_lines(&self) -> Vec<String> {
        self.lines_of(|_, source| source == Some("console"))
    }

    /// What the engine itself warned of.
    pub(crate) fn warnings(&self) -> Vec<String> {
        self.lines_of(|level, source| level == LogLevel::Warning && source.is_none())
    }

    fn lines_of(&self, fits: impl Fn(LogLevel, Option<&'static str>) -> bool) -> Vec<String> {
        let lines = self.lines.borrow();
        let fitting = lines
            .iter()
            .filter(|(level, source, _)| fits(*level, *source));
        fitting.map(|(_, _, message)| message.clone()).collect()
    }

    fn pass(&self, time: Nanos) {
        self.now.set(self.now.get() + time.0);
    }
}

/// A loaded script with one worker.
pub(crate) struct Rig {
    pub(crate) host: Rc<Recorder>,
    pub(crate) program: Arc<Program>,
    pub(crate) runtime: Runtime,
}

/// Whether virtual users share a context, where the script allows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Contexts {
    Shared,
    Own,
}

pub(crate) fn load(
    sources: Rc<dyn Sources>,
    entry: &str,
    settings: &Settings,
    host: &Rc<Recorder>,
    contexts: Contexts,
) -> Result<Program, ScriptError> {
    Program::load(Load {
        surroundings: Vec::new(),
        sources,
        entry: PathBuf::from(entry),
        env: vec![("NAME".to_owned(), "value".to_owned())],
        host: Rc::clone(host) as Rc<dyn Host>,
        settings: settings.clone(),
        shares_context: contexts == Contexts::Shared,
        stop: Arc::new(AtomicBool::new(false)),
    })
}

impl Rig {
    pub(crate) fn of_files(
        sources: Rc<dyn Sources>,
        entry: &str,
        settings: &Settings,
        contexts: Contexts,
    ) -> Result<Self, (ScriptError, Rc<Recorder>)> {
        let host = Rc::new(Recorder::default());
        let program = match load(sources, entry, settings, &host, contexts) {
            Ok(program) => Arc::new(program),
            Err(error) => return Err((error, host)),
        };
        // The init code runs again for each virtual user; what it says then is not the test's.
        let said = host.lines.borrow().len();
        let stop = Arc::new(AtomicBool::new(false));
        let as_host = Rc::clone(&host) as Rc<dyn Host>;
        let runtime = Runtime::new(&program, settings.clone(), as_host, stop).unwrap();
        host.lines.borrow_mut().truncate(said);
        Ok(Self {
            host,
            program,
            runtime,
        })
    }

    pub(crate) fn of_text(text: &str) -> Self {
        let sources = Rc::new(Memory::default().with("/test/main.js", text));
        let settings = Settings::default();
        let rig = Self::of_files(sources, "/test/main.js", &settings, Contexts::Shared);
        rig.unwrap_or_else(|(error, _)| panic!("{error}"))
    }

    pub(crate) fn vu(&self, id: u64) -> Vu {
        let said = self.host.lines.borrow().len();
        let vu = self.runtime.vu(id).unwrap();
        self.host.lines.borrow_mut().truncate(said);
        vu
    }

    /// Runs a function of a virtual user to its end.
    pub(crate) fn run(&self, vu: &mut Vu, iteration: Iteration) -> End {
        let mut suspension = vu.resume(Resumption::Start(iteration));
        loop {
            suspension = match suspension {
                Suspension::Done(end) => return end,
                other => vu.resume(self.answer(other)),
            };
        }
    }

    pub(crate) fn answer(&self, suspension: Suspension) -> Resumption {
        match suspension {
            Suspension::Sleep(pause) => {
                self.host.pass(pause);
                self.host.slept.set(self.host.slept.get() + pause);
                Resumption::Slept
            }
            Suspension::Http(calls) => {
                let mut results = Vec::new();
                for call in &calls {
                    let line = format!("{} {}", call.method, call.url.target);
                    self.host.requests.borrow_mut().push(line);
                    results.push(httpbin::answer(call));
                }
                self.host.pass(Nanos::from_millis(10));
                Resumption::Http(results)
            }
            Suspension::Done(end) => panic!("nothing to answer: {end:?}"),
        }
    }

    fn name_of(&self, metric: MetricId) -> String {
        let declared = || &self.program.declared()[metric.place() - BUILT_IN.len()];
        let built_in = BUILT_IN.get(metric.place());
        built_in.map_or_else(|| declared().name.clone(), |spec| spec.name.to_owned())
    }

    /// Every sample with its names.
    pub(crate) fn samples(&self) -> Vec<Seen> {
        let table = self.runtime.tags();
        let table = table.borrow();
        let raw = self.host.raw.borrow();
        let named = |(metric, value, tags): &(MetricId, f64, TagSetId)| Seen {
            metric: self.name_of(*metric),
            value: *value,
            tags: table
                .tags(*tags)
                .iter()
                .map(|(name, value)| (name.to_string(), value.to_string()))
                .collect(),
        };
        raw.iter().map(named).collect()
    }
}

/// The iteration number `index` of the first virtual user.
pub(crate) fn iteration(function: &str, index: u64) -> Iteration {
    Iteration {
        function: function.into(),
        scenario: Some(Rc::new(Scenario {
            name: "default".into(),
            executor: "per-vu-iterations".into(),
            start_unix_ms: 1_700_000_000_000,
            env: vec![("STAGE".into(), "load".into())],
            ..Scenario::default()
        })),
        vu_in_test: 1,
        vu_in_instance: 1,
        in_vu: index,
        in_scenario: index,
        in_instance: index,
        in_test: index,
        ..Iteration::default()
    }
}
