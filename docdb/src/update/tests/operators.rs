//! Each operator on a field that exists and on one that does not.

use bson::{Timestamp, doc};

use super::{NOW, apply, check, parse, raw};

#[test]
fn set() {
    check(
        r#"
{_id: 1, a: 1} by {$set: {a: "x"}} => {_id: 1, a: "x"}
{_id: 1} by {$set: {"a.b": 1}} => {_id: 1, a: {b: 1}}
{_id: 1, z: 0} by {$set: {c: 1, a: 2, b: 3}} => {_id: 1, z: 0, a: 2, b: 3, c: 1}
{_id: 1} by {$set: {"10": "ten", "9": "nine", a: 1}} => {_id: 1, "9": "nine", "10": "ten", a: 1}
// New fields of all operators together, not operator by operator.
{_id: 1} by {$set: {b: 1, d: 1}, $inc: {a: 1, c: 1}} => {_id: 1, a: 1, b: 1, c: 1, d: 1}
{_id: 1, a: 1} by {$set: {a: 1.0}} => {_id: 1, a: 1.0}
{_id: 1, a: {x: 1, y: 2}} by {$set: {a: {y: 2, x: 1}}} => {_id: 1, a: {y: 2, x: 1}}
{_id: 1, a: 0.0} by {$set: {a: -0.0}} => {_id: 1, a: -0.0}
{_id: 1, a: 1} by {$set: {a: 1}} => same
{_id: 1, a: NaN} by {$set: {a: NaN}} => same
{_id: 1, a: 1} by {$set: {_id: 1}} => same
{_id: 1, a: {b: [1, {c: 2}]}} by {$set: {a: {b: [1, {c: 2}]}}} => same
{_id: 1} by {$set: {}} => same
{_id: 1} by {$set: {a: {$price: 1, "b.c": 2}}} => {_id: 1, a: {$price: 1, "b.c": 2}}
"#,
    );
}

#[test]
fn unset() {
    check(
        r#"
{_id: 1, a: 1, b: 2} by {$unset: {a: ""}} => {_id: 1, b: 2}
{a: {b: 1, c: 2}} by {$unset: {"a.b": 1}} => {a: {c: 2}}
{a: {b: 1}} by {$unset: {"a.b": 1}} => {a: {}}
{a: [1, 2, 3]} by {$unset: {"a.1": 1}} => {a: [1, null, 3]}
{a: 1} by {$unset: {b: 1}} => same
{a: 1} by {$unset: {"a.b.c": 1}} => same
{a: [1]} by {$unset: {"a.b": 1}} => same
{a: [null]} by {$unset: {"a.0": 1}} => same
"#,
    );
}

#[test]
fn increment_promotes_and_keeps_types() {
    check(
        r#"
{n: 1} by {$inc: {n: 2}} => {n: 3}
{a: 1} by {$inc: {n: 2}} => {a: 1, n: 2}
{n: 2147483647} by {$inc: {n: 1}} => {n: 2147483648L}
{n: -2147483648} by {$inc: {n: -1}} => {n: -2147483649L}
{n: 1} by {$inc: {n: 1L}} => {n: 2L}
{n: 1} by {$inc: {n: 0.5}} => {n: 1.5}
{n: 5L} by {$inc: {n: 1}} => {n: 6L}
{n: 1} by {$inc: {n: 0.1D}} => {n: 1.1D}
{n: 1.5D} by {$inc: {n: 1}} => {n: 2.5D}
{n: 0} by {$inc: {n: 0L}} => {n: 0L}
{a: {n: 1}} by {$inc: {"a.n": 1}} => {a: {n: 2}}
{n: 5} by {$inc: {n: 0}} => same
"#,
    );
}

#[test]
fn multiply() {
    check(
        r"
{n: 3} by {$mul: {n: 4}} => {n: 12}
{n: 3} by {$mul: {n: 1.5}} => {n: 4.5}
{n: 1048576} by {$mul: {n: 1048576}} => {n: 1099511627776L}
{} by {$mul: {n: 4}} => {n: 0}
{} by {$mul: {n: 4L}} => {n: 0L}
{} by {$mul: {n: 4.5}} => {n: 0.0}
{} by {$mul: {n: 2D}} => {n: 0D}
{n: 3} by {$mul: {n: 1}} => same
",
    );
}

#[test]
fn minimum_and_maximum_compare_across_types() {
    check(
        r#"
{a: 5} by {$min: {a: 3}} => {a: 3}
{a: 5} by {$max: {a: 7.5}} => {a: 7.5}
{} by {$min: {a: 3}} => {a: 3}
{a: 5} by {$max: {a: "x"}} => {a: "x"}
{a: 5} by {$min: {a: null}} => {a: null}
{a: 5} by {$min: {a: 7}} => same
{a: 5} by {$max: {a: 5.0}} => same
"#,
    );
}

