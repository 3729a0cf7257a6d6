//! What filters match, operator by operator, and what they are refused for.

use bson::{Bson, Document, Regex, doc};

use super::*;
use crate::value::samples::raw;
use crate::value::shell;

fn filter(filter: &Document) -> Filter {
    Filter::parse(&raw(filter)).unwrap_or_else(|error| panic!("{filter}: {error}"))
}

fn assert_matches(condition: &Document, document: &Document, expected: bool) {
    let is = filter(condition).matches(&raw(document));
    assert_eq!(is, expected, "{condition} on {document}");
}

fn regex(pattern: &str, options: &str) -> Bson {
    Bson::RegularExpression(Regex {
        pattern: pattern.try_into().unwrap(),
        options: options.try_into().unwrap(),
    })
}

/// Lines of a filter, documents that match and documents that do not.
fn check(table: &str) {
    for (condition, documents) in shell::rows(table) {
        let (matching, others) = documents.split_once(" not ").expect("a not");
        for (documents, expected) in [(matching, true), (others, false)] {
            for document in shell::documents(documents) {
                assert_matches(&shell::document(condition), &document, expected);
            }
        }
    }
}

#[test]
fn equality_is_of_values_elements_and_whole_arrays() {
    check(
        r#"
{} => [{}, {a: 1}] not []
{a: 1} => [{a: 1.0}, {a: 1L}, {a: 1.0D}, {a: [2, 1]}] not [{}, {a: "1"}, {a: true}, {a: [[1]]}]
{a: [1, 2]} => [{a: [1, 2]}, {a: [[1, 2]]}] not [{a: [2, 1]}, {a: [1, 2, 3]}]
{a: []} => [{a: []}, {a: [[]]}] not [{}, {a: [1]}]
{a: {b: 1, c: 2}} => [{a: {b: 1, c: 2}}] not [{a: {c: 2, b: 1}}, {a: {b: 1}}]
{a: null} => [{}, {a: null}, {a: [1, null]}, {a: undefined}] not [{a: []}, {a: 0}]
{"a.b": null} => [{a: [{b: 1}, {}]}, {a: {}}, {a: 5}, {}] not [{a: []}, {a: [1]}, {a: [{b: 1}]}]
{"a.b": 1} => [{a: {b: 1}}, {a: [{b: 2}, {b: [1]}]}] not [{a: [[{b: 1}]]}, {"a.b": 1}]
{"a.0": 1} => [{a: [1]}, {a: {"0": 1}}, {a: [{"0": 1}]}] not [{a: [2, 1]}]
{"a.0.b": 1} => [{a: [{b: 1}]}] not [{a: [{b: 2}, {b: 1}]}]
{a: NaN} => [{a: NaN}, {a: NaND}] not [{a: 0}]
{a: {$eq: 1}} => [{a: 1}] not [{a: 2}]
{a: {$ne: 1}} => [{}, {a: [2]}] not [{a: 1}, {a: [1, 2]}]
{a: {$ne: null}} => [{a: []}, {a: 0}] not [{}, {a: null}]
{a: {$ref: "c", $id: 1}} => [{a: {$ref: "c", $id: 1}}] not [{a: 1}]
{_id: oid("070707070707070707070707")} => [{_id: oid("070707070707070707070707")}] not [{_id: oid("080808080808080808080808")}]
"#,
    );
}

#[test]
fn ranges_stay_within_a_type() {
    check(
        r#"
{a: {$gt: 5}} => [{a: 6}, {a: 5.5}, {a: [1, 6]}] not [{a: 5}, {a: "9"}, {a: true}, {}, {a: NaN}]
{a: {$gte: 5, $lt: 7}} => [{a: 5}, {a: [4, 8]}] not [{a: 7}, {a: null}]
{a: {$lt: 5}} => [{a: -1}] not [{a: NaN}, {a: null}, {}]
{a: {$lte: NaN}} => [{a: NaN}] not [{a: 1}, {a: -Infinity}]
{a: {$gte: null}} => [{}, {a: null}] not [{a: 1}]
{a: {$gt: null}} => [] not [{}, {a: null}, {a: 1}]
{a: {$gt: "a"}} => [{a: "b"}, {a: symbol("b")}] not [{a: 1}]
{a: {$gt: date(0)}} => [{a: date(1)}] not [{a: date(-1)}, {a: 5}]
{a: {$gt: MinKey}} => [{a: 1}, {a: "x"}, {}] not [{a: MinKey}]
{a: {$lt: MaxKey}} => [{a: 1}, {}] not [{a: MaxKey}]
{a: {$gt: [1]}} => [{a: [2]}, {a: [1, 0]}] not [{a: [0, 9]}, {a: 2}]
{a: {$gt: {b: 1}}} => [{a: {b: 2}}, {a: {b: 1, c: 0}}] not [{a: {b: 1}}, {a: {a: 9}}]
{a: {$gt: false}} => [{a: true}] not [{a: 1}]
"#,
    );
}

