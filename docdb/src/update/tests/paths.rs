//! Dotted paths, arrays on the way, `$`, `$[]`, `$[id]`, and what an upsert makes of a filter.

use bson::{Bson, Document, doc};

use super::{NOW, apply_with, becomes, fails, parse, raw};
use crate::error::{CommandError, Result};
use crate::query::Filter;

#[test]
fn indexes_set_extend_and_pad_arrays() {
    becomes(
        &doc! {"a": [1, 2]},
        doc! {"$set": {"a.0": 9}},
        doc! {"a": [9, 2]},
    );
    becomes(
        &doc! {"a": [1]},
        doc! {"$set": {"a.3": 9}},
        doc! {"a": [1, null, null, 9]},
    );
    becomes(
        &doc! {"a": []},
        doc! {"$set": {"a.1.b": 9}},
        doc! {"a": [null, {"b": 9}]},
    );
    becomes(
        &doc! {"a": {}},
        doc! {"$set": {"a.0": 9}},
        doc! {"a": {"0": 9}},
    );
    becomes(&doc! {}, doc! {"$set": {"a.0": 9}}, doc! {"a": {"0": 9}});
    becomes(
        &doc! {"a": [[1], [2]]},
        doc! {"$push": {"a.1": 3}},
        doc! {"a": [[1], [2, 3]]},
    );
    becomes(
        &doc! {"a": [0, 0]},
        doc! {"$set": {"a.10": 10, "a.9": 9, "a.2": 2}},
        doc! {"a": [0, 0, 2, null, null, null, null, null, null, 9, 10]},
    );
}

#[test]
fn padding_is_bounded() {
    fails(
        &doc! {"a": []},
        doc! {"$set": {"a.1500001": 1}},
        34,
        "can't backfill more than 1500000 elements",
    );
    fails(
        &doc! {"a": []},
        doc! {"$set": {"a.99999999999999999999999": 1}},
        28,
        "Cannot create field",
    );
    let arrays: Document = (0..4)
        .map(|n| (n.to_string(), Bson::Array(Vec::new())))
        .collect();
    let far: Document = (0..4)
        .map(|n| (format!("{n}.1000000"), Bson::Int32(1)))
        .collect();
    fails(&arrays, doc! {"$set": far}, 34, "can't backfill");
}

fn by_filters(document: Document, update: Document, filters: &[Document]) -> Document {
    let changed = apply_with(&document, update, filters, None).expect("applies");
    changed.unwrap_or(document)
}

#[test]
fn all_elements() {
    becomes(
        &doc! {"a": [1, 2]},
        doc! {"$inc": {"a.$[]": 1}},
        doc! {"a": [2, 3]},
    );
    becomes(
        &doc! {"a": [{"b": 1}, {}]},
        doc! {"$set": {"a.$[].b": 5}},
        doc! {"a": [{"b": 5}, {"b": 5}]},
    );
    becomes(
        &doc! {"a": [[1], [2, 3]]},
        doc! {"$mul": {"a.$[].$[]": 2}},
        doc! {"a": [[2], [4, 6]]},
    );
    becomes(&doc! {"a": []}, doc! {"$set": {"a.$[]": 5}}, doc! {"a": []});
    becomes(
        &doc! {"a": [{"b": [{"c": 1}]}]},
        doc! {"$set": {"a.$[].b.0.c": 2}},
        doc! {"a": [{"b": [{"c": 2}]}]},
    );
}

