//! What filters match, operator by operator, and what they are refused for.

use bson::oid::ObjectId;
use bson::{Binary, Bson, DateTime, Document, Regex, doc};

use super::*;
use crate::error::Code;
use crate::value::samples::{decimal, raw};

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

/// For each filter, documents that match and documents that do not.
fn check(table: Vec<(Document, Vec<Document>, Vec<Document>)>) {
    for (condition, matching, others) in table {
        for document in matching {
            assert_matches(&condition, &document, true);
        }
        for document in others {
            assert_matches(&condition, &document, false);
        }
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "one table")]
fn equality_is_of_values_elements_and_whole_arrays() {
    check(vec![
        (doc! {}, vec![doc! {}, doc! {"a": 1}], vec![]),
        (
            doc! {"a": 1},
            vec![
                doc! {"a": 1.0},
                doc! {"a": 1_i64},
                doc! {"a": decimal("1.0")},
                doc! {"a": [2, 1]},
            ],
            vec![
                doc! {},
                doc! {"a": "1"},
                doc! {"a": true},
                doc! {"a": [[1]]},
            ],
        ),
        (
            doc! {"a": [1, 2]},
            vec![doc! {"a": [1, 2]}, doc! {"a": [[1, 2]]}],
            vec![doc! {"a": [2, 1]}, doc! {"a": [1, 2, 3]}],
        ),
        (
            doc! {"a": []},
            vec![doc! {"a": []}, doc! {"a": [[]]}],
            vec![doc! {}, doc! {"a": [1]}],
        ),
        (
            doc! {"a": {"b": 1, "c": 2}},
            vec![doc! {"a": {"b": 1, "c": 2}}],
            vec![doc! {"a": {"c": 2, "b": 1}}, doc! {"a": {"b": 1}}],
        ),
        (
            doc! {"a": null},
            vec![
                doc! {},
                doc! {"a": null},
                doc! {"a": [1, null]},
                doc! {"a": Bson::Undefined},
            ],
            vec![doc! {"a": []}, doc! {"a": 0}],
        ),
        (
            doc! {"a.b": null},
            vec![
                doc! {"a": [{"b": 1}, {}]},
                doc! {"a": {}},
                doc! {"a": 5},
                doc! {},
            ],
            vec![doc! {"a": []}, doc! {"a": [1]}, doc! {"a": [{"b": 1}]}],
        ),
        (
            doc! {"a.b": 1},
            vec![doc! {"a": {"b": 1}}, doc! {"a": [{"b": 2}, {"b": [1]}]}],
            vec![doc! {"a": [[{"b": 1}]]}, doc! {"a.b": 1}],
        ),
        (
            doc! {"a.0": 1},
            vec![
                doc! {"a": [1]},
                doc! {"a": {"0": 1}},
                doc! {"a": [{"0": 1}]},
            ],
            vec![doc! {"a": [2, 1]}],
        ),
        (
            doc! {"a.0.b": 1},
            vec![doc! {"a": [{"b": 1}]}],
            vec![doc! {"a": [{"b": 2}, {"b": 1}]}],
        ),
        (
            doc! {"a": f64::NAN},
            vec![doc! {"a": f64::NAN}, doc! {"a": decimal("NaN")}],
            vec![doc! {"a": 0}],
        ),
        (
            doc! {"a": {"$eq": 1}},
            vec![doc! {"a": 1}],
            vec![doc! {"a": 2}],
        ),
        (
            doc! {"a": {"$ne": 1}},
            vec![doc! {}, doc! {"a": [2]}],
            vec![doc! {"a": 1}, doc! {"a": [1, 2]}],
        ),
        (
            doc! {"a": {"$ne": null}},
            vec![doc! {"a": []}, doc! {"a": 0}],
            vec![doc! {}, doc! {"a": null}],
        ),
        (
            doc! {"a": {"$ref": "c", "$id": 1}},
            vec![doc! {"a": {"$ref": "c", "$id": 1}}],
            vec![doc! {"a": 1}],
        ),
        (
            doc! {"_id": ObjectId::from_bytes([7; 12])},
            vec![doc! {"_id": ObjectId::from_bytes([7; 12])}],
            vec![doc! {"_id": ObjectId::from_bytes([8; 12])}],
        ),
    ]);
}

