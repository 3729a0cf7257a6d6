//! A simulated search from its windows to the pages that people read: one record, one set of numbers.

use std::num::NonZeroU32;

use plimsoll_analysis::summary;
use plimsoll_control::search::{Config, Observer, Search, client_timeout, drive};
use plimsoll_core::record::{Header, LevelStart, Line, Machine, Record, SCHEMA};
use plimsoll_core::step::{Go, Phase, Step, StepError, StepLoad, StepRunner};
use plimsoll_core::test::{Generator, How, Request, Script, Test, What};
use plimsoll_core::verdict::{GateId, LevelResult, SearchRemark};
use plimsoll_core::{Nanos, Objectives, Window};
use plimsoll_report::view::View;
use plimsoll_report::{format, html, markdown, terminal};
use plimsoll_sim::Simulator;
use plimsoll_sim::model::{Condition, Model};

use crate::{families, played, virtual_users, worlds};

struct Recorder<'a> {
    record: &'a mut Record,
    now: Nanos,
}

impl Observer for Recorder<'_> {
    fn level_start(&mut self, step: &Step, _left: Nanos) -> Result<(), StepError> {
        let start = LevelStart {
            start_ns: self.now,
            step: step.clone(),
        };
        self.record.push(Line::Level(start));
        Ok(())
    }

    fn window(&mut self, window: &Window) -> Result<(), StepError> {
        self.now = window.end_ns();
        self.record.push(Line::Window(window.clone()));
        Ok(())
    }

    fn level_end(&mut self, result: &LevelResult) -> Result<(), StepError> {
        self.record.push(Line::LevelEnd(result.clone()));
        Ok(())
    }
}

pub(crate) fn header(what: What, objectives: Objectives) -> Header {
    Header {
        schema: SCHEMA.to_owned(),
        test: Test {
            what,
            generator: Generator {
                connections_max: NonZeroU32::new(4096).unwrap(),
                timeout: client_timeout(&objectives),
                ..Generator::default()
            },
            how: How::search(objectives),
        },
        started_at: "2026-03-12T10:12:09Z".to_owned(),
        machine: Machine::default(),
        plimsoll_version: "0.1.0".to_owned(),
        title: "simulated".to_owned(),
        note: String::new(),
        lab: None,
    }
}

/// A whole search of the plain family.
fn searched() -> Record {
    let [plain, ..] = families::four();
    let what = Request::get("http://simulated/").into();
    record_of(&plain.model, played::config(plain.slo), what)
}

/// A whole search, drained at the end as a real one is.
pub(crate) fn record_of(model: &Model, config: Config, what: What) -> Record {
    seeded(model, config, what, 3)
}

fn seeded(model: &Model, config: Config, what: What, seed: u64) -> Record {
    let mut record = Record::new(header(what, config.objectives.clone()));
    let model = Model {
        client_timeout: Some(client_timeout(&config.objectives)),
        ..model.clone()
    };
    let mut simulator = Simulator::new(model, config.objectives.bounds(), seed).unwrap();
    let mut search = Search::new(config).unwrap();
    let mut recorder = Recorder {
        record: &mut record,
        now: Nanos::ZERO,
    };
    drive(&mut search, &mut simulator, &mut recorder).unwrap();
    let drain = Step {
        level: 1_000,
        phase: Phase::Drain,
        load: StepLoad::Closed { in_flight: 0 },
        windows_max: 3,
    };
    recorder.level_start(&drain, Nanos::ZERO).unwrap();
    simulator
        .play(&drain, &mut |window| {
            recorder.window(window).unwrap();
            Go::On
        })
        .unwrap();
    record.verdict = Some(summary::of_search(&record, search.found()));
    record
}