#[test]
fn lists_and_logic() {
    check(
        r#"
{a: {$in: [1, "x", null]}} => [{a: 1.0}, {a: "x"}, {}, {a: [0, 1]}] not [{a: 2}, {a: []}]
{a: {$in: []}} => [] not [{}, {a: 1}]
{a: {$in: [/^x/, 2]}} => [{a: "xy"}, {a: 2}] not [{a: "yx"}]
{a: {$in: [[1]]}} => [{a: [1]}] not [{a: 1}]
{a: {$nin: [1, null]}} => [{a: 2}, {a: []}] not [{}, {a: [1]}]
{$and: [{a: 1}, {b: 2}]} => [{a: 1, b: 2}] not [{a: 1}]
{$or: [{a: 1}, {b: 2}]} => [{a: 1}, {b: 2}] not [{}]
{$nor: [{a: 1}, {b: 2}]} => [{}] not [{a: 1}]
{a: {$not: {$gt: 1}}} => [{}, {a: 1}, {a: "x"}] not [{a: 2}, {a: [0, 2]}]
{a: {$not: {$gt: 1, $lt: 5}}} => [{a: 7}, {a: 0}] not [{a: 3}]
{a: {$not: /^x/}} => [{a: "y"}, {}] not [{a: "x"}]
{a: 1, $comment: "why"} => [{a: 1}] not [{}]
{$alwaysFalse: 1} => [] not [{}]
"#,
    );
}

#[test]
fn elements_and_types() {
    check(
        r#"
{a: {$exists: true}} => [{a: null}, {a: []}] not [{}]
{a: {$exists: 0}} => [{}] not [{a: null}]
{"a.b": {$exists: false}} => [{a: []}, {a: 1}] not [{a: [{b: 1}, {}]}]
{a: {$type: "number"}} => [{a: 1}, {a: 1.5}, {a: 1D}, {a: ["x", 1]}] not [{a: "1"}, {}]
{a: {$type: "array"}} => [{a: []}, {a: [1]}] not [{a: 1}]
{a: {$type: ["string", 16, "long"]}} => [{a: "x"}, {a: 1}, {a: 1L}] not [{a: 1.0}]
{a: {$type: -1}} => [{a: MinKey}] not [{a: MaxKey}]
{a: {$mod: [4, 1]}} => [{a: 5}, {a: 5.9}, {a: [0, 1]}] not [{a: 4}, {a: "5"}, {a: Infinity}]
{a: {$mod: [-1, 0]}} => [{a: -9223372036854775808L}] not []
{a: {$regex: "B", $options: "i"}} => [{a: "abc"}, {a: ["x", "b"]}] not [{a: "x"}, {a: 1}]
{a: /^b/m} => [{a: "a\nb"}, {a: /^b/m}] not [{a: "ab"}]
"#,
    );
}

#[test]
fn arrays() {
    check(
        r#"
{a: {$all: [1, 2]}} => [{a: [2, 3, 1]}] not [{a: [1]}, {a: 1}]
{a: {$all: [1]}} => [{a: 1}] not [{}]
{a: {$all: []}} => [] not [{}, {a: []}]
{a: {$all: [{$elemMatch: {b: 1}}, {$elemMatch: {b: 2}}]}} => [{a: [{b: 1}, {b: 2}]}] not [{a: [{b: 1}]}]
{a: {$elemMatch: {$gt: 1, $lt: 5}}} => [{a: [0, 3]}] not [{a: [0, 9]}, {a: 3}, {a: [[3]]}]
{a: {$elemMatch: {$ne: 1}}} => [{a: [1, 2]}] not [{a: [1]}, {a: []}]
{a: {$elemMatch: {b: 1, c: 2}}} => [{a: [{b: 1, c: 2}]}] not [{a: [{b: 1}, {c: 2}]}, {a: {b: 1, c: 2}}]
{a: {$elemMatch: {$or: [{b: 1}, {c: 2}]}}} => [{a: [{c: 2}]}] not [{a: []}]
{a: {$elemMatch: {$elemMatch: {$in: [1]}}}} => [{a: [[1]]}] not [{a: [1]}]
{"x.a": {$elemMatch: {b: 1}}} => [{x: [{a: [{b: 1}]}]}] not [{x: [{a: {b: 1}}]}]
{a: {$size: 2}} => [{a: [1, 2]}] not [{a: [[1, 2]]}, {a: 2}]
{a: {$size: 0.0}} => [{a: []}] not [{}]
"#,
    );
}