#[test]
#[expect(clippy::too_many_lines, reason = "one table")]
fn ranges_stay_within_a_type() {
    let time = |milliseconds| Bson::DateTime(DateTime::from_millis(milliseconds));
    check(vec![
        (
            doc! {"a": {"$gt": 5}},
            vec![doc! {"a": 6}, doc! {"a": 5.5}, doc! {"a": [1, 6]}],
            vec![
                doc! {"a": 5},
                doc! {"a": "9"},
                doc! {"a": true},
                doc! {},
                doc! {"a": f64::NAN},
            ],
        ),
        (
            doc! {"a": {"$gte": 5, "$lt": 7}},
            vec![doc! {"a": 5}, doc! {"a": [4, 8]}],
            vec![doc! {"a": 7}, doc! {"a": null}],
        ),
        (
            doc! {"a": {"$lt": 5}},
            vec![doc! {"a": -1}],
            vec![doc! {"a": f64::NAN}, doc! {"a": null}, doc! {}],
        ),
        (
            doc! {"a": {"$lte": f64::NAN}},
            vec![doc! {"a": f64::NAN}],
            vec![doc! {"a": 1}, doc! {"a": f64::NEG_INFINITY}],
        ),
        (
            doc! {"a": {"$gte": null}},
            vec![doc! {}, doc! {"a": null}],
            vec![doc! {"a": 1}],
        ),
        (
            doc! {"a": {"$gt": null}},
            vec![],
            vec![doc! {}, doc! {"a": null}, doc! {"a": 1}],
        ),
        (
            doc! {"a": {"$gt": "a"}},
            vec![doc! {"a": "b"}, doc! {"a": Bson::Symbol("b".into())}],
            vec![doc! {"a": 1}],
        ),
        (
            doc! {"a": {"$gt": time(0)}},
            vec![doc! {"a": time(1)}],
            vec![doc! {"a": time(-1)}, doc! {"a": 5}],
        ),
        (
            doc! {"a": {"$gt": Bson::MinKey}},
            vec![doc! {"a": 1}, doc! {"a": "x"}, doc! {}],
            vec![doc! {"a": Bson::MinKey}],
        ),
        (
            doc! {"a": {"$lt": Bson::MaxKey}},
            vec![doc! {"a": 1}, doc! {}],
            vec![doc! {"a": Bson::MaxKey}],
        ),
        (
            doc! {"a": {"$gt": [1]}},
            vec![doc! {"a": [2]}, doc! {"a": [1, 0]}],
            vec![doc! {"a": [0, 9]}, doc! {"a": 2}],
        ),
        (
            doc! {"a": {"$gt": {"b": 1}}},
            vec![doc! {"a": {"b": 2}}, doc! {"a": {"b": 1, "c": 0}}],
            vec![doc! {"a": {"b": 1}}, doc! {"a": {"a": 9}}],
        ),
        (
            doc! {"a": {"$gt": false}},
            vec![doc! {"a": true}],
            vec![doc! {"a": 1}],
        ),
    ]);
}

#[test]
fn lists_and_logic() {
    check(vec![
        (
            doc! {"a": {"$in": [1, "x", null]}},
            vec![
                doc! {"a": 1.0},
                doc! {"a": "x"},
                doc! {},
                doc! {"a": [0, 1]},
            ],
            vec![doc! {"a": 2}, doc! {"a": []}],
        ),
        (
            doc! {"a": {"$in": []}},
            vec![],
            vec![doc! {}, doc! {"a": 1}],
        ),
        (
            doc! {"a": {"$in": [regex("^x", ""), 2]}},
            vec![doc! {"a": "xy"}, doc! {"a": 2}],
            vec![doc! {"a": "yx"}],
        ),
        (
            doc! {"a": {"$in": [[1]]}},
            vec![doc! {"a": [1]}],
            vec![doc! {"a": 1}],
        ),
        (
            doc! {"a": {"$nin": [1, null]}},
            vec![doc! {"a": 2}, doc! {"a": []}],
            vec![doc! {}, doc! {"a": [1]}],
        ),
        (
            doc! {"$and": [{"a": 1}, {"b": 2}]},
            vec![doc! {"a": 1, "b": 2}],
            vec![doc! {"a": 1}],
        ),
        (
            doc! {"$or": [{"a": 1}, {"b": 2}]},
            vec![doc! {"a": 1}, doc! {"b": 2}],
            vec![doc! {}],
        ),
        (
            doc! {"$nor": [{"a": 1}, {"b": 2}]},
            vec![doc! {}],
            vec![doc! {"a": 1}],
        ),
        (
            doc! {"a": {"$not": {"$gt": 1}}},
            vec![doc! {}, doc! {"a": 1}, doc! {"a": "x"}],
            vec![doc! {"a": 2}, doc! {"a": [0, 2]}],
        ),
        (
            doc! {"a": {"$not": {"$gt": 1, "$lt": 5}}},
            vec![doc! {"a": 7}, doc! {"a": 0}],
            vec![doc! {"a": 3}],
        ),
        (
            doc! {"a": {"$not": regex("^x", "")}},
            vec![doc! {"a": "y"}, doc! {}],
            vec![doc! {"a": "x"}],
        ),
        (
            doc! {"a": 1, "$comment": "why"},
            vec![doc! {"a": 1}],
            vec![doc! {}],
        ),
        (doc! {"$alwaysFalse": 1}, vec![], vec![doc! {}]),
    ]);
}

