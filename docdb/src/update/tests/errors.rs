//! The codes and messages of MongoDB, update by update.

use bson::{Bson, doc};

use super::{apply, fails, parse};
use crate::value::shell;

/// Each line: the update, the code, and what the message contains.
const UNREADABLE: &str = r#"
    {$foo: {a: 1}} => 9 Unknown modifier: $foo. Expected a valid update modifier or pipeline-style update specified as an array
    {$set: {a: 1}, b: 1} => 9 Unknown modifier: b.
    {b: 1, $set: {a: 1}} => 52 The dollar ($) prefixed field '$set' in '$set' is not allowed
    {$set: "x"} => 9 Modifiers operate on fields but we found type string instead. For example: {$mod: {<field>: ...}} not {$set: "x"}
    {$set: {"": 1}} => 56 An empty update path is not valid.
    {$set: {a..b: 1}} => 56 The update path 'a..b' contains an empty field name, which is not allowed.
    {$set: {a.: 1}} => 56 The update path 'a.' contains an empty field name
    {$set: {a: 1, a.b: 2}} => 40 Updating the path 'a.b' would create a conflict at 'a'
    {$set: {a.b: 1, a: 2}} => 40 Updating the path 'a' would create a conflict at 'a'
    {$set: {a: 1}, $inc: {a: 1}} => 40 Updating the path 'a' would create a conflict at 'a'
    {$set: {a.$[].b: 1, a.0: 2}} => 40 would create a conflict at 'a'
    {$rename: {a: "b"}, $set: {a: 2}} => 40 conflict at 'a'
    {$set: {$a: 1}} => 52 The dollar ($) prefixed field '$a' in '$a'
    {$set: {$: 1}} => 2 Cannot have positional (i.e. '$') element in the first position in path '$'
    {$set: {a.$.$: 1}} => 2 Too many positional (i.e. '$') elements found in path 'a.$.$'
    {$set: {$[]: 1}} => 2 Cannot have array filter identifier (i.e. '$[<id>]') element in the first position in path '$[]'
    {$inc: {a: "x"}} => 14 Cannot increment with non-numeric argument: {a: "x"}
    {$mul: {a: null}} => 14 Cannot multiply with non-numeric argument: {a: null}
    {$currentDate: {a: 1}} => 2 int is not valid type for $currentDate.
    {$currentDate: {a: {$type: "x"}}} => 2 The '$type' string field is required to be 'date' or 'timestamp'
    {$currentDate: {a: {b: 1}}} => 2 Unrecognized $currentDate option: b
    {$rename: {a: 1}} => 2 The 'to' field for $rename must be a string: a: 1
    {$rename: {a: "a"}} => 2 The source and target field for $rename must differ: a: "a"
    {$rename: {a: "a.b"}} => 2 The source and target field for $rename must not be on the same path: a: "a.b"
    {$rename: {a.$: "b"}} => 2 The source field for $rename may not be dynamic: a.$
    {$rename: {a: "b.$[]"}} => 2 The destination field for $rename may not be dynamic: b.$[]
    {$rename: {a: ""}} => 56 An empty update path is not valid.
    {$push: {a: {$each: 1}}} => 2 The argument to $each in $push must be an array but it was of type: int
    {$push: {a: {$each: [], $foo: 1}}} => 2 Unrecognized clause in $push: $foo
    {$push: {a: {$each: [], $slice: "x"}}} => 2 The value for $slice must be an integer value but was given type: string
    {$push: {a: {$each: [], $position: 1.5}}} => 2 The value for $position must be an integer value, not of type: double
    {$push: {a: {$each: [], $sort: "x"}}} => 2 The $sort is invalid: use 1/-1
    {$push: {a: {$each: [], $sort: 2}}} => 2 The $sort element value must be either 1 or -1
    {$push: {a: {$each: [], $sort: {}}}} => 2 The $sort pattern is empty when it should be a set of fields.
    {$push: {a: {$each: [], $sort: {b..c: 1}}}} => 2 The $sort field is a dotted field but has an empty part: b..c
    {$addToSet: {a: {$each: 1}}} => 14 The argument to $each in $addToSet must be an array but it was of type int
    {$addToSet: {a: {$each: [], b: 1}}} => 2 Found unexpected fields after $each in $addToSet
    {$pop: {a: "x"}} => 9 Expected a number in: a: "x"
    {$pop: {a: 3}} => 9 $pop expects 1 or -1, found: 3
    {$pullAll: {a: 1}} => 2 $pullAll requires an array argument but was given a int
    {$bit: {a: 1}} => 2 The $bit modifier is not compatible with a int.
    {$bit: {a: {}}} => 2 You must pass in at least one bitwise operation.
    {$bit: {a: {nor: 1}}} => 2 The $bit modifier only supports 'and', 'or', and 'xor', not 'nor' which is an unknown operator: {nor: 1}
    {$bit: {a: {and: 1.5}}} => 2 The $bit modifier field must be an Integer(32/64 bit); a 'double' is not supported here: {and: 1.5}
    1 => 9 Update argument must be either an object or an array
"#;

