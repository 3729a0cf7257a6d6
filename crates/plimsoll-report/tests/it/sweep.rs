//! A sweep in every rendering: a known queue, a matrix, and names that are hostile.

use plimsoll_analysis::advice::Declared;
use plimsoll_analysis::models::Repairman;
use plimsoll_analysis::sweep::{Asked, judged};
use plimsoll_core::Nanos;
use plimsoll_core::sweep::{Dimension, Figures, Run, Stopped, Sweep};
use plimsoll_core::tally::Quantile;
use plimsoll_report::terminal::{self, Style};
use plimsoll_report::view::sweep as words;
use plimsoll_report::{html, json, markdown};

use crate::sample;

fn run(per_s: f64, concurrency: f64) -> Run {
    let seconds = concurrency / per_s;
    let time = |factor: f64| Some(Quantile::At(Nanos::from_secs_f64(factor * seconds)));
    Run {
        record: "plimsoll-sweep-1012/001-connections-1.plimsoll.jsonl".to_owned(),
        excluded: None,
        figures: Some(Figures {
            carried_per_s: per_s,
            carried_interval: None,
            done_per_s: per_s,
            done_interval: None,
            throughput_per_s: per_s,
            failed_ratio: 0.0,
            in_flight: concurrency,
            concurrency: Some(concurrency),
            little: Some(1.0004),
            mean_seconds: Some(seconds),
            p50: time(0.9),
            p99: time(1.8),
            p99_9: time(2.5),
        }),
    }
}

fn dimension(name: &str, values: &[&str]) -> Dimension {
    Dimension {
        name: name.to_owned(),
        values: values.iter().map(|value| (*value).to_owned()).collect(),
    }
}

fn asked(test: &str, dimensions: Vec<Dimension>) -> Asked {
    Asked {
        test: test.to_owned(),
        is_search: false,
        dimensions,
        remarks: Vec::new(),
        stopped: None,
        declared: Declared {
            bound: Some(Nanos::from_millis(250)),
            ..Declared::default()
        },
    }
}

const SEVEN: [&str; 7] = ["1", "2", "4", "8", "16", "32", "64"];

fn points(demand: f64, line: Option<usize>) -> Vec<(Vec<usize>, Vec<Run>)> {
    let mva = Repairman {
        demand,
        base_seconds: 0.02,
    };
    let point = |(place, value): (usize, &&str)| {
        let n: f64 = value.parse().expect("a number");
        let runs = [0.985, 1.0, 1.01].map(|off| run(off * mva.throughput(n), n));
        (line.into_iter().chain([place]).collect(), runs.to_vec())
    };
    SEVEN.iter().enumerate().map(point).collect()
}

fn known() -> Sweep {
    let dimensions = vec![dimension("connections", &SEVEN)];
    let (first, last) = (run(49.8, 1.0), run(50.2, 1.0));
    let asked = asked("GET http://127.0.0.1:3000/", dimensions);
    judged(asked, points(0.005, None), Some([&first, &last]))
}

/// Two lines, one point without a valid run, ended early; every text is this one.
fn matrix(text: &str) -> Sweep {
    let dimensions = vec![
        dimension(text, &["1", text]),
        dimension("connections", &SEVEN),
    ];
    let mut points = [points(0.005, Some(0)), points(0.002, Some(1))].concat();
    for run in &mut points[9].1 {
        run.excluded = Some(text.to_owned());
        text.clone_into(&mut run.record);
    }
    let mut asked = asked(text, dimensions);
    asked.remarks.push(text.to_owned());
    asked.stopped = Some(Stopped {
        played_count: 40,
        planned_count: 43,
        why: text.to_owned(),
    });
    judged(asked, points, None)
}

pub(crate) fn pages() -> Vec<(&'static str, String)> {
    vec![
        ("sweep", html::sweep(&known(), "0.1.0")),
        ("hostile sweep", html::sweep(&matrix(sample::EVIL), "0.1.0")),
    ]
}

fn plain(sweep: &Sweep, width: usize) -> String {
    let style = Style {
        width,
        record: Some("plimsoll-sweep-1012/".to_owned()),
        report: Some("plimsoll-sweep-1012/report.html".to_owned()),
        ..Style::default()
    };
    terminal::sweep(sweep, &style)
}

#[test]
fn a_known_queue_with_its_knee_models_and_advice() {
    insta::assert_snapshot!(plain(&known(), 80));
}

#[test]
fn a_matrix_has_a_heat_map() {
    insta::assert_snapshot!(plain(&matrix("workers"), 80));
}

#[test]
fn nothing_is_wider_than_the_terminal_and_no_control_character_gets_through() {
    for width in [40, 80, 120] {
        for sweep in [known(), matrix(sample::EVIL)] {
            let text = plain(&sweep, width);
            assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}'));
            if sweep.test == sample::EVIL {
                continue;
            }
            // A path is one word.
            for line in text.lines().filter(|line| !line.contains("plimsoll-sweep")) {
                assert!(line.chars().count() <= width, "{width}: {line}");
            }
        }
    }
}

#[test]
fn every_rendering_says_the_same() {
    let sweep = known();
    let headline = words::headline(&sweep).replace('\u{a0}', " ");
    assert!(
        headline.starts_with("At most 19") || headline.starts_with("At most 20"),
        "{headline}"
    );
    let document: serde_json::Value = serde_json::from_str(&json::sweep(&sweep)).expect("JSON");
    assert_eq!(document["schema"], "plimsoll.sweep/1");
    assert_eq!(document["headline"], headline);
    for text in [plain(&sweep, 120), markdown::sweep(&sweep)] {
        let text = text.replace('\u{a0}', " ");
        assert!(text.contains(&headline), "{headline} {text}");
    }
}