#[test]
fn rename() {
    check(
        r#"
{_id: 1, a: 1, z: 2} by {$rename: {a: "b"}} => {_id: 1, z: 2, b: 1}
{a: {b: 1}} by {$rename: {"a.b": "c.d"}} => {a: {}, c: {d: 1}}
{a: 1, b: 2, c: 3} by {$rename: {a: "b"}} => {b: 1, c: 3}
{a: 1, b: 1} by {$rename: {a: "b"}} => {b: 1}
{a: 1} by {$rename: {x: "a"}} => same
{a: []} by {$rename: {"a.0": "b"}} => same
"#,
    );
}

#[test]
fn current_date() {
    check(
        r#"
{} by {$currentDate: {a: true}} => {a: date(1700000000123L)}
{a: 1} by {$currentDate: {a: {$type: "date"}}} => {a: date(1700000000123L)}
"#,
    );
    let stamp = Timestamp {
        time: 1_700_000_000,
        increment: 1,
    };
    let changed = apply(
        &doc! {},
        doc! {"$currentDate": {"a": {"$type": "timestamp"}}},
    );
    assert_eq!(changed, Ok(Some(doc! {"a": stamp})));
}

#[test]
fn set_on_insert_acts_on_inserts_only() {
    check(
        r#"
{_id: 1} by {$setOnInsert: {a: 1}} => same
{_id: 1, a: 5} by {$setOnInsert: {"a.b": 1}} => same
"#,
    );
    let update = parse(doc! {"$setOnInsert": {"a": 1}, "$set": {"b": 2}}, &[]).expect("valid");
    let inserted = update
        .apply(&raw(&doc! {"_id": 1}), None, true, NOW)
        .expect("applies");
    assert_eq!(inserted, Some(raw(&doc! {"_id": 1, "a": 1, "b": 2})));
}

#[test]
fn push() {
    check(
        r"
{a: [1]} by {$push: {a: 2}} => {a: [1, 2]}
{} by {$push: {a: 2}} => {a: [2]}
{a: [1]} by {$push: {a: [2, 3]}} => {a: [1, [2, 3]]}
{a: [1]} by {$push: {a: {$each: [2, 3]}}} => {a: [1, 2, 3]}
{a: [1]} by {$push: {a: {$each: [0], $position: 0}}} => {a: [0, 1]}
{a: [1, 2]} by {$push: {a: {$each: [9], $position: -1}}} => {a: [1, 9, 2]}
{a: [1]} by {$push: {a: {$each: [9], $position: 50}}} => {a: [1, 9]}
{a: [1, 2]} by {$push: {a: {$each: [3], $slice: -2}}} => {a: [2, 3]}
{a: [1, 2]} by {$push: {a: {$each: [3], $slice: 2}}} => {a: [1, 2]}
{a: [1, 2]} by {$push: {a: {$each: [3], $slice: 0}}} => {a: []}
{a: [3, 1]} by {$push: {a: {$each: [2], $sort: 1}}} => {a: [1, 2, 3]}
{a: [3, 1]} by {$push: {a: {$each: [], $sort: -1}}} => {a: [3, 1]}
",
    );
}

#[test]
fn push_sorts_by_fields_and_notices_when_nothing_changes() {
    check(
        r#"
{a: [{s: 3, t: 1}, {s: 1}]} by {$push: {a: {$each: [{s: 2}], $sort: {s: -1}, $slice: 2}}} => {a: [{s: 3, t: 1}, {s: 2}]}
{a: [{x: {y: 2}}, {x: {y: 1}}]} by {$push: {a: {$each: [], $sort: {"x.y": 1}}}} => {a: [{x: {y: 1}}, {x: {y: 2}}]}
{a: [1]} by {$push: {a: {$each: []}}} => same
{a: [1, 2]} by {$push: {a: {$each: [], $sort: 1}}} => same
{} by {$push: {a: {$each: []}}} => {a: []}
"#,
    );
}

