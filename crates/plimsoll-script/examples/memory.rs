//! Bytes per idle virtual user with two local helper libraries of 20 KB imported, and time per request of the
//! script side alone: `cargo run --release -p plimsoll-script --example memory 1000`; with `own` as the second
//! argument every virtual user gets a context of its own.

use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use plimsoll_script::host::Deaf;
use plimsoll_script::http::HttpResult;
use plimsoll_script::{
    Host, Iteration, Load, Memory, Program, Resumption, Runtime, Settings, Suspension, Vu,
};

const SCRIPT: &str = "
import http from 'k6/http';
import { check, sleep } from 'k6';
import { randomIntBetween } from 'https://jslib.k6.io/k6-utils/1.4.0/index.js';
import { helper1 } from './first.js';
import { helper2 } from './second.js';
export default function () {
  const res = http.get('http://service.test/item');
  check(res, { 'is 200': (r) => r.status === 200 });
  sleep(randomIntBetween(1, helper1('a-b') + helper2('c-d') + 5));
}
export function quick() {
  check(http.get('http://service.test/item'), { 'is 200': (r) => r.status === 200 });
  sleep(1);
}
";

/// A library of 98 functions, 20 KB.
fn library(name: &str) -> String {
    let function = |index: usize| {
        format!(
            "export function helper{index}(value) {{\n  const text = `${{value}}-{name}-{index}`;\n  \
             const parts = text.split('-').map((part) => part.trim().toUpperCase());\n  \
             return parts.filter((part) => part.length > {}).length;\n}}\n",
            index % 5
        )
    };
    (0..98).map(function).collect()
}

/// Nanoseconds per iteration of one request and one check, answered at once.
fn iteration_ns(vu: &mut Vu, count: u64) -> u64 {
    #[expect(clippy::disallowed_methods, reason = "an example measures for itself")]
    let begun = std::time::Instant::now();
    for _ in 0..count {
        idle(vu, "quick");
        assert!(
            matches!(vu.resume(Resumption::Slept), Suspension::Done(_)),
            "it ends"
        );
    }
    (begun.elapsed().as_nanos() / u128::from(count)) as u64
}

/// Private pages of this process.
fn private_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/self/smaps_rollup").unwrap_or_default();
    let lines = text.lines().filter(|line| line.starts_with("Private_"));
    let kib = |line: &str| line.split_whitespace().nth(1)?.parse::<u64>().ok();
    lines.filter_map(kib).sum::<u64>() * 1024
}

/// Runs one iteration up to its sleep, where it stays.
fn idle(vu: &mut Vu, function: &str) {
    let start = Iteration {
        function: function.into(),
        vu_in_test: 1,
        ..Iteration::default()
    };
    let mut suspension = vu.resume(Resumption::Start(start));
    while let Suspension::Http(calls) = suspension {
        let answer = || HttpResult {
            status: 200,
            body: b"ok".to_vec(),
            ..HttpResult::default()
        };
        suspension = vu.resume(Resumption::Http(calls.iter().map(|_| answer()).collect()));
    }
    assert!(
        matches!(suspension, Suspension::Sleep(_)),
        "it waits in sleep"
    );
}

#[expect(clippy::print_stdout, reason = "this is what it is for")]
fn main() {
    let count = std::env::args()
        .nth(1)
        .and_then(|count| count.parse().ok())
        .unwrap_or(1_000);
    let shares_context = std::env::args().nth(2).as_deref() != Some("own");
    let sources = Memory::default()
        .with("/script.js", SCRIPT)
        .with("/first.js", library("first"))
        .with("/second.js", library("second"));
    let host: Rc<dyn Host> = Rc::new(Deaf);
    let stop = Arc::new(AtomicBool::new(false));
    let loaded = Program::load(Load {
        surroundings: Vec::new(),
        sources: Rc::new(sources),
        entry: PathBuf::from("/script.js"),
        env: Vec::new(),
        host: Rc::clone(&host),
        settings: Settings::default(),
        shares_context,
        stop: Arc::clone(&stop),
    });
    let program = Arc::new(loaded.expect("the script loads"));
    let runtime = Runtime::new(&program, Settings::default(), host, stop).expect("an engine");
    let mut vus = vec![runtime.vu(1).expect("a virtual user")];
    for vu in &mut vus {
        idle(vu, "default");
    }
    let (pages, engine) = (private_bytes(), runtime.memory_bytes());
    #[expect(clippy::disallowed_methods, reason = "an example measures for itself")]
    let begun = std::time::Instant::now();
    for id in 0..count {
        vus.push(runtime.vu(id + 2).expect("a virtual user"));
    }
    let made = begun.elapsed();
    for vu in vus.iter_mut().skip(1) {
        idle(vu, "default");
    }
    let pages = (private_bytes() - pages) / count;
    let engine = (runtime.memory_bytes() - engine) as u64 / count;
    let start_us = made.as_micros() as u64 / count;
    let ns = iteration_ns(&mut runtime.vu(1).expect("a virtual user"), 100_000);
    println!("get + check + sleep: {ns} ns");
    println!(
        "{count} VUs: {pages} bytes each in private pages, {engine} of them in the engine, {start_us} us to make"
    );
}
