//! Variants side by side: what the table says of runs whose figures are known.

use plimsoll_core::record::After;
use plimsoll_report::variants::{self, Experiment, Run, Variant};

use crate::sample;

fn text_of(
    runs: &[(&str, Vec<plimsoll_core::record::Record>)],
    changes: &[String],
) -> (String, String, serde_json::Value) {
    let variants = runs
        .iter()
        .enumerate()
        .map(|(index, (name, records))| Variant {
            name,
            about: "",
            base: (index > 0).then_some("A"),
            changes: if index > 0 { changes } else { &[] },
            runs: records
                .iter()
                .map(|record| Run {
                    path: "r".to_owned(),
                    record,
                })
                .collect(),
            limit: None,
            predicted: None,
        });
    let experiment = Experiment {
        title: "two | servers",
        variants: variants.collect(),
        warnings: Vec::new(),
        folder: "out".to_owned(),
    };
    (
        variants::text(&experiment, 100),
        variants::markdown(&experiment),
        variants::document(&experiment),
    )
}

#[test]
fn one_run_has_no_interval_and_several_have_a_range() {
    let changes = ["tiers.app.instances: 1 → 2".to_owned()];
    let one = [
        ("A", vec![sample::run(100.0, 20)]),
        ("2A", vec![sample::run(200.0, 20)]),
    ];
    let (text, markdown, document) = text_of(&one, &changes);
    assert!(text.contains("single run, no interval"), "{text}");
    let goodput = text
        .lines()
        .find(|line| line.trim_start().starts_with("goodput"))
        .unwrap();
    assert!(!goodput.contains('('), "{goodput}");
    assert!(
        text.contains("differs in") && text.contains("tiers.app.instances: 1 → 2"),
        "{text}"
    );
    assert!(markdown.contains("### two \\| servers"), "{markdown}");
    assert_eq!(document["variants"][1]["base"], "A");
    assert_eq!(
        document["warnings"].as_array().unwrap().len(),
        0,
        "{document}"
    );

    let three = [100.0, 120.0, 140.0]
        .map(|rate| sample::run(rate, 20))
        .to_vec();
    let (text, _, document) = text_of(&[("A", three)], &[]);
    assert!(text.contains("median of 3\u{a0}runs"), "{text}");
    let goodput = &document["variants"][0]["goodput_per_s"];
    let at = |key: &str| goodput[key].as_f64().unwrap();
    assert!(
        at("lowest") < at("median") && at("median") < at("highest"),
        "{goodput}"
    );
    let spread = format!("–{})", plimsoll_report::format::rate(at("highest")));
    assert!(text.contains(&spread), "{text}");
}

#[test]
fn two_changes_and_invalid_runs_are_said() {
    let changes = [
        "tiers.app.instances: 1 → 2".to_owned(),
        "tiers.proxy: added".to_owned(),
    ];
    let mut broken = sample::run(200.0, 20);
    broken.verdict.as_mut().unwrap().valid = false;
    let (text, markdown, _) = text_of(
        &[("A", vec![sample::run(100.0, 20)]), ("2A", vec![broken])],
        &changes,
    );
    for said in ["! 2A differs from A in 2 things", "! 2A: 1 of 1"] {
        assert!(text.contains(said), "{said}\n{text}");
    }
    assert!(
        markdown.contains("**Warning:** 2A differs from A in 2 things"),
        "{markdown}"
    );
}

#[test]
fn what_the_load_left_behind_has_rows_where_it_was_looked_at() {
    let plain = text_of(&[("A", vec![sample::run(100.0, 20)])], &[]);
    assert!(!plain.0.contains("lost"), "{}", plain.0);
    assert!(plain.2["variants"][0]["runs"][0].get("after").is_none());
    let mut queue = sample::run(100.0, 20);
    let (ok, accepted) = queue.acknowledged();
    queue.after = Some(After {
        taken_count: Some(ok + accepted + 5),
        backlog_count: Some(1_200),
        backlog_left_count: Some(30),
        stored_at_end_count: Some(500),
        stored_count: Some(ok + accepted - 40),
        killed: vec!["worker at 50 s".to_owned()],
        ..After::default()
    });
    let (text, markdown, document) = text_of(
        &[("A", vec![sample::run(100.0, 20)]), ("queue", vec![queue])],
        &[],
    );
    for (row, cell) in [
        ("backlog at the end", "1,200"),
        ("left after the wait", "30"),
        ("lost, at least", "15"),
        ("stored", "25/s"),
    ] {
        let line = text.lines().find(|line| line.trim_start().starts_with(row));
        let line = line.unwrap_or_else(|| panic!("{row} is missing in\n{text}"));
        assert!(line.trim_end().ends_with(cell), "{line}");
        assert!(line.contains('–'), "nobody looked at A: {line}");
        assert!(markdown.contains(row), "{markdown}");
    }
    assert!(
        !text.contains("drained in"),
        "it never came to nothing\n{text}"
    );
    let after = &document["variants"][1]["runs"][0]["after"];
    assert_eq!(after["lost_count"], 15);
    assert_eq!(after["killed"][0], "worker at 50 s");
}
