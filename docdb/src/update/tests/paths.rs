//! Dotted paths, arrays on the way, `$`, `$[]`, `$[id]`, and what an upsert makes of a filter.

use bson::{Bson, Document, doc};

use super::{NOW, check, fails, parse, raw};
use crate::error::Result;
use crate::query::Filter;
use crate::value::shell;

#[test]
fn indexes_set_extend_and_pad_arrays() {
    check(
        r#"
{a: [1, 2]} by {$set: {"a.0": 9}} => {a: [9, 2]}
{a: [1]} by {$set: {"a.3": 9}} => {a: [1, null, null, 9]}
{a: []} by {$set: {"a.1.b": 9}} => {a: [null, {b: 9}]}
{a: {}} by {$set: {"a.0": 9}} => {a: {"0": 9}}
{} by {$set: {"a.0": 9}} => {a: {"0": 9}}
{a: [[1], [2]]} by {$push: {"a.1": 3}} => {a: [[1], [2, 3]]}
{a: [0, 0]} by {$set: {"a.10": 10, "a.9": 9, "a.2": 2}} => {a: [0, 0, 2, null, null, null, null, null, null, 9, 10]}
"#,
    );
}

#[test]
fn padding_is_bounded() {
    check(
        r#"
{a: []} by {$set: {"a.1500001": 1}} => !34 can't backfill more than 1500000 elements
{a: []} by {$set: {"a.99999999999999999999999": 1}} => !28 Cannot create field
"#,
    );
    let arrays: Document = (0..4)
        .map(|n| (n.to_string(), Bson::Array(Vec::new())))
        .collect();
    let far: Document = (0..4)
        .map(|n| (format!("{n}.1000000"), Bson::Int32(1)))
        .collect();
    fails(&arrays, doc! {"$set": far}, 34, "can't backfill");
}

#[test]
fn all_elements() {
    check(
        r#"
{a: [1, 2]} by {$inc: {"a.$[]": 1}} => {a: [2, 3]}
{a: [{b: 1}, {}]} by {$set: {"a.$[].b": 5}} => {a: [{b: 5}, {b: 5}]}
{a: [[1], [2, 3]]} by {$mul: {"a.$[].$[]": 2}} => {a: [[2], [4, 6]]}
{a: []} by {$set: {"a.$[]": 5}} => {a: []}
{a: [{b: [{c: 1}]}]} by {$set: {"a.$[].b.0.c": 2}} => {a: [{b: [{c: 2}]}]}
"#,
    );
}

#[test]
fn filtered_elements() {
    check(
        r#"
{grades: [80, 95, 101]} by {$set: {"grades.$[high]": 100}} where [{high: {$gte: 100}}] => {grades: [80, 95, 100]}
{a: [{k: 1, v: 0}, {k: 2, v: 0}]} by {$inc: {"a.$[x].v": 5}} where [{"x.k": 2, "x.v": {$lt: 1}}] => {a: [{k: 1, v: 0}, {k: 2, v: 5}]}
{a: [{t: "q", b: [{c: 1}, {c: 2}]}, {t: "r", b: [{c: 2}]}]} by {$set: {"a.$[x].b.$[y].d": true}} where [{"x.t": "q"}, {"y.c": 2}] => {a: [{t: "q", b: [{c: 1}, {c: 2, d: true}]}, {t: "r", b: [{c: 2}]}]}
{a: [1, 2, 3]} by {$unset: {"a.$[x]": 1}} where [{$or: [{x: 1}, {x: 3}]}] => {a: [null, 2, null]}
// Two filters may take the same element, as long as they change different parts of it.
{a: [{k: 1}, {k: 2}]} by {$set: {"a.$[x].p": 1, "a.$[].q": 2}} where [{"x.k": 2}] => {a: [{k: 1, q: 2}, {k: 2, p: 1, q: 2}]}
"#,
    );
}

