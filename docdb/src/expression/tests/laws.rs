//! Laws that hold for all values: the calendar, the sets, and that evaluation never panics.

use bson::{Bson, doc};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, RngSeed};

use super::super::calendar::{Civil, iso_text, parse_iso};
use super::super::operators;
use super::evaluate;

fn config() -> Config {
    Config {
        cases: 256,
        rng_algorithm: RngAlgorithm::ChaCha,
        rng_seed: RngSeed::Fixed(168),
        failure_persistence: None,
        ..Config::default()
    }
}

fn scalar() -> impl Strategy<Value = Bson> {
    prop_oneof![
        any::<i32>().prop_map(Bson::Int32),
        any::<i64>().prop_map(Bson::Int64),
        any::<f64>().prop_map(Bson::Double),
        Just(Bson::Decimal128("1E+6000".parse().expect("a decimal"))),
        Just(Bson::Null),
        Just(Bson::String("$nope".to_owned())),
        "[a-zö ]{0,4}".prop_map(Bson::String),
        any::<i64>().prop_map(|millis| Bson::DateTime(bson::DateTime::from_millis(millis))),
        prop::collection::vec((-3..3).prop_map(Bson::Int32), 0..4).prop_map(Bson::Array),
        Just(Bson::Document(doc! {"k": "a", "v": 1})),
    ]
}

/// Arguments in every shape that an operator may take them.
fn argument() -> impl Strategy<Value = Bson> {
    let names = [
        "input",
        "in",
        "date",
        "unit",
        "amount",
        "startDate",
        "endDate",
        "to",
        "as",
        "cond",
        "initialValue",
        "find",
        "replacement",
        "regex",
        "inputs",
        "format",
        "dateString",
        "binSize",
    ];
    prop_oneof![
        scalar(),
        prop::collection::vec(scalar(), 0..4).prop_map(Bson::Array),
        prop::collection::vec((prop::sample::select(names.to_vec()), scalar()), 1..5).prop_map(
            |fields| Bson::Document(
                fields
                    .into_iter()
                    .map(|(name, value)| (name.to_owned(), value))
                    .collect()
            )
        ),
    ]
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn no_argument_makes_an_operator_panic(argument in argument()) {
        for name in operators() {
            // The range of two far numbers is refused, but a near one may still be millions long.
            if name != "$range" {
                let _outcome = evaluate(&doc! {name: argument.clone()}.into(), &doc! {"n": 1});
            }
        }
    }

    #[test]
    fn a_date_taken_apart_is_the_same_date(millis in any::<i64>()) {
        let civil = Civil::from_millis(millis);
        prop_assert!((1..=12).contains(&civil.month) && (1..=31).contains(&civil.day));
        prop_assert!((1..=366).contains(&civil.day_of_year()));
        prop_assert_eq!(civil.millis(), Some(millis));
    }

    #[test]
    fn a_date_written_is_read_back(millis in -62_135_596_800_000_i64..253_402_300_800_000) {
        let text = iso_text(millis);
        prop_assert_eq!(parse_iso(&text), Some(millis));
        let reference = bson::DateTime::from_millis(millis).try_to_rfc3339_string().expect("in range");
        prop_assert_eq!(bson::DateTime::parse_rfc3339_str(&text).expect("read"),
            bson::DateTime::parse_rfc3339_str(reference).expect("read"));
    }

    #[test]
    fn sets_obey_their_laws(left in prop::collection::vec(scalar(), 0..5), right in prop::collection::vec(scalar(), 0..5)) {
        let literal = |array: &[Bson]| doc! {"$literal": Bson::Array(array.to_vec())};
        let both = vec![literal(&left), literal(&right)];
        let root = doc! {};
        let union = evaluate(&doc! {"$setUnion": both.clone()}.into(), &root).expect("evaluates");
        let swapped = evaluate(&doc! {"$setUnion": [both[1].clone(), both[0].clone()]}.into(), &root);
        let equal = doc! {"$setEquals": [
            {"$literal": union.clone().expect("there")},
            {"$literal": swapped.expect("evaluates").expect("there")},
        ]};
        prop_assert_eq!(evaluate(&equal.into(), &root), Ok(Some(Bson::Boolean(true))));
        let subset = doc! {"$setIsSubset": [both[0].clone(), {"$literal": union.expect("there")}]};
        prop_assert_eq!(evaluate(&subset.into(), &root), Ok(Some(Bson::Boolean(true))));
    }
}
