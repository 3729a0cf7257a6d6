//! `docs/formats/record-1.md` against the types, and the fixtures of schema 1.

mod complete;

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_core::record::{Line, ReadError, Record, Remark};
use serde_json::Value;

use crate::sample;

const PAGE: &str = include_str!("../../../../docs/formats/record-1.md");
/// Written once by schema 1 and never again: what released versions wrote must stay readable.
const FIXTURE: &[u8] = include_bytes!("../fixtures/record-1.plimsoll.jsonl");

/// Fields whose value is described in a section of its own, by (section, field).
const NESTED: [(&str, &str, &str); 115] = [
    ("header", "workload", "workload"),
    ("workload", "databases", "database"),
    ("workload", "keys", "keys"),
    ("workload", "phases", "phase"),
    ("workload", "client", "client"),
    ("database", "mix", "mix"),
    ("phase", "mix", "mix"),
    ("phase", "mix_to", "mix"),
    ("window", "databases", "effects"),
    ("after", "verified", "verified"),
    ("after", "uncounted", "*"),
    ("header", "plan", "plan"),
    ("header", "lab", "lab"),
    ("header", "script", "script setup"),
    ("script setup", "options", "*"),
    ("script setup", "environment", "*"),
    ("script", "iterations", "iterations"),
    ("script", "vus", "vus"),
    ("script", "thresholds", "threshold"),
    ("script", "checks", "check"),
    ("script", "names", "name"),
    ("name", "tally", "tally"),
    ("script", "metrics", "metric"),
    ("script", "submetrics", "submetric"),
    ("script", "left_out", "left out"),
    ("left out", "names_tally", "tally"),
    ("verdict", "script_faults", "script fault"),
    ("script fault", "load", "load size"),
    ("script fault", "held_at", "load size"),
    ("metric", "last", "*"),
    ("submetric", "last", "*"),
    ("lab", "tiers", "tier"),
    ("lab", "published", "published"),
    ("tier", "limits", "*"),
    ("header", "machine", "machine"),
    ("plan", "request", "request"),
    ("plan", "load", "load"),
    ("plan", "until", "until"),
    ("plan", "objectives", "clause"),
    ("load", "profile", "profile"),
    ("profile", "legs", "leg"),
    ("load", "over", "over"),
    ("level", "load", "load"),
    ("window", "operations", "tally"),
    ("window", "carried", "carried"),
    ("window", "health", "health"),
    ("carried", "tally", "tally"),
    ("tally", "classes", "*class"),
    ("class", "response", "histogram"),
    ("class", "service", "histogram"),
    ("health", "lag", "histogram"),
    ("source process", "threads", "thread"),
    ("source process", "others", "thread"),
    ("source process", "threads_by_state", "*"),
    ("source process", "connections_out", "*"),
    ("source proxy", "status", "*"),
    ("source proxy", "request_time", "histogram"),
    ("source proxy", "upstream_time", "histogram"),
    ("source proxy", "upstream_connect_time", "histogram"),
    ("source metrics", "values", "*"),
    ("level_end", "bad_ratio", "bounds"),
    ("event", "figures", "event figures"),
    ("event figures", "anchor", "anchor"),
    ("verdict", "remarks", "remark"),
    ("remark", "at", "load size"),
    ("remark", "after", "load size"),
    ("remark", "lowest", "load size"),
    ("remark", "highest", "load size"),
    ("remark", "before", "load size"),
    ("remark", "now", "load size"),
    ("remark", "outside", "load size"),
    ("remark", "held", "load size"),
    ("remark", "lower", "load size"),
    ("remark", "upper", "load size"),
    ("remark", "reading", "reading"),
    ("verdict", "outcomes", "*"),
    ("verdict", "response_time_ns", "times"),
    ("verdict", "service_time_ns", "times"),
    ("verdict", "objectives", "objective"),
    ("verdict", "capacity_per_s", "bounds"),
    ("verdict", "capacity_vus", "bounds"),
    ("verdict", "reached_per_s", "bounds"),
    ("verdict", "knee_per_s", "bounds"),
    ("verdict", "knee_vus", "bounds"),
    ("verdict", "peak_goodput_per_s", "bounds"),
    ("verdict", "collapse_per_s", "collapse"),
    ("verdict", "collapse_vus", "collapse"),
    ("verdict", "recovery_seconds", "recovery"),
    ("verdict", "rare_stalls", "rare_stalls"),
    ("verdict", "limit", "limit"),
    ("verdict", "next_limit", "next_limit"),
    ("verdict", "resources", "resource"),
    ("verdict", "advice", "advice"),
    ("verdict", "gates", "gate"),
    ("collapse", "at", "bounds"),
    ("collapse", "none_up_to", "none_up_to"),
    ("collapse", "none_up_to_vus", "none_up_to_vus"),
    ("limit", "evidence", "evidence"),
    ("times", "mean", "*"),
    ("times", "p50", "*"),
    ("times", "p90", "*"),
    ("times", "p95", "*"),
    ("times", "p99", "*"),
    ("times", "p99_9", "*"),
    ("times", "max", "*"),
    ("plan", "variation", "variation"),
    ("variation", "requests", "request"),
    ("variation", "mix", "request mix"),
    ("request mix", "phases", "request phase"),
    ("class", "status", "*"),
    ("health", "disturbed", "disturbed"),
    ("request", "headers", "*"),
    ("request", "body", "*"),
    ("source host", "neighbours", "neighbours"),
    ("source listener", "waits", "waits"),
];

