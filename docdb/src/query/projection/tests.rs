//! What projections let out, and what they are refused for.

use bson::{Document, doc};

use super::*;
use crate::error::Code;
use crate::value::samples::raw;
use crate::value::shell;

fn project(projection: &Document, document: &Document, positional: Option<usize>) -> Document {
    let projection =
        Projection::parse(&raw(projection)).unwrap_or_else(|error| panic!("{projection}: {error}"));
    let out = projection.apply(&raw(document), positional).unwrap();
    crate::value::validate(out.as_bytes()).unwrap();
    Document::try_from(&*out).unwrap()
}

/// Lines of a projection, the place that `$` stands for, and what it lets out of `document`.
fn check(document: &Document, table: &str) {
    for (line, expected) in shell::rows(table) {
        let (projection, place) = line.split_once(" at ").unwrap_or((line, ""));
        let out = project(&shell::document(projection), document, place.parse().ok());
        assert_eq!(out, shell::document(expected), "{line}");
    }
}

#[test]
fn fields_are_included_and_excluded() {
    let document =
        doc! {"_id": 1, "a": 2, "b": {"c": 3, "d": 4}, "e": [{"c": 5, "d": 6}, 7, [{"c": 8}]]};
    check(
        &document,
        r#"
{} => {_id: 1, a: 2, b: {c: 3, d: 4}, e: [{c: 5, d: 6}, 7, [{c: 8}]]}
{a: 1} => {_id: 1, a: 2}
{a: true, _id: 0} => {a: 2}
{_id: 1} => {_id: 1}
{_id: 0, e: 0, b: 0} => {a: 2}
{_id: 1, e: 0, b: 0} => {_id: 1, a: 2}
{"b.c": 1} => {_id: 1, b: {c: 3}}
{b: {c: 1}} => {_id: 1, b: {c: 3}}
{"e.c": 1} => {_id: 1, e: [{c: 5}, [{c: 8}]]}
{"e.c": 0, b: 0} => {_id: 1, a: 2, e: [{d: 6}, 7, [{}]]}
{"a.x": 1} => {_id: 1}
{"a.x": 0, b: 0, e: 0} => {_id: 1, a: 2}
{missing: 1} => {_id: 1}
{b: "text", _id: 0} => {b: "text"}
{"x.y": "text", a: 1} => {_id: 1, a: 2, x: {y: "text"}}
{"b.c": "text"} => {_id: 1, b: {c: "text"}}
"#,
    );
}

#[test]
fn arrays_are_cut() {
    let document =
        doc! {"_id": 1, "a": [1, 2, 3], "b": [{"c": 1, "d": 1}, {"c": 2, "d": 2}], "e": 5};
    check(
        &document,
        r#"
{a: {$slice: 1}, b: 0, e: 0} => {_id: 1, a: [1]}
{a: {$slice: -2}, e: 1} => {_id: 1, a: [2, 3], e: 5}
{a: {$slice: [1, 1]}, _id: 0, b: 0} => {a: [2], e: 5}
{a: {$slice: [-1, 5]}, e: 1} => {_id: 1, a: [3], e: 5}
{a: {$slice: [7, 5]}, e: 1} => {_id: 1, a: [], e: 5}
{b: {$elemMatch: {c: 2}}} => {_id: 1, b: [{c: 2, d: 2}]}
{a: {$elemMatch: {$gt: 1}}, e: 1} => {_id: 1, a: [2], e: 5}
{a: {$elemMatch: {$gt: 9}}} => {_id: 1}
{"a.$": 1} at 1 => {_id: 1, a: [2]}
{"b.c.$": 1} at 1 => {_id: 1, b: [{c: 2}]}
{"e.$": 1} => {_id: 1, e: 5}
"#,
    );
    let projection = Projection::parse(&raw(&doc! {"a.$": 1})).unwrap();
    assert!(projection.needs_positional());
    let error = projection.apply(&raw(&document), None).unwrap_err();
    assert_eq!(error.code, Code::Location(51246));
}

#[test]
fn wrong_projections_are_refused() {
    let table = r#"
{a: 0, b: 1} => 31253 Cannot do inclusion on field b in exclusion projection
{a: 1, b: 0} => 31254 Cannot do exclusion on field b in inclusion projection
{a: 1, "a.b": 1} => 31249 Path collision at a.b remaining portion b
{"a.b": 1, a: 1} => 31250 Path collision at a
{a: {}} => 51270 An empty sub-projection
{"a..b": 1} => 15998 FieldPath field names
{$a: 1} => 16410 FieldPath field names may not start
{"a.$": 0} => 31395 positional projection cannot
{"a.$": 1, "b.$": 1} => 31276 Cannot specify more than one
{"a.$.b": 1} => 31394 As of 4.4
{"a.$": 1, b: {$elemMatch: {c: 1}}} => 31256 Cannot specify positional
{a: {$elemMatch: 1}} => 31274 elemMatch: Invalid argument
{"a.b": {$elemMatch: {c: 1}}} => 31275 Cannot use $elemMatch projection on a nested field.
{a: {$slice: "x"}} => 28667 Invalid $slice syntax
{a: {$slice: [1, 0]}} => 28667 Invalid $slice syntax
{a: {$meta: "textScore"}} => 40218 query requires text score
{a: 0, b: "x"} => 31252 Cannot use an expression in an exclusion
"#;
    for (projection, refusal) in shell::rows(table) {
        let error = Projection::parse(&raw(&shell::document(projection))).expect_err(projection);
        shell::assert_refused(projection, &error, refusal);
    }
}

#[test]
fn expressions_make_new_fields() {
    let document = doc! {"_id": 1, "a": 2, "b": {"c": 3}, "e": [{"x": 1}]};
    check(
        &document,
        r#"
{sum: {$add: ["$a", "$b.c"]}} => {_id: 1, sum: 5}
{a: 1, copy: "$b.c"} => {_id: 1, a: 2, copy: 3}
{none: "$missing"} => {_id: 1}
{list: ["$a", "x"], _id: 0} => {list: [2, "x"]}
{"e.y": "$a"} => {_id: 1, e: [{y: 2}]}
{"a.y": "$b.c"} => {_id: 1, a: {y: 3}}
{flag: {$literal: 1}} => {_id: 1, flag: 1}
"#,
    );
    let unknown = Projection::parse(&raw(&doc! {"a": {"$foo": 1}})).unwrap_err();
    assert_eq!(unknown.code, Code::Location(31325));
    let failing = Projection::parse(&raw(&doc! {"a": {"$divide": [1, 0]}}));
    assert!(failing.is_err() || failing.unwrap().apply(&raw(&document), None).is_err());
}
