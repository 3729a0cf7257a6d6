//! Laws of updates: the fast path and the walk agree, and what is left alone stays as it is.

use bson::{Bson, Document, doc};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, RngSeed};

use super::super::Modification;
use super::{NOW, parse, raw};

fn config() -> Config {
    Config {
        cases: 2000,
        rng_algorithm: RngAlgorithm::ChaCha,
        rng_seed: RngSeed::Fixed(16),
        failure_persistence: None,
        ..Config::default()
    }
}

fn number() -> impl Strategy<Value = Bson> {
    prop_oneof![
        prop_oneof![
            Just(0),
            Just(1),
            Just(i32::MAX),
            Just(i32::MIN),
            any::<i32>()
        ]
        .prop_map(Bson::Int32),
        prop_oneof![Just(0), Just(i64::MAX), Just(i64::MIN), any::<i64>()].prop_map(Bson::Int64),
        prop_oneof![Just(0.0), Just(-0.0), Just(f64::NAN), any::<f64>()].prop_map(Bson::Double),
        Just(Bson::Decimal128("1.50".parse().expect("a decimal"))),
    ]
}

pub(super) fn value() -> impl Strategy<Value = Bson> {
    let leaf = prop_oneof![
        3 => number(),
        1 => "[a-c]{0,3}".prop_map(Bson::String),
        1 => Just(Bson::Null),
        1 => any::<bool>().prop_map(Bson::Boolean),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Bson::Array),
            prop::collection::vec((name(), inner), 0..4)
                .prop_map(|fields| Bson::Document(fields.into_iter().collect())),
        ]
    })
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof!["[a-f]", "[0-9]{1,2}"]
}

fn document() -> impl Strategy<Value = Document> {
    prop::collection::vec((name(), value()), 0..8).prop_map(|fields| {
        let mut document = doc! {"_id": 1};
        document.extend(fields);
        document
    })
}

fn flat_update() -> impl Strategy<Value = Document> {
    let one = prop_oneof![
        (name(), value()).prop_map(|(name, value)| ("$set", name, value)),
        (name(), number()).prop_map(|(name, value)| ("$inc", name, value)),
        name().prop_map(|name| ("$unset", name, Bson::Boolean(true))),
    ];
    prop::collection::vec(one, 1..5).prop_map(|changes| {
        let mut update = Document::new();
        let mut seen = Vec::new();
        for (modifier, name, value) in changes {
            if seen.contains(&name) {
                continue;
            }
            seen.push(name.clone());
            let fields = update
                .entry(modifier.to_owned())
                .or_insert(Bson::Document(Document::new()));
            if let Bson::Document(fields) = fields {
                fields.insert(name, value);
            }
        }
        update
    })
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn bytes_and_owned_values_change_alike(document in document(), update in flat_update()) {
        let document = raw(&document);
        let fast = parse(update.clone(), &[]).expect("valid");
        let mut slow = parse(update, &[]).expect("valid");
        if let Modification::Operators(operators) = &mut slow.modification {
            prop_assert!(operators.fast.take().is_some() || operators.root.is_empty()
                || operators.root.len() > 16 || fast_declines(&operators.root));
        }
        let fast = fast.apply(&document, None, false, NOW);
        let slow = slow.apply(&document, None, false, NOW);
        prop_assert_eq!(fast, slow);
    }

    #[test]
    fn an_update_repeated_changes_nothing_more(document in document(), fields in prop::collection::vec((name(), value()), 1..5)) {
        let fields: Document = fields.into_iter().collect();
        let update = parse(doc! {"$set": fields.clone()}, &[]).expect("valid");
        let once = update.apply(&raw(&document), None, false, NOW).expect("applies");
        let once = once.unwrap_or_else(|| raw(&document));
        prop_assert_eq!(update.apply(&once, None, false, NOW), Ok(None));
        let after = Document::try_from(&*once).expect("valid");
        for (name, value) in &document {
            if !fields.contains_key(name) {
                prop_assert!(super::super::limits::identical(value, after.get(name).expect("kept")));
            }
        }
        prop_assert_eq!(after.get("_id"), Some(&Bson::Int32(1)));
    }

    #[test]
    fn what_is_set_and_unset_leaves_the_document(document in document(), value in value()) {
        let set = parse(doc! {"$set": {"new.deep": value}}, &[]).expect("valid");
        let unset = parse(doc! {"$unset": {"new": 1}}, &[]).expect("valid");
        let document = raw(&document);
        let changed = set.apply(&document, None, false, NOW).expect("applies").expect("changes");
        let back = unset.apply(&changed, None, false, NOW).expect("applies").expect("changes");
        prop_assert_eq!(back, document);
    }
}

/// A decimal under `$inc` is left to the walk from the start.
fn fast_declines(root: &super::super::Children) -> bool {
    use super::super::{operator::Operator, tree::UpdateNode};
    root.values().any(|node| {
        matches!(
            node,
            UpdateNode::Leaf(Operator::Increment(crate::value::Number::Decimal(_)))
        )
    })
}
