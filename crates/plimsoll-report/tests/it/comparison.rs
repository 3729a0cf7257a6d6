//! A comparison in every rendering: what differs first, one answer, no markup of a name obeyed.

use std::collections::BTreeMap;

use plimsoll_core::comparison::{
    Change, Comparison, Contrast, Design, Effect, Figure, HISTORY_SCHEMA, History, Interval,
    Method, Mismatch, Moment, Run, SCHEMA, Scale, Standing, Stopped, Variant,
};
use plimsoll_report::terminal::Style;
use plimsoll_report::{html, json, markdown, terminal};

fn variant(name: &str, values: [f64; 2]) -> Variant {
    let run = |(index, value): (usize, f64)| Run {
        name: format!("kept/{name}{index}.jsonl"),
        started_at: "2026-03-12T10:00:00Z".to_owned(),
        excluded: (index == 1).then(|| "not valid: gate 6 (generator) failed".to_owned()),
        figures: BTreeMap::from([(Figure::Goodput, value), (Figure::P99, f64::INFINITY)]),
        ..Run::default()
    };
    Variant {
        name: name.to_owned(),
        runs: values.into_iter().enumerate().map(run).collect(),
    }
}

pub(crate) fn contrast(figure: Figure, (a, b): (f64, f64), standing: Standing) -> Contrast {
    let estimate = match figure.scale() {
        Scale::Ratio => b / a,
        Scale::Difference => b - a,
    };
    let interval = Interval {
        lower: estimate * 0.95,
        upper: estimate * 1.05,
        coverage_ratio: 0.969,
    };
    Contrast {
        figure,
        variant: "B".to_owned(),
        baseline: "A".to_owned(),
        scale: figure.scale(),
        baseline_median: a,
        variant_median: b,
        baseline_count: 6,
        variant_count: 6,
        counts: None,
        estimate,
        interval: Some(interval),
        interval_90: Some(interval),
        rhythm_runs: None,
        pairs: vec![estimate * 0.97, estimate, estimate * 1.04],
        p: 0.031_25,
        p_adjusted: 0.031_25,
        method: Method::Exact,
        family_count: 1,
        margin: 0.05,
        detectable: Some(0.04),
        runs_for_margin: None,
        runs_needed: None,
        standing,
        because: "p = 0.0313".to_owned(),
    }
}

pub(crate) fn sample() -> Comparison {
    let never = Contrast {
        estimate: f64::INFINITY,
        interval: None,
        ..contrast(Figure::P99, (0.1, f64::INFINITY), Standing::Worse)
    };
    Comparison {
        schema: SCHEMA,
        design: Design::Paired,
        is_calibration: false,
        objective: Some("p99 < 250 ms".to_owned()),
        load: "closed loop, 16 in flight".to_owned(),
        primary: Some(Figure::Goodput),
        guarded: vec![Figure::Failures, Figure::P50, Figure::P99],
        standing: Standing::Worse,
        mismatches: vec![Mismatch {
            fact: "kernel".to_owned(),
            effect: Effect::Confounds,
            values: vec![
                ("A".to_owned(), vec!["6.1".to_owned()]),
                ("B".to_owned(), vec!["6.12".to_owned()]),
            ],
            says: "a difference found may come from this instead".to_owned(),
        }],
        variants: vec![
            variant("A", [1000.0, 990.0]),
            variant("B", [1200.0, 1190.0]),
        ],
        contrasts: vec![
            contrast(Figure::Goodput, (1000.0, 1200.0), Standing::Better),
            contrast(Figure::Failures, (0.0, 0.266), Standing::Worse),
            contrast(Figure::P50, (0.020, 0.0201), Standing::Equivalent),
            never,
        ],
        named: Vec::new(),
        metrics: Vec::new(),
        remarks: Vec::new(),
        is_withheld: false,
        stopped: None,
    }
}

fn renderings(comparison: &Comparison) -> [(&'static str, String); 3] {
    [
        ("text", terminal::comparison(comparison, &Style::default())),
        ("markdown", markdown::comparison(comparison)),
        ("html", html::comparison(comparison, None, "0.0.0")),
    ]
}

#[test]
fn what_differs_comes_before_the_answer_in_every_rendering() {
    for (name, text) in renderings(&sample()) {
        let body = text
            .split_once("<main>")
            .map_or(text.as_str(), |(_, body)| body);
        let (kernel, answer) = (body.find("kernel"), body.find("‘B’ is better than ‘A’"));
        assert!(kernel.is_some() && kernel < answer, "{name}: {body}");
        assert!(body.contains("never"), "{name}");
        assert!(body.contains("gate 6"), "{name}: the run that was not used");
    }
}

/// B failed too often to have a p99 of answers: it is worse by that, and the headline says so as the exit code does.
#[test]
fn a_variant_without_the_primary_figure_is_worse_by_its_guards() {
    let mut comparison = sample();
    comparison.primary = Some(Figure::P95);
    comparison
        .contrasts
        .retain(|contrast| contrast.figure == Figure::Failures);
    for (name, text) in renderings(&comparison) {
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("‘B’ is worse than ‘A’"), "{name}: {words}");
        assert!(!words.contains("No verdict"), "{name}: {words}");
    }
}

