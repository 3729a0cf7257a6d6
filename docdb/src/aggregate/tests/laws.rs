//! Laws of stages against plain models over random documents.

use std::collections::BTreeMap;

use bson::{Bson, Document, doc};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, RngSeed};

use super::{Collections, run};

fn config() -> Config {
    Config {
        cases: 300,
        rng_algorithm: RngAlgorithm::ChaCha,
        rng_seed: RngSeed::Fixed(292),
        failure_persistence: None,
        ..Config::default()
    }
}

fn documents() -> impl Strategy<Value = Vec<Document>> {
    let one = (0..5_i32, -100..100_i64, prop::option::of(0..3_i32));
    prop::collection::vec(one, 0..40).prop_map(|rows| {
        let rows = rows.into_iter().enumerate();
        rows.map(|(id, (key, number, optional))| {
            let id = i32::try_from(id).expect("few");
            let mut document = doc! {"_id": id, "k": key, "n": number};
            if let Some(optional) = optional {
                document.insert("o", optional);
            }
            document
        })
        .collect()
    })
}

fn result(stages: &[Document], input: &[Document], slice: usize) -> Vec<Document> {
    run(stages, input, slice, &mut Collections::default()).expect("runs")
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn groups_are_those_of_a_plain_model(input in documents(), slice in 1..10_usize) {
        let mut model: BTreeMap<i32, (i64, i64, i32)> = BTreeMap::new();
        for document in &input {
            let number = document.get_i64("n").expect("there");
            let key = document.get_i32("k").expect("there");
            let entry = model.entry(key).or_insert((0, i64::MIN, 0));
            *entry = (entry.0 + number, entry.1.max(number), entry.2 + 1);
        }
        let expected: Vec<Document> = model
            .into_iter()
            .map(|(key, (sum, max, count))| doc! {"_id": key, "sum": sum, "max": max, "count": count})
            .collect();
        let stage = doc! {"$group": {"_id": "$k", "sum": {"$sum": "$n"}, "max": {"$max": "$n"}, "count": {"$count": {}}}};
        prop_assert_eq!(result(&[stage], &input, slice), expected);
    }

    #[test]
    fn a_limited_sort_is_the_start_of_the_whole_one(input in documents(), skip in 0..10_i32, limit in 1..10_i32) {
        let sort = doc! {"$sort": {"o": 1, "n": -1}};
        let whole = result(std::slice::from_ref(&sort), &input, 7);
        let start = result(&[sort, doc! {"$skip": skip}, doc! {"$limit": limit}], &input, 7);
        let (skip, limit) = (usize::try_from(skip).expect("small"), usize::try_from(limit).expect("small"));
        let expected: Vec<Document> = whole.iter().skip(skip).take(limit).cloned().collect();
        prop_assert_eq!(start, expected);
        for pair in whole.windows(2) {
            let key = |one: &Document| (one.get_i32("o").ok(), -one.get_i64("n").expect("there"), one.get_i32("_id").expect("there"));
            prop_assert!(key(&pair[0]) < key(&pair[1]), "stable and in order");
        }
    }

    #[test]
    fn what_is_pushed_and_unwound_is_what_was_there(input in documents()) {
        let stages = [
            doc! {"$group": {"_id": "$k", "all": {"$push": "$$ROOT"}}},
            doc! {"$unwind": "$all"},
            doc! {"$replaceWith": "$all"},
            doc! {"$sort": {"_id": 1}},
        ];
        prop_assert_eq!(result(&stages, &input, 3), input);
    }

    #[test]
    fn inclusion_and_exclusion_part_a_document(input in documents()) {
        let kept = result(&[doc! {"$project": {"n": 1, "o": 1}}], &input, 3);
        let left = result(&[doc! {"$project": {"n": 0, "o": 0, "_id": 0}}], &input, 3);
        for ((kept, left), whole) in kept.iter().zip(&left).zip(&input) {
            let mut names: Vec<&String> = kept.keys().chain(left.keys()).collect();
            names.sort_unstable();
            let mut expected: Vec<&String> = whole.keys().collect();
            expected.sort_unstable();
            prop_assert_eq!(names, expected);
        }
    }

    #[test]
    fn facets_see_what_pipelines_of_their_own_see(input in documents()) {
        let first = vec![doc! {"$match": {"k": {"$gt": 1}}}, doc! {"$count": "n"}];
        let second = vec![doc! {"$sort": {"n": 1}}, doc! {"$limit": 3}];
        let both = result(&[doc! {"$facet": {"a": first.clone(), "b": second.clone()}}], &input, 4);
        let array = |documents: Vec<Document>| Bson::Array(documents.into_iter().map(Bson::Document).collect());
        let expected = doc! {"a": array(result(&first, &input, 4)), "b": array(result(&second, &input, 4))};
        prop_assert_eq!(both, vec![expected]);
    }
}
