//! Markdown for pull requests and the JSON document.

use plimsoll_core::Outcome;
use plimsoll_core::step::StepLoad;
use plimsoll_report::{json, markdown};
use serde_json::Value;

use crate::sample;

#[test]
fn markdown_of_a_search() {
    insta::assert_snapshot!(markdown::summary(&[sample::find()]));
}

#[test]
fn markdown_of_a_missed_run() {
    insta::assert_snapshot!(markdown::summary(&[sample::run(520.0, 20)]));
}

/// The terminal says them, and nobody sees it in a pull request.
#[test]
fn markdown_has_the_status_codes_of_a_run() {
    let mut record = sample::run(520.0, 20);
    for window in &mut record.windows {
        window.operations[0].note_status(Outcome::Ok, 200);
        window.operations[0].note_status(Outcome::Shed, 503);
        window.resent_count = 1;
    }
    let text = markdown::summary(&[record]).replace('\u{a0}', " ");
    let codes = text
        .lines()
        .find(|line| line.starts_with("**Status codes:**"));
    let codes = codes.unwrap_or_else(|| panic!("{text}"));
    assert!(
        codes.contains("200: ") && codes.contains("503: "),
        "{codes}"
    );
    assert!(text.contains(" requests were written once more"), "{text}");
}

#[test]
fn markdown_has_a_section_per_record() {
    let both = markdown::summary(&[sample::find(), sample::invalid()]);
    assert_eq!(both.matches("\n### ").count() + 1, 2);
    assert!(both.contains("No verdict: the generator fell behind."));
}

#[test]
fn markdown_lets_no_markup_of_the_target_through() {
    let text = markdown::summary(&[sample::hostile()]);
    assert!(
        !text.contains("<script") && !text.contains("<img"),
        "{text}"
    );
    assert!(!text.contains("http://evil"), "{text}");
    let rows = text.lines().filter(|line| line.starts_with('|'));
    let cells = |row: &str| row.replace("\\|", "").matches('|').count();
    for row in rows {
        assert!(
            matches!(cells(row), 5 | 7),
            "a cell was ended by hand: {row}"
        );
    }
}

#[test]
fn json_is_the_verdict_with_the_name_of_the_run() {
    let record = sample::find();
    let document = json::document(&record);
    let text = json::summary(&record);
    assert_eq!(
        text,
        serde_json::to_string_pretty(&document).unwrap() + "\n"
    );
    let verdict = serde_json::to_value(record.verdict.as_ref().unwrap()).unwrap();
    for (key, value) in verdict.as_object().unwrap() {
        assert_eq!(&document[key], value, "{key}");
    }
    assert_eq!(document["title"], "shop-api");
    assert_eq!(document["capacity_per_s"]["lower"], 457.0);
    let guard = &document["guard"];
    assert_eq!(guard["load_line_per_s"], 457.0);
    assert!(guard["limit_start"].as_f64().unwrap() >= 8.0, "{guard}");
    let command = "plimsoll guard --from RECORD --upstream http://127.0.0.1:8080";
    assert_eq!(guard["command"], command);
    assert!(
        document["headline"]
            .as_str()
            .unwrap()
            .contains("carries 457 requests")
    );
}

/// A target that slows down is noticed by the closed loop of the beginning, which is repeated at the end of a search over rates.
#[test]
fn a_repeated_closed_loop_makes_no_virtual_users_of_a_rate() {
    let mut record = sample::find();
    record.levels.last_mut().unwrap().step.load = StepLoad::Closed { in_flight: 32 };
    let text = json::summary(&record);
    assert!(text.contains("carries 457 requests"), "{text}");
    assert!(!markdown::summary(&[record]).contains("VUs"));
}

#[test]
fn json_of_an_interrupted_run_claims_nothing() {
    let document: Value = serde_json::from_str(&json::summary(&sample::interrupted())).unwrap();
    assert_eq!(document["valid"], false);
    assert_eq!(document["interrupted"], true);
    for key in ["goodput_per_s", "capacity_per_s", "verdict", "gates"] {
        assert!(document.get(key).is_none(), "{key}");
    }
}