/// What is equivalent in goodput and was not compared in p99 says that.
#[test]
fn a_guarded_figure_that_was_not_compared_is_named() {
    let mut comparison = sample();
    comparison.standing = Standing::Inconclusive;
    comparison.contrasts = vec![contrast(
        Figure::Goodput,
        (1000.0, 1001.0),
        Standing::Equivalent,
    )];
    for (name, text) in renderings(&comparison) {
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let said = format!("{} (not compared)", Figure::P99);
        assert!(words.contains("Not clear is"), "{name}: {words}");
        assert!(words.contains(&said), "{name}: {words}");
    }
}

#[test]
fn the_terminal_fits_in_a_hundred_columns() {
    let text = terminal::comparison(&sample(), &Style::default());
    for line in text.lines() {
        assert!(line.chars().count() <= 100, "{line}");
    }
    insta::assert_snapshot!(text);
}

/// On the usual terminal every column that decides is there, with its numbers whole.
#[test]
fn the_terminal_fits_in_eighty_columns() {
    let style = Style {
        width: 80,
        ..Style::default()
    };
    let text = terminal::comparison(&sample(), &style);
    for line in text.lines() {
        assert!(line.chars().count() <= 80 && !line.ends_with('…'), "{line}");
    }
    for part in ["+14 to +26 %", "1,200/s", "95 % interval", "better"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn a_comparison_that_was_stopped_has_no_verdict() {
    let stopped = sample().stopped(Stopped {
        begun_count: 3,
        planned_count: 12,
    });
    for (name, text) in renderings(&stopped) {
        let text = text.replace('\u{a0}', " ");
        assert!(
            text.contains("No verdict: interrupted in run 3 of 12"),
            "{name}: {text}"
        );
        assert!(!text.contains("is better than"), "{name}: {text}");
    }
}

#[test]
fn figures_are_the_same_text_everywhere() {
    for (name, text) in renderings(&sample()) {
        let text = text.replace('\u{a0}', " ");
        for figure in ["+20 %", "+14 to +26 %", "1,200/s", "+26.6 points"] {
            assert!(text.contains(figure), "{name}: {figure} in {text}");
        }
    }
    let document: serde_json::Value = serde_json::from_str(&json::comparison(&sample())).unwrap();
    assert_eq!(document["contrasts"][3]["estimate"], "never");
    assert_eq!(document["primary"], "goodput_per_s");
    let headline = document["headline"].as_str().unwrap();
    assert!(
        headline.starts_with("‘B’ is worse than ‘A’ in failed attempts +26.6")
            && headline.contains("‘B’ is better than ‘A’: goodput +20 %"),
        "{headline}"
    );
}

#[test]
fn a_hostile_name_stays_text() {
    let mut comparison = sample();
    let evil = "<script>alert(1)</script>|\u{1b}[31m";
    comparison.variants[1].name = evil.to_owned();
    comparison.variants[1].runs[0].name = evil.to_owned();
    comparison.mismatches[0].values[1].1 = vec![evil.to_owned()];
    for contrast in &mut comparison.contrasts {
        contrast.variant = evil.to_owned();
        contrast.because = evil.to_owned();
    }
    for (name, text) in renderings(&comparison) {
        assert!(!text.contains('\u{1b}'), "{name}: {text}");
        assert!(
            name == "text" || !text.contains("<script>alert"),
            "{name}: {text}"
        );
    }
}

#[test]
fn the_page_draws_every_finite_ratio_twice() {
    let page = html::comparison(&sample(), None, "0.0.0");
    assert_eq!(page.matches("<svg").count(), 3, "patterns, wide and narrow");
    for attribute in ["src=", "href=", "NaN", "inf\""] {
        assert!(!page.contains(attribute), "{attribute}");
    }
    assert_eq!(page.matches("<script>").count(), 1);
}

#[test]
fn a_history_marks_where_it_changed() {
    let moment = |index: u32| Moment {
        name: format!("r{index}.jsonl"),
        started_at: format!("2026-03-0{}T10:00:00Z", index + 1),
        value: if index < 3 { 1000.0 } else { 880.0 },
    };
    let history = History {
        schema: HISTORY_SCHEMA,
        figure: Figure::Goodput,
        mismatches: Vec::new(),
        moments: (0..6).map(moment).collect(),
        changes: vec![Change {
            first_index: 3,
            earliest_index: 2,
            latest_index: 3,
            before: "r2.jsonl".to_owned(),
            after: "r3.jsonl".to_owned(),
            scale: Scale::Ratio,
            estimate: 0.88,
            p: 0.001,
            standing: Standing::Worse,
        }],
        detectable: Some(0.05),
        remarks: Vec::new(),
    };
    let text = terminal::history(&history, &Style::default());
    insta::assert_snapshot!(text);
    let calm = |detectable| {
        let calm = History {
            changes: Vec::new(),
            detectable,
            ..history.clone()
        };
        terminal::history(&calm, &Style::default())
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert!(
        calm(Some(0.05)).contains("No change in goodput over 6 runs; one of ±5 % in the middle"),
        "{}",
        calm(Some(0.05))
    );
    assert!(
        calm(None).contains("Not decided: 6 runs show no change in goodput, however large"),
        "{}",
        calm(None)
    );
    let page = markdown::history(&history).replace('\u{a0}', " ");
    assert!(page.contains("1 change in goodput over 6 runs"), "{page}");
    assert!(json::history(&history).contains("\"schema\": \"plimsoll.history/1\""));
}