#[test]
fn elements_and_types() {
    let all_kinds = doc! {"$type": ["string", 16, "long"]};
    check(vec![
        (
            doc! {"a": {"$exists": true}},
            vec![doc! {"a": null}, doc! {"a": []}],
            vec![doc! {}],
        ),
        (
            doc! {"a": {"$exists": 0}},
            vec![doc! {}],
            vec![doc! {"a": null}],
        ),
        (
            doc! {"a.b": {"$exists": false}},
            vec![doc! {"a": []}, doc! {"a": 1}],
            vec![doc! {"a": [{"b": 1}, {}]}],
        ),
        (
            doc! {"a": {"$type": "number"}},
            vec![
                doc! {"a": 1},
                doc! {"a": 1.5},
                doc! {"a": decimal("1")},
                doc! {"a": ["x", 1]},
            ],
            vec![doc! {"a": "1"}, doc! {}],
        ),
        (
            doc! {"a": {"$type": "array"}},
            vec![doc! {"a": []}, doc! {"a": [1]}],
            vec![doc! {"a": 1}],
        ),
        (
            doc! {"a": all_kinds},
            vec![doc! {"a": "x"}, doc! {"a": 1}, doc! {"a": 1_i64}],
            vec![doc! {"a": 1.0}],
        ),
        (
            doc! {"a": {"$type": -1}},
            vec![doc! {"a": Bson::MinKey}],
            vec![doc! {"a": Bson::MaxKey}],
        ),
        (
            doc! {"a": {"$mod": [4, 1]}},
            vec![doc! {"a": 5}, doc! {"a": 5.9}, doc! {"a": [0, 1]}],
            vec![doc! {"a": 4}, doc! {"a": "5"}, doc! {"a": f64::INFINITY}],
        ),
        (
            doc! {"a": {"$mod": [-1, 0]}},
            vec![doc! {"a": i64::MIN}],
            vec![],
        ),
        (
            doc! {"a": {"$regex": "B", "$options": "i"}},
            vec![doc! {"a": "abc"}, doc! {"a": ["x", "b"]}],
            vec![doc! {"a": "x"}, doc! {"a": 1}],
        ),
        (
            doc! {"a": regex("^b", "m")},
            vec![doc! {"a": "a\nb"}, doc! {"a": regex("^b", "m")}],
            vec![doc! {"a": "ab"}],
        ),
    ]);
}

#[test]
fn arrays() {
    check(vec![
        (
            doc! {"a": {"$all": [1, 2]}},
            vec![doc! {"a": [2, 3, 1]}],
            vec![doc! {"a": [1]}, doc! {"a": 1}],
        ),
        (
            doc! {"a": {"$all": [1]}},
            vec![doc! {"a": 1}],
            vec![doc! {}],
        ),
        (
            doc! {"a": {"$all": []}},
            vec![],
            vec![doc! {}, doc! {"a": []}],
        ),
        (
            doc! {"a": {"$all": [{"$elemMatch": {"b": 1}}, {"$elemMatch": {"b": 2}}]}},
            vec![doc! {"a": [{"b": 1}, {"b": 2}]}],
            vec![doc! {"a": [{"b": 1}]}],
        ),
        (
            doc! {"a": {"$elemMatch": {"$gt": 1, "$lt": 5}}},
            vec![doc! {"a": [0, 3]}],
            vec![doc! {"a": [0, 9]}, doc! {"a": 3}, doc! {"a": [[3]]}],
        ),
        (
            doc! {"a": {"$elemMatch": {"$ne": 1}}},
            vec![doc! {"a": [1, 2]}],
            vec![doc! {"a": [1]}, doc! {"a": []}],
        ),
        (
            doc! {"a": {"$elemMatch": {"b": 1, "c": 2}}},
            vec![doc! {"a": [{"b": 1, "c": 2}]}],
            vec![
                doc! {"a": [{"b": 1}, {"c": 2}]},
                doc! {"a": {"b": 1, "c": 2}},
            ],
        ),
        (
            doc! {"a": {"$elemMatch": {"$or": [{"b": 1}, {"c": 2}]}}},
            vec![doc! {"a": [{"c": 2}]}],
            vec![doc! {"a": []}],
        ),
        (
            doc! {"a": {"$elemMatch": {"$elemMatch": {"$in": [1]}}}},
            vec![doc! {"a": [[1]]}],
            vec![doc! {"a": [1]}],
        ),
        (
            doc! {"x.a": {"$elemMatch": {"b": 1}}},
            vec![doc! {"x": [{"a": [{"b": 1}]}]}],
            vec![doc! {"x": [{"a": {"b": 1}}]}],
        ),
        (
            doc! {"a": {"$size": 2}},
            vec![doc! {"a": [1, 2]}],
            vec![doc! {"a": [[1, 2]]}, doc! {"a": 2}],
        ),
        (
            doc! {"a": {"$size": 0.0}},
            vec![doc! {"a": []}],
            vec![doc! {}],
        ),
    ]);
}

