//! Records in which one fact was changed: whatever shows on a page is named.
//!
//! Check sums find every change. Most tests leave them out, so that the figures have to speak for themselves.

use plimsoll_base::random::Rng;
use plimsoll_core::record::Record;
use plimsoll_core::verdict::{GateId, GateState};
use serde_json::{Value, json};

use super::evaluate;

mod moves;

/// Real runs: users in a closed loop, arrivals at a rate against a service that is too slow for them, a script, and a
/// search of 150 s.
const RECORDS: [(&str, &str); 4] = [
    ("closed", include_str!("../../tests/fixtures/closed.jsonl")),
    ("open", include_str!("../../tests/fixtures/open.jsonl")),
    ("script", include_str!("../../tests/fixtures/script.jsonl")),
    ("search", include_str!("../../tests/fixtures/search.jsonl")),
];

/// The lines of a record without their sums, and without the word of the header that there are any.
fn lines_of(text: &str) -> Vec<Value> {
    let unsealed = |line: &str| {
        let mut value: Value = serde_json::from_str(line).unwrap();
        let facts = value.as_object_mut().unwrap();
        facts.remove("sum").unwrap();
        facts.remove("sums");
        value
    };
    text.lines().map(unsealed).collect()
}

/// What becomes of a record when it is read: what a reader sees of its figures, and whether something was named.
struct Outcome {
    page: String,
    is_named: bool,
}

/// None if it is refused, with the place of the fault.
fn read(lines: &[Value]) -> Option<Outcome> {
    let text: Vec<String> = lines.iter().map(Value::to_string).collect();
    let text = text.join("\n") + "\n";
    let mut record = Record::read(text.as_bytes()).ok()?;
    evaluate(&mut record);
    let verdict = record.verdict.clone().unwrap();
    let mut gates = verdict.gates.iter();
    let gate = gates.find(|gate| gate.id == GateId::Accounting).unwrap();
    let is_named = gate.state != GateState::Pass || !verdict.valid;
    // The figures by themselves, without what is said of them.
    record.remarks.clear();
    if let Some(verdict) = &mut record.verdict {
        verdict.gates.retain(|gate| gate.id != GateId::Accounting);
    }
    let page = plimsoll_report::html::render(std::slice::from_ref(&record));
    Some(Outcome { page, is_named })
}

/// Every number, word and truth value of a line, by its path.
fn leaves(value: &Value, path: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(keys) => keys
            .iter()
            .for_each(|(key, value)| leaves(value, &format!("{path}/{key}"), found)),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .for_each(|(index, value)| leaves(value, &format!("{path}/{index}"), found)),
        Value::Null => {}
        _ => found.push(path.to_owned()),
    }
}

/// A figure is halved, doubled or one more; a truth value turned; of words only those that mean something to a program.
fn changed(value: &Value, how: u64) -> Option<Value> {
    match value {
        Value::Bool(truth) => Some(json!(!truth)),
        Value::Number(number) => {
            let integer = number.as_u64();
            Some(match (integer, how % 3) {
                (Some(number), 0) => json!(number.saturating_mul(2).max(1)),
                (Some(number), 1) => json!(number / 2),
                (Some(number), _) => json!(number.saturating_add(1)),
                (None, 0) => json!(number.as_f64()? * 2.0),
                (None, 1) => json!(number.as_f64()? / 2.0),
                (None, _) => json!(number.as_f64()? * 1.1),
            })
        }
        Value::String(word) => {
            let other = match word.as_str() {
                "pass" => "fail",
                "fail" | "inconclusive" | "undecided" | "warning" => "pass",
                "ok" => "shed",
                "supported" | "suspected" => "confirmed",
                "pinned_thread" | "cpu" | "unknown" | "not_reached" => "lock",
                _ => return None,
            };
            Some(json!(other))
        }
        _ => None,
    }
}

#[test]
fn records_that_were_written_say_what_their_windows_say() {
    for (name, text) in RECORDS {
        let mut record = Record::read(text.as_bytes()).unwrap();
        evaluate(&mut record);
        assert_eq!(record.remarks, [], "{name}");
        let lines = lines_of(text);
        assert!(!read(&lines).unwrap().is_named, "{name}");
    }
}

/// Lines in which figures stand, and those in which it stands what was run: of that only the sums tell that it was changed.
const FIGURES: [&str; 6] = [
    "window",
    "observation",
    "verdict",
    "level",
    "level_end",
    "script",
];
const SET_UP: [&str; 2] = ["header", "event"];

/// Single facts that change what the page of a record shows, each changed by itself, in lines of these kinds, so many of
/// each record: how many there were, and which were not named.
fn changes(kinds: &[&str], most: [u64; 4], lines: fn(&str) -> Vec<Value>) -> (u64, Vec<String>) {
    let (mut all, mut unnamed) = (0, Vec::new());
    for ((name, text), most) in RECORDS.into_iter().zip(most) {
        let lines = lines(text);
        let as_written = read(&lines).unwrap().page;
        let mut rng = Rng::new(19, name.len() as u64);
        let mut shown = 0;
        while shown < most {
            // Every kind of line is as likely: of windows and observations there are many.
            let kind = kinds[rng.below(kinds.len() as u64) as usize];
            let of_kind: Vec<usize> = (0..lines.len())
                .filter(|index| lines[*index]["kind"] == kind)
                .collect();
            let Some(line) = of_kind.get(rng.below(of_kind.len() as u64) as usize) else {
                continue;
            };
            let mut paths = Vec::new();
            leaves(&lines[*line], "", &mut paths);
            let path = &paths[rng.below(paths.len() as u64) as usize];
            let Some(value) = changed(lines[*line].pointer(path).unwrap(), rng.below(3)) else {
                continue;
            };
            let mut edited = lines.clone();
            *edited[*line].pointer_mut(path).unwrap() = value;
            match read(&edited) {
                Some(outcome) if outcome.page == as_written => continue,
                Some(outcome) if !outcome.is_named => unnamed.push(format!("{name}: {kind}{path}")),
                // Refused is named, too.
                _ => {}
            }
            shown += 1;
        }
        all += shown;
    }
    (all, unnamed)
}

#[test]
fn a_figure_that_was_changed_is_named_without_any_sums() {
    let (all, unnamed) = changes(&FIGURES, [60, 60, 60, 20], lines_of);
    let list = unnamed.join("\n");
    println!("{} of {all} are not named:\n{list}", unnamed.len());
    assert_eq!(all, 200);
    assert!(unnamed.len() * 100 <= 5 * 200, "{list}");
}

#[test]
fn whatever_was_changed_is_named_by_its_sum() {
    let sealed = |text: &str| -> Vec<Value> {
        let lines = text.lines();
        lines
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    };
    let all: Vec<&str> = FIGURES.into_iter().chain(SET_UP).collect();
    let (_, unnamed) = changes(&all, [20, 20, 20, 5], sealed);
    assert_eq!(unnamed, [""; 0]);
}
