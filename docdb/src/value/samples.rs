//! Nasty BSON values for property tests: borders of every type, nested, with equal values of other types near.

use bson::oid::ObjectId;
use bson::raw::RawDocumentBuf;
use bson::spec::BinarySubtype;
use bson::{
    Binary, Bson, DateTime, Decimal128, Document, JavaScriptCodeWithScope, Regex, Timestamp,
};
use proptest::prelude::*;
use proptest::sample::select;

use super::decimal::Decimal;

/// Reproducible: every run tries the same cases.
pub(crate) fn config(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        rng_seed: proptest::test_runner::RngSeed::Fixed(20),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

pub(crate) fn decimal(text: &str) -> Bson {
    Bson::Decimal128(Decimal128::from(Decimal::parse(text).unwrap()))
}

pub(crate) fn raw(document: &Document) -> RawDocumentBuf {
    RawDocumentBuf::try_from(document).unwrap()
}

const INTEGERS: [i64; 16] = [
    0,
    1,
    -1,
    2,
    i32::MAX as i64,
    i32::MIN as i64,
    1 << 53,
    (1 << 53) + 1,
    -(1 << 53) - 1,
    (1 << 53) + 2,
    (1 << 60) + 1,
    i64::MAX,
    i64::MAX - 1,
    i64::MIN,
    i64::MIN + 1,
    100,
];
const DOUBLES: [f64; 22] = [
    0.0,
    -0.0,
    0.1,
    -0.1,
    0.5,
    1.0,
    1.5,
    100.0,
    -1.0,
    f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::MAX,
    f64::MIN,
    f64::MIN_POSITIVE,
    5e-324,
    9_007_199_254_740_992.0,
    9_007_199_254_740_994.0,
    i64::MAX as f64,
    i64::MIN as f64,
    (1_u64 << 60) as f64,
    1e22,
];
const DECIMALS: [&str; 26] = [
    "0",
    "-0",
    "0E+6000",
    "0.1",
    "0.10",
    "-0.1",
    "0.1000000000000000055511151231257827",
    "0.1000000000000000055511151231257828",
    "0.5",
    "1",
    "1.000",
    "1E+2",
    "9007199254740993",
    "9007199254740992.5",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "NaN",
    "Infinity",
    "-Infinity",
    "9.999999999999999999999999999999999E+6144",
    "1E-6176",
    "-1E-6176",
    "1E+400",
    "1E-400",
    "4.9E-324",
];

pub(crate) fn number() -> impl Strategy<Value = Bson> {
    prop_oneof![
        select(&INTEGERS[..]).prop_map(Bson::Int64),
        select(&[0, 1, -1, 2, 100, i32::MAX, i32::MIN][..]).prop_map(Bson::Int32),
        select(&DOUBLES[..]).prop_map(Bson::Double),
        select(&DECIMALS[..]).prop_map(decimal),
        any::<i32>().prop_map(Bson::Int32),
        any::<i64>().prop_map(Bson::Int64),
        any::<f64>().prop_map(Bson::Double),
        (any::<i64>(), -40_i32..40)
            .prop_map(|(digits, exponent)| decimal(&format!("{digits}E{exponent}"))),
        any::<f64>().prop_map(|value| decimal(&format!("{value:.33e}"))),
    ]
}

fn text() -> impl Strategy<Value = String> {
    select(
        &[
            "",
            "\0",
            "\u{1}",
            "a",
            "a\0",
            "a\0b",
            "a\u{1}",
            "a\u{1}b",
            "a\u{2}",
            "ab",
            "b",
            "é",
            "\u{10FFFF}",
        ][..],
    )
    .prop_map(str::to_owned)
}

pub(crate) fn name() -> impl Strategy<Value = String> {
    select(&["", "a", "b", "ab", "a\u{1}", "0", "1", "é"][..]).prop_map(str::to_owned)
}

/// Values that hold no other.
pub(crate) fn scalar() -> impl Strategy<Value = Bson> {
    prop_oneof![
        6 => number(),
        3 => text().prop_map(Bson::String),
        1 => text().prop_map(Bson::Symbol),
        1 => text().prop_map(Bson::JavaScriptCode),
        2 => any::<bool>().prop_map(Bson::Boolean),
        2 => Just(Bson::Null),
        1 => select(vec![Bson::Undefined, Bson::MinKey, Bson::MaxKey]),
        1 => select(&[0_u8, 1, 255][..]).prop_map(|byte| Bson::ObjectId(ObjectId::from_bytes([byte; 12]))),
        1 => select(&[i64::MIN, -1, 0, 1, i64::MAX][..]).prop_map(|time| Bson::DateTime(DateTime::from_millis(time))),
        1 => (any::<u32>(), any::<u32>()).prop_map(|(time, increment)| Bson::Timestamp(Timestamp { time, increment })),
        1 => (select(&[0_u8, 2, 4, 128, 255][..]), prop::collection::vec(select(&[0_u8, 1, 255][..]), 0..3)).prop_map(
            |(subtype, bytes)| Bson::Binary(Binary { subtype: BinarySubtype::from(subtype), bytes })
        ),
        1 => (select(&["", "a", "ab"][..]), select(&["", "i", "im"][..])).prop_map(|(pattern, options)| {
            Bson::RegularExpression(Regex { pattern: pattern.try_into().unwrap(), options: options.try_into().unwrap() })
        }),
    ]
}

pub(crate) fn document(value: impl Strategy<Value = Bson>) -> impl Strategy<Value = Document> {
    prop::collection::vec((name(), value), 0..4).prop_map(|fields| fields.into_iter().collect())
}

/// Any value, nested a few levels.
pub(crate) fn value() -> impl Strategy<Value = Bson> {
    scalar().prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Bson::Array),
            document(inner.clone()).prop_map(Bson::Document),
            (text(), document(inner)).prop_map(|(code, scope)| {
                Bson::JavaScriptCodeWithScope(JavaScriptCodeWithScope { code, scope })
            }),
        ]
    })
}
