//! The validator accepts what the `bson` crate writes and agrees with it on damaged bytes.

use bson::raw::RawDocument;
use bson::{Document, doc};
use proptest::prelude::*;

use super::*;
use crate::value::samples::{self, raw};

proptest! {
    #![proptest_config(samples::config(2000))]

    #[test]
    fn whatever_is_written_is_valid(document in samples::document(samples::value())) {
        prop_assert!(validate(raw(&document).as_bytes()).is_ok());
    }

    /// What passes can be read in full: no element of it is an error to the `bson` crate.
    #[test]
    fn what_passes_can_be_read(
        document in samples::document(samples::value()),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3),
        cut in any::<prop::sample::Index>(),
        is_cut in any::<bool>(),
    ) {
        let mut bytes = raw(&document).into_bytes();
        for (place, byte) in damage {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        if is_cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        let is_valid = validate(&bytes).is_ok();
        let read = RawDocument::from_bytes(&bytes).ok().and_then(|raw| Document::try_from(raw).ok());
        prop_assert!(read.is_some() || !is_valid);
    }
}

#[test]
fn malformed_documents_are_refused() {
    let element = |kind: u8, value: &[u8]| {
        let mut bytes = vec![0, 0, 0, 0, kind, b'a', 0];
        bytes.extend(value);
        bytes.push(0);
        bytes[0] = u8::try_from(bytes.len()).unwrap();
        bytes
    };
    assert!(validate(&element(kind::INT, &[1, 0, 0, 0])).is_ok());
    for (bytes, why) in [
        (vec![], "empty"),
        (vec![5, 0, 0, 0], "too short"),
        (vec![4, 0, 0, 0], "shorter than its length field and end"),
        (vec![5, 0, 0, 0, 1], "no end mark"),
        (vec![6, 0, 0, 0, 0, 0], "bytes after the end mark"),
        (vec![6, 0, 0, 0, 0], "longer than it is"),
        (element(0x20, &[]), "unknown type"),
        (element(kind::BOOLEAN, &[2]), "boolean of 2"),
        (
            element(kind::STRING, &[1, 0, 0, 0, 1]),
            "string without end mark",
        ),
        (
            element(kind::STRING, &[0, 0, 0, 0]),
            "string without room for an end mark",
        ),
        (
            element(kind::STRING, &[255, 255, 255, 255, 0]),
            "negative length",
        ),
        (
            element(kind::STRING, &[2, 0, 0, 0, 0xFF, 0]),
            "string that is not UTF-8",
        ),
        (
            element(kind::DOCUMENT, &[4, 0, 0, 0]),
            "document of four bytes",
        ),
        (
            element(kind::BINARY, &[1, 0, 0, 0, 2, 9]),
            "old binary without inner length",
        ),
        (
            element(kind::JAVASCRIPT_WITH_SCOPE, &[5, 0, 0, 0, 0]),
            "code without scope",
        ),
        (element(kind::DOUBLE, &[0; 3]), "half a double"),
    ] {
        assert_eq!(
            validate(&bytes).unwrap_err().code,
            Code::InvalidBSON,
            "{why}"
        );
    }
}

#[test]
fn nesting_ends_at_180() {
    let nested = |levels: usize| (1..levels).fold(doc! {}, |inner, _| doc! {"a": inner});
    assert!(validate(raw(&nested(180)).as_bytes()).is_ok());
    assert_eq!(
        validate(raw(&nested(181)).as_bytes()).unwrap_err().code,
        Code::Overflow
    );
}
