//! The order over all types, against a list in MongoDB's documented order and as laws.

use bson::oid::ObjectId;
use bson::raw::{RawBsonRef, RawDocumentBuf};
use bson::spec::BinarySubtype;
use bson::{Binary, DateTime, JavaScriptCodeWithScope, Regex, Timestamp, bson, doc};
use proptest::prelude::*;

use super::*;
use crate::value::samples::{self, decimal, raw};
use crate::value::view::with_value;

fn compare(left: RawBsonRef<'_>, right: RawBsonRef<'_>) -> Ordering {
    with_value(left, |left| {
        with_value(right, |right| compare_values(&left, &right))
    })
}

/// Every class in MongoDB's order; values of one inner list are equal.
fn ascending() -> Vec<Vec<Bson>> {
    [numbers(), nested(), others()].concat()
}

/// What is below all numbers, and the numbers.
fn numbers() -> Vec<Vec<Bson>> {
    vec![
        vec![Bson::MinKey],
        vec![Bson::Undefined],
        vec![Bson::Null],
        vec![bson!(f64::NAN), bson!(-f64::NAN), decimal("NaN")],
        vec![bson!(f64::NEG_INFINITY), decimal("-Infinity")],
        vec![decimal("-1E+6000")],
        vec![bson!(f64::MIN)],
        vec![
            bson!(i64::MIN),
            bson!(i64::MIN as f64),
            decimal("-9223372036854775808"),
        ],
        vec![bson!(-1), bson!(-1_i64), bson!(-1.0), decimal("-1.00")],
        vec![decimal("-1E-6000")],
        vec![
            bson!(0),
            bson!(0.0),
            bson!(-0.0),
            decimal("0"),
            decimal("-0E+10"),
        ],
        vec![decimal("1E-6000")],
        vec![bson!(5e-324)],
        vec![decimal("0.1")],
        vec![bson!(0.1)],
        vec![bson!(1), bson!(1_i64), bson!(1.0), decimal("1")],
        vec![
            bson!(9_007_199_254_740_992_i64),
            bson!(9_007_199_254_740_992.0),
        ],
        vec![decimal("9007199254740992.5")],
        vec![
            bson!(9_007_199_254_740_993_i64),
            decimal("9007199254740993"),
        ],
        vec![
            bson!(9_007_199_254_740_994.0),
            bson!(9_007_199_254_740_994_i64),
        ],
        vec![bson!(i64::MAX), decimal("9223372036854775807")],
        vec![bson!(i64::MAX as f64)],
        vec![bson!(f64::MAX)],
        vec![decimal("1E+6000")],
        vec![bson!(f64::INFINITY), decimal("Infinity")],
    ]
}

fn nested() -> Vec<Vec<Bson>> {
    vec![
        vec![bson!(""), Bson::Symbol(String::new())],
        vec![bson!("a"), Bson::Symbol("a".into())],
        vec![bson!("a\0")],
        vec![bson!("ab")],
        vec![bson!("b")],
        vec![bson!({})],
        vec![bson!({"b": 0}), bson!({"b": 0.0})],
        vec![bson!({"b": 0, "a": 0})],
        vec![bson!({"c": -1})],
        vec![bson!({"a": ""})],
        vec![bson!([])],
        vec![bson!([null])],
        vec![bson!([1])],
        vec![bson!([1, 1])],
        vec![bson!([2])],
        vec![bson!([[]])],
    ]
}

fn others() -> Vec<Vec<Bson>> {
    let binary = |subtype: u8, bytes: &[u8]| {
        Bson::Binary(Binary {
            subtype: BinarySubtype::from(subtype),
            bytes: bytes.to_vec(),
        })
    };
    let scope = |code: &str, scope: Document| {
        let code = code.to_owned();
        Bson::JavaScriptCodeWithScope(JavaScriptCodeWithScope { code, scope })
    };
    let regex = |pattern: &str, options: &str| {
        Bson::RegularExpression(Regex {
            pattern: pattern.try_into().unwrap(),
            options: options.try_into().unwrap(),
        })
    };
    vec![
        vec![binary(0, &[])],
        vec![binary(0, &[9])],
        vec![binary(5, &[1])],
        vec![binary(0, &[0, 0])],
        vec![Bson::ObjectId(ObjectId::from_bytes([0; 12]))],
        vec![Bson::ObjectId(ObjectId::from_bytes([1; 12]))],
        vec![bson!(false)],
        vec![bson!(true)],
        vec![Bson::DateTime(DateTime::from_millis(-1))],
        vec![Bson::DateTime(DateTime::from_millis(1))],
        vec![Bson::Timestamp(Timestamp {
            time: 1,
            increment: 9,
        })],
        vec![Bson::Timestamp(Timestamp {
            time: u32::MAX,
            increment: 0,
        })],
        vec![regex("a", "")],
        vec![regex("a", "i")],
        vec![regex("b", "")],
        vec![Bson::JavaScriptCode("f".into())],
        vec![scope("e", doc! {"z": 1})],
        vec![scope("f", doc! {})],
        vec![scope("f", doc! {"a": 1})],
        vec![Bson::MaxKey],
    ]
}