type Fields = BTreeMap<String, BTreeSet<String>>;

/// Sections of the page with the fields of their tables.
fn documented() -> Fields {
    let mut sections = Fields::new();
    let mut section = String::new();
    for line in PAGE.lines() {
        if let Some(name) = line
            .strip_prefix("### ")
            .or_else(|| line.strip_prefix("## "))
        {
            name.clone_into(&mut section);
        } else if let Some(row) = line.strip_prefix("| `") {
            let field = row.split('`').next().unwrap().to_owned();
            assert!(
                sections.entry(section.clone()).or_default().insert(field),
                "twice: {line}"
            );
        }
    }
    sections
}

/// Adds every field of the object, and of the objects inside it, under the name of its section.
fn collect(section: &str, value: &Value, found: &mut Fields) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| collect(section, item, found)),
        // A map by name or number: its keys are data.
        Value::Object(_) if section == "*" => {}
        Value::Object(fields) if section.starts_with('*') => {
            let inner = section.trim_start_matches('*');
            fields
                .values()
                .for_each(|value| collect(inner, value, found));
        }
        Value::Object(fields) => {
            for (field, inner) in fields {
                found
                    .entry(section.to_owned())
                    .or_default()
                    .insert(field.clone());
                let nested = NESTED
                    .iter()
                    .find(|(of, name, _)| *of == section && *name == field);
                match nested {
                    Some((_, _, to)) => collect(to, inner, found),
                    None => assert!(!has_object(inner), "{section}.{field} needs a section"),
                }
            }
        }
        _ => {}
    }
}

fn has_object(value: &Value) -> bool {
    match value {
        Value::Object(_) => true,
        Value::Array(items) => items.iter().any(has_object),
        _ => false,
    }
}

/// Fields of every line; an observation's own and those of its source apart.
fn written(lines: &[Line]) -> Fields {
    const COMMON: [&str; 5] = ["kind", "at_ns", "length_ns", "tier", "source"];
    let mut found = Fields::new();
    for line in lines {
        let value = serde_json::to_value(line).unwrap();
        let kind = value["kind"].as_str().unwrap().to_owned();
        if kind == "observation" {
            let mut own = value.as_object().unwrap().clone();
            let source = format!("source {}", own["source"].as_str().unwrap());
            let common = COMMON.map(|field| (field.to_owned(), own.remove(field).unwrap()));
            collect(
                "observation",
                &Value::Object(common.into_iter().collect()),
                &mut found,
            );
            collect(&source, &Value::Object(own), &mut found);
        } else {
            collect(&kind, &value, &mut found);
        }
    }
    found
}

#[test]
fn the_page_describes_every_field_and_no_other() {
    let (documented, written) = (documented(), written(&complete::lines()));
    for (section, fields) in &written {
        let known = documented
            .get(section)
            .unwrap_or_else(|| panic!("no section {section}"));
        let missing: Vec<_> = fields.difference(known).collect();
        assert!(
            missing.is_empty(),
            "record-1.md lacks in {section}: {missing:?}"
        );
    }
    for (section, fields) in &documented {
        let known = written
            .get(section)
            .unwrap_or_else(|| panic!("{section} is never written"));
        let gone: Vec<_> = fields.difference(known).collect();
        assert!(
            gone.is_empty(),
            "record-1.md has in {section} what is never written: {gone:?}"
        );
    }
}

#[test]
fn the_page_names_every_word_that_a_field_may_hold() {
    let mut words: Vec<String> = plimsoll_core::Outcome::ALL
        .map(|o| o.name().to_owned())
        .to_vec();
    words.extend(complete::words());
    for word in words {
        assert!(
            PAGE.contains(&format!("`{word}`")),
            "record-1.md never says `{word}`"
        );
    }
}

