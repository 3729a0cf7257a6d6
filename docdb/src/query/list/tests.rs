//! Long lists hold what short ones hold, and are in order after any number of pieces.

use bson::{Bson, Document, Regex, doc};
use proptest::prelude::*;
use proptest::sample::select;

use super::sort::Sorting;
use super::{Draft, SHORT};
use crate::query::Filter;
use crate::query::condition::{Condition, Field, Predicate, Values};
use crate::value::samples::{self, raw};
use crate::value::{Fields, compare_owned};

/// Values that make any list long and that no sample equals.
fn filler() -> impl Iterator<Item = Bson> {
    (0..=SHORT).map(|at| Bson::String(format!("filler {at}")))
}

fn is_kept_as_keys(filter: &Filter) -> bool {
    let Predicate::Field(Field {
        condition: Condition::In(set),
        ..
    }) = &filter.root
    else {
        return false;
    };
    matches!(set.values, Values::Many(_))
}

fn value() -> impl Strategy<Value = Bson> + Clone {
    let pattern = Bson::RegularExpression(Regex {
        pattern: "^a".try_into().unwrap(),
        options: "".try_into().unwrap(),
    });
    let few = select(vec![
        Bson::Null,
        Bson::Int32(1),
        Bson::Int64(1),
        Bson::Double(1.0),
        samples::decimal("1.0"),
        Bson::Double(f64::NAN),
        samples::decimal("NaN"),
        Bson::Array(vec![]),
        Bson::Array(vec![Bson::Int32(1)]),
        pattern,
    ]);
    prop_oneof![2 => few, 3 => samples::value()].boxed()
}

/// Whether it may be in a list: `undefined` may not, nor what begins with an operator.
fn is_listable(value: &Bson) -> bool {
    Filter::parse(&raw(&doc! { "a": { "$in": [value] } })).is_ok()
}

proptest! {
    #![proptest_config(samples::config(300))]

    #[test]
    fn a_long_list_matches_what_its_values_match_one_by_one(
        values in prop::collection::vec(value().prop_filter("a constant", is_listable), 0..6),
        others in prop::collection::vec(value(), 1..6),
        is_there in any::<bool>(),
    ) {
        let all: Vec<Bson> = values.iter().cloned().chain(filler()).collect();
        let long = Filter::parse(&raw(&doc! { "a": { "$in": &all } })).unwrap();
        prop_assert!(is_kept_as_keys(&long));
        let each: Vec<Filter> = all
            .iter()
            .map(|one| Filter::parse(&raw(&doc! { "a": { "$in": [one] } })).unwrap())
            .collect();
        let listed = values.iter().cloned().map(|one| doc! { "a": one });
        let mut documents: Vec<Document> = others.into_iter().map(|one| doc! { "a": one }).collect();
        documents.extend(listed.take(usize::from(is_there) * 6));
        documents.extend([doc! {}, doc! { "a": Bson::Undefined }, doc! { "a": "filler 7" }]);
        for document in documents {
            let document = raw(&document);
            let expected = each.iter().any(|one| one.matches(&document));
            prop_assert_eq!(long.matches(&document), expected, "{:?} in {:?}", document, values);
        }
    }

    #[test]
    fn keys_are_in_the_order_of_their_values_each_once(values in prop::collection::vec(samples::value(), 0..600)) {
        let mut draft = Draft::new();
        for value in &values {
            let document = raw(&doc! { "": value });
            for one in Fields::new(&document).values() {
                draft.add(&one);
            }
        }
        let mut pieces = 0;
        while !draft.order() {
            pieces += 1;
            prop_assert!(pieces < 100, "it ends");
        }
        let list = draft.finish();
        let keys: Vec<&[u8]> = (0..list.len()).map_while(|at| list.key(at)).collect();
        prop_assert!(keys.is_sorted_by(|one, two| one < two));
        let mut expected = values;
        expected.sort_by(compare_owned);
        expected.dedup_by(|one, two| compare_owned(one, two).is_eq());
        prop_assert!(list.len() >= expected.len());
        for value in expected {
            let document = raw(&doc! { "": value });
            prop_assert!(Fields::new(&document).values().all(|one| list.contains(&one)));
        }
    }

    #[test]
    fn a_sort_in_pieces_sorts(numbers in prop::collection::vec(0..3000_u32, 0..4000)) {
        let mut sorting = Sorting::new(numbers.clone(), false);
        let mut compared = 0;
        loop {
            let before = std::cell::Cell::new(0);
            let is_done = sorting.step(|one, two| {
                before.set(before.get() + 1);
                one.cmp(&two)
            });
            compared = compared.max(before.get());
            if is_done {
                break;
            }
        }
        prop_assert!(compared < 4000, "{} comparisons in one piece", compared);
        let mut expected = numbers;
        expected.sort_unstable();
        expected.dedup();
        prop_assert_eq!(sorting.take(), expected);
    }
}

#[test]
fn a_long_list_is_refused_for_what_a_short_one_is() {
    for (wrong, text) in [
        (Bson::Document(doc! { "$gt": 1 }), "cannot nest $ under $in"),
        (Bson::Undefined, "cannot compare to undefined"),
    ] {
        let list: Vec<Bson> = filler().chain([wrong]).collect();
        let refused = Filter::parse(&raw(&doc! { "a": { "$in": list } }));
        assert_eq!(refused.unwrap_err().message, text);
    }
}
