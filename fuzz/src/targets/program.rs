//! Whole scripts: whatever the text, it loads or is refused with words, and one virtual user runs it the same in a
//! shared context as in one of its own.

use std::cell::RefCell;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use plimsoll_core::Nanos;
use plimsoll_core::metrics::MetricId;
use plimsoll_script::host::{ConsoleLine, HttpSample, Instance};
use plimsoll_script::http::HttpResult;
use plimsoll_script::{
    End, Host, Iteration, Limits, Load, Memory, Program, Resumption, Runtime, Settings, Suspension,
    TagSetId,
};

use super::{Outcome, variant};

pub(super) const WORDS: &[&str] = &[
    "import http from 'k6/http';",
    "import { check, group, sleep } from 'k6';",
    "export default function () {",
    "export * from './main.js';",
    "export { x as default };",
    "export default class {",
    "globalThis.x = 1;",
    "Array.prototype.x = 1;",
    "http.get('http://a.test/');",
    "check(1, { a: () => true });",
    "sleep(1);",
    "console.log(",
    "throw ",
    "try { ",
    "} finally { ",
    "for (;;) {}",
    "async ",
    "await ",
    "new Proxy({}, {})",
    "`${",
    "=> ",
    "}",
    ")",
];

/// Longer texts only take longer.
const LONGEST: usize = 4096;
/// Wants that one iteration may have.
const WANTS_MAX: usize = 50;

#[derive(Default)]
struct Quiet {
    lines: RefCell<Vec<String>>,
}

impl Host for Quiet {
    fn now(&self) -> Nanos {
        Nanos::ZERO
    }
    fn unix_ms(&self) -> i64 {
        0
    }
    fn sample(&self, _metric: MetricId, _value: f64, _tags: TagSetId) {}
    fn http(&self, _sample: &HttpSample<'_>) {}
    fn check_failed(&self, _: Option<u64>) {}
    fn console(&self, line: &ConsoleLine<'_>) {
        if line.source == Some("console") {
            self.lines.borrow_mut().push(line.message.to_owned());
        }
    }
    fn mark_failed(&self, _message: &str) {}
    fn instance(&self) -> Instance {
        Instance::default()
    }
    fn scenario_progress(&self, _scenario: &str) -> f64 {
        0.0
    }
}

fn settings() -> Settings {
    Settings {
        limits: Limits {
            memory_bytes: 8 << 20,
            ticks: 200,
        },
        ..Settings::default()
    }
}

pub(super) fn run(data: &[u8]) -> Outcome {
    let text = String::from_utf8_lossy(data.get(..LONGEST.min(data.len())).unwrap_or_default());
    let (shared, said) = play(&text, true);
    let (own, said_there) = play(&text, false);
    if let (Ok(End::Ok { .. }), Ok(End::Ok { .. })) = (&shared, &own) {
        assert_eq!(said, said_there, "a shared context says something else");
    }
    match (shared, own) {
        (Ok(end), Ok(_)) => variant(&end),
        (Err(refused), Err(_)) => refused,
        (one, other) => panic!("shared {one:?}, own {other:?}"),
    }
}

/// How one iteration ends, or the kind of the refusal; and what was logged in it.
fn play(text: &str, shares_context: bool) -> (Result<End, Outcome>, Vec<String>) {
    let host = Rc::new(Quiet::default());
    let stop = Arc::new(AtomicBool::new(false));
    let program = Program::load(Load {
        surroundings: Vec::new(),
        sources: Rc::new(Memory::default().with("/t/main.js", text)),
        entry: PathBuf::from("/t/main.js"),
        env: Vec::new(),
        host: Rc::<Quiet>::clone(&host),
        settings: settings(),
        shares_context,
        stop: Arc::clone(&stop),
    });
    let program = match program {
        Ok(program) => Arc::new(program),
        Err(error) => return (Err(variant(&error)), Vec::new()),
    };
    if program.require_function("default").is_err() {
        return (Err("no default function".to_owned()), Vec::new());
    }
    let runtime = Runtime::new(&program, settings(), Rc::<Quiet>::clone(&host), stop);
    let vu = runtime.and_then(|runtime| Ok((runtime.vu(1)?, runtime)));
    let end = match vu {
        Ok((mut vu, _runtime)) => {
            host.lines.borrow_mut().clear();
            Ok(one_iteration(&mut vu))
        }
        Err(error) => Err(variant(&error)),
    };
    (end, host.lines.take())
}

fn one_iteration(vu: &mut plimsoll_script::Vu) -> End {
    let mut resumption = Resumption::Start(Iteration {
        function: "default".into(),
        vu_in_test: 1,
        ..Iteration::default()
    });
    for _ in 0..WANTS_MAX {
        resumption = match vu.resume(resumption) {
            Suspension::Done(end) => return end,
            Suspension::Sleep(_) => Resumption::Slept,
            Suspension::Http(calls) => Resumption::Http(calls.iter().map(|_| answer()).collect()),
        };
    }
    match vu.resume(Resumption::Stop) {
        Suspension::Done(end) => end,
        _ => End::Interrupted,
    }
}

fn answer() -> HttpResult {
    HttpResult {
        status: 200,
        body: b"{\"a\":[1,2]}".to_vec(),
        ..HttpResult::default()
    }
}
