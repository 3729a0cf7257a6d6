//! Decimal128 against the `bson` crate's text form, worked numbers, and exact integer arithmetic.

use proptest::prelude::*;

use super::*;
use crate::value::samples;

fn parsed(text: &str) -> Decimal {
    Decimal::parse(text).unwrap()
}

#[test]
fn text_reads_and_writes() {
    for text in [
        "0",
        "-0",
        "1.50",
        "1E+3",
        "-1.23E-7",
        "NaN",
        "Infinity",
        "-Infinity",
        "1E-6176",
        "0E+6111",
    ] {
        assert_eq!(parsed(text).to_string(), text);
    }
    assert_eq!(
        parsed("12345678901234567890123456789012345").to_string(),
        "1.234567890123456789012345678901234E+34"
    );
    assert_eq!(
        parsed("12345678901234567890123456789012355").to_string(),
        "1.234567890123456789012345678901236E+34"
    );
    assert_eq!(parsed("1E+6145").to_string(), "Infinity");
    assert_eq!(parsed("1E-7000").to_string(), "0E-6176");
    assert_eq!(
        parsed("1E+6140").to_string(),
        "1.00000000000000000000000000000E+6140"
    );
    for text in ["", "-", ".", "1.2.3", "e5", "1e", "x", "1_0"] {
        assert!(Decimal::parse(text).is_none(), "{text}");
    }
}

#[test]
fn arithmetic_rounds_half_to_even() {
    let nines = "9999999999999999999999999999999999";
    for (left, sign, right, expected) in [
        ("0.1", '+', "0.2", "0.3"),
        ("1.10", '+', "2", "3.10"),
        (nines, '+', "1", "1.000000000000000000000000000000000E+34"),
        (nines, '+', "0.5", "1.000000000000000000000000000000000E+34"),
        (
            "1E+34",
            '+',
            "0.4",
            "1.000000000000000000000000000000000E+34",
        ),
        ("1E+40", '-', "1", "1.000000000000000000000000000000000E+40"),
        ("1E+34", '-', "1", nines),
        (
            "1E+6000",
            '+',
            "1E-6000",
            "1.000000000000000000000000000000000E+6000",
        ),
        ("5", '-', "5.0", "0.0"),
        ("1.5", '*', "-2", "-3.0"),
        (nines, '*', nines, "9.999999999999999999999999999999998E+67"),
        ("1E+6000", '*', "1E+6000", "Infinity"),
        ("1E-6000", '*', "1E-6000", "0E-6176"),
        ("10", '/', "4", "2.5"),
        ("1", '/', "3", "0.3333333333333333333333333333333333"),
        ("2", '/', "3", "0.6666666666666666666666666666666667"),
        ("1", '/', "0", "Infinity"),
        ("0", '/', "0", "NaN"),
        ("Infinity", '-', "Infinity", "NaN"),
        ("Infinity", '*', "0", "NaN"),
        ("7.5", '%', "2", "1.5"),
        ("-7", '%', "3", "-1"),
        ("1E+20", '%', "7", "2"),
        ("3", '%', "1E+30", "3"),
        ("1E+6144", '%', "7", "1"),
        (
            "-123E+6000",
            '%',
            "9999999999999999999999999999999967",
            "-7087469318931478122715212025713286",
        ),
        ("1E+6144", '%', "1E-6176", "0E-6176"),
    ] {
        let (left, right) = (parsed(left), parsed(right));
        let result = match sign {
            '+' => left.plus(right),
            '-' => left.minus(right),
            '*' => left.times(right),
            '/' => left.over(right),
            _ => left.remainder(right),
        };
        assert_eq!(result.to_string(), expected, "{left} {sign} {right}");
    }
}

#[test]
fn doubles_come_with_fifteen_digits() {
    assert_eq!(Decimal::from_f64(0.1).to_string(), "0.100000000000000");
    assert_eq!(
        Decimal::from_f64(f64::NEG_INFINITY).to_string(),
        "-Infinity"
    );
    assert!(Decimal::from_f64(f64::NAN).is_nan());
}

#[test]
fn integers_come_back() {
    assert_eq!(parsed("-9223372036854775808").to_i64(), Some(i64::MIN));
    assert_eq!(parsed("9223372036854775808").to_i64(), None);
    assert_eq!(parsed("2.5").to_i64(), Some(2));
    assert_eq!(parsed("2.5").to_i64_exact(), None);
    assert_eq!(parsed("2.50E+1").to_i64_exact(), Some(25));
    assert_eq!(parsed("0E+6000").to_i64(), Some(0));
    assert_eq!(parsed("1E-6000").to_i64(), Some(0));
    assert_eq!(parsed("NaN").to_i64(), None);
}

proptest! {
    #![proptest_config(samples::config(3000))]

    #[test]
    fn bytes_round_trip_and_text_agrees_with_the_bson_crate(bytes in any::<[u8; 16]>()) {
        let decimal = Decimal::from_bytes(bytes);
        let again = Decimal::from_bytes(decimal.to_bytes());
        prop_assert!(decimal.compare(&again).is_eq());
        prop_assert_eq!(decimal.to_string(), Decimal128::from_bytes(bytes).to_string());
        let read = parsed(&decimal.to_string());
        prop_assert!(decimal.compare(&read).is_eq());
    }

    #[test]
    fn small_numbers_are_exact(a in any::<i64>(), b in any::<i64>(), x in -9_i32..9, y in -9_i32..9) {
        // In billionths.
        let scaled = |value: i64, exponent: i32| i128::from(value) * 10_i128.pow((exponent + 9).unsigned_abs());
        let (left, right) = (parsed(&format!("{a}E{x}")), parsed(&format!("{b}E{y}")));
        prop_assert_eq!(left.compare(&right), scaled(a, x).cmp(&scaled(b, y)));
        let sum = scaled(a, x) + scaled(b, y);
        if sum.unsigned_abs() < COEFFICIENT_MAX {
            let expected = parsed(&format!("{sum}E-9"));
            prop_assert!(left.plus(right).compare(&expected).is_eq());
        }
        let product = parsed(&(i128::from(a >> 12) * i128::from(b >> 12)).to_string());
        prop_assert!(Decimal::integer(a >> 12).times(Decimal::integer(b >> 12)).compare(&product).is_eq());
    }

    #[test]
    fn a_double_is_between_its_neighbours(value in any::<f64>()) {
        prop_assume!(value.is_finite() && value != 0.0);
        // A double's 34 digits are its nearest decimal, so the neighbours a little beyond differ by sign only.
        let digits = parsed(&format!("{value:.33e}"));
        let relative = parsed("1E-30");
        let above = digits.plus(digits.times(relative));
        prop_assert_eq!(above.compare_f64(value), if value > 0.0 { Ordering::Greater } else { Ordering::Less });
        prop_assert_eq!(digits.to_f64().to_bits(), value.to_bits());
    }
}