#[test]
fn array_filters_are_checked() {
    check(
        r#"
{} by {$set: {"a.$[x]": 1}} => !2 No array filter found for identifier 'x' in path 'a.$[x]'
{s: 1} by {$set: {s: 2}} where [{x: 1}] => !9 The array filter for identifier 'x' was not used in the update { $set: { s: 2 } }
{} by {$set: {"a.$[x]": 1}} where [{x: 1}, {"x.b": 2}] => !9 Found multiple array filters with the same top-level field name x
{} by {$set: {"a.$[x]": 1}} where [{x: 1, y: 2}] => !9 Expected a single top-level field name, found 'x' and 'y'
{} by {$set: {"a.$[x]": 1}} where [{}] => !9 Cannot use an expression without a top-level field name in arrayFilters
{} by {$set: {"a.$[X]": 1}} where [{X: 1}] => !2 beginning with a lowercase letter, found 'X'
{s: 1} by {$set: {"s.$[]": 1}} => !2 Cannot apply array updates to non-array element s: 1
{s: 1} by {$set: {"n.$[]": 1}} => !2 The path 'n' must exist in the document in order to apply array updates.
{a: [{k: 1, v: 0}]} by {$set: {"a.$[x].v": 1, "a.$[].v": 2}} where [{"x.k": 1}] => !40 would create a conflict at 'a.0.v'
"#,
    );
}

#[test]
fn the_matched_element() {
    check(
        r#"
{a: [{k: 1}, {k: 2}]} by {$set: {"a.$.v": 9}} at 1 => {a: [{k: 1}, {k: 2, v: 9}]}
{a: [{k: 1}, {k: 2}]} by {$set: {"a.$.v": 9, "a.0.w": 8}} at 0 => {a: [{k: 1, v: 9, w: 8}, {k: 2}]}
{a: [{k: 1}, {k: 2}]} by {$set: {"a.$": 9, "a.0": 8}} at 0 => !40 conflict
{a: [{k: 1}, {k: 2}]} by {$set: {"a.$": 1}} => !2 The positional operator did not find the match needed from the query.
"#,
    );
    let update = parse(doc! {"$set": {"a.$": 1}}, &[]).expect("valid");
    assert!(update.needs_positional());
}

fn upsert(filter: &Document, update: Document) -> Result<Document> {
    let filter = Filter::parse(&raw(filter)).expect("a valid filter");
    let inserted = parse(update, &[])?.upsert(&filter, NOW)?;
    Ok(Document::try_from(&*inserted).expect("valid"))
}

#[test]
fn an_upsert_begins_with_the_filters_equalities() {
    let table = r#"
{_id: 1} by {$set: {a: 2}} => {_id: 1, a: 2}
{b: 3, _id: 1} by {$inc: {n: 1}} => {_id: 1, b: 3, n: 1}
{_id: 1, a: {$gt: 5}} by {$set: {b: 2}} => {_id: 1, b: 2}
{_id: 1, a: {$eq: 5}} by {$set: {b: 2}} => {_id: 1, a: 5, b: 2}
{$and: [{_id: 1}, {"a.b": 2}]} by {$set: {c: 3}} => {_id: 1, a: {b: 2}, c: 3}
{_id: 1, a: 1} by {$set: {a: 2}} => {_id: 1, a: 2}
{_id: 1} by {$setOnInsert: {a: 2}} => {_id: 1, a: 2}
{_id: 1, a: 5} by {b: 2} => {_id: 1, b: 2}
{a: 5} by {b: 2, _id: 7} => {_id: 7, b: 2}
{a: 5} by {$set: {_id: 7}} => {_id: 7, a: 5}
{_id: 1} by {$set: {_id: 2}} => !66 immutable field '_id'
{_id: 1} by {_id: 2} => !66 (immutable) field '_id'
{a: 1} by {$set: {_id: [1]}} => !53 _id
{a: 1, "a.b": 2} by {$set: {c: 1}} => !54 a
{a: 1} by {$set: {"a.b": 1}} => !28 Cannot create field 'b'
{_id: 1} by {$push: {_id: 1}} => !2 The field '_id' must be an array
"#;
    for (question, answer) in shell::rows(table) {
        let (filter, update) = question.split_once(" by ").expect("an update");
        let inserted = upsert(&shell::document(filter), shell::document(update));
        shell::assert_answer(question, inserted, answer);
    }
}

#[test]
fn an_upsert_without_an_id_makes_one_in_front() {
    let inserted = upsert(&doc! {"a": 1}, doc! {"$set": {"b": 2}}).expect("upserts");
    let names: Vec<&String> = inserted.keys().collect();
    assert_eq!(names, ["_id", "a", "b"]);
    assert!(inserted.get_object_id("_id").is_ok());
}