const UNFIT: &str = r#"
    {$inc: {s: 1}} => 14 Cannot apply $inc to a value of non-numeric type. {_id: 1} has the field 's' of non-numeric type string
    {$mul: {arr: 1}} => 14 Cannot apply $mul to a value of non-numeric type. {_id: 1} has the field 'arr' of non-numeric type array
    {$inc: {big: 1}} => 2 Failed to apply $inc operations to current value ((NumberLong)9223372036854775807) for document {_id: 1}
    {$mul: {big: 2}} => 2 Failed to apply $mul operations to current value
    {$set: {n.a: 1}} => 28 Cannot create field 'a' in element {n: 1}
    {$set: {arr.a: 1}} => 28 Cannot create field 'a' in element {arr: [ 1, 2 ]}
    {$set: {arr.0.a: 1}} => 28 Cannot create field 'a' in element {0: 1}
    {$inc: {sub.a.x: 1}} => 28 Cannot create field 'x' in element {a: [ 1 ]}
    {$pop: {n.a: 1}} => 28 Cannot create field 'a' in element {n: 1}
    {$pull: {n.a: 1}} => 28 Cannot create field 'a' in element {n: 1}
    {$push: {n: 1}} => 2 The field 'n' must be an array but is of type int in document {_id: 1}
    {$addToSet: {sub: 1}} => 2 Cannot apply $addToSet to non-array field. Field named 'sub' has non-array type object
    {$pop: {s: 1}} => 14 Path 's' contains an element of non-array type 'string'
    {$pull: {n: 1}} => 2 Cannot apply $pull to a non-array value
    {$pullAll: {n: [1]}} => 2 Cannot apply $pull to a non-array value
    {$bit: {d: {and: 1}}} => 2 Cannot apply $bit to a value of non-integral type
    {$set: {_id: 2}} => 66 Performing an update on the path '_id' would modify the immutable field '_id'
    {$set: {_id: 1.0}} => 66 '_id'
    {$inc: {_id: 1}} => 66 immutable field '_id'
    {$unset: {_id: 1}} => 66 immutable field '_id'
    {$rename: {_id: "x"}} => 66 immutable field '_id'
    {$rename: {d: "_id"}} => 66 immutable field '_id'
    {$rename: {arr.0: "x"}} => 2 The source field cannot be an array element, 'arr.0' in doc with _id: 1 has an array field called 'arr'
    {$rename: {n: "arr.0"}} => 2 The destination field cannot be an array element, 'arr.0' in doc with _id: 1 has an array field called 'arr'
    {$rename: {n.x: "y"}} => 28 Cannot use the part (x) of (n.x) to traverse the element ({n: 1})
    {$rename: {n: "s.y"}} => 28 Cannot create field 'y' in element {s: "x"}
    {_id: 2, a: 1} => 66 After applying the update, the (immutable) field '_id' was found to have been altered to _id: 2
"#;

#[test]
fn updates_that_cannot_be_read() {
    for (update, refusal) in shell::rows(UNREADABLE) {
        let error = parse(shell::value(update), &[]).expect_err(update);
        shell::assert_refused(update, &error, refusal);
    }
}

#[test]
fn updates_that_do_not_fit_the_document() {
    let document = shell::document(
        "{_id: 1, s: \"x\", n: 1, d: 1.5, big: 9223372036854775807L, arr: [1, 2], sub: {a: [1]}}",
    );
    for (update, refusal) in shell::rows(UNFIT) {
        let error = apply(&document, shell::value(update)).expect_err(update);
        shell::assert_refused(update, &error, refusal);
    }
}

#[test]
fn the_result_may_be_no_larger_than_16_mib() {
    let half = "x".repeat(9 * 1024 * 1024);
    fails(
        &doc! {"_id": 1, "a": &half},
        doc! {"$set": {"b": &half}},
        10334,
        "larger than 16777216",
    );
    fails(
        &doc! {"_id": 1, "a": [&half]},
        doc! {"$push": {"a": &half}},
        10334,
        "larger than 16777216",
    );
    let many: Vec<i32> = vec![0; 1000];
    fails(
        &doc! {"a": &many},
        doc! {"$set": {"a.$[]": &half}},
        10334,
        "larger than 16777216",
    );
    let arrays: Vec<Vec<i32>> = vec![vec![]; 1000];
    fails(
        &doc! {"a": &arrays},
        doc! {"$push": {"a.$[]": &half}},
        10334,
        "larger than 16777216",
    );
    // Replacing a large value by another one is fine.
    let other = "y".repeat(9 * 1024 * 1024);
    let changed = apply(&doc! {"_id": 1, "a": &half}, doc! {"$set": {"a": other}});
    assert!(changed.expect("fits").is_some());
}

#[test]
fn the_result_may_nest_no_deeper_than_180() {
    let nested =
        |levels: usize| (0..levels).fold(Bson::Int32(1), |inner, _| doc! {"a": inner}.into());
    assert!(apply(&doc! {"_id": 1}, doc! {"$set": {"x": nested(179)}}).is_ok());
    fails(
        &doc! {"_id": 1},
        doc! {"$set": {"x": nested(180)}},
        15,
        "maximum nesting depth of 180",
    );
    fails(
        &doc! {"_id": 1},
        doc! {"$set": {"x.y": nested(179)}},
        15,
        "maximum nesting depth of 180",
    );
    let path = vec!["a"; 300].join(".");
    fails(&doc! {"_id": 1}, doc! {"$set": {path: 1}}, 15, "too long");
}

#[test]
fn an_id_of_another_number_type_is_the_same_id() {
    let document = doc! { "_id": 1, "a": 1 };
    for (update, id) in [
        (Bson::from(doc! { "_id": 1.0, "a": 2 }), Bson::Double(1.0)),
        (doc! { "_id": 1_i64, "a": 2 }.into(), Bson::Int64(1)),
        (
            vec![doc! { "$set": { "_id": 1.0, "a": 2 } }].into(),
            Bson::Double(1.0),
        ),
    ] {
        let changed = apply(&document, update.clone()).unwrap();
        let expected = doc! { "_id": id, "a": 2 };
        assert_eq!(changed, Some(expected), "{update}");
    }
}
