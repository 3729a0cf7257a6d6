//! Each operator on a field that exists and on one that does not.

use bson::{Bson, Timestamp, doc};

use super::{NOW, becomes, parse, raw, stays};

fn decimal(text: &str) -> Bson {
    Bson::Decimal128(text.parse().expect("a decimal"))
}

#[test]
fn set() {
    becomes(
        &doc! {"_id": 1, "a": 1},
        doc! {"$set": {"a": "x"}},
        doc! {"_id": 1, "a": "x"},
    );
    becomes(
        &doc! {"_id": 1},
        doc! {"$set": {"a.b": 1}},
        doc! {"_id": 1, "a": {"b": 1}},
    );
    becomes(
        &doc! {"_id": 1, "z": 0},
        doc! {"$set": {"c": 1, "a": 2, "b": 3}},
        doc! {"_id": 1, "z": 0, "a": 2, "b": 3, "c": 1},
    );
    becomes(
        &doc! {"_id": 1},
        doc! {"$set": {"10": "ten", "9": "nine", "a": 1}},
        doc! {"_id": 1, "9": "nine", "10": "ten", "a": 1},
    );
    // New fields of all operators together, not operator by operator.
    becomes(
        &doc! {"_id": 1},
        doc! {"$set": {"b": 1, "d": 1}, "$inc": {"a": 1, "c": 1}},
        doc! {"_id": 1, "a": 1, "b": 1, "c": 1, "d": 1},
    );
    becomes(
        &doc! {"_id": 1, "a": 1},
        doc! {"$set": {"a": 1.0}},
        doc! {"_id": 1, "a": 1.0},
    );
    becomes(
        &doc! {"_id": 1, "a": {"x": 1, "y": 2}},
        doc! {"$set": {"a": {"y": 2, "x": 1}}},
        doc! {"_id": 1, "a": {"y": 2, "x": 1}},
    );
    becomes(
        &doc! {"_id": 1, "a": 0.0},
        doc! {"$set": {"a": -0.0}},
        doc! {"_id": 1, "a": -0.0},
    );
    stays(&doc! {"_id": 1, "a": 1}, doc! {"$set": {"a": 1}});
    stays(
        &doc! {"_id": 1, "a": f64::NAN},
        doc! {"$set": {"a": f64::NAN}},
    );
    stays(&doc! {"_id": 1, "a": 1}, doc! {"$set": {"_id": 1}});
    stays(
        &doc! {"_id": 1, "a": {"b": [1, {"c": 2}]}},
        doc! {"$set": {"a": {"b": [1, {"c": 2}]}}},
    );
    stays(&doc! {"_id": 1}, doc! {"$set": {}});
    becomes(
        &doc! {"_id": 1},
        doc! {"$set": {"a": {"$price": 1, "b.c": 2}}},
        doc! {"_id": 1, "a": {"$price": 1, "b.c": 2}},
    );
}

#[test]
fn unset() {
    becomes(
        &doc! {"_id": 1, "a": 1, "b": 2},
        doc! {"$unset": {"a": ""}},
        doc! {"_id": 1, "b": 2},
    );
    becomes(
        &doc! {"a": {"b": 1, "c": 2}},
        doc! {"$unset": {"a.b": 1}},
        doc! {"a": {"c": 2}},
    );
    becomes(
        &doc! {"a": {"b": 1}},
        doc! {"$unset": {"a.b": 1}},
        doc! {"a": {}},
    );
    becomes(
        &doc! {"a": [1, 2, 3]},
        doc! {"$unset": {"a.1": 1}},
        doc! {"a": [1, null, 3]},
    );
    stays(&doc! {"a": 1}, doc! {"$unset": {"b": 1}});
    stays(&doc! {"a": 1}, doc! {"$unset": {"a.b.c": 1}});
    stays(&doc! {"a": [1]}, doc! {"$unset": {"a.b": 1}});
    stays(&doc! {"a": [null]}, doc! {"$unset": {"a.0": 1}});
}

