//! A script as a step runner: rates of requests, levels that follow each other, virtual users that run out.

use std::path::PathBuf;
use std::rc::Rc;

use plimsoll_core::metrics::{Sample, Store};
use plimsoll_core::scenario::{Executor, Scenario, Scenarios};
use plimsoll_engine::scripted::{LogLine, Script, ScriptRunner, Tick, Watcher};
use plimsoll_script::host::Deaf;
use plimsoll_script::{Memory, Program, Settings};

use super::*;

struct Silent;

impl Watcher for Silent {
    fn log(&mut self, line: &LogLine) {
        assert!(line.message.contains("Request Failed"), "{line:?}");
    }
    fn samples(&mut self, _store: &Store, _samples: &[Sample]) {}
    fn tick(&mut self, _tick: &Tick<'_>) -> bool {
        true
    }
}

fn script(text: &str, workers: u32) -> Arc<Script> {
    let settings = Settings {
        timeout: Nanos::from_secs(10),
        ..Settings::default()
    };
    let program = Program::load(plimsoll_script::Load {
        surroundings: Vec::new(),
        sources: Rc::new(Memory::default().with("/t/main.js", text)),
        entry: PathBuf::from("/t/main.js"),
        env: Vec::new(),
        host: Rc::new(Deaf),
        settings: settings.clone(),
        shares_context: true,
        stop: Arc::new(AtomicBool::new(false)),
    });
    let scenarios = Scenarios::only(Scenario {
        name: "default".to_owned(),
        executor: Executor::ConstantVus {
            vus: NonZeroU32::MIN,
            duration_ns: Nanos::from_secs(1),
        },
        start_ns: Nanos::ZERO,
        graceful_stop_ns: Nanos::ZERO,
        exec: "default".to_owned(),
        env: std::collections::BTreeMap::default(),
        tags: std::collections::BTreeMap::default(),
        extra: None,
    });
    let program = Arc::new(program.unwrap());
    let mut script = Script::new(program, settings, scenarios, Store::default());
    script.workers = workers;
    Arc::new(script)
}

fn step(level: u32, phase: Phase, load: StepLoad, windows_max: u32) -> Step {
    Step {
        level,
        phase,
        load,
        windows_max,
    }
}

/// Tries the script out, plays the steps and drains; also the requests of an iteration.
fn play(script: Arc<Script>, vus_max: u32, steps: &[Step]) -> (Played, f64) {
    let mut windows = Vec::new();
    let interrupt = Arc::new(AtomicBool::new(false));
    let mut levels = ScriptRunner::start(script, Clock::start(), interrupt, Silent).unwrap();
    levels.begin_search(None, vus_max);
    let trial = step(0, Phase::WarmUp, closed(1), 5);
    levels
        .try_out(&trial, &mut |window| {
            windows.push(window.clone());
        })
        .unwrap();
    for step in steps {
        levels
            .play(step, &mut |window| {
                windows.push(window.clone());
                Go::On
            })
            .unwrap();
    }
    let requests = levels.iteration().map(|mean| mean.requests).unwrap();
    let last = steps.last().map_or(1, |step| step.level + 1);
    let drained = levels.drain(last, Nanos::from_secs(60)).unwrap();
    windows.push(drained);
    (Played { windows }, requests)
}

fn two_gets(port: u16) -> String {
    format!(
        "import http from 'k6/http';
         export default function () {{
           http.get('http://127.0.0.1:{port}/a'); http.get('http://127.0.0.1:{port}/b');
         }}"
    )
}

#[test]
fn rates_of_a_script_are_rates_of_requests() {
    let server = Server::start(Behaviour::Answer);
    let steps = [
        step(1, Phase::Anchor, closed(4), 1),
        step(2, Phase::Bracket, open(200.0, Arrivals::Uniform), 3),
        step(3, Phase::Bracket, open(600.0, Arrivals::Poisson), 3),
    ];
    let (played, requests) = play(script(&two_gets(server.port), 2), 100, &steps);
    assert!((requests - 2.0).abs() < 0.01, "{requests}");
    played.check_flows();
    for (level, rate) in [(2, 200.0), (3, 600.0)] {
        let windows = played.windows.iter().filter(|window| window.level == level);
        let (due, seconds) = windows.fold((0, 0.0), |(due, seconds), window| {
            (
                due + window.due_count,
                seconds + window.length_ns.as_secs_f64(),
            )
        });
        let found = due as f64 / seconds;
        assert!((found / rate - 1.0).abs() < 0.12, "{found}/s for {rate}/s");
    }
    assert_eq!(played.tally().failures(), 0);
}