#[test]
fn bits() {
    let bytes = |bytes: &[u8]| {
        Bson::Binary(Binary {
            subtype: bson::spec::BinarySubtype::Generic,
            bytes: bytes.to_vec(),
        })
    };
    check(vec![
        (
            doc! {"a": {"$bitsAllSet": [1, 5]}},
            vec![doc! {"a": 34}, doc! {"a": 34.0}, doc! {"a": bytes(&[34])}],
            vec![doc! {"a": 2}, doc! {"a": 34.5}, doc! {"a": "x"}],
        ),
        (
            doc! {"a": {"$bitsAllSet": 34}},
            vec![doc! {"a": 35}],
            vec![doc! {"a": 32}],
        ),
        (
            doc! {"a": {"$bitsAnySet": bytes(&[0, 1])}},
            vec![doc! {"a": 256}],
            vec![doc! {"a": 255}],
        ),
        (
            doc! {"a": {"$bitsAllClear": [0, 200]}},
            vec![doc! {"a": 2}],
            vec![doc! {"a": -2}, doc! {"a": 1}],
        ),
        (
            doc! {"a": {"$bitsAnyClear": [0, 200]}},
            vec![doc! {"a": -2}, doc! {"a": 1}],
            vec![doc! {"a": -1}],
        ),
    ]);
}

