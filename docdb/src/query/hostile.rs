//! What must hold for any bytes at all: bodies for the fuzzer, which panic where it does not.
//!
//! An input is BSON documents one after another. Each body says what became of it, so coarsely
//! that a new answer is worth keeping.

use bson::Document;
use bson::raw::RawDocument;

use super::bounds::bounds;
use super::keys::{self, Purpose};
use super::{Filter, Projection, SortOrder, encode_key};
use crate::error::CommandError;
use crate::value::{Fields, compare_values, key, validate};

/// Names that chance would not find.
pub const WORDS: &[&str] = &[
    "$and",
    "$or",
    "$nor",
    "$not",
    "$eq",
    "$ne",
    "$gt",
    "$gte",
    "$lt",
    "$lte",
    "$in",
    "$nin",
    "$exists",
    "$type",
    "$all",
    "$elemMatch",
    "$size",
    "$mod",
    "$regex",
    "$options",
    "$expr",
    "$bitsAllSet",
    "$bitsAnyClear",
    "$slice",
    "$meta",
    "$natural",
    "a.b",
    "a.0",
    "a.$",
    "_id",
];

/// Whatever passes the validator can be read by the `bson` crate, and walking it loses no element.
pub fn bson(data: &[u8]) -> String {
    if let Err(error) = validate(data) {
        return answer(&error);
    }
    let raw = RawDocument::from_bytes(data).expect("a valid document is one to the bson crate");
    let count = raw.iter_elements().count();
    assert_eq!(
        Fields::new(raw).elements().count(),
        count,
        "elements were lost"
    );
    let read = Document::try_from(raw).is_ok();
    assert!(read, "valid bytes that the bson crate cannot read");
    format!("valid, {} elements", count.min(4))
}

/// Keys of the first two documents' fields sort as their values do.
pub fn order(data: &[u8]) -> String {
    let documents = documents(data);
    let [left, right, ..] = &documents[..] else {
        return "fewer than two documents".to_owned();
    };
    let mut equal = 0;
    for one in Fields::new(left).values() {
        for other in Fields::new(right).values() {
            let (mut left_key, mut right_key) = (Vec::new(), Vec::new());
            key::encode_value(&one, &mut left_key);
            key::encode_value(&other, &mut right_key);
            let expected = compare_values(&one, &other);
            assert_eq!(left_key.cmp(&right_key), expected, "{one:?} and {other:?}");
            equal += usize::from(expected.is_eq());
        }
    }
    format!("ordered, {} equal", equal.min(2))
}

/// The first document as filter, projection and sort order over the others.
pub fn filter(data: &[u8]) -> String {
    let documents = documents(data);
    let Some((asked, documents)) = documents.split_first() else {
        return "no document".to_owned();
    };
    let projected = match Projection::parse(asked) {
        Ok(projection) => project(&projection, documents),
        Err(error) => answer(&error),
    };
    let sorted = match SortOrder::parse(asked) {
        Ok(order) => {
            let lengths = documents.iter().map(|document| order.key(document).len());
            lengths.sum::<usize>().min(1).to_string()
        }
        Err(error) => answer(&error),
    };
    let filtered = match Filter::parse(asked) {
        Ok(filter) => check_filter(&filter, documents),
        Err(error) => answer(&error),
    };
    format!("{filtered}; {projected}; {sorted}")
}

fn project(projection: &Projection, documents: &[&RawDocument]) -> String {
    for document in documents {
        if let Ok(out) = projection.apply(document, Some(0)) {
            // Numbers as names of an array's elements are all that can make it longer, and deeper it gets by what was asked.
            assert!(
                Document::try_from(&*out).is_ok(),
                "a projection that cannot be read"
            );
        }
    }
    "projected".to_owned()
}

fn check_filter(filter: &Filter, documents: &[&RawDocument]) -> String {
    let order = match SortOrder::parse(&bson::rawdoc! { "a": 1, "b": -1 }) {
        Ok(order) => order,
        Err(error) => return answer(&error),
    };
    let bounds = bounds(filter, order.fields(), true);
    let intervals: Vec<_> = bounds.intervals.each().collect();
    let mut matching = 0;
    for document in documents {
        let matches = filter.try_matches(document).unwrap_or(false);
        matching += usize::from(matches);
        assert!(
            matches || filter.positional(document).is_none(),
            "a place without a match"
        );
        let fields = order.fields();
        let mut is_inside = false;
        let walked = keys::each(
            Purpose::Sort,
            fields,
            Fields::new(document),
            &mut |values| {
                let mut key = Vec::new();
                encode_key(fields, values, &mut key);
                is_inside |= intervals
                    .iter()
                    .any(|one| one.lower <= key && key < one.upper);
            },
        );
        assert!(
            !matches || is_inside || walked.is_err(),
            "a match outside the bounds"
        );
    }
    format!(
        "{} match, {} equalities",
        matching.min(2),
        filter.equalities().len().min(2)
    )
}

/// The valid documents that `data` begins with.
fn documents(data: &[u8]) -> Vec<&RawDocument> {
    let mut found = Vec::new();
    let mut rest = data;
    while let Some(head) = rest.first_chunk() {
        let length = usize::try_from(i32::from_le_bytes(*head)).unwrap_or(0);
        let Some((document, after)) = rest.split_at_checked(length) else {
            break;
        };
        if validate(document).is_err() {
            break;
        }
        found.extend(RawDocument::from_bytes(document).ok());
        rest = after;
    }
    found
}

fn answer(error: &CommandError) -> String {
    error.code.name().into_owned()
}

#[cfg(test)]
mod tests {
    use bson::doc;
    use proptest::prelude::*;

    use super::*;
    use crate::value::samples::{self, raw};

    fn joined(documents: &[Document]) -> Vec<u8> {
        documents
            .iter()
            .flat_map(|document| raw(document).into_bytes())
            .collect()
    }

    #[test]
    fn bodies_say_what_became_of_an_input() {
        let input = joined(&[doc! {"a": 1}, doc! {"a": [1, 2]}, doc! {"b": 1}]);
        assert_eq!(filter(&input), "1 match, 1 equalities; projected; 1");
        assert_eq!(order(&input), "ordered, 0 equal");
        assert_eq!(bson(&joined(&[doc! {"a": 1}])), "valid, 1 elements");
        assert_eq!(bson(b"x"), "InvalidBSON");
        assert_eq!(
            filter(&joined(&[doc! {"a": {"$foo": 1}}])),
            "BadValue; Location31325; Location15974"
        );
    }

    proptest! {
        #![proptest_config(samples::config(1500))]

        #[test]
        fn any_bytes_have_an_answer(
            documents in prop::collection::vec(samples::document(samples::value()), 1..4),
            damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        ) {
            let mut bytes = joined(&documents);
            for (place, byte) in damage {
                let place = place.index(bytes.len());
                bytes[place] = byte;
            }
            prop_assert!(!bson(&bytes).is_empty());
            prop_assert!(!order(&bytes).is_empty());
            prop_assert!(!filter(&bytes).is_empty());
        }
    }
}
