//! A script from setup to the end of its scenarios, and the samples that come of it.

use std::path::PathBuf;
use std::rc::Rc;

use plimsoll_core::metrics::{BuiltIn, Sink};
use plimsoll_core::scenario::{Layer, Options, Origin, Scenarios, Strictness};
use plimsoll_script::host::Deaf;
use plimsoll_script::{Load, Memory, Program, Settings};
use serde_json::{Value, json};

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

fn scenarios(of: &Value) -> Scenarios {
    let options = json!({ "scenarios": of });
    let layer = Layer::from_object(Origin::Script, &options, Strictness::Normal).unwrap();
    Options::from_layers(&[layer]).unwrap().scenarios
}

/// Two iterations of one virtual user, with a tag of the run.
fn script(text: &str, submetrics: &[&str]) -> Arc<Script> {
    let twice =
        json!({ "default": { "executor": "per-vu-iterations", "vus": 1, "iterations": 2 } });
    script_of(text, submetrics, &twice)
}

/// Plays these scenarios, with a tag of the run.
fn script_of(text: &str, submetrics: &[&str], of: &Value) -> Arc<Script> {
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
    let mut script = Script::new(Arc::new(program), settings, scenarios(of), store);
    script.keeps_samples = true;
    Arc::new(script)
}

fn started(script: Arc<Script>, interrupt: &Arc<AtomicBool>) -> ScriptRunner<Keeping> {
    let (clock, interrupt) = (Clock::start(), Arc::clone(interrupt));
    ScriptRunner::start(script, clock, interrupt, Keeping::default()).unwrap()
}

/// Plays setup and the scenarios.
fn play(script: Arc<Script>) -> ScriptRunner<Keeping> {
    let mut runner = started(script, &Arc::default());
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

/// The least and the most that a gauge showed.
fn span(runner: &ScriptRunner<Keeping>, metric: BuiltIn) -> (u32, u32) {
    match runner.store().built_in(metric) {
        Sink::Gauge(gauge) => (gauge.min() as u32, gauge.max() as u32),
        other => panic!("{other:?} is no gauge"),
    }
}

/// Both counted all of theirs from the start to the end: 20 virtual users, and of 40 the most.
#[test]
fn virtual_users_of_two_scenarios_one_after_the_other_are_counted_once() {
    let part = |start: &str| {
        json!({ "executor": "constant-vus", "vus": 10, "duration": "1500ms", "startTime": start,
                "gracefulStop": "0s" })
    };
    let text = "import { sleep } from 'k6'; export function setup() {}
        export default function () { sleep(0.02); }";
    let both = json!({ "first": part("0s"), "second": part("1500ms") });
    let runner = play(script_of(text, &[], &both));
    assert_eq!(span(&runner, BuiltIn::Vus), (10, 10));
    assert_eq!(span(&runner, BuiltIn::VusMax), (10, 10));
}

/// Those who were through counted as active until the end of the scenario.
#[test]
fn virtual_users_whose_iterations_are_made_are_active_no_more() {
    let text = "import { sleep } from 'k6'; export function setup() {}
        export default function () { sleep(__VU === 1 ? 2.5 : 0.1); }";
    let one_each = json!({ "one": { "executor": "per-vu-iterations", "vus": 3, "iterations": 1 } });
    let runner = play(script_of(text, &[], &one_each));
    assert_eq!(span(&runner, BuiltIn::Vus), (1, 1), "after each second");
    assert_eq!(span(&runner, BuiltIn::VusMax), (3, 3));
}

/// They were those of one worker, up to a second old.
#[test]
fn scripts_see_the_counts_of_now() {
    let text = "import exec from 'k6/execution';
        const { instance } = exec;
        const say = () => console.log(instance.iterationsCompleted, instance.vusActive, instance.vusInitialized);
        export function setup() { say(); }
        export default function () { say(); }
        export function teardown() { say(); }";
    let thrice = json!({ "one": { "executor": "per-vu-iterations", "vus": 1, "iterations": 3 } });
    let mut runner = play(script_of(text, &[], &thrice));
    let torn_down = runner.run_function("teardown", None, false, Nanos::from_secs(60));
    assert!(matches!(torn_down.unwrap(), (End::Ok { .. }, false)));
    let said = &runner.watcher().said;
    assert_eq!(said, &["0 0 1", "0 1 1", "1 1 1", "2 1 1", "3 0 1"]);
}

/// Each waits for what the one before it counts, 20 s at most: a worker may begin late.
#[test]
fn scripts_see_what_happens_on_other_workers() {
    let text = "import exec from 'k6/execution'; import { sleep } from 'k6';
        const { instance } = exec;
        export function setup() {}
        export default function () {
          const isNext = () => instance.iterationsCompleted === __VU - 1 && instance.vusActive === 4 - __VU;
          for (let i = 0; i < 2000 && !isNext(); i++) sleep(0.01);
          console.log(instance.iterationsCompleted, instance.vusActive, instance.vusInitialized);
        }";
    let one_each = json!({ "one": { "executor": "per-vu-iterations", "vus": 3, "iterations": 1 } });
    let mut script = script_of(text, &[], &one_each);
    Arc::get_mut(&mut script).unwrap().workers = 3;
    let mut runner = play(script);
    assert_eq!(runner.watcher().said, ["0 3 3", "1 2 3", "2 1 3"]);
}

/// Half a second after it began, a signal.
fn interrupted_later(interrupt: &Arc<AtomicBool>) {
    let interrupt = Arc::clone(interrupt);
    std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(500));
        interrupt.store(true, Ordering::Relaxed);
    });
}

/// It slept on to its end, and one that logs all the time was never asked.
#[test]
fn a_signal_ends_a_setup_that_waits() {
    for waits in [
        "sleep(60);",
        "for (;;) { console.log('still'); sleep(0.01); }",
    ] {
        let text = format!(
            "import {{ sleep }} from 'k6'; export default function () {{}}
             export function setup() {{ {waits} }}"
        );
        let interrupt = Arc::default();
        let mut runner = started(script(&text, &[]), &interrupt);
        interrupted_later(&interrupt);
        let began = runner.workers.clock.now();
        let ended = runner.run_function("setup", None, true, Nanos::from_secs(40));
        assert_eq!(ended.unwrap(), (End::Interrupted, true), "{waits}");
        let took = runner.workers.clock.now() - began;
        assert!(took < Nanos::from_secs(20), "{waits}: {took}");
    }
}

/// It was cut off as soon as it did anything after a pause.
#[test]
fn what_follows_a_signal_runs_to_its_end() {
    let text = "import { sleep } from 'k6'; export function setup() {}
        export default function () { sleep(60); }
        export function teardown() { sleep(0.2); for (let i = 0; i < 1e5; i++) Math.sqrt(i); console.log('torn down'); }";
    let interrupt = Arc::default();
    let mut runner = started(script(text, &[]), &interrupt);
    interrupted_later(&interrupt);
    let end = runner.play_scenarios(None).unwrap();
    assert!(end.interrupted, "{end:?}");
    let torn_down = runner.run_function("teardown", None, false, Nanos::from_secs(60));
    assert!(matches!(torn_down.unwrap(), (End::Ok { .. }, false)));
    assert_eq!(runner.watcher().said, ["torn down"]);
}