#[test]
fn add_to_set() {
    check(
        r#"
{a: [1]} by {$addToSet: {a: 2}} => {a: [1, 2]}
{} by {$addToSet: {a: 2}} => {a: [2]}
{a: [1]} by {$addToSet: {a: {$each: [1, 2, 2, 3]}}} => {a: [1, 2, 3]}
{a: [1]} by {$addToSet: {a: [1]}} => {a: [1, [1]]}
{a: [{x: 1, y: 2}]} by {$addToSet: {a: {y: 2, x: 1}}} => {a: [{x: 1, y: 2}, {y: 2, x: 1}]}
{a: [1]} by {$addToSet: {a: 1.0}} => same
{a: [{x: 1}]} by {$addToSet: {a: {x: 1}}} => same
// Many are looked up in another way, which must find the same.
{a: [1, {x: 1, y: 2}]} by {$addToSet: {a: {$each: [1.0, 2, 2L, 3, {y: 2, x: 1}, {x: 1.0, y: 2}, "1", [1], [1.0], null, 3]}}} => {a: [1, {x: 1, y: 2}, 2, 3, {y: 2, x: 1}, "1", [1], null]}
{a: [1]} by {$addToSet: {a: {$each: [1, 1, 1, 1, 1, 1, 1, 1, 1]}}} => same
"#,
    );
}

#[test]
fn pop() {
    check(
        r"
{a: [1, 2, 3]} by {$pop: {a: 1}} => {a: [1, 2]}
{a: [1, 2, 3]} by {$pop: {a: -1.0}} => {a: [2, 3]}
{a: []} by {$pop: {a: 1}} => same
{} by {$pop: {a: 1}} => same
",
    );
}

#[test]
fn pull_values() {
    check(
        r#"
{a: [1, 2, 1, 3]} by {$pull: {a: 1.0}} => {a: [2, 3]}
{a: [[1], [2]]} by {$pull: {a: [1]}} => {a: [[2]]}
{a: [1, 2, 3, 2]} by {$pullAll: {a: [2, 3]}} => {a: [1]}
{a: [1, 2]} by {$pull: {a: 5}} => same
{a: [1, 2]} by {$pullAll: {a: []}} => same
{a: [1, {x: 1, y: 2}, {y: 2, x: 1}, "1", [1], 4, 1L]} by {$pullAll: {a: [1.0, {y: 2, x: 1}, [1.0], 5, 6, 7, 8, 9, 10, 11]}} => {a: [{x: 1, y: 2}, "1", 4]}
{} by {$pull: {a: 5}} => same
"#,
    );
}

#[test]
fn pull_by_condition() {
    check(
        r#"
{a: [1, 5, 9]} by {$pull: {a: {$gte: 5}}} => {a: [1]}
{a: [1, 5, 9]} by {$pull: {a: {$in: [1, 9]}}} => {a: [5]}
{a: ["ab", "cd", 1]} by {$pull: {a: {$regex: "^a"}}} => {a: ["cd", 1]}
{a: [{k: 1, v: 5}, {k: 2, v: 8}, 7]} by {$pull: {a: {k: 2, v: {$gt: 6}}}} => {a: [{k: 1, v: 5}, 7]}
// A document is a condition on the elements' fields, not a value to equal.
{a: [{k: 1, v: 5}, {k: 2}]} by {$pull: {a: {k: 1}}} => {a: [{k: 2}]}
{a: [{r: [{q: 1, s: 5}]}, {r: [{q: 2, s: 5}]}]} by {$pull: {a: {r: {$elemMatch: {q: 2, s: {$gte: 5}}}}}} => {a: [{r: [{q: 1, s: 5}]}]}
{a: [{k: 1}, {k: 2}, {k: 3}]} by {$pull: {a: {$or: [{k: 1}, {k: 3}]}}} => {a: [{k: 2}]}
"#,
    );
}

#[test]
fn bit() {
    check(
        r"
{n: 13} by {$bit: {n: {and: 10}}} => {n: 8}
{n: 3} by {$bit: {n: {or: 5L}}} => {n: 7L}
{n: 1L} by {$bit: {n: {xor: 5}}} => {n: 4L}
{n: 6} by {$bit: {n: {and: 3, or: 8}}} => {n: 10}
{} by {$bit: {n: {or: 5}}} => {n: 5}
{n: 7} by {$bit: {n: {or: 1}}} => same
",
    );
}

#[test]
fn replacement_keeps_the_id_in_front() {
    check(
        r"
{_id: 1, a: 1} by {b: 2} => {_id: 1, b: 2}
{_id: 1, a: 1} by {b: 2, _id: 1} => {_id: 1, b: 2}
{_id: 1, a: 1} by {} => {_id: 1}
{_id: 1, a: 1} by {a: 1} => same
",
    );
    assert!(parse(doc! {"a": 1}, &[]).expect("valid").is_replacement());
    let operators = parse(doc! {"$set": {"a": 1}}, &[]).expect("valid");
    assert!(!operators.is_replacement());
}
