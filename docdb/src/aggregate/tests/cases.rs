//! The tables: a pipeline, and what it makes of the documents below.

use bson::{Bson, Document, doc};

use super::{Collections, documents, parse, run};
use crate::value::shell;

const INPUT: &str = r#"[
    {_id: 1, k: "a", n: 5, tags: ["x", "y"], sub: {p: 1, q: 2}},
    {_id: 2, k: "b", n: 2.5, tags: [], sub: {p: 3}},
    {_id: 3, k: "a", n: 1L, tags: "z"},
    {_id: 4, k: null, n: null, tags: null, sub: [{p: 1, q: 1}, {p: 2}, 7]},
    {_id: 5, n: 7}
]"#;

const OTHERS: &str = r#"[{_id: 10, k: "a", v: 1}, {_id: 11, k: "x", v: 2}, {_id: 12, v: 3}]"#;

/// `pipeline => results`, in order.
const RESULTS: &str = r#"
[{$match: {k: "a"}}, {$project: {n: 1}}] => [{_id: 1, n: 5}, {_id: 3, n: 1L}]
[{$match: {$expr: {$gt: ["$n", 4]}, k: "a"}}, {$project: {n: 1}}] => [{_id: 1, n: 5}]
[{$match: {$and: [{k: "a"}, {$expr: {$lt: ["$n", 4]}}]}}, {$project: {_id: 1}}] => [{_id: 3}]
[{$limit: 1}, {$project: {_id: 0, k: 1, sub: {p: 1}}}] => [{k: "a", sub: {p: 1}}]
[{$limit: 1}, {$project: {_id: 0, "sub.p": 1, twice: {$multiply: ["$n", 2]}, "new.deep": "$k"}}] => [{sub: {p: 1}, twice: 10, new: {deep: "a"}}]
[{$limit: 1}, {$project: {tags: 0, sub: {p: 0}}}] => [{_id: 1, k: "a", n: 5, sub: {q: 2}}]
[{$limit: 1}, {$project: {_id: 0, n: "$$REMOVE", k: "$n"}}] => [{k: 5}]
[{$match: {_id: 4}}, {$project: {"sub.p": 1}}] => [{_id: 4, sub: [{p: 1}, {p: 2}]}]
[{$match: {_id: 4}}, {$project: {_id: 0, k: 0, n: 0, tags: 0, "sub.q": 0}}] => [{sub: [{p: 1}, {p: 2}, 7]}]
[{$match: {_id: 5}}, {$project: {_id: 0, sub: {p: 1}, n: true}}] => [{n: 7}]
[{$match: {_id: 5}}, {$set: {n: {$add: ["$n", 1]}, z: "$k", "a.b": 1}}] => [{_id: 5, n: 8, a: {b: 1}}]
[{$match: {_id: 2}}, {$addFields: {sub: {q: 9}, k: {$literal: 1}}}, {$unset: ["tags", "n"]}] => [{_id: 2, k: 1, sub: {p: 3, q: 9}}]
[{$match: {_id: 4}}, {$addFields: {"sub.r": 0}}, {$project: {_id: 0, sub: 1}}] => [{sub: [{p: 1, q: 1, r: 0}, {p: 2, r: 0}, {r: 0}]}]
[{$match: {_id: 1}}, {$unset: "sub.p"}, {$project: {_id: 0, sub: 1}}] => [{sub: {q: 2}}]
[{$match: {_id: 1}}, {$replaceRoot: {newRoot: "$sub"}}] => [{p: 1, q: 2}]
[{$match: {_id: 1}}, {$replaceWith: {$mergeObjects: [{a: 0}, "$sub"]}}] => [{a: 0, p: 1, q: 2}]
[{$group: {_id: "$k", total: {$sum: "$n"}, count: {$sum: 1}}}] => [{_id: null, total: 7, count: 2}, {_id: "a", total: 6L, count: 2}, {_id: "b", total: 2.5, count: 1}]
[{$group: {_id: null, avg: {$avg: "$n"}, min: {$min: "$n"}, max: {$max: "$n"}, n: {$count: {}}}}] => [{_id: null, avg: 3.875, min: 1L, max: 7, n: 5}]
[{$group: {_id: null, first: {$first: "$k"}, last: {$last: "$k"}, all: {$push: "$k"}}}] => [{_id: null, first: "a", last: null, all: ["a", "b", "a", null]}]
[{$group: {_id: null, set: {$addToSet: "$k"}, merged: {$mergeObjects: {x: "$_id"}}}}] => [{_id: null, set: [null, "a", "b"], merged: {x: 5}}]
[{$group: {_id: null, p: {$stdDevPop: "$_id"}, s: {$stdDevSamp: "$k"}}}] => [{_id: null, p: 1.4142135623730951, s: null}]
[{$group: {_id: null, f: {$firstN: {n: 2, input: "$_id"}}, l: {$lastN: {n: 2, input: "$_id"}}, a: {$minN: {n: 2, input: "$n"}}, z: {$maxN: {n: 2, input: "$n"}}}}] => [{_id: null, f: [1, 2], l: [4, 5], a: [1L, 2.5], z: [7, 5]}]
[{$group: {_id: {k: "$k", big: {$gt: ["$n", 3]}}}}, {$match: {"_id.k": "a"}}, {$sort: {"_id.big": -1}}] => [{_id: {k: "a", big: true}}, {_id: {k: "a", big: false}}]
[{$match: {k: "none"}}, {$group: {_id: null, n: {$sum: 1}}}] => []
[{$match: {k: "none"}}, {$count: "n"}] => []
[{$count: "n"}] => [{n: 5}]
[{$sort: {n: -1}}, {$project: {n: 1}}, {$limit: 2}] => [{_id: 5, n: 7}, {_id: 1, n: 5}]
[{$sort: {k: 1, _id: -1}}, {$skip: 1}, {$limit: 2}, {$project: {_id: 1}}] => [{_id: 4}, {_id: 3}]
[{$skip: 4}, {$project: {_id: 1}}] => [{_id: 5}]
[{$unwind: "$tags"}, {$project: {tags: 1}}] => [{_id: 1, tags: "x"}, {_id: 1, tags: "y"}, {_id: 3, tags: "z"}]
[{$unwind: {path: "$tags", preserveNullAndEmptyArrays: true, includeArrayIndex: "i"}}, {$project: {tags: 1, i: 1}}] => [{_id: 1, tags: "x", i: 0L}, {_id: 1, tags: "y", i: 1L}, {_id: 2, i: null}, {_id: 3, tags: "z", i: null}, {_id: 4, tags: null, i: null}, {_id: 5, i: null}]
[{$unwind: "$sub.p"}, {$project: {_id: 1}}] => [{_id: 1}, {_id: 2}]
[{$lookup: {from: "others", localField: "k", foreignField: "k", as: "o"}}, {$project: {o: 1}}] => [{_id: 1, o: [{_id: 10, k: "a", v: 1}]}, {_id: 2, o: []}, {_id: 3, o: [{_id: 10, k: "a", v: 1}]}, {_id: 4, o: [{_id: 12, v: 3}]}, {_id: 5, o: [{_id: 12, v: 3}]}]
[{$match: {_id: 1}}, {$lookup: {from: "others", localField: "tags", foreignField: "k", as: "in.o"}}, {$project: {_id: 0, in: 1}}] => [{in: {o: [{_id: 11, k: "x", v: 2}]}}]
[{$match: {_id: 1}}, {$lookup: {from: "others", let: {mine: "$k"}, pipeline: [{$match: {$expr: {$eq: ["$k", "$$mine"]}}}, {$project: {v: 1, _id: 0}}], as: "o"}}, {$project: {_id: 0, o: 1}}] => [{o: [{v: 1}]}]
[{$match: {_id: 1}}, {$lookup: {from: "others", localField: "k", foreignField: "k", pipeline: [{$count: "c"}], as: "o"}}, {$project: {_id: 0, o: 1}}] => [{o: [{c: 1}]}]
[{$sortByCount: "$k"}, {$limit: 1}] => [{_id: null, count: 2}]
[{$facet: {a: [{$match: {k: "a"}}, {$count: "n"}], b: [{$limit: 1}, {$project: {_id: 1}}]}}] => [{a: [{n: 2}], b: [{_id: 1}]}]
[{$bucket: {groupBy: "$_id", boundaries: [1, 3, 5], default: "rest"}}] => [{_id: 1, count: 2}, {_id: 3, count: 2}, {_id: "rest", count: 1}]
[{$bucket: {groupBy: "$_id", boundaries: [1, 9], output: {ids: {$push: "$_id"}}}}] => [{_id: 1, ids: [1, 2, 3, 4, 5]}]
[{$project: {_id: 1}}, {$limit: 1}, {$unionWith: {coll: "others", pipeline: [{$project: {_id: 1}}]}}] => [{_id: 1}, {_id: 10}, {_id: 11}, {_id: 12}]
[{$limit: 1}, {$unionWith: "others"}, {$count: "n"}] => [{n: 4}]
[{$sample: {size: 10}}, {$count: "n"}] => [{n: 5}]
[{$sample: {size: 2}}, {$count: "n"}] => [{n: 2}]
"#;