#[test]
fn a_simulated_search_reads_the_same_in_every_rendering() {
    let record = searched();
    let verdict = record.verdict.as_ref().unwrap();
    let accounting = verdict
        .gates
        .iter()
        .find(|gate| gate.id == GateId::Accounting)
        .unwrap();
    assert_eq!(
        accounting.left, accounting.right,
        "every attempt due has an outcome"
    );
    assert_eq!(accounting.note, "");
    let capacity = verdict.found.capacity_per_s.expect("a capacity");
    let view = View::new(&record);
    let page = html::render(std::slice::from_ref(&record));
    let text = terminal::summary(&record, &terminal::Style::default());
    let short = markdown::summary(std::slice::from_ref(&record));
    assert!(page.len() < 150_000, "{} bytes", page.len());
    let carried = format::number(capacity.estimate);
    for (name, rendering) in [("html", &page), ("terminal", &text), ("markdown", &short)] {
        assert_eq!(
            verdict.valid,
            rendering.contains(&carried),
            "{name} on {carried}"
        );
        assert_eq!(verdict.valid, !rendering.contains("No verdict"), "{name}");
    }
    let points = view.load_line();
    assert!(points.len() >= 6, "{}", points.len());
    for level in points {
        let goodput = format::number(level.goodput_per_s);
        assert!(
            page.contains(&format!("<td>{goodput}</td>")),
            "{goodput} in the page"
        );
        assert!(
            text.contains(&format!("{goodput}/s")),
            "{goodput} in the terminal"
        );
    }
    // The figures of the deciding level are those of the verdict.
    let deciding = view.deciding_level().unwrap();
    let alike = |a: f64, b: f64| (a / b - 1.0).abs() < 0.01;
    assert!(
        alike(deciding.goodput_per_s, verdict.goodput_per_s),
        "{deciding:?}"
    );
    assert!(
        alike(deciding.throughput_per_s, verdict.throughput_per_s),
        "{deciding:?}"
    );
    assert_eq!(deciding.tally.attempts(), verdict.attempts_count);
    assert_eq!(
        deciding.tally.response_quantile(0.99),
        verdict.response_time_ns.p99
    );
}

/// A speed that differs a little is a condition of what is held; one that gets less forbids a claim. Both are in the headline.
#[test]
fn the_headline_says_what_a_rate_depends_on() {
    let uneven = Condition::Wander {
        sd: 0.03,
        correlation: 0.0,
        step: Nanos::from_secs(15),
    };
    let leak = Condition::Leak {
        per_hour: 2.0,
        per_million: 0.0,
    };
    let mut conditions = 0;
    let mut refusals = 0;
    for (condition, seed) in [uneven, leak]
        .iter()
        .flat_map(|it| (0..5).map(move |seed| (it, seed)))
    {
        let model = worlds::under(*condition);
        let what = Request::get("http://simulated/").into();
        let record = seeded(&model, played::config(worlds::P99), what, seed);
        let found = &record.verdict.as_ref().unwrap().found;
        let says = |is: fn(&SearchRemark) -> bool| found.remarks.iter().any(is);
        let headline = View::new(&record).headline;
        let is_put_lower = says(|remark| {
            matches!(
                remark,
                SearchRemark::PaceVaries {
                    lower_ratio: Some(_),
                    ..
                }
            )
        });
        assert_eq!(
            is_put_lower,
            headline.contains("as long as it gets no slower than in the"),
            "{headline}"
        );
        let slows = says(|remark| matches!(remark, SearchRemark::SlowsDown { .. }));
        let is_refused = headline.contains("it got slower meanwhile: no rate is held");
        assert!(!(slows && found.converged), "{headline}");
        assert!(slows || !is_refused, "{headline}");
        conditions += u32::from(is_put_lower);
        refusals += u32::from(is_refused);
    }
    assert!(conditions > 0 && refusals > 0, "{conditions}, {refusals}");
}

#[test]
fn a_search_over_virtual_users_says_so_in_every_rendering() {
    let script = Script {
        name: "shop.js".to_owned(),
        setup: None,
    };
    let record = record_of(
        &virtual_users::shop(),
        virtual_users::over_vus(),
        What::Script(script),
    );
    let verdict = record.verdict.as_ref().unwrap();
    let capacity = verdict.found.capacity_vus.unwrap();
    let carried = format!("{} virtual users", format::number(capacity.estimate));
    let page = html::render(std::slice::from_ref(&record));
    let text = terminal::summary(&record, &terminal::Style::default());
    let short = markdown::summary(std::slice::from_ref(&record));
    for (name, rendering) in [("html", &page), ("terminal", &text), ("markdown", &short)] {
        let rendering = rendering.replace(format::NBSP, " ");
        for part in [&carried, "VUs", "/s reached"] {
            assert!(rendering.contains(part), "{name}: {part} in {text}");
        }
        assert!(!rendering.contains("requests offered"), "{name}");
    }
    assert!(page.contains("Each point is one number of virtual users"));
    // The bound is missed beyond the load line: that is a limit, if not one that a tier explains here.
    assert!(!text.contains("the limit was not reached"), "{text}");
}
