//! What projections let out, and what they are refused for.

use bson::{Document, doc};

use super::*;
use crate::error::Code;
use crate::value::samples::raw;

fn project(projection: &Document, document: &Document, positional: Option<usize>) -> Document {
    let projection =
        Projection::parse(&raw(projection)).unwrap_or_else(|error| panic!("{projection}: {error}"));
    let out = projection.apply(&raw(document), positional).unwrap();
    crate::value::validate(out.as_bytes()).unwrap();
    Document::try_from(&*out).unwrap()
}

#[test]
fn fields_are_included_and_excluded() {
    let document =
        doc! {"_id": 1, "a": 2, "b": {"c": 3, "d": 4}, "e": [{"c": 5, "d": 6}, 7, [{"c": 8}]]};
    for (projection, expected) in [
        (doc! {}, document.clone()),
        (doc! {"a": 1}, doc! {"_id": 1, "a": 2}),
        (doc! {"a": true, "_id": 0}, doc! {"a": 2}),
        (doc! {"_id": 1}, doc! {"_id": 1}),
        (doc! {"_id": 0, "e": 0, "b": 0}, doc! {"a": 2}),
        (doc! {"_id": 1, "e": 0, "b": 0}, doc! {"_id": 1, "a": 2}),
        (doc! {"b.c": 1}, doc! {"_id": 1, "b": {"c": 3}}),
        (doc! {"b": {"c": 1}}, doc! {"_id": 1, "b": {"c": 3}}),
        (
            doc! {"e.c": 1},
            doc! {"_id": 1, "e": [{"c": 5}, [{"c": 8}]]},
        ),
        (
            doc! {"e.c": 0, "b": 0},
            doc! {"_id": 1, "a": 2, "e": [{"d": 6}, 7, [{}]]},
        ),
        (doc! {"a.x": 1}, doc! {"_id": 1}),
        (doc! {"a.x": 0, "b": 0, "e": 0}, doc! {"_id": 1, "a": 2}),
        (doc! {"missing": 1}, doc! {"_id": 1}),
        (doc! {"b": "text", "_id": 0}, doc! {"b": "text"}),
        (
            doc! {"x.y": "text", "a": 1},
            doc! {"_id": 1, "a": 2, "x": {"y": "text"}},
        ),
        (doc! {"b.c": "text"}, doc! {"_id": 1, "b": {"c": "text"}}),
    ] {
        assert_eq!(
            project(&projection, &document, None),
            expected,
            "{projection}"
        );
    }
}

#[test]
fn arrays_are_cut() {
    let document =
        doc! {"_id": 1, "a": [1, 2, 3], "b": [{"c": 1, "d": 1}, {"c": 2, "d": 2}], "e": 5};
    for (projection, positional, expected) in [
        (
            doc! {"a": {"$slice": 1}, "b": 0, "e": 0},
            None,
            doc! {"_id": 1, "a": [1]},
        ),
        (
            doc! {"a": {"$slice": -2}, "e": 1},
            None,
            doc! {"_id": 1, "a": [2, 3], "e": 5},
        ),
        (
            doc! {"a": {"$slice": [1, 1]}, "_id": 0, "b": 0},
            None,
            doc! {"a": [2], "e": 5},
        ),
        (
            doc! {"a": {"$slice": [-1, 5]}, "e": 1},
            None,
            doc! {"_id": 1, "a": [3], "e": 5},
        ),
        (
            doc! {"a": {"$slice": [7, 5]}, "e": 1},
            None,
            doc! {"_id": 1, "a": [], "e": 5},
        ),
        (
            doc! {"b": {"$elemMatch": {"c": 2}}},
            None,
            doc! {"_id": 1, "b": [{"c": 2, "d": 2}]},
        ),
        (
            doc! {"a": {"$elemMatch": {"$gt": 1}}, "e": 1},
            None,
            doc! {"_id": 1, "a": [2], "e": 5},
        ),
        (
            doc! {"a": {"$elemMatch": {"$gt": 9}}},
            None,
            doc! {"_id": 1},
        ),
        (doc! {"a.$": 1}, Some(1), doc! {"_id": 1, "a": [2]}),
        (doc! {"b.c.$": 1}, Some(1), doc! {"_id": 1, "b": [{"c": 2}]}),
        (doc! {"e.$": 1}, None, doc! {"_id": 1, "e": 5}),
    ] {
        assert_eq!(
            project(&projection, &document, positional),
            expected,
            "{projection}"
        );
    }
    let projection = Projection::parse(&raw(&doc! {"a.$": 1})).unwrap();
    assert!(projection.needs_positional());
    let error = projection.apply(&raw(&document), None).unwrap_err();
    assert_eq!(error.code, Code::Location(51246));
}

