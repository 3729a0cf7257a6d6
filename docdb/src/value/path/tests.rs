//! Where paths lead, through documents, arrays and places in arrays.

use bson::{Bson, Document, bson, doc};

use super::*;
use crate::value::samples::raw;

type Seen = Vec<(Bson, Option<usize>)>;

/// What `path` leads to, with `$`'s place; `MaxKey` stands for nothing there.
fn found(document: &Document, path: &str, leaf: Leaf) -> Seen {
    let document = raw(document);
    let mut seen = Vec::new();
    Path::parse(path)
        .unwrap()
        .visit(Fields::new(&document), leaf, |found| {
            let value = found.value.map_or(Bson::MaxKey, Value::to_bson);
            seen.push((value, found.position));
            false
        });
    seen
}

#[test]
fn paths_lead_through_arrays() {
    let missing = Bson::MaxKey;
    let table: Vec<(Document, &str, Seen)> = vec![
        (doc! {"a": 1}, "a", vec![(bson!(1), None)]),
        (doc! {"a": 1}, "b", vec![(missing.clone(), None)]),
        (doc! {"a": 1}, "a.b", vec![(missing.clone(), None)]),
        (doc! {"a": {"b": 1}}, "a.b", vec![(bson!(1), None)]),
        (
            doc! {"a": [5, 6]},
            "a",
            vec![
                (bson!(5), Some(0)),
                (bson!(6), Some(1)),
                (bson!([5, 6]), None),
            ],
        ),
        (doc! {"a": []}, "a", vec![(bson!([]), None)]),
        (doc! {"a": []}, "a.b", vec![]),
        (doc! {"a": [1, 2]}, "a.b", vec![]),
        (
            doc! {"a": [{"b": 1}, {}]},
            "a.b",
            vec![(bson!(1), Some(0)), (missing.clone(), Some(1))],
        ),
        (doc! {"a": [5, 7, 3]}, "a.1", vec![(bson!(7), Some(1))]),
        (
            doc! {"a": [5, [2, 4], 3]},
            "a.1",
            vec![(bson!([2, 4]), Some(1))],
        ),
        (
            doc! {"a": [5, {"1": 4}, 3]},
            "a.1",
            vec![(bson!(4), Some(1)), (bson!({"1": 4}), Some(1))],
        ),
        (
            doc! {"a": [5, {"b": 4}, 3]},
            "a.1.b",
            vec![(missing.clone(), Some(1)), (bson!(4), None)],
        ),
        (
            doc! {"a": [5, [{"b": 4}], 3]},
            "a.1.b",
            vec![(bson!(4), Some(0))],
        ),
        (
            doc! {"a": [{"b": [{"c": 1}]}, {"b": {"c": 2}}]},
            "a.b.c",
            vec![(bson!(1), Some(0)), (bson!(2), Some(1))],
        ),
        (
            doc! {"a": [{"b": [8, 9]}]},
            "a.b",
            vec![
                (bson!(8), Some(0)),
                (bson!(9), Some(0)),
                (bson!([8, 9]), Some(0)),
            ],
        ),
        (doc! {"a": {"0": 3}}, "a.0", vec![(bson!(3), None)]),
        (doc! {"a": [[{"b": 1}]]}, "a.b", vec![]),
        (doc! {"": 1}, "", vec![(bson!(1), None)]),
    ];
    for (document, path, expected) in table {
        assert_eq!(
            found(&document, path, Leaf::Elements),
            expected,
            "{path} of {document}"
        );
    }
}

#[test]
fn an_array_at_the_end_can_stay_whole() {
    let document = doc! {"a": [{"b": [1, 2]}]};
    assert_eq!(
        found(&document, "a.b", Leaf::Whole),
        [(bson!([1, 2]), Some(0))]
    );
}

#[test]
fn a_walk_stops_when_told() {
    let document = raw(&doc! {"a": [1, 2, 3]});
    let mut count = 0;
    let stopped = Path::parse("a")
        .unwrap()
        .visit(Fields::new(&document), Leaf::Elements, |_| {
            count += 1;
            count == 2
        });
    assert!(stopped);
    assert_eq!(count, 2);
}

#[test]
fn overlong_paths_are_refused() {
    assert_eq!(
        Path::parse(&vec!["a"; 201].join(".")).unwrap_err().code,
        Code::Overflow
    );
    assert_eq!(
        Path::parse(&vec!["0"; 17].join(".")).unwrap_err().code,
        Code::BadValue
    );
    assert!(Path::parse(&vec!["a"; 200].join(".")).is_ok());
}

#[test]
fn indexes_are_plain_numbers() {
    for (name, index) in [
        ("0", Some(0)),
        ("12", Some(12)),
        ("01", None),
        ("", None),
        ("-1", None),
        ("1a", None),
    ] {
        assert_eq!(array_index(name), index, "{name}");
    }
}