#[test]
fn increment_promotes_and_keeps_types() {
    becomes(&doc! {"n": 1}, doc! {"$inc": {"n": 2}}, doc! {"n": 3});
    becomes(
        &doc! {"a": 1},
        doc! {"$inc": {"n": 2}},
        doc! {"a": 1, "n": 2},
    );
    becomes(
        &doc! {"n": i32::MAX},
        doc! {"$inc": {"n": 1}},
        doc! {"n": 2_147_483_648_i64},
    );
    becomes(
        &doc! {"n": i32::MIN},
        doc! {"$inc": {"n": -1}},
        doc! {"n": -2_147_483_649_i64},
    );
    becomes(
        &doc! {"n": 1},
        doc! {"$inc": {"n": 1_i64}},
        doc! {"n": 2_i64},
    );
    becomes(&doc! {"n": 1}, doc! {"$inc": {"n": 0.5}}, doc! {"n": 1.5});
    becomes(
        &doc! {"n": 5_i64},
        doc! {"$inc": {"n": 1}},
        doc! {"n": 6_i64},
    );
    becomes(
        &doc! {"n": 1},
        doc! {"$inc": {"n": decimal("0.1")}},
        doc! {"n": decimal("1.1")},
    );
    becomes(
        &doc! {"n": decimal("1.5")},
        doc! {"$inc": {"n": 1}},
        doc! {"n": decimal("2.5")},
    );
    becomes(
        &doc! {"n": 0},
        doc! {"$inc": {"n": 0_i64}},
        doc! {"n": 0_i64},
    );
    becomes(
        &doc! {"a": {"n": 1}},
        doc! {"$inc": {"a.n": 1}},
        doc! {"a": {"n": 2}},
    );
    stays(&doc! {"n": 5}, doc! {"$inc": {"n": 0}});
}

#[test]
fn multiply() {
    becomes(&doc! {"n": 3}, doc! {"$mul": {"n": 4}}, doc! {"n": 12});
    becomes(&doc! {"n": 3}, doc! {"$mul": {"n": 1.5}}, doc! {"n": 4.5});
    becomes(
        &doc! {"n": 1 << 20},
        doc! {"$mul": {"n": 1 << 20}},
        doc! {"n": 1_i64 << 40},
    );
    becomes(&doc! {}, doc! {"$mul": {"n": 4}}, doc! {"n": 0});
    becomes(&doc! {}, doc! {"$mul": {"n": 4_i64}}, doc! {"n": 0_i64});
    becomes(&doc! {}, doc! {"$mul": {"n": 4.5}}, doc! {"n": 0.0});
    becomes(
        &doc! {},
        doc! {"$mul": {"n": decimal("2")}},
        doc! {"n": decimal("0")},
    );
    stays(&doc! {"n": 3}, doc! {"$mul": {"n": 1}});
}

#[test]
fn minimum_and_maximum_compare_across_types() {
    becomes(&doc! {"a": 5}, doc! {"$min": {"a": 3}}, doc! {"a": 3});
    becomes(&doc! {"a": 5}, doc! {"$max": {"a": 7.5}}, doc! {"a": 7.5});
    becomes(&doc! {}, doc! {"$min": {"a": 3}}, doc! {"a": 3});
    becomes(&doc! {"a": 5}, doc! {"$max": {"a": "x"}}, doc! {"a": "x"});
    becomes(&doc! {"a": 5}, doc! {"$min": {"a": null}}, doc! {"a": null});
    stays(&doc! {"a": 5}, doc! {"$min": {"a": 7}});
    stays(&doc! {"a": 5}, doc! {"$max": {"a": 5.0}});
}

#[test]
fn rename() {
    becomes(
        &doc! {"_id": 1, "a": 1, "z": 2},
        doc! {"$rename": {"a": "b"}},
        doc! {"_id": 1, "z": 2, "b": 1},
    );
    becomes(
        &doc! {"a": {"b": 1}},
        doc! {"$rename": {"a.b": "c.d"}},
        doc! {"a": {}, "c": {"d": 1}},
    );
    becomes(
        &doc! {"a": 1, "b": 2, "c": 3},
        doc! {"$rename": {"a": "b"}},
        doc! {"b": 1, "c": 3},
    );
    becomes(
        &doc! {"a": 1, "b": 1},
        doc! {"$rename": {"a": "b"}},
        doc! {"b": 1},
    );
    stays(&doc! {"a": 1}, doc! {"$rename": {"x": "a"}});
    stays(&doc! {"a": []}, doc! {"$rename": {"a.0": "b"}});
}

#[test]
fn current_date() {
    becomes(
        &doc! {},
        doc! {"$currentDate": {"a": true}},
        doc! {"a": NOW},
    );
    becomes(
        &doc! {"a": 1},
        doc! {"$currentDate": {"a": {"$type": "date"}}},
        doc! {"a": NOW},
    );
    let stamp = Timestamp {
        time: 1_700_000_000,
        increment: 1,
    };
    becomes(
        &doc! {},
        doc! {"$currentDate": {"a": {"$type": "timestamp"}}},
        doc! {"a": stamp},
    );
}

#[test]
fn set_on_insert_acts_on_inserts_only() {
    stays(&doc! {"_id": 1}, doc! {"$setOnInsert": {"a": 1}});
    stays(&doc! {"_id": 1, "a": 5}, doc! {"$setOnInsert": {"a.b": 1}});
    let update = parse(doc! {"$setOnInsert": {"a": 1}, "$set": {"b": 2}}, &[]).expect("valid");
    let inserted = update
        .apply(&raw(&doc! {"_id": 1}), None, true, NOW)
        .expect("applies");
    assert_eq!(inserted, Some(raw(&doc! {"_id": 1, "a": 1, "b": 2})));
}

