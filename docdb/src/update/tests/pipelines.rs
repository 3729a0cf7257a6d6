//! Updates that are pipelines, and the bodies of the fuzz targets.

use bson::{Bson, doc};

use super::{NOW, apply, parse, raw};
use crate::query::Filter;
use crate::update::fuzz_update;
use crate::value::shell;

const RESULTS: &str = r#"
[{$set: {b: {$add: ["$a", 1]}}}] => {_id: 1, a: 1, b: 2}
[{$set: {a: "$$NOW"}}] => {_id: 1, a: date(1700000000123L)}
[{$unset: "a"}, {$addFields: {c: 1}}] => {_id: 1, c: 1}
[{$replaceWith: {b: "$a"}}] => {_id: 1, b: 1}
[{$replaceRoot: {newRoot: {b: 2, _id: 1}}}] => {_id: 1, b: 2}
[{$project: {_id: 0, a: 1, x: "$a"}}] => {_id: 1, a: 1, x: 1}
[{$set: {a: 1}}] => null
[] => null
"#;

const REFUSALS: &str = r#"
[{$match: {a: 1}}] => 72 $match is not allowed to be used within an update
[{$foo: 1}] => 40324 Unrecognized pipeline stage name: '$foo'
[1] => 14 Each element of the 'pipeline' array must be an object
[{$set: {_id: "1"}}] => 66 the (immutable) field '_id' was found to have been altered to _id: "1"
[{$set: {_id: 2}}] => 66 the (immutable) field '_id' was found to have been altered to _id: 2
[{$replaceWith: "$a"}] => 40228 'newRoot' expression must evaluate to an object
"#;

#[test]
fn pipelines_change_all_but_the_id() {
    let document = doc! {"_id": 1, "a": 1};
    for (update, expected) in shell::rows(RESULTS) {
        let changed = apply(&document, shell::value(update)).expect(update);
        let changed = changed.map_or(Bson::Null, Bson::Document);
        assert_eq!(changed, shell::value(expected), "{update}");
    }
}

#[test]
fn pipelines_that_are_refused() {
    for (update, refusal) in shell::rows(REFUSALS) {
        let error = apply(&doc! {"_id": 1, "a": 1}, shell::value(update)).expect_err(update);
        shell::assert_refused(update, &error, refusal);
    }
}

#[test]
fn a_pipeline_upsert_begins_with_the_filter() {
    let filter = Filter::parse(&raw(&doc! {"_id": 7, "a": 2})).expect("valid");
    let update = parse(vec![doc! {"$set": {"b": {"$multiply": ["$a", 3]}}}], &[]).expect("valid");
    let inserted = update.upsert(&filter, NOW).expect("upserts");
    assert_eq!(inserted, raw(&doc! {"_id": 7, "a": 2, "b": 6}));
}

#[test]
fn the_fuzz_bodies_take_what_they_are_made_for() {
    let update = raw(&doc! {
        "u": {"$inc": {"a.$[x]": 1}}, "document": {"_id": 1, "a": [1, 5]},
        "filters": [{"x": {"$gt": 2}}],
    });
    assert_eq!(fuzz_update(update.as_bytes()), "changed");
    assert_eq!(fuzz_update(b"\x05"), "not a document");
    let pipeline = raw(&doc! {"pipeline": [{"$sort": {"a": 1}}], "documents": [{"a": 1}]});
    assert_eq!(crate::aggregate::fuzz_pipeline(pipeline.as_bytes()), "runs");
    let unknown = raw(&doc! {"pipeline": [{"$nope": 1}]});
    assert_eq!(
        crate::aggregate::fuzz_pipeline(unknown.as_bytes()),
        "Location40324"
    );
}