#[test]
fn bits() {
    check(
        r#"
{a: {$bitsAllSet: [1, 5]}} => [{a: 34}, {a: 34.0}, {a: bytes([34])}] not [{a: 2}, {a: 34.5}, {a: "x"}]
{a: {$bitsAllSet: 34}} => [{a: 35}] not [{a: 32}]
{a: {$bitsAnySet: bytes([0, 1])}} => [{a: 256}] not [{a: 255}]
{a: {$bitsAllClear: [0, 200]}} => [{a: 2}] not [{a: -2}, {a: 1}]
{a: {$bitsAnyClear: [0, 200]}} => [{a: -2}, {a: 1}] not [{a: -1}]
"#,
    );
}

#[test]
fn wrong_filters_are_refused_with_mongodbs_codes() {
    let table = r#"
{a: {$foo: 1}} => 2 unknown operator: $foo
{a: {$gt: 1, b: 2}} => 2 unknown operator: b
{$foo: 1} => 2 unknown top level operator: $foo
{$or: 1} => 2 $or must be an array
{$or: []} => 2 $and/$or/$nor must be a nonempty array
{$or: [1]} => 2 $or/$and/$nor entries need to be full objects
{a: {$in: 1}} => 2 $in needs an array
{a: {$nin: [{$gt: 1}]}} => 2 cannot nest $ under $nin
{a: {$gt: /a/}} => 2 Can't have RegEx as arg to predicate over field 'a'.
{a: {$ne: /a/}} => 2 Can't have regex as arg to $ne.
{a: {$eq: undefined}} => 2 cannot compare to undefined
{a: {$not: 1}} => 2 $not needs a regex or a document
{a: {$not: {}}} => 2 $not cannot be empty
{a: {$type: "x"}} => 2 Unknown type name alias: x
{a: {$type: 99}} => 2 Invalid numerical type code: 99
{a: {$type: true}} => 14 type must be represented as a number or a string
{a: {$type: []}} => 9 $type must match at least one type
{a: {$mod: 1}} => 2 malformed mod, needs to be an array
{a: {$mod: [1]}} => 2 malformed mod, not enough elements
{a: {$mod: [1, 2, 3]}} => 2 malformed mod, too many elements
{a: {$mod: [0, 1]}} => 2 divisor cannot be 0
{a: {$size: -1}} => 2 Failed to parse $size. Expected a non-negative number
{a: {$size: 1.5}} => 2 Failed to parse $size. Expected an integer
{a: {$all: 1}} => 2 $all needs an array
{a: {$all: [{$gt: 1}]}} => 2 no $ expressions in $all
{a: {$elemMatch: 1}} => 2 $elemMatch needs an Object
{a: {$regex: 1}} => 2 $regex has to be a string
{a: {$regex: "a", $options: 1}} => 2 $options has to be a string
{a: {$options: "i"}} => 2 $options needs a $regex
{a: {$regex: "("}} => 51091 Regular expression is invalid
{a: {$bitsAllSet: "x"}} => 2 $bitsAllSet takes an Array, a number, or a BinData but received
{a: {$bitsAllSet: -1}} => 9 Expected a non-negative number in: $bitsAllSet: -1
{$where: "true"} => 2 no globalScriptEngine in $where parsing
{$text: {$search: "x"}} => 27 text index required for $text query
{$jsonSchema: {}} => 224 $jsonSchema is not supported
{a: {$near: [1, 2]}} => 224 $near is not supported
"#;
    for (condition, refusal) in shell::rows(table) {
        let error = Filter::parse(&raw(&shell::document(condition))).expect_err(condition);
        shell::assert_refused(condition, &error, refusal);
    }
}

