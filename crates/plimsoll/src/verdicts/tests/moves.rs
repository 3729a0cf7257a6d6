//! Single changes to a record as people make them: times, order, copies, exchanges, one thing called another.

use serde_json::{Value, json};

use super::*;

/// Changes the window in the n-th place among all windows; false if that changes nothing or cannot be done.
type Move = fn(lines: &mut Vec<Value>, windows: &[usize], nth: usize) -> bool;

const MOVES: [(&str, Move); 12] = [
    ("from here on 1.5 s later", |lines, windows, nth| {
        windows[nth..].iter().all(|line| {
            let start = lines[*line]["start_ns"].as_u64().unwrap();
            set(&mut lines[*line], "/start_ns", json!(start + 1_500_000_000))
        })
    }),
    ("40 % shorter", |lines, windows, nth| {
        scaled(&mut lines[windows[nth]], 0.6)
    }),
    ("30 % longer", |lines, windows, nth| {
        scaled(&mut lines[windows[nth]], 1.3)
    }),
    ("missing", |lines, windows, nth| {
        lines.remove(windows[nth]);
        true
    }),
    ("twice", |lines, windows, nth| {
        let copy = lines[windows[nth]].clone();
        lines.insert(windows[nth], copy);
        true
    }),
    ("exchanged with the next", |lines, windows, nth| {
        let next = windows.get(nth + 1);
        next.is_some_and(|next| {
            lines.swap(windows[nth], *next);
            true
        })
    }),
    ("with the times of the next", |lines, windows, nth| {
        let next = windows.get(nth + 1).map(|next| lines[*next].clone());
        let times =
            next.and_then(|next| next.pointer("/operations/0/classes/ok/response").cloned());
        times.is_some_and(|times| {
            set(
                &mut lines[windows[nth]],
                "/operations/0/classes/ok/response",
                times,
            )
        })
    }),
    ("with services for responses", |lines, windows, nth| {
        let line = &mut lines[windows[nth]];
        let service = line.pointer("/operations/0/classes/ok/service").cloned();
        service.is_some_and(|service| set(line, "/operations/0/classes/ok/response", service))
    }),
    ("with every answer in time", |lines, windows, nth| {
        let line = &mut lines[windows[nth]];
        let count = line.pointer("/operations/0/classes/ok/count").cloned();
        count.is_some_and(|count| set(line, "/operations/0/within/0", count))
    }),
    ("with one in flight", |lines, windows, nth| {
        set(&mut lines[windows[nth]], "/in_flight_mean", json!(1.0))
    }),
    ("of the level before", |lines, windows, nth| {
        let level = lines[windows[nth]]["level"].as_u64().unwrap();
        let before = level.checked_sub(1);
        before.is_some_and(|before| set(&mut lines[windows[nth]], "/level", json!(before)))
    }),
    ("with failures called answers", |lines, windows, nth| {
        let classes = lines[windows[nth]].pointer_mut("/operations/0/classes");
        let classes = classes.and_then(Value::as_object_mut);
        classes.is_some_and(|classes| {
            let failed = classes.keys().find(|key| *key != "ok").cloned();
            let failed = failed.and_then(|key| classes.remove(&key));
            failed.is_some_and(|class| {
                classes.insert("ok".to_owned(), class);
                true
            })
        })
    }),
];

fn set(line: &mut Value, path: &str, to: Value) -> bool {
    let place = line.pointer_mut(path).filter(|place| **place != to);
    place.is_some_and(|place| {
        *place = to;
        true
    })
}

fn scaled(line: &mut Value, by: f64) -> bool {
    let length = line["length_ns"].as_u64().unwrap() as f64;
    set(line, "/length_ns", json!((length * by) as u64))
}

#[test]
fn what_people_change_is_named_without_any_sums() {
    let (mut all, mut unnamed) = (0, Vec::new());
    for (name, text) in RECORDS {
        let lines = lines_of(text);
        let as_written = read(&lines).unwrap().page;
        let is_window = |index: &usize| lines[*index]["kind"] == "window";
        let windows: Vec<usize> = (0..lines.len()).filter(is_window).collect();
        // Of a search a window in twenty will do.
        let every = 1 + windows.len() / 7;
        for ((what, change), nth) in MOVES.iter().flat_map(|change| {
            let places = (0..windows.len()).step_by(every);
            places.map(move |nth| (change, nth))
        }) {
            let mut edited = lines.clone();
            if !change(&mut edited, &windows, nth) {
                continue;
            }
            match read(&edited) {
                Some(outcome) if outcome.page == as_written => continue,
                Some(outcome) if !outcome.is_named => {
                    unnamed.push(format!("{name}: window {nth} {what}"));
                }
                _ => {}
            }
            all += 1;
        }
    }
    let list = unnamed.join("\n");
    println!("{} of {all} are not named:\n{list}", unnamed.len());
    assert!(all >= 150, "{all}");
    assert!(unnamed.len() * 100 <= 5 * all, "{list}");
}

#[test]
fn a_script_that_was_exchanged_is_named_although_all_sums_were_taken_away() {
    let header = Record::read(RECORDS[2].1.as_bytes()).unwrap().header;
    let mut written = Vec::new();
    plimsoll_core::record::Writer::start(&mut written, header).unwrap();
    let mut lines = lines_of(RECORDS[2].1);
    lines[0] = serde_json::from_slice(&written).unwrap();
    lines[0].as_object_mut().unwrap().remove("sum").unwrap();
    assert!(set(&mut lines[0], "/script/sha256", json!("0".repeat(64))));
    assert!(read(&lines).unwrap().is_named);
}