#[test]
fn the_fixture_of_schema_1_reads_as_it_was_written() {
    let record = Record::read(FIXTURE).unwrap();
    assert_eq!(record.remarks, []);
    assert_eq!(record.header.title, "shop-api");
    assert_eq!(
        (
            record.levels.len(),
            record.windows.len(),
            record.observations.len()
        ),
        (1, 3, 7)
    );
    let tally = record.judged_tally(1);
    assert_eq!(
        (tally.attempts(), tally.good(), tally.failures()),
        (331, 331, 0)
    );
    assert!(
        record.verdict.is_some() && record.events.len() == 1 && record.level_results.len() == 1
    );
    // Read and written again, nothing is lost.
    let value = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).unwrap();
    for line in FIXTURE
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
    {
        let read: Line = serde_json::from_slice(line).unwrap();
        assert_eq!(value(&serde_json::to_vec(&read).unwrap()), value(line));
    }
    let page = plimsoll_report::html::render(std::slice::from_ref(&record));
    assert!(page.contains("shop-api"));
}

#[test]
fn a_record_of_a_newer_schema_is_refused_with_the_fix() {
    let text = std::str::from_utf8(FIXTURE).unwrap();
    let newer = text.replacen("plimsoll.record/1", "plimsoll.record/2", 1);
    let error = Record::read(newer.as_bytes()).unwrap_err();
    assert!(matches!(&error, ReadError::Newer(schema) if schema == "plimsoll.record/2"));
    assert!(
        error.to_string().contains("use a newer plimsoll"),
        "{error}"
    );
}

#[test]
fn a_record_cut_anywhere_is_read_up_to_there_and_shown() {
    let whole = sample::bytes_of(&sample::run(400.0, 5));
    let first = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    let style = plimsoll_report::terminal::Style::default();
    for cut in (first..whole.len()).step_by(whole.len() / 23) {
        let record = Record::read(&whole[..cut]).unwrap();
        // A line is whole without its end.
        let torn = whole[cut - 1] != b'\n' && whole[cut] != b'\n';
        let said = record
            .remarks
            .iter()
            .any(|remark| matches!(remark, Remark::TornLastLine { .. }));
        assert_eq!(said, torn, "cut at {cut}");
        let text = plimsoll_report::terminal::summary(&record, &style);
        assert!(
            text.contains("No verdict: the run was interrupted"),
            "cut at {cut}: {text}"
        );
        assert_eq!(
            text.contains("was cut off while it was written"),
            torn,
            "cut at {cut}"
        );
    }
    assert!(matches!(
        Record::read(&whole[..first / 2]),
        Err(ReadError::NoHeader(_))
    ));
}

#[test]
fn counts_that_nobody_can_have_counted_are_refused_with_their_line() {
    let text = std::str::from_utf8(FIXTURE).unwrap();
    let most = u64::MAX.to_string();
    for (was, is, told) in [
        (
            "\"outcomes\":{\"ok\":331",
            format!("\"outcomes\":{{\"shed\":1,\"ok\":{most}"),
            "outcomes",
        ),
        (
            "\"listen_overflows\":0",
            format!("\"listen_overflows\":{most}"),
            "listen_overflows",
        ),
        ("\"periods\":0", format!("\"periods\":{most}"), "periods"),
        (
            "\"accept_queue\":0",
            format!("\"accept_queue\":{}", u32::MAX),
            "accept_queue",
        ),
        ("\"requests\":0", format!("\"requests\":{most}"), "requests"),
    ] {
        let lines = text.split(was).next().unwrap().lines().count();
        let error = Record::read(text.replacen(was, &is, 1).as_bytes()).unwrap_err();
        let error = error.to_string();
        assert!(
            error.starts_with(&format!("line {lines} is not readable: `{told}` is ")),
            "{error}"
        );
    }
}

#[test]
fn a_broken_line_of_every_kind_is_refused_and_not_taken_for_an_unknown_one() {
    for kind in [
        "level",
        "window",
        "observation",
        "level_end",
        "event",
        "after",
        "verdict",
    ] {
        let mut bytes = FIXTURE.to_vec();
        bytes.extend(format!("{{\"kind\":\"{kind}\",\"at_ns\":[]}}\n").bytes());
        let error = Record::read(bytes.as_slice());
        assert!(matches!(error, Err(ReadError::Line { .. })), "{kind}");
    }
}

#[test]
fn lines_of_an_unknown_kind_are_left_out_with_a_warning() {
    let mut bytes = FIXTURE.to_vec();
    bytes.extend(b"{\"kind\":\"hologram\",\"depth\":3}\n");
    let record = Record::read(bytes.as_slice()).unwrap();
    let text =
        plimsoll_report::terminal::summary(&record, &plimsoll_report::terminal::Style::default());
    assert!(text.contains("hologram"), "{text}");
}
