//! Sort keys against the order of values, arrays by their least or greatest element, and refused orders.

use std::cmp::Ordering;

use bson::{Bson, Document, doc};
use proptest::prelude::*;

use super::*;
use crate::value::compare_owned;
use crate::value::samples::{self, raw};
use crate::value::shell;

fn compare(order: &Document, left: &Document, right: &Document) -> Ordering {
    let order = SortOrder::parse(&raw(order)).unwrap();
    order.key(&raw(left)).cmp(&order.key(&raw(right)))
}

#[test]
fn documents_sort_as_in_mongodb() {
    let table = r#"
{a: 1} => [{a: []}, {}, {a: 0}, {a: [9, 1]}, {a: 2}, {a: "x"}]
{a: -1} => [{a: "x"}, {a: [9, 1]}, {a: 2}, {a: null}, {a: []}]
{"a.b": 1} => [{a: 5}, {a: {b: 1}}, {a: [{b: 7}, {b: 2}]}, {a: {b: 3}}]
{a: 1, b: -1} => [{a: 1, b: 2}, {a: 1, b: [1, 0]}, {a: 1}, {a: 2, b: 9}]
{"a.x": 1, "a.y": 1} => [{a: [{x: 1, y: 5}, {x: 2, y: 0}]}, {a: {x: 1, y: 6}}]
{"a.0": 1} => [{a: [1, 9]}, {a: [2, 0]}]
{a: 1, b: 1} => [{a: [1, 2], b: [3, 4]}, {a: 1, b: 5}]
"#;
    for (order, ascending) in shell::rows(table) {
        for pair in shell::documents(ascending).windows(2) {
            let found = compare(&shell::document(order), &pair[0], &pair[1]);
            assert_eq!(found, Ordering::Less, "{order}: {pair:?}");
        }
    }
}

#[test]
fn wrong_orders_are_refused() {
    let table = r#"
{a: 2} => 15975 $sort key ordering must be 1
{a: "x"} => 15974 Illegal key in $sort specification: a: "x"
{"": 1} => 40352 FieldPath cannot be constructed with empty string
{"a.": 1} => 40353 FieldPath must not end with a '.'.
{a..b: 1} => 15998 FieldPath field names may not be empty strings.
{$a: 1} => 16410 FieldPath field names may not start with '$'.
{a: {$meta: "textScore"}} => 40218 query requires text score metadata
{$natural: 1, a: 1} => 2 Cannot include '$natural' in compound sort
"#;
    for (order, refusal) in shell::rows(table) {
        let error = SortOrder::parse(&raw(&shell::document(order))).expect_err(order);
        shell::assert_refused(order, &error, refusal);
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