#[test]
#[expect(clippy::too_many_lines, reason = "one table")]
fn wrong_projections_are_refused() {
    for (projection, code, text) in [
        (
            doc! {"a": 0, "b": 1},
            Code::Location(31253),
            "Cannot do inclusion on field b in exclusion projection",
        ),
        (
            doc! {"a": 1, "b": 0},
            Code::Location(31254),
            "Cannot do exclusion on field b in inclusion projection",
        ),
        (
            doc! {"a": 1, "a.b": 1},
            Code::Location(31249),
            "Path collision at a.b remaining portion b",
        ),
        (
            doc! {"a.b": 1, "a": 1},
            Code::Location(31250),
            "Path collision at a",
        ),
        (
            doc! {"a": {}},
            Code::Location(51270),
            "An empty sub-projection",
        ),
        (
            doc! {"a..b": 1},
            Code::Location(15998),
            "FieldPath field names",
        ),
        (
            doc! {"$a": 1},
            Code::Location(16410),
            "FieldPath field names may not start",
        ),
        (
            doc! {"a.$": 0},
            Code::Location(31395),
            "positional projection cannot",
        ),
        (
            doc! {"a.$": 1, "b.$": 1},
            Code::Location(31276),
            "Cannot specify more than one",
        ),
        (doc! {"a.$.b": 1}, Code::Location(31394), "As of 4.4"),
        (
            doc! {"a.$": 1, "b": {"$elemMatch": {"c": 1}}},
            Code::Location(31256),
            "Cannot specify positional",
        ),
        (
            doc! {"a": {"$elemMatch": 1}},
            Code::Location(31274),
            "elemMatch: Invalid argument",
        ),
        (
            doc! {"a.b": {"$elemMatch": {"c": 1}}},
            Code::Location(31275),
            "Cannot use $elemMatch projection on a nested field.",
        ),
        (
            doc! {"a": {"$slice": "x"}},
            Code::Location(28667),
            "Invalid $slice syntax",
        ),
        (
            doc! {"a": {"$slice": [1, 0]}},
            Code::Location(28667),
            "Invalid $slice syntax",
        ),
        (
            doc! {"a": {"$meta": "textScore"}},
            Code::Location(40218),
            "query requires text score",
        ),
        (
            doc! {"a": 0, "b": "x"},
            Code::Location(31252),
            "Cannot use an expression in an exclusion",
        ),
    ] {
        let error = Projection::parse(&raw(&projection)).expect_err(&projection.to_string());
        assert_eq!(error.code, code, "{projection}: {error}");
        assert!(error.message.starts_with(text), "{projection}: {error}");
    }
}

#[test]
fn expressions_make_new_fields() {
    let document = doc! {"_id": 1, "a": 2, "b": {"c": 3}, "e": [{"x": 1}]};
    for (projection, expected) in [
        (
            doc! {"sum": {"$add": ["$a", "$b.c"]}},
            doc! {"_id": 1, "sum": 5},
        ),
        (
            doc! {"a": 1, "copy": "$b.c"},
            doc! {"_id": 1, "a": 2, "copy": 3},
        ),
        (doc! {"none": "$missing"}, doc! {"_id": 1}),
        (
            doc! {"list": ["$a", "x"], "_id": 0},
            doc! {"list": [2, "x"]},
        ),
        (doc! {"e.y": "$a"}, doc! {"_id": 1, "e": [{"y": 2}]}),
        (doc! {"a.y": "$b.c"}, doc! {"_id": 1, "a": {"y": 3}}),
        (doc! {"flag": {"$literal": 1}}, doc! {"_id": 1, "flag": 1}),
    ] {
        assert_eq!(
            project(&projection, &document, None),
            expected,
            "{projection}"
        );
    }
    let unknown = Projection::parse(&raw(&doc! {"a": {"$foo": 1}})).unwrap_err();
    assert_eq!(unknown.code, Code::Location(31325));
    let failing = Projection::parse(&raw(&doc! {"a": {"$divide": [1, 0]}}));
    assert!(failing.is_err() || failing.unwrap().apply(&raw(&document), None).is_err());
}
