//! A script's own words in every rendering, from the record alone.

use plimsoll_report::terminal::{self, Style};
use plimsoll_report::{html, json, markdown};

use crate::sample;

#[test]
fn every_rendering_names_what_was_crossed_and_how_many_rows_are_not_shown() {
    let record = sample::scripted();
    let page = html::render(std::slice::from_ref(&record));
    let text = terminal::summary(&record, &Style::default());
    let section = markdown::summary(std::slice::from_ref(&record));
    for (name, text) in [("html", &page), ("text", &text), ("markdown", &section)] {
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for part in [
            "avg=129.5ms",
            "crossed",
            "p(95)=246.05ms",
            "3 cut off by the end",
        ] {
            let part = part.replace("avg=129.5ms", "avg=129.5");
            assert!(words.contains(&part), "{part} in {name}: {words}");
        }
        let is_markup = name != "text" && text.contains("<script src");
        assert!(!text.contains('\u{1b}') && !is_markup, "{name}");
    }
    assert!(
        page.contains("50 more names"),
        "names are never left out silently"
    );
    assert!(
        page.contains("60 more checks, which held"),
        "nor are checks"
    );
    let first = page.find("Every attempt has an outcome").unwrap();
    assert!(
        page.find("2 of 3\u{a0}thresholds of the script crossed")
            .unwrap()
            < first
    );
    let document: serde_json::Value = serde_json::from_str(&json::summary(&record)).unwrap();
    assert_eq!(document["script"]["thresholds"][0]["ok"], false);
    assert_eq!(document["script"]["iterations"]["completed_count"], 260);
    assert_eq!(document["script"]["names"][0]["outcomes"]["http_5xx"], 1);
}

#[test]
fn what_a_killed_run_counted_is_shown_as_unfinished() {
    let mut record = sample::scripted();
    record.verdict = None;
    record.scripts[0].is_final = false;
    let text = terminal::summary(&record, &Style::default());
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("it did not come to its end"), "{words}");
}