#[test]
fn push() {
    becomes(
        &doc! {"a": [1]},
        doc! {"$push": {"a": 2}},
        doc! {"a": [1, 2]},
    );
    becomes(&doc! {}, doc! {"$push": {"a": 2}}, doc! {"a": [2]});
    becomes(
        &doc! {"a": [1]},
        doc! {"$push": {"a": [2, 3]}},
        doc! {"a": [1, [2, 3]]},
    );
    becomes(
        &doc! {"a": [1]},
        doc! {"$push": {"a": {"$each": [2, 3]}}},
        doc! {"a": [1, 2, 3]},
    );
    becomes(
        &doc! {"a": [1]},
        doc! {"$push": {"a": {"$each": [0], "$position": 0}}},
        doc! {"a": [0, 1]},
    );
    becomes(
        &doc! {"a": [1, 2]},
        doc! {"$push": {"a": {"$each": [9], "$position": -1}}},
        doc! {"a": [1, 9, 2]},
    );
    becomes(
        &doc! {"a": [1]},
        doc! {"$push": {"a": {"$each": [9], "$position": 50}}},
        doc! {"a": [1, 9]},
    );
    becomes(
        &doc! {"a": [1, 2]},
        doc! {"$push": {"a": {"$each": [3], "$slice": -2}}},
        doc! {"a": [2, 3]},
    );
    becomes(
        &doc! {"a": [1, 2]},
        doc! {"$push": {"a": {"$each": [3], "$slice": 2}}},
        doc! {"a": [1, 2]},
    );
    becomes(
        &doc! {"a": [1, 2]},
        doc! {"$push": {"a": {"$each": [3], "$slice": 0}}},
        doc! {"a": []},
    );
    becomes(
        &doc! {"a": [3, 1]},
        doc! {"$push": {"a": {"$each": [2], "$sort": 1}}},
        doc! {"a": [1, 2, 3]},
    );
    becomes(
        &doc! {"a": [3, 1]},
        doc! {"$push": {"a": {"$each": [], "$sort": -1}}},
        doc! {"a": [3, 1]},
    );
}

#[test]
fn push_sorts_by_fields_and_notices_when_nothing_changes() {
    becomes(
        &doc! {"a": [{"s": 3, "t": 1}, {"s": 1}]},
        doc! {"$push": {"a": {"$each": [{"s": 2}], "$sort": {"s": -1}, "$slice": 2}}},
        doc! {"a": [{"s": 3, "t": 1}, {"s": 2}]},
    );
    becomes(
        &doc! {"a": [{"x": {"y": 2}}, {"x": {"y": 1}}]},
        doc! {"$push": {"a": {"$each": [], "$sort": {"x.y": 1}}}},
        doc! {"a": [{"x": {"y": 1}}, {"x": {"y": 2}}]},
    );
    stays(&doc! {"a": [1]}, doc! {"$push": {"a": {"$each": []}}});
    stays(
        &doc! {"a": [1, 2]},
        doc! {"$push": {"a": {"$each": [], "$sort": 1}}},
    );
    becomes(
        &doc! {},
        doc! {"$push": {"a": {"$each": []}}},
        doc! {"a": []},
    );
}

#[test]
fn add_to_set() {
    becomes(
        &doc! {"a": [1]},
        doc! {"$addToSet": {"a": 2}},
        doc! {"a": [1, 2]},
    );
    becomes(&doc! {}, doc! {"$addToSet": {"a": 2}}, doc! {"a": [2]});
    becomes(
        &doc! {"a": [1]},
        doc! {"$addToSet": {"a": {"$each": [1, 2, 2, 3]}}},
        doc! {"a": [1, 2, 3]},
    );
    becomes(
        &doc! {"a": [1]},
        doc! {"$addToSet": {"a": [1]}},
        doc! {"a": [1, [1]]},
    );
    becomes(
        &doc! {"a": [{"x": 1, "y": 2}]},
        doc! {"$addToSet": {"a": {"y": 2, "x": 1}}},
        doc! {"a": [{"x": 1, "y": 2}, {"y": 2, "x": 1}]},
    );
    stays(&doc! {"a": [1]}, doc! {"$addToSet": {"a": 1.0}});
    stays(&doc! {"a": [{"x": 1}]}, doc! {"$addToSet": {"a": {"x": 1}}});
}