/// `pipeline => code text`.
const REFUSALS: &str = r#"
[{$foo: 1}] => 40324 Unrecognized pipeline stage name: '$foo'
[{$match: {}, $limit: 1}] => 40323 A pipeline stage specification object must contain exactly one field.
[{}] => 40323 exactly one field
[{$match: 1}] => 15959 the match filter must be an expression in an object
[{$project: {}}] => 51272 projection specification must have at least one field
[{$project: 1}] => 15969 $project specification must be an object
[{$project: {a: 1, b: 0}}] => 31254 Cannot do exclusion on field b in inclusion projection
[{$project: {a: 0, b: 1}}] => 31253 Cannot do inclusion on field b in exclusion projection
[{$project: {a: 1, "a.b": 1}}] => 31249 Path collision at a.b remaining portion b
[{$project: {"a.b": 1, a: 1}}] => 31250 Path collision at a
[{$project: {a: {}}}] => 51270 An empty sub-projection is not a valid value. Found empty object at path a
[{$addFields: 1}] => 40272 $addFields specification stage must be an object, got int
[{$unset: 1}] => 31002 $unset specification must be a string or an array
[{$group: 1}] => 15947 a group's fields must be specified in an object
[{$group: {n: {$sum: 1}}}] => 15955 a group specification must include an _id
[{$group: {_id: 1, n: 1}}] => 40234 The field 'n' must be an accumulator object
[{$group: {_id: 1, "n.m": {$sum: 1}}}] => 40235 The field name 'n.m' cannot contain '.'
[{$group: {_id: 1, n: {$sum: 1, $avg: 1}}}] => 40238 The field 'n' must specify one accumulator
[{$group: {_id: 1, n: {$foo: 1}}}] => 15952 unknown group operator '$foo'
[{$group: {_id: 1, n: {$sum: [1, 2]}}}] => 40237 The $sum accumulator is a unary operator
[{$sort: {}}] => 15976 $sort stage must have at least one sort key
[{$sort: 1}] => 15973 the $sort key specification must be an object
[{$limit: 0}] => 15958 the limit must be positive
[{$limit: "x"}] => 5107201 invalid argument to $limit stage: Expected a number in: $limit: "x"
[{$skip: -1}] => 5107200 invalid argument to $skip stage: Expected a non-negative number in: $skip: -1
[{$count: ""}] => 40157 the count field must be a non-empty string
[{$count: "$x"}] => 40158 the count field cannot be a $-prefixed path
[{$count: "a.b"}] => 40160 the count field cannot contain '.'
[{$unwind: 1}] => 15981 expected either a string or an object as specification for $unwind stage, got int
[{$unwind: "x"}] => 28818 path option to $unwind stage should be prefixed with a '$': x
[{$unwind: {}}] => 28812 no path specified to $unwind stage
[{$unwind: {path: "$a", foo: 1}}] => 28811 unrecognized option to $unwind stage: foo
[{$lookup: {from: "x", as: "y"}}] => 9 $lookup requires either 'pipeline' or both 'localField' and 'foreignField' to be specified
[{$lookup: {from: "x", localField: "a", foreignField: "b"}}] => 9 must specify 'as' field for a $lookup
[{$lookup: {from: 1, as: "y"}}] => 9 $lookup argument 'from: 1' must be a string, found int
[{$lookup: {from: "x", as: "y", foo: 1}}] => 9 unknown argument to $lookup: foo
[{$replaceRoot: 1}] => 40229 expected an object as specification for $replaceRoot stage, got int
[{$replaceRoot: {newRoot: "$n"}}] => 40228 'newRoot' expression must evaluate to an object, but resulting value was: 5. Type of resulting value: 'int'.
[{$sample: {size: 0}}] => 28747 size argument to $sample must
[{$sample: {size: "x"}}] => 28746 size argument to $sample must be a number
[{$facet: {}}] => 40169 the $facet specification must be a non-empty object
[{$facet: {a: [{$facet: {b: []}}]}}] => 40600 $facet is not allowed to be used within a $facet stage
[{$bucket: {groupBy: "$n", boundaries: [1, 1]}}] => 40194 must be sorted
[{$bucket: {groupBy: "$n", boundaries: [1]}}] => 40192 must have at least 2 values
[{$bucket: {groupBy: "$n", boundaries: [100, 200]}}] => 40066 could not find a matching branch
[{$sortByCount: "x"}] => 40148 the sortByCount field must be defined as a $-prefixed path
[{$out: "x"}] => 115 $out is not supported
[{$merge: {into: "x"}}] => 115 $merge is not supported
[{$graphLookup: {}}] => 115 $graphLookup is not supported here
[{$project: {x: {$sin: 1}}}] => 115 $sin is not supported here
[{$group: {_id: 1, x: {$top: {}}}}] => 115 $top is not supported here
[{$project: {x: {$foo: 1}}}] => 168 Unrecognized expression '$foo'
[{$project: {x: "$$nope"}}] => 17276 Use of undefined variable: nope
"#;

