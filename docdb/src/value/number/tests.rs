//! Promotion and exact comparison of the number types.

use bson::bson;

use super::*;
use crate::value::samples::decimal;

fn number(value: &Bson) -> Number {
    Number::from_bson(value).unwrap()
}

#[test]
fn results_take_the_wider_type() {
    for (left, right, sum, product) in [
        (bson!(1), bson!(2), bson!(3), bson!(2)),
        (
            bson!(i32::MAX),
            bson!(2),
            bson!(2_147_483_649_i64),
            bson!(4_294_967_294_i64),
        ),
        (bson!(1), bson!(2_i64), bson!(3_i64), bson!(2_i64)),
        (bson!(1.5), bson!(2_i64), bson!(3.5), bson!(3.0)),
        (
            bson!(0.1),
            decimal("1"),
            decimal("1.100000000000000"),
            decimal("0.100000000000000"),
        ),
        (bson!(2), decimal("1.5"), decimal("3.5"), decimal("3.0")),
    ] {
        assert_eq!(
            number(&left).plus(number(&right)).to_bson(),
            sum,
            "{left} + {right}"
        );
        assert_eq!(
            number(&right).plus(number(&left)).to_bson(),
            sum,
            "{right} + {left}"
        );
        assert_eq!(
            number(&left).times(number(&right)).to_bson(),
            product,
            "{left} * {right}"
        );
    }
    assert_eq!(
        number(&bson!(1)).minus(number(&bson!(3))).to_bson(),
        bson!(-2)
    );
}

#[test]
fn beyond_64_bits_is_refused_or_a_double() {
    let (most, one) = (number(&bson!(i64::MAX)), number(&bson!(1)));
    assert!(most.checked_add(one).is_none());
    assert!(most.checked_multiply(number(&bson!(2))).is_none());
    assert_eq!(most.plus(one).to_bson(), bson!(i64::MAX as f64));
}

#[test]
fn integers_are_found_in_every_type() {
    assert_eq!(number(&bson!(3.0)).to_i64_exact(), Some(3));
    assert_eq!(number(&bson!(3.5)).to_i64_exact(), None);
    assert_eq!(number(&bson!(3.5)).to_i64(), Some(3));
    assert_eq!(number(&bson!(9.3e18)).to_i64(), None);
    assert_eq!(number(&bson!(f64::NAN)).to_i64(), None);
    assert_eq!(number(&decimal("-4.0")).to_i64_exact(), Some(-4));
    assert!(number(&decimal("0E+5")).is_zero());
    assert!(number(&bson!(-0.0)).is_zero());
}