#[test]
fn the_positional_operator_stands_for_the_matching_element() {
    let table = r#"
{a: 2} => {a: [1, 2]} at 1
{a: {$gt: 1}} => {a: [1, 2, 3]} at 1
{"a.b": 2} => {a: [{b: 1}, {b: [5, 2]}]} at 1
{a: {$elemMatch: {b: 2, c: 1}}} => {a: [{b: 2}, {b: 2, c: 1}]} at 1
{a: {$elemMatch: {$gte: 2}}} => {a: [1, 2]} at 1
{a: [1, 2]} => {a: [1, 2]} at none
{a: 1} => {a: 1} at none
{a: 9} => {a: [1]} at none
{$or: [{a: 9}, {a: 3}]} => {a: [1, 3]} at 1
{a: {$ne: 9}} => {a: [1]} at none
{"a.1": 5} => {a: [1, 5]} at 1
"#;
    for (condition, rest) in shell::rows(table) {
        let (document, place) = rest.split_once(" at ").expect("a place");
        let document = raw(&shell::document(document));
        let found = filter(&shell::document(condition)).positional(&document);
        assert_eq!(found, place.parse().ok(), "{condition} => {rest}");
    }
}

#[test]
fn an_upsert_copies_equalities() {
    let copied = |condition: Document| -> Vec<(String, Bson)> {
        let filter = filter(&condition);
        filter
            .equalities()
            .into_iter()
            .map(|(path, value)| (path.to_owned(), value))
            .collect()
    };
    let one = |path: &str, value: Bson| (path.to_owned(), value);
    assert_eq!(
        copied(
            doc! {"a": 1, "b": {"$eq": "x"}, "c": {"$gt": 1}, "d": {"$in": [1]}, "e": {"$all": [7]}}
        ),
        [one("a", 1.into()), one("b", "x".into()), one("e", 7.into())]
    );
    assert_eq!(
        copied(doc! {"$and": [{"a": 1}, {"$or": [{"b.c": 2}]}]}),
        [one("a", 1.into()), one("b.c", 2.into())]
    );
    assert_eq!(
        copied(doc! {"$or": [{"a": 1}, {"b": 2}], "$nor": [{"c": 1}], "d": {"$ne": 1}}),
        []
    );
    assert_eq!(
        copied(doc! {"a": regex("x", ""), "b": {"c": 1}}),
        [one("b", Bson::Document(doc! {"c": 1}))]
    );
}

#[test]
fn elements_match_as_documents() {
    let condition = filter(&doc! {"list": {"$elemMatch": {"a": {"$gt": 1}}}});
    assert!(condition.matches(&raw(&doc! {"list": [{"a": 2}]})));
    assert!(!condition.matches(&raw(&doc! {"list": [2]})));
}

#[test]
fn expressions_compare_fields_of_one_document() {
    check(
        r#"
{$expr: {$gt: ["$a", "$b"]}} => [{a: 2, b: 1}, {a: "x", b: 1}] not [{a: 1, b: 2}]
{$or: [{$expr: {$gt: ["$a", "$b"]}}, {c: 1}]} => [{c: 1}] not [{}]
"#,
    );
    let mut variables = Variables::default();
    variables.set("least", Bson::Int32(3));
    let condition = raw(&doc! {"$expr": {"$gte": ["$a", "$$least"]}});
    let condition = Filter::parse_with(&condition, &variables).unwrap();
    assert!(condition.matches(&raw(&doc! {"a": 3})));
    assert!(!condition.matches(&raw(&doc! {"a": 2})));
    let failing = filter(&doc! {"$expr": {"$divide": [1, "$a"]}});
    assert!(!failing.matches(&raw(&doc! {"a": 0})));
    assert!(failing.try_matches(&raw(&doc! {"a": 0})).is_err());
    assert_eq!(failing.try_matches(&raw(&doc! {"a": 1})), Ok(true));
    for inside in [
        doc! {"a": {"$elemMatch": {"$and": [{"$expr": true}]}}},
        doc! {"a": {"$expr": 1}},
    ] {
        let error = Filter::parse(&raw(&inside)).unwrap_err();
        assert_eq!(
            error.message,
            "$expr can only be applied to the top-level document"
        );
    }
}