fn collections() -> Collections {
    Collections([("others".to_owned(), documents(OTHERS))].into(), 0)
}

#[test]
fn results_are_those_of_mongodb_however_the_input_is_sliced() {
    let input = documents(INPUT);
    for (pipeline, expected) in shell::rows(RESULTS) {
        let stages = documents(pipeline);
        for slice in [1, 2, 5] {
            let results = run(&stages, &input, slice, &mut collections());
            let results = results.unwrap_or_else(|error| panic!("{pipeline}: {error}"));
            let expected: Vec<Bson> = documents(expected)
                .into_iter()
                .map(Bson::Document)
                .collect();
            let found: Vec<Bson> = results.into_iter().map(Bson::Document).collect();
            let alike = crate::value::display::value(&Bson::Array(found));
            assert_eq!(
                alike,
                crate::value::display::value(&Bson::Array(expected)),
                "{pipeline}"
            );
        }
    }
}

#[test]
fn refusals_carry_the_codes_of_mongodb() {
    let input = documents(INPUT);
    for (pipeline, refusal) in shell::rows(REFUSALS) {
        let error = run(&documents(pipeline), &input, 5, &mut collections()).expect_err(pipeline);
        shell::assert_refused(pipeline, &error, refusal);
    }
}

#[test]
fn every_stage_has_a_case() {
    for stage in super::super::STAGES {
        assert!(RESULTS.contains(&format!("{{{stage}:")), "{stage}");
    }
}