#[test]
#[expect(clippy::too_many_lines, reason = "one table")]
fn wrong_filters_are_refused_with_mongodbs_codes() {
    for (condition, code, text) in [
        (
            doc! {"a": {"$foo": 1}},
            Code::BadValue,
            "unknown operator: $foo",
        ),
        (
            doc! {"a": {"$gt": 1, "b": 2}},
            Code::BadValue,
            "unknown operator: b",
        ),
        (
            doc! {"$foo": 1},
            Code::BadValue,
            "unknown top level operator: $foo",
        ),
        (doc! {"$or": 1}, Code::BadValue, "$or must be an array"),
        (
            doc! {"$or": []},
            Code::BadValue,
            "$and/$or/$nor must be a nonempty array",
        ),
        (
            doc! {"$or": [1]},
            Code::BadValue,
            "$or/$and/$nor entries need to be full objects",
        ),
        (doc! {"a": {"$in": 1}}, Code::BadValue, "$in needs an array"),
        (
            doc! {"a": {"$nin": [{"$gt": 1}]}},
            Code::BadValue,
            "cannot nest $ under $nin",
        ),
        (
            doc! {"a": {"$gt": regex("a", "")}},
            Code::BadValue,
            "Can't have RegEx as arg to predicate over field 'a'.",
        ),
        (
            doc! {"a": {"$ne": regex("a", "")}},
            Code::BadValue,
            "Can't have regex as arg to $ne.",
        ),
        (
            doc! {"a": {"$eq": Bson::Undefined}},
            Code::BadValue,
            "cannot compare to undefined",
        ),
        (
            doc! {"a": {"$not": 1}},
            Code::BadValue,
            "$not needs a regex or a document",
        ),
        (
            doc! {"a": {"$not": {}}},
            Code::BadValue,
            "$not cannot be empty",
        ),
        (
            doc! {"a": {"$type": "x"}},
            Code::BadValue,
            "Unknown type name alias: x",
        ),
        (
            doc! {"a": {"$type": 99}},
            Code::BadValue,
            "Invalid numerical type code: 99",
        ),
        (
            doc! {"a": {"$type": true}},
            Code::TypeMismatch,
            "type must be represented as a number or a string",
        ),
        (
            doc! {"a": {"$type": []}},
            Code::FailedToParse,
            "$type must match at least one type",
        ),
        (
            doc! {"a": {"$mod": 1}},
            Code::BadValue,
            "malformed mod, needs to be an array",
        ),
        (
            doc! {"a": {"$mod": [1]}},
            Code::BadValue,
            "malformed mod, not enough elements",
        ),
        (
            doc! {"a": {"$mod": [1, 2, 3]}},
            Code::BadValue,
            "malformed mod, too many elements",
        ),
        (
            doc! {"a": {"$mod": [0, 1]}},
            Code::BadValue,
            "divisor cannot be 0",
        ),
        (
            doc! {"a": {"$size": -1}},
            Code::BadValue,
            "Failed to parse $size. Expected a non-negative number",
        ),
        (
            doc! {"a": {"$size": 1.5}},
            Code::BadValue,
            "Failed to parse $size. Expected an integer",
        ),
        (
            doc! {"a": {"$all": 1}},
            Code::BadValue,
            "$all needs an array",
        ),
        (
            doc! {"a": {"$all": [{"$gt": 1}]}},
            Code::BadValue,
            "no $ expressions in $all",
        ),
        (
            doc! {"a": {"$elemMatch": 1}},
            Code::BadValue,
            "$elemMatch needs an Object",
        ),
        (
            doc! {"a": {"$regex": 1}},
            Code::BadValue,
            "$regex has to be a string",
        ),
        (
            doc! {"a": {"$regex": "a", "$options": 1}},
            Code::BadValue,
            "$options has to be a string",
        ),
        (
            doc! {"a": {"$options": "i"}},
            Code::BadValue,
            "$options needs a $regex",
        ),
        (
            doc! {"a": {"$regex": "("}},
            Code::Location(51091),
            "Regular expression is invalid",
        ),
        (
            doc! {"a": {"$bitsAllSet": "x"}},
            Code::BadValue,
            "$bitsAllSet takes an Array, a number, or a BinData but received",
        ),
        (
            doc! {"a": {"$bitsAllSet": -1}},
            Code::FailedToParse,
            "Expected a non-negative number in: $bitsAllSet: -1",
        ),
        (
            doc! {"$where": "true"},
            Code::BadValue,
            "no globalScriptEngine in $where parsing",
        ),
        (
            doc! {"$text": {"$search": "x"}},
            Code::IndexNotFound,
            "text index required for $text query",
        ),
        (
            doc! {"$jsonSchema": {}},
            Code::QueryFeatureNotAllowed,
            "$jsonSchema is not supported",
        ),
        (
            doc! {"a": {"$near": [1, 2]}},
            Code::QueryFeatureNotAllowed,
            "$near is not supported",
        ),
    ] {
        let error = Filter::parse(&raw(&condition)).expect_err(&condition.to_string());
        assert_eq!(error.code, code, "{condition}");
        assert!(
            error.message.starts_with(text),
            "{condition}: {}",
            error.message
        );
    }
}

#[test]
fn the_positional_operator_stands_for_the_matching_element() {
    for (condition, document, expected) in [
        (doc! {"a": 2}, doc! {"a": [1, 2]}, Some(1)),
        (doc! {"a": {"$gt": 1}}, doc! {"a": [1, 2, 3]}, Some(1)),
        (
            doc! {"a.b": 2},
            doc! {"a": [{"b": 1}, {"b": [5, 2]}]},
            Some(1),
        ),
        (
            doc! {"a": {"$elemMatch": {"b": 2, "c": 1}}},
            doc! {"a": [{"b": 2}, {"b": 2, "c": 1}]},
            Some(1),
        ),
        (
            doc! {"a": {"$elemMatch": {"$gte": 2}}},
            doc! {"a": [1, 2]},
            Some(1),
        ),
        (doc! {"a": [1, 2]}, doc! {"a": [1, 2]}, None),
        (doc! {"a": 1}, doc! {"a": 1}, None),
        (doc! {"a": 9}, doc! {"a": [1]}, None),
        (
            doc! {"$or": [{"a": 9}, {"a": 3}]},
            doc! {"a": [1, 3]},
            Some(1),
        ),
        (doc! {"a": {"$ne": 9}}, doc! {"a": [1]}, None),
        (doc! {"a.1": 5}, doc! {"a": [1, 5]}, Some(1)),
    ] {
        assert_eq!(
            filter(&condition).positional(&raw(&document)),
            expected,
            "{condition} on {document}"
        );
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
    let greater = doc! {"$expr": {"$gt": ["$a", "$b"]}};
    check(vec![
        (
            greater.clone(),
            vec![doc! {"a": 2, "b": 1}, doc! {"a": "x", "b": 1}],
            vec![doc! {"a": 1, "b": 2}],
        ),
        (
            doc! {"$or": [greater, {"c": 1}]},
            vec![doc! {"c": 1}],
            vec![doc! {}],
        ),
    ]);
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
