//! What a record means: gates, summary and every rendering take any record that can be read.

use plimsoll_analysis::{gates, summary};
use plimsoll_core::record::Record;
use plimsoll_core::verdict::{GateState, SearchResult};
use plimsoll_report::{html, json, markdown, terminal};

use super::{Outcome, variant};

pub(super) fn read(data: &[u8]) -> Outcome {
    let mut record = match Record::read(data) {
        Ok(record) => record,
        Err(error) => return variant(&error),
    };
    let rendered = render(&record);
    let level = record.windows.first().map_or(0, |window| window.level);
    let found = gates::evaluate(&record, level);
    let failed = found
        .iter()
        .filter(|gate| gate.state == GateState::Fail)
        .count();
    let verdict = if record.header.test.is_search() {
        summary::of_search(&record, SearchResult::default())
    } else {
        summary::of_run(&record)
    };
    assert!(
        verdict.valid || !gates::passed(&verdict.gates),
        "invalid without a failed gate"
    );
    let classes: u64 = verdict.outcomes.values().sum();
    assert_eq!(
        verdict.attempts_count, classes,
        "attempts are not the sum of their classes"
    );
    record.verdict = Some(verdict);
    let again = render(&record);
    format!(
        "{failed} gates failed, {} {}",
        rendered.min(2),
        again.min(2)
    )
}

/// Every rendering once; the number of them that said something.
fn render(record: &Record) -> usize {
    let style = terminal::Style::default();
    let texts = [
        terminal::summary(record, &style),
        json::summary(record),
        markdown::summary(std::slice::from_ref(record)),
        html::render(std::slice::from_ref(record)),
    ];
    texts.iter().filter(|text| !text.trim().is_empty()).count()
}