#[test]
fn filtered_elements() {
    let graded = by_filters(
        doc! {"grades": [80, 95, 101]},
        doc! {"$set": {"grades.$[high]": 100}},
        &[doc! {"high": {"$gte": 100}}],
    );
    assert_eq!(graded, doc! {"grades": [80, 95, 100]});
    let by_field = by_filters(
        doc! {"a": [{"k": 1, "v": 0}, {"k": 2, "v": 0}]},
        doc! {"$inc": {"a.$[x].v": 5}},
        &[doc! {"x.k": 2, "x.v": {"$lt": 1}}],
    );
    assert_eq!(by_field, doc! {"a": [{"k": 1, "v": 0}, {"k": 2, "v": 5}]});
    let nested = by_filters(
        doc! {"a": [{"t": "q", "b": [{"c": 1}, {"c": 2}]}, {"t": "r", "b": [{"c": 2}]}]},
        doc! {"$set": {"a.$[x].b.$[y].d": true}},
        &[doc! {"x.t": "q"}, doc! {"y.c": 2}],
    );
    assert_eq!(
        nested,
        doc! {"a": [{"t": "q", "b": [{"c": 1}, {"c": 2, "d": true}]}, {"t": "r", "b": [{"c": 2}]}]}
    );
    let either = by_filters(
        doc! {"a": [1, 2, 3]},
        doc! {"$unset": {"a.$[x]": 1}},
        &[doc! {"$or": [{"x": 1}, {"x": 3}]}],
    );
    assert_eq!(either, doc! {"a": [null, 2, null]});
    // Two filters may take the same element, as long as they change different parts of it.
    let overlapping = by_filters(
        doc! {"a": [{"k": 1}, {"k": 2}]},
        doc! {"$set": {"a.$[x].p": 1, "a.$[].q": 2}},
        &[doc! {"x.k": 2}],
    );
    assert_eq!(
        overlapping,
        doc! {"a": [{"k": 1, "q": 2}, {"k": 2, "p": 1, "q": 2}]}
    );
}

fn with_filters(update: Document, filters: &[Document]) -> CommandError {
    let document = doc! {"a": [{"k": 1, "v": 0}], "s": 1};
    apply_with(&document, update, filters, None).expect_err("refused")
}

#[test]
fn array_filters_are_checked() {
    let cases = [
        (
            doc! {"$set": {"a.$[x]": 1}},
            vec![],
            2,
            "No array filter found for identifier 'x' in path 'a.$[x]'",
        ),
        (
            doc! {"$set": {"s": 2}},
            vec![doc! {"x": 1}],
            9,
            "The array filter for identifier 'x' was not used in the update { $set: { s: 2 } }",
        ),
        (
            doc! {"$set": {"a.$[x]": 1}},
            vec![doc! {"x": 1}, doc! {"x.b": 2}],
            9,
            "Found multiple array filters with the same top-level field name x",
        ),
        (
            doc! {"$set": {"a.$[x]": 1}},
            vec![doc! {"x": 1, "y": 2}],
            9,
            "Expected a single top-level field name, found 'x' and 'y'",
        ),
        (
            doc! {"$set": {"a.$[x]": 1}},
            vec![doc! {}],
            9,
            "Cannot use an expression without a top-level field name in arrayFilters",
        ),
        (
            doc! {"$set": {"a.$[X]": 1}},
            vec![doc! {"X": 1}],
            2,
            "beginning with a lowercase letter, found 'X'",
        ),
        (
            doc! {"$set": {"s.$[]": 1}},
            vec![],
            2,
            "Cannot apply array updates to non-array element s: 1",
        ),
        (
            doc! {"$set": {"n.$[]": 1}},
            vec![],
            2,
            "The path 'n' must exist in the document in order to apply array updates.",
        ),
        (
            doc! {"$set": {"a.$[x].v": 1, "a.$[].v": 2}},
            vec![doc! {"x.k": 1}],
            40,
            "would create a conflict at 'a.0.v'",
        ),
    ];
    for (update, filters, code, text) in cases {
        let error = with_filters(update, &filters);
        assert_eq!(error.code.number(), code, "{error}");
        assert!(error.message.contains(text), "{error}");
    }
}

