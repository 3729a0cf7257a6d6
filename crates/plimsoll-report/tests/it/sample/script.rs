//! A run of a script that says much: more names and checks than there is room for, thresholds kept and crossed.

use plimsoll_core::metrics::{BuiltIn, Contains, Kind, Names, Store};
use plimsoll_core::record::{Line, Record, Scope, ScriptCounts};
use plimsoll_core::threshold::{Phase, Thresholds};
use plimsoll_core::verdict::{Judgement, LoadSize, ScriptFault};
use plimsoll_core::{Nanos, Outcome, Tally};
use serde_json::json;

/// As somebody writes it who wants to be markup.
pub(crate) const HOSTILE: &str = "<script src=http://evil.example/x.js>\u{1b}[31m | `x`";

pub(crate) fn scripted() -> Record {
    let mut record = super::run(400.0, 20);
    for (window, vus) in record.windows.iter_mut().zip(1..) {
        window.vus = Some(vus);
    }
    let (store, judged) = counted();
    let scope = Scope {
        level: record.levels[0].step.level,
        elapsed_ns: Nanos::from_secs(20),
        is_final: true,
        interrupted_count: 3,
        ..Scope::default()
    };
    let counts = ScriptCounts::new(scope, &store, &names(), &judged);
    record.push(Line::Script(counts));
    let verdict = super::verdict_mut(&mut record);
    verdict.verdict = Judgement::Fail;
    verdict.script_faults = vec![ScriptFault::Check {
        group: format!("::{HOSTILE}"),
        check: HOSTILE.to_owned(),
        failed_count: 5,
        evaluated_count: 40,
        load: LoadSize::PerS(400.0),
        held_at: None,
    }];
    record
}

fn counted() -> (Store, Vec<plimsoll_core::threshold::Judgement>) {
    let mut store = Store::default();
    let price = store
        .register("price", Kind::Trend, Contains::Default)
        .unwrap();
    let asked = json!({
        "http_req_duration": ["p(95)<100", "avg<1"],
        "http_req_failed": ["rate<0.01"],
    });
    let thresholds = Thresholds::from_json("thresholds", &asked).unwrap();
    thresholds.bind(&mut store).unwrap();
    let group = format!("::{HOSTILE}");
    for n in 0..260 {
        let check = format!("{HOSTILE} {n}");
        let tags = store.tag_set(&[("group", &group), ("check", &check)]);
        let held = f64::from(u8::from(n % 50 != 0));
        store.record(BuiltIn::Checks.into(), tags, Nanos(1), held);
        store.record(
            BuiltIn::HttpReqDuration.into(),
            tags,
            Nanos(1),
            f64::from(n),
        );
        store.record(BuiltIn::Iterations.into(), tags, Nanos(1), 1.0);
        store.record(BuiltIn::Vus.into(), tags, Nanos(1), f64::from(n % 20));
        store.record(price, tags, Nanos(1), f64::from(n) - 9.5);
    }
    let judged = thresholds.evaluate(&store, Nanos::from_secs(20), Phase::Final);
    (store, judged.results)
}

fn names() -> Names {
    let mut names = Names::default();
    for n in 0..150_u64 {
        let mut tally = Tally::default();
        let time = Nanos::from_millis(n + 1);
        tally.record(Outcome::Ok, time, Some(time), 100, &[]);
        if n == 7 {
            tally.record(Outcome::Http5xx, time, Some(time), 100, &[]);
        }
        names.add(&format!("{HOSTILE} {n}"), &tally);
    }
    names
}
