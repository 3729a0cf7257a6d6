//! The law of keys: their bytes sort as the values do, in both directions, one after another.

use std::cmp::Ordering;

use bson::{Bson, doc};
use proptest::prelude::*;

use super::*;
use crate::value::samples::{self, raw};
use crate::value::{compare_owned, compare_values};

fn key(value: &Bson) -> Vec<u8> {
    let document = raw(&doc! {"": value});
    let mut out = Vec::new();
    encode(document.get("").unwrap().unwrap(), &mut out);
    out
}

fn descending(value: &Bson) -> Vec<u8> {
    let document = raw(&doc! {"": value});
    let mut out = Vec::new();
    let element = Fields::new(&document).elements().next().unwrap();
    encode_value_descending(&element.value(), &mut out);
    out
}

fn joined(parts: &[Vec<u8>]) -> Vec<u8> {
    parts.concat()
}

proptest! {
    #![proptest_config(samples::config(4000))]

    #[test]
    fn keys_sort_as_values(a in samples::value(), b in samples::value()) {
        prop_assert_eq!(key(&a).cmp(&key(&b)), compare_owned(&a, &b));
        prop_assert_eq!(descending(&a).cmp(&descending(&b)), compare_owned(&b, &a));
    }

    #[test]
    fn keys_of_numbers_sort_as_numbers(a in samples::number(), b in samples::number()) {
        prop_assert_eq!(key(&a).cmp(&key(&b)), compare_owned(&a, &b));
    }

    #[test]
    fn no_key_begins_with_another(a in samples::value(), b in samples::value()) {
        prop_assert_eq!(key(&b).starts_with(&key(&a)), compare_owned(&a, &b).is_eq());
    }

    #[test]
    fn fields_follow_one_another(
        a in (samples::value(), samples::value()),
        b in (samples::value(), samples::value()),
    ) {
        let expected = compare_owned(&a.0, &b.0).then_with(|| compare_owned(&b.1, &a.1));
        let left = joined(&[key(&a.0), descending(&a.1)]);
        let right = joined(&[key(&b.0), descending(&b.1)]);
        prop_assert_eq!(left.cmp(&right), expected);
    }

    #[test]
    fn owned_values_have_the_same_key(value in samples::value()) {
        let mut out = Vec::new();
        encode_owned(&value, &mut out);
        prop_assert_eq!(out, key(&value));
    }
}

#[test]
fn keys_are_short() {
    assert_eq!(key(&Bson::Int32(7)).len(), 10);
    assert_eq!(key(&Bson::Int32(0)).len(), 1);
    assert_eq!(key(&Bson::String("ab".into())), [0x30, b'a', b'b', 0]);
    assert_eq!(key(&Bson::ObjectId(bson::oid::ObjectId::new())).len(), 13);
}

#[test]
fn bytes_that_were_never_checked_do_not_overflow_the_stack() {
    let mut bytes = vec![5, 0, 0, 0, 0];
    for _ in 0..100_000 {
        let length = i32::try_from(bytes.len() + 8).unwrap();
        let mut outer = length.to_le_bytes().to_vec();
        outer.extend([kind::ARRAY, b'0', 0]);
        outer.append(&mut bytes);
        outer.push(0);
        bytes = outer;
        if bytes.len() > 20_000 {
            break;
        }
    }
    let value = Value::Array(Fields::from_bytes(&bytes));
    let mut out = Vec::new();
    encode_value(&value, &mut out);
    assert!(!out.is_empty());
    assert_eq!(compare_values(&value, &value), Ordering::Equal);
    let error = crate::value::validate(&bytes).unwrap_err();
    assert_eq!(error.code, crate::error::Code::Overflow);
}
