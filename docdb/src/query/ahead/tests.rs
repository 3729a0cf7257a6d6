//! What lists are found, and what of a command is no list.

use std::sync::Arc;

use bson::{Document, doc};

use super::{Ahead, Part};
use crate::value::samples::raw;

fn list(count: i32) -> Document {
    doc! { "$in": (0..count).collect::<Vec<_>>() }
}

#[test]
fn each_document_is_counted_without_its_own_lists() {
    let long = "x".repeat(9000);
    let documents = [
        doc! { "q": { "a": list(10_000) } },
        doc! { "q": { "b": long } },
        doc! { "q": { "a": list(2000), "b": { "$ne": 1 } } },
    ];
    let mut bytes = Vec::new();
    let mut places = Vec::new();
    for one in &documents {
        let from = bytes.len();
        bytes.extend_from_slice(raw(one).as_bytes());
        places.push(from..bytes.len());
    }
    let bytes = Arc::new(bytes);
    let parts = places.iter().map(|place| (place, Part::Holder("q")));
    let mut ahead = Ahead::new(&bytes, parts);
    while !ahead.step() {}
    let others = |from: usize, to: usize| ahead.others(places[from..to].iter());
    assert_eq!(others(0, 3), places[1].len());
    assert!(others(0, 1) < 60 && others(2, 3) < 90);
    assert!((12_000 * 9..12_000 * 40).contains(&ahead.held()));
}