#[test]
fn a_leading_match_can_be_taken_off() {
    let mut pipeline = parse(&documents("[{$match: {a: 1}}, {$limit: 1}]")).expect("valid");
    let filter = pipeline.take_leading_match().expect("there is one");
    assert!(filter.matches(&super::raw(&doc! {"a": 1})));
    assert!(pipeline.take_leading_match().is_none());
    let stages = documents(r#"[{$lookup: {from: "x", as: "y", pipeline: [{$unionWith: "z"}]}}]"#);
    let pipeline = parse(&stages).expect("valid");
    assert_eq!(pipeline.foreign_collections(), ["x", "z"]);
}

#[test]
fn blocking_stages_stop_at_100_mib_and_a_facet_at_a_document() {
    let document = |id: i32| doc! {"_id": id, "a": "x".repeat(4 << 20)};
    let input: Vec<Document> = (0..30).map(document).collect();
    for pipeline in [
        r"[{$sort: {a: 1}}]",
        r#"[{$group: {_id: null, all: {$push: "$a"}}}]"#,
        r#"[{$group: {_id: {i: "$_id", a: "$a"}}}]"#,
        r"[{$sample: {size: 100}}]",
    ] {
        let error = run(&documents(pipeline), &input, 1, &mut collections()).expect_err(pipeline);
        assert_eq!(error.code.number(), 292, "{pipeline}: {error}");
    }
    let facet = documents(r"[{$facet: {a: []}}]");
    let error = run(&facet, &input, 1, &mut collections()).expect_err("too large");
    assert_eq!(error.code.number(), 10334, "{error}");
    for pipeline in [
        r"[{$sort: {a: 1}}, {$limit: 2}, {$project: {_id: 1}}]",
        r#"[{$group: {_id: null, last: {$max: "$a"}, any: {$last: "$a"}}}]"#,
    ] {
        let results = run(&documents(pipeline), &input, 1, &mut collections());
        assert!(!results.expect(pipeline).is_empty());
    }
}

#[test]
fn an_unwind_of_a_large_document_goes_element_by_element() {
    let elements: Vec<i32> = (0..100_000).collect();
    let input = [doc! {"_id": 1, "text": "x".repeat(1 << 20), "a": elements}];
    let stages = documents(r#"[{$unwind: "$a"}, {$limit: 3}, {$project: {a: 1}}]"#);
    let results = run(&stages, &input, 1, &mut collections()).expect("runs");
    assert_eq!(results.len(), 3);
    assert_eq!(results[2], shell::document("{_id: 1, a: 2}"));
}
