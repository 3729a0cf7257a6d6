//! Records: any bytes are read or refused, and what was read can be written and read again.

use plimsoll_core::record::{Line, ReadError, Record, Writer};

use super::{Outcome, variant};

pub(super) const WORDS: &[&str] = &[
    "\"kind\":\"header\"",
    "\"kind\":\"window\"",
    "\"kind\":\"verdict\"",
    "\"kind\":\"later\"",
    "plimsoll.record/1",
    "plimsoll.record/2",
    "18446744073709551615",
    "9223372036854775807",
    "1e308",
    "null",
    "{}",
    "[]",
    "\n",
];

pub(super) fn read(data: &[u8]) -> Outcome {
    let record = match Record::read(data) {
        Ok(record) => record,
        Err(error) => return refusal(&error),
    };
    for level in &record.levels {
        let tally = record.judged_tally(level.step.level);
        let parts: u64 = tally.occurred().map(|(_, class)| class.count).sum();
        assert_eq!(
            tally.attempts(),
            parts,
            "attempts are not the sum of their classes"
        );
        // What every page of a record asks of it.
        for (_, class) in tally.occurred() {
            let median = class.response.quantile(0.5);
            assert!(median.is_some(), "a class that occurred has no median");
            let _of_those_that_were_sent = class.service.quantile(0.5);
        }
    }
    let written = write(&record);
    let again = Record::read(written.as_slice()).expect("what was written can be read");
    assert_eq!(
        again.windows.len(),
        record.windows.len(),
        "windows were lost"
    );
    assert_eq!(
        again.observations.len(),
        record.observations.len(),
        "observations were lost"
    );
    assert_eq!(
        again.verdict.is_some(),
        record.verdict.is_some(),
        "the verdict was lost"
    );
    let remarks: Vec<Outcome> = record.remarks.iter().map(variant).collect();
    format!(
        "read, {} windows, {}",
        record.windows.len().min(3),
        remarks.join(" ")
    )
}

fn refusal(error: &ReadError) -> Outcome {
    let said = error.to_string();
    assert!(!said.is_empty(), "a refusal without words");
    variant(error)
}

fn write(record: &Record) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = Writer::start(&mut bytes, record.header.clone()).expect("memory takes it");
    let levels = record.levels.iter().cloned().map(Line::Level);
    let windows = record.windows.iter().cloned().map(Line::Window);
    let observations = record.observations.iter().cloned().map(Line::Observation);
    let verdict = record.verdict.iter().cloned().map(Line::Verdict);
    for line in levels.chain(windows).chain(observations).chain(verdict) {
        writer.append(&line).expect("memory takes it");
    }
    bytes
}
