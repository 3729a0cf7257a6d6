//! What lists are found, and what of a command is no list.

use std::sync::Arc;

use bson::raw::RawDocument;
use bson::{Bson, Document, doc};

use super::{Ahead, Part};
use crate::expression::Variables;
use crate::query::{Filter, tally};
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

/// As a plan has a part of such a list's values as intervals, a part of its bytes counts as that of other conditions does.
#[test]
fn a_list_beside_other_choices_is_counted_with_intervals_too() {
    let pattern = bson::Regex {
        pattern: "^x".try_into().unwrap(),
        options: "".try_into().unwrap(),
    };
    let with_pattern = |count: i32| {
        let numbers = (0..count).map(Bson::Int32);
        doc! { "$in": numbers.chain([pattern.clone().into()]).collect::<Vec<_>>() }
    };
    let or = |condition: Document| doc! { "$or": [{ "b": 1 }, { "$and": [{ "a": condition }] }] };
    let others = |filter: Document| {
        let bytes = Arc::new(raw(&doc! { "q": filter }).into_bytes());
        let whole = 0..bytes.len();
        let mut ahead = Ahead::new(&bytes, [(&whole, Part::Holder("q"))].into_iter());
        while !ahead.step() {}
        ahead.others([&whole].into_iter()) * 100 / bytes.len()
    };
    assert_eq!(others(doc! { "a": list(16_384) }), 0);
    assert_eq!(others(or(list(2000))), 100);
    assert_eq!(others(or(list(16_384))), 25);
    assert_eq!(others(doc! { "a": with_pattern(2000) }), 100);
    assert_eq!(others(doc! { "a": with_pattern(16_384) }), 25);
}

/// A part that is searched but not read where it lies would be taken for nothing; one that is read but not searched would wait.
#[test]
fn the_lists_that_are_found_are_those_that_a_filter_looks_up() {
    let operators = || list(2000);
    let among = || doc! { "a": list(2000) };
    let table = [
        (among(), 1),
        (
            doc! { "a": { "$not": operators(), "$nin": (0..1500).collect::<Vec<_>>() } },
            2,
        ),
        (
            doc! { "$or": [among(), { "$nor": [among(), { "$and": [among()] }] }] },
            3,
        ),
        (doc! { "a": { "$elemMatch": operators() } }, 1),
        (doc! { "a": { "$elemMatch": among() } }, 1),
        (
            doc! { "a": { "$elemMatch": { "$or": [among(), { "b": 1 }] } } },
            1,
        ),
        (
            doc! { "a": { "$all": [{ "$elemMatch": among() }, { "$elemMatch": among() }] } },
            2,
        ),
        (doc! { "a": { "$all": [among(), among()] } }, 0),
        (doc! { "a": among() }, 0),
        (doc! { "a": { "$eq": operators() } }, 0),
        (doc! { "a": { "$gt": { "b": operators() } } }, 0),
        (
            doc! { "$comment": among(), "a": { "$comment": operators() } },
            0,
        ),
        (
            doc! { "$expr": { "$eq": ["$a", { "$literal": operators() }] } },
            0,
        ),
        (doc! { "a": list(1024) }, 0),
        (doc! { "a": list(1025) }, 1),
    ];
    for (condition, expected) in table {
        let bytes = Arc::new(raw(&doc! { "other": among(), "filter": &condition }).into_bytes());
        let whole = 0..bytes.len();
        let mut ahead = Ahead::new(&bytes, [(&whole, Part::Holder("filter"))].into_iter());
        while !ahead.step() {}
        assert_eq!(ahead.found.len(), expected, "{condition}");
        let lists = ahead.finish();
        let filter = RawDocument::from_bytes(&bytes[..]).unwrap();
        let filter = filter.get_document("filter").unwrap();
        tally();
        Filter::parse_listed(filter, &Variables::default(), &lists).unwrap();
        assert_eq!(tally(), (expected, 0), "{condition}");
    }
}