#[test]
fn pop() {
    becomes(
        &doc! {"a": [1, 2, 3]},
        doc! {"$pop": {"a": 1}},
        doc! {"a": [1, 2]},
    );
    becomes(
        &doc! {"a": [1, 2, 3]},
        doc! {"$pop": {"a": -1.0}},
        doc! {"a": [2, 3]},
    );
    stays(&doc! {"a": []}, doc! {"$pop": {"a": 1}});
    stays(&doc! {}, doc! {"$pop": {"a": 1}});
}

#[test]
fn pull_values() {
    becomes(
        &doc! {"a": [1, 2, 1, 3]},
        doc! {"$pull": {"a": 1.0}},
        doc! {"a": [2, 3]},
    );
    becomes(
        &doc! {"a": [[1], [2]]},
        doc! {"$pull": {"a": [1]}},
        doc! {"a": [[2]]},
    );
    becomes(
        &doc! {"a": [1, 2, 3, 2]},
        doc! {"$pullAll": {"a": [2, 3]}},
        doc! {"a": [1]},
    );
    stays(&doc! {"a": [1, 2]}, doc! {"$pull": {"a": 5}});
    stays(&doc! {"a": [1, 2]}, doc! {"$pullAll": {"a": []}});
    stays(&doc! {}, doc! {"$pull": {"a": 5}});
}

#[test]
fn pull_by_condition() {
    becomes(
        &doc! {"a": [1, 5, 9]},
        doc! {"$pull": {"a": {"$gte": 5}}},
        doc! {"a": [1]},
    );
    becomes(
        &doc! {"a": [1, 5, 9]},
        doc! {"$pull": {"a": {"$in": [1, 9]}}},
        doc! {"a": [5]},
    );
    becomes(
        &doc! {"a": ["ab", "cd", 1]},
        doc! {"$pull": {"a": {"$regex": "^a"}}},
        doc! {"a": ["cd", 1]},
    );
    becomes(
        &doc! {"a": [{"k": 1, "v": 5}, {"k": 2, "v": 8}, 7]},
        doc! {"$pull": {"a": {"k": 2, "v": {"$gt": 6}}}},
        doc! {"a": [{"k": 1, "v": 5}, 7]},
    );
    // A document is a condition on the elements' fields, not a value to equal.
    becomes(
        &doc! {"a": [{"k": 1, "v": 5}, {"k": 2}]},
        doc! {"$pull": {"a": {"k": 1}}},
        doc! {"a": [{"k": 2}]},
    );
    becomes(
        &doc! {"a": [{"r": [{"q": 1, "s": 5}]}, {"r": [{"q": 2, "s": 5}]}]},
        doc! {"$pull": {"a": {"r": {"$elemMatch": {"q": 2, "s": {"$gte": 5}}}}}},
        doc! {"a": [{"r": [{"q": 1, "s": 5}]}]},
    );
    becomes(
        &doc! {"a": [{"k": 1}, {"k": 2}, {"k": 3}]},
        doc! {"$pull": {"a": {"$or": [{"k": 1}, {"k": 3}]}}},
        doc! {"a": [{"k": 2}]},
    );
}

#[test]
fn bit() {
    becomes(
        &doc! {"n": 13},
        doc! {"$bit": {"n": {"and": 10}}},
        doc! {"n": 8},
    );
    becomes(
        &doc! {"n": 3},
        doc! {"$bit": {"n": {"or": 5_i64}}},
        doc! {"n": 7_i64},
    );
    becomes(
        &doc! {"n": 1_i64},
        doc! {"$bit": {"n": {"xor": 5}}},
        doc! {"n": 4_i64},
    );
    becomes(
        &doc! {"n": 6},
        doc! {"$bit": {"n": {"and": 3, "or": 8}}},
        doc! {"n": 10},
    );
    becomes(&doc! {}, doc! {"$bit": {"n": {"or": 5}}}, doc! {"n": 5});
    stays(&doc! {"n": 7}, doc! {"$bit": {"n": {"or": 1}}});
}

#[test]
fn replacement_keeps_the_id_in_front() {
    becomes(
        &doc! {"_id": 1, "a": 1},
        doc! {"b": 2},
        doc! {"_id": 1, "b": 2},
    );
    becomes(
        &doc! {"_id": 1, "a": 1},
        doc! {"b": 2, "_id": 1},
        doc! {"_id": 1, "b": 2},
    );
    becomes(&doc! {"_id": 1, "a": 1}, doc! {}, doc! {"_id": 1});
    stays(&doc! {"_id": 1, "a": 1}, doc! {"a": 1});
    assert!(parse(doc! {"a": 1}, &[]).expect("valid").is_replacement());
    assert!(
        !parse(doc! {"$set": {"a": 1}}, &[])
            .expect("valid")
            .is_replacement()
    );
}