#[test]
fn the_matched_element() {
    let document = doc! {"a": [{"k": 1}, {"k": 2}]};
    let changed = apply_with(&document, doc! {"$set": {"a.$.v": 9}}, &[], Some(1));
    assert_eq!(changed, Ok(Some(doc! {"a": [{"k": 1}, {"k": 2, "v": 9}]})));
    let both = apply_with(
        &document,
        doc! {"$set": {"a.$.v": 9, "a.0.w": 8}},
        &[],
        Some(0),
    );
    assert_eq!(
        both,
        Ok(Some(doc! {"a": [{"k": 1, "v": 9, "w": 8}, {"k": 2}]}))
    );
    let error = apply_with(&document, doc! {"$set": {"a.$": 9, "a.0": 8}}, &[], Some(0));
    assert_eq!(error.expect_err("conflict").code.number(), 40);
    fails(
        &document,
        doc! {"$set": {"a.$": 1}},
        2,
        "The positional operator did not find the match needed from the query.",
    );
    assert!(
        parse(doc! {"$set": {"a.$": 1}}, &[])
            .expect("valid")
            .needs_positional()
    );
}

fn upsert(filter: &Document, update: Document) -> Result<Document> {
    let filter = Filter::parse(&raw(filter)).expect("a valid filter");
    let inserted = parse(update, &[])?.upsert(&filter, NOW)?;
    Ok(Document::try_from(&*inserted).expect("valid"))
}

#[test]
fn an_upsert_begins_with_the_filters_equalities() {
    let cases = [
        (
            doc! {"_id": 1},
            doc! {"$set": {"a": 2}},
            doc! {"_id": 1, "a": 2},
        ),
        (
            doc! {"b": 3, "_id": 1},
            doc! {"$inc": {"n": 1}},
            doc! {"_id": 1, "b": 3, "n": 1},
        ),
        (
            doc! {"_id": 1, "a": {"$gt": 5}},
            doc! {"$set": {"b": 2}},
            doc! {"_id": 1, "b": 2},
        ),
        (
            doc! {"_id": 1, "a": {"$eq": 5}},
            doc! {"$set": {"b": 2}},
            doc! {"_id": 1, "a": 5, "b": 2},
        ),
        (
            doc! {"$and": [{"_id": 1}, {"a.b": 2}]},
            doc! {"$set": {"c": 3}},
            doc! {"_id": 1, "a": {"b": 2}, "c": 3},
        ),
        (
            doc! {"_id": 1, "a": 1},
            doc! {"$set": {"a": 2}},
            doc! {"_id": 1, "a": 2},
        ),
        (
            doc! {"_id": 1},
            doc! {"$setOnInsert": {"a": 2}},
            doc! {"_id": 1, "a": 2},
        ),
        (
            doc! {"_id": 1, "a": 5},
            doc! {"b": 2},
            doc! {"_id": 1, "b": 2},
        ),
        (
            doc! {"a": 5},
            doc! {"b": 2, "_id": 7},
            doc! {"_id": 7, "b": 2},
        ),
        (
            doc! {"a": 5},
            doc! {"$set": {"_id": 7}},
            doc! {"_id": 7, "a": 5},
        ),
    ];
    for (filter, update, expected) in cases {
        let inserted = upsert(&filter, update.clone()).expect("upserts");
        assert_eq!(
            raw(&inserted),
            raw(&expected),
            "{filter} {update}: {inserted}"
        );
    }
}

#[test]
fn an_upsert_without_an_id_makes_one_in_front() {
    let inserted = upsert(&doc! {"a": 1}, doc! {"$set": {"b": 2}}).expect("upserts");
    let names: Vec<&String> = inserted.keys().collect();
    assert_eq!(names, ["_id", "a", "b"]);
    assert!(inserted.get_object_id("_id").is_ok());
}

#[test]
fn an_upsert_that_cannot_be() {
    let cases = [
        (doc! {"_id": 1}, doc! {"$set": {"_id": 2}}, 66),
        (doc! {"_id": 1}, doc! {"_id": 2}, 66),
        (doc! {"a": 1}, doc! {"$set": {"_id": [1]}}, 53),
        (doc! {"a": 1, "a.b": 2}, doc! {"$set": {"c": 1}}, 54),
        (doc! {"a": 1}, doc! {"$set": {"a.b": 1}}, 28),
        (doc! {"_id": 1}, doc! {"$push": {"_id": 1}}, 2),
    ];
    for (filter, update, code) in cases {
        let error = upsert(&filter, update.clone()).expect_err("refused");
        assert_eq!(error.code.number(), code, "{filter} {update}: {error}");
    }
}