fn compare_raw(left: &Bson, right: &Bson) -> Ordering {
    let left: RawDocumentBuf = raw(&doc! {"": left});
    let right: RawDocumentBuf = raw(&doc! {"": right});
    compare(
        left.get("").unwrap().unwrap(),
        right.get("").unwrap().unwrap(),
    )
}

#[test]
fn the_classes_stand_in_mongodbs_order() {
    let classes = ascending();
    for (left_place, left_class) in classes.iter().enumerate() {
        for (right_place, right_class) in classes.iter().enumerate() {
            for (left, right) in left_class
                .iter()
                .flat_map(|left| right_class.iter().map(move |right| (left, right)))
            {
                let expected = left_place.cmp(&right_place);
                assert_eq!(compare_raw(left, right), expected, "{left:?} and {right:?}");
                assert_eq!(
                    compare_owned(left, right),
                    expected,
                    "{left:?} and {right:?}"
                );
            }
        }
    }
}

/// `DbPointer` cannot be built with the `bson` crate, so its bytes are.
#[test]
fn db_pointers_compare_by_length_name_and_id() {
    let pointer = |namespace: &str, id: u8| {
        let mut bytes = vec![0; 4];
        bytes.extend([kind::DB_POINTER, 0]);
        bytes.extend(i32::try_from(namespace.len() + 1).unwrap().to_le_bytes());
        bytes.extend(namespace.as_bytes());
        bytes.push(0);
        bytes.extend([id; 12]);
        bytes.push(0);
        bytes[0] = u8::try_from(bytes.len()).unwrap();
        crate::value::validate(&bytes).unwrap();
        RawDocumentBuf::from_bytes(bytes).unwrap()
    };
    let ascending = [pointer("b", 1), pointer("b", 2), pointer("aa", 0)];
    for (left_place, left) in ascending.iter().enumerate() {
        for (right_place, right) in ascending.iter().enumerate() {
            let (left, right) = (
                left.get("").unwrap().unwrap(),
                right.get("").unwrap().unwrap(),
            );
            assert_eq!(compare(left, right), left_place.cmp(&right_place));
            let (mut left_key, mut right_key) = (Vec::new(), Vec::new());
            crate::value::key::encode(left, &mut left_key);
            crate::value::key::encode(right, &mut right_key);
            assert_eq!(left_key.cmp(&right_key), left_place.cmp(&right_place));
        }
    }
}

proptest! {
    #![proptest_config(samples::config(2000))]

    #[test]
    fn the_order_is_total(a in samples::value(), b in samples::value(), c in samples::value()) {
        prop_assert_eq!(compare_raw(&a, &a), Ordering::Equal);
        prop_assert_eq!(compare_raw(&a, &b), compare_raw(&b, &a).reverse());
        if compare_raw(&a, &b).is_le() && compare_raw(&b, &c).is_le() {
            prop_assert!(compare_raw(&a, &c).is_le());
        }
    }

    #[test]
    fn owned_values_compare_as_raw_ones(a in samples::value(), b in samples::value()) {
        prop_assert_eq!(compare_raw(&a, &b), compare_owned(&a, &b));
    }

    #[test]
    fn a_value_written_back_is_the_same(value in samples::value()) {
        let document = raw(&doc! {"": value});
        let element = Fields::new(&document).elements().next().unwrap();
        let mut writer = crate::value::Writer::default();
        writer.value(b"", &element.value());
        let written = writer.finish();
        prop_assert_eq!(written.as_bytes(), document.as_bytes());
    }
}
