//! A script from setup to the end of its scenarios, and the samples that come of it.

use std::collections::BTreeMap;
use std::num::{NonZeroU32, NonZeroU64};
use std::path::PathBuf;
use std::rc::Rc;

use plimsoll_core::metrics::Sink;
use plimsoll_core::scenario::{Executor, Scenario, Scenarios};
use plimsoll_script::host::Deaf;
use plimsoll_script::{Load, Memory, Program, Settings};

use super::*;

/// Every sample, with the name of its metric; and what was logged.
#[derive(Default)]
struct Keeping {
    samples: Vec<(String, Sample)>,
    said: Vec<String>,
}

impl Watcher for Keeping {
    fn log(&mut self, line: &LogLine) {
        self.said.push(line.message.to_string());
    }

    fn samples(&mut self, store: &Store, samples: &[Sample]) {
        let named = |sample: &Sample| (store.metric(sample.metric).0.name.clone(), *sample);
        self.samples.extend(samples.iter().map(named));
    }

    fn tick(&mut self, _tick: &Tick<'_>) -> bool {
        true
    }
}

/// Two iterations of one virtual user, with a tag of the run.
fn script(text: &str, submetrics: &[&str]) -> Arc<Script> {
    let settings = Settings {
        tags: vec![("testid".into(), "42".into())],
        ..Settings::default()
    };
    let program = Program::load(Load {
        surroundings: Vec::new(),
        sources: Rc::new(Memory::default().with("/t/main.js", text)),
        entry: PathBuf::from("/t/main.js"),
        env: Vec::new(),
        host: Rc::new(Deaf),
        settings: settings.clone(),
        shares_context: true,
        stop: Arc::new(AtomicBool::new(false)),
    });
    let program = program.unwrap();
    let mut store = Store::default();
    for metric in program.declared() {
        let made = store.register(&metric.name, metric.kind, metric.contains);
        made.unwrap();
    }
    for key in submetrics {
        store.submetric(key).unwrap();
    }
    let scenarios = Scenarios::only(Scenario {
        name: "default".to_owned(),
        executor: Executor::PerVuIterations {
            vus: NonZeroU32::MIN,
            iterations: NonZeroU64::MIN.saturating_add(1),
            max_duration_ns: Nanos::from_secs(60),
        },
        start_ns: Nanos::ZERO,
        graceful_stop_ns: Nanos::ZERO,
        exec: "default".to_owned(),
        env: BTreeMap::default(),
        tags: BTreeMap::default(),
        extra: None,
    });
    let mut script = Script::new(Arc::new(program), settings, scenarios, store);
    script.keeps_samples = true;
    Arc::new(script)
}

/// Plays setup and the scenarios.
fn play(script: Arc<Script>) -> ScriptRunner<Keeping> {
    let interrupt = Arc::new(AtomicBool::new(false));
    let mut runner =
        ScriptRunner::start(script, Clock::start(), interrupt, Keeping::default()).unwrap();
    let setup = runner.run_function("setup", None, true, Nanos::from_secs(60));
    assert!(matches!(setup.unwrap(), (End::Ok { .. }, false)));
    runner.play_scenarios(None).unwrap();
    runner
}

/// Time began again at zero when the scenarios did: a gauge kept what setup gave it, and outputs were dated too early.
#[test]
fn samples_of_setup_come_before_those_of_the_scenarios() {
    let text = "import { sleep } from 'k6'; import { Gauge } from 'k6/metrics'; import exec from 'k6/execution';
        const at = new Gauge('at');
        export function setup() { sleep(0.2); at.add(1); console.log(Date.now()); }
        export default function () {
          if (exec.instance.currentTestRunDuration < 200) throw new Error('setup belongs to the test');
          at.add(2); console.log(exec.scenario.startTime); }";
    let mut runner = play(script(text, &[]));
    let Sink::Gauge(gauge) = runner.store().metric(runner.store().find("at").unwrap()).1 else {
        panic!("a gauge");
    };
    assert!((gauge.value() - 2.0).abs() < 1e-9);
    let Keeping { samples, said } = runner.watcher();
    let given = samples.iter().filter(|(name, _)| name == "at");
    let times: Vec<Nanos> = given.map(|(_, sample)| sample.at).collect();
    assert_eq!(times.len(), 3);
    assert!(times.is_sorted() && times[1] > times[0], "{times:?}");
    let users = samples.iter().find(|(name, _)| name == "vus").unwrap();
    assert!(users.1.at > times[0], "{users:?}");
    let moments: Vec<f64> = said.iter().filter_map(|line| line.parse().ok()).collect();
    assert_eq!(moments.len(), 3, "{said:?}");
    // Both are whole milliseconds, rounded by themselves.
    assert!(moments[1] + 2.0 >= moments[0], "{said:?}");
}

/// Thresholds on them passed, for there was no data.
#[test]
fn tags_of_the_user_and_of_the_run_are_on_what_the_engine_counts() {
    let keys = [
        "iterations{stage:b}",
        "iteration_duration{stage:b,group:}",
        "vus{testid:42}",
        "vus_max{testid:42}",
    ];
    let text = "import { group } from 'k6'; import exec from 'k6/execution';
        export function setup() {}
        export default function () {
          exec.vu.metrics.tags.stage = 'a';
          group('inner', () => { exec.vu.metrics.tags.stage = 'b'; throw new Error('out of here'); }); }";
    let runner = play(script(text, &keys));
    for key in keys {
        let store = runner.store();
        let place = store.find_submetric(key).unwrap().unwrap();
        let sink = &store.submetrics()[place].sink;
        let least = if key.starts_with("vus") { 1 } else { 2 };
        assert!(sink.samples() >= least, "{key}: {sink:?}");
    }
}