/// They were counted as right, though the objective said `status=200`.
#[test]
fn answers_of_another_code_than_the_objective_names_are_wrong_as_for_a_url() {
    for (code, named, expected) in [
        (202, "status=200", Outcome::CheckFailed),
        (404, "status=200", Outcome::Http4xx),
        (302, "status=200", Outcome::Http3xx),
        (404, "status=404", Outcome::Ok),
    ] {
        let server = Server::start(Behaviour::Status(code));
        let mut script = script(&two_gets(server.port), 1);
        let objectives = Objectives::parse(&format!("p99<1s,{named}")).unwrap();
        Arc::get_mut(&mut script).unwrap().hold_to(&objectives);
        let (played, _) = play(script, 1, &[step(1, Phase::Anchor, closed(1), 1)]);
        played.check_flows();
        let tally = played.tally();
        assert!(tally.class(expected).count > 0, "{code} under {named}");
        let of = |outcome| tally.class(outcome).count;
        let others = tally.attempts() - of(expected) - of(Outcome::Interrupted);
        assert_eq!(others, 0, "{code} under {named}");
    }
}

#[test]
fn arrivals_wait_for_a_virtual_user_and_are_dropped_in_the_end() {
    let server = Server::start(Behaviour::Delay(50));
    // Two virtual users carry 40 requests per second.
    let steps = [step(1, Phase::Bracket, open(200.0, Arrivals::Uniform), 3)];
    let mut script = script(&two_gets(server.port), 1);
    Arc::get_mut(&mut script).unwrap().settings.timeout = HASTY;
    let (played, _) = play(script, 2, &steps);
    played.check_flows();
    let tally = played.tally();
    assert!(
        tally.class(Outcome::Dropped).count > 20,
        "{:?}",
        tally.attempts()
    );
    let response = tally.class(Outcome::Ok).response.mean().unwrap();
    assert!(
        response > Nanos::from_millis(100),
        "waiting counts: {response}"
    );
}

#[test]
fn a_script_without_requests_cannot_be_offered_at_a_rate() {
    let script = script("export default function () {}", 1);
    let interrupt = Arc::new(AtomicBool::new(false));
    let mut levels = ScriptRunner::start(script, Clock::start(), interrupt, Silent).unwrap();
    levels.begin_search(None, 1);
    let level = step(1, Phase::Bracket, open(10.0, Arrivals::Uniform), 1);
    let error = levels.play(&level, &mut |_| Go::On).unwrap_err();
    assert!(error.to_string().contains("no iteration"), "{error}");
}

/// The worker stood still for as long as the resolver took, with all its virtual users.
#[test]
fn a_slow_resolver_keeps_only_those_waiting_who_asked() {
    fn slow(host: &str, port: u16) -> std::io::Result<Vec<std::net::SocketAddr>> {
        if host == "lost.test" {
            return Err(std::io::Error::other("no such host"));
        }
        std::thread::sleep(std::time::Duration::from_millis(1500));
        Ok(vec![([127, 0, 0, 1], port).into()])
    }
    let server = Server::start(Behaviour::Answer);
    let port = server.port;
    let text = format!(
        "import http from 'k6/http';
         export default function () {{
           const host = [0, 'slow.test', 'lost.test'][__VU - 1] || '127.0.0.1';
           http.get(`http://${{host}}:{port}/`);
         }}"
    );
    let mut script = script(&text, 1);
    let own = Arc::get_mut(&mut script).unwrap();
    own.settings.timeout = Nanos::from_secs(20);
    own.naming = Arc::new(plimsoll_engine::scripted::Naming {
        lookup: plimsoll_engine::scripted::Lookup(slow),
        ..plimsoll_engine::scripted::Naming::default()
    });
    let steps = [step(1, Phase::Anchor, closed(3), 2)];
    let (played, _) = play(script, 3, &steps);
    played.check_flows();
    let tally = played.tally();
    assert!(
        tally.class(Outcome::Dns).count > 0,
        "lost.test has no address"
    );
    let of = |index: usize| played.windows.iter().filter(|w| w.level == 1).nth(index);
    let first = of(0).unwrap().total();
    assert!(
        first.ok() > 100,
        "{} while slow.test was looked up",
        first.ok()
    );
    assert!(tally.class(Outcome::Ok).count > first.ok());
    let failed = tally.failures() - tally.class(Outcome::Dns).count;
    assert_eq!(failed, 0, "{:?}", tally.occurred().collect::<Vec<_>>());
}

/// Its worker sees no deadline while it computes, and reports nothing that would wake the runner.
#[test]
fn a_setup_that_never_waits_ends_when_its_time_is_over() {
    let text = "export function setup() { while (true) {} } export default function () {}";
    let interrupt = Arc::new(AtomicBool::new(false));
    let script = script(text, 1);
    let mut runner = ScriptRunner::start(script, Clock::start(), interrupt, Silent).unwrap();
    let timeout = Nanos::from_millis(100);
    let ended = runner.run_function("setup", None, true, timeout);
    assert!(ended.unwrap().1, "out of time");
}
