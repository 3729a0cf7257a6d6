//! Sort keys against the order of values, arrays by their least or greatest element, and refused orders.

use std::cmp::Ordering;

use bson::{Bson, Document, doc};
use proptest::prelude::*;

use super::*;
use crate::value::compare_owned;
use crate::value::samples::{self, raw};

fn compare(order: &Document, left: &Document, right: &Document) -> Ordering {
    let order = SortOrder::parse(&raw(order)).unwrap();
    order.key(&raw(left)).cmp(&order.key(&raw(right)))
}

#[test]
fn documents_sort_as_in_mongodb() {
    for (order, ascending) in [
        (
            doc! {"a": 1},
            vec![
                doc! {"a": []},
                doc! {},
                doc! {"a": 0},
                doc! {"a": [9, 1]},
                doc! {"a": 2},
                doc! {"a": "x"},
            ],
        ),
        (
            doc! {"a": -1},
            vec![
                doc! {"a": "x"},
                doc! {"a": [9, 1]},
                doc! {"a": 2},
                doc! {"a": null},
                doc! {"a": []},
            ],
        ),
        (
            doc! {"a.b": 1},
            vec![
                doc! {"a": 5},
                doc! {"a": {"b": 1}},
                doc! {"a": [{"b": 7}, {"b": 2}]},
                doc! {"a": {"b": 3}},
            ],
        ),
        (
            doc! {"a": 1, "b": -1},
            vec![
                doc! {"a": 1, "b": 2},
                doc! {"a": 1, "b": [1, 0]},
                doc! {"a": 1},
                doc! {"a": 2, "b": 9},
            ],
        ),
        (
            doc! {"a.x": 1, "a.y": 1},
            vec![
                doc! {"a": [{"x": 1, "y": 5}, {"x": 2, "y": 0}]},
                doc! {"a": {"x": 1, "y": 6}},
            ],
        ),
        (
            doc! {"a.0": 1},
            vec![doc! {"a": [1, 9]}, doc! {"a": [2, 0]}],
        ),
        (
            doc! {"a": 1, "b": 1},
            vec![doc! {"a": [1, 2], "b": [3, 4]}, doc! {"a": 1, "b": 5}],
        ),
    ] {
        for pair in ascending.windows(2) {
            assert_eq!(
                compare(&order, &pair[0], &pair[1]),
                Ordering::Less,
                "{order}: {} before {}",
                pair[0],
                pair[1]
            );
        }
    }
}

#[test]
fn wrong_orders_are_refused() {
    for (order, code) in [
        (doc! {"a": 2}, Code::Location(15975)),
        (doc! {"a": "x"}, Code::Location(15974)),
        (doc! {"": 1}, Code::Location(40352)),
        (doc! {"a.": 1}, Code::Location(40353)),
        (doc! {"a..b": 1}, Code::Location(15998)),
        (doc! {"$a": 1}, Code::Location(16410)),
        (doc! {"a": {"$meta": "textScore"}}, Code::Location(40218)),
        (doc! {"$natural": 1, "a": 1}, Code::BadValue),
    ] {
        assert_eq!(
            SortOrder::parse(&raw(&order)).unwrap_err().code,
            code,
            "{order}"
        );
    }
    let natural = SortOrder::parse(&raw(&doc! {"$natural": -1})).unwrap();
    assert_eq!(natural.natural(), Some(Direction::Descending));
}

proptest! {
    #![proptest_config(samples::config(1000))]

    #[test]
    fn scalars_sort_as_values(a in samples::scalar(), b in samples::scalar()) {
        let (left, right) = (doc! {"a": a.clone()}, doc! {"a": b.clone()});
        prop_assert_eq!(compare(&doc! {"a": 1}, &left, &right), compare_owned(&a, &b));
        prop_assert_eq!(compare(&doc! {"a": -1}, &left, &right), compare_owned(&b, &a));
    }

    #[test]
    fn arrays_sort_by_their_least_element(values in prop::collection::vec(samples::scalar(), 1..4)) {
        let least = values.iter().min_by(|a, b| compare_owned(a, b)).unwrap().clone();
        let greatest = values.iter().max_by(|a, b| compare_owned(a, b)).unwrap().clone();
        let array = doc! {"a": Bson::Array(values)};
        prop_assert_eq!(compare(&doc! {"a": 1}, &array, &doc! {"a": least}), Ordering::Equal);
        prop_assert_eq!(compare(&doc! {"a": -1}, &array, &doc! {"a": greatest}), Ordering::Equal);
    }
}
