//! How people write durations, rates, counts and ratios.

pub use plimsoll_base::nanos::{Nanos, three_digits};
use thiserror::Error;

/// A share in whole percent, for a sentence: `97 %`.
pub fn percent(ratio: f64) -> String {
    format!("{:.0} %", ratio * 100.0)
}

/// Whether two measured figures are one: half a per cent apart at most, the last of three digits.
pub fn is_alike(one: f64, other: f64) -> bool {
    const APART: f64 = 0.005;
    (one - other).abs() <= APART * one.abs().max(other.abs())
}

/// A number as people type it could not be understood.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum UnitError {
    #[error("`{0}` is not a duration; write a number with a unit, such as 500ms, 10s, 1m30s or 1h")]
    Duration(String),
    #[error("`{0}` is not a rate; write a positive number, such as 200, 200/s or 6000/m")]
    Rate(String),
    #[error("`{0}` is not a count; write a positive whole number, such as 5000, 5k or 1m")]
    Count(String),
    #[error("`{0}` is not a ratio; write a percentage such as 0.1% or a fraction such as 0.001")]
    Ratio(String),
}

/// Parses `500ms`, `10s`, `1m30s`, `1h`, `1.5s`, and what [`Nanos`] prints, such as `3 min 20 s`.
pub fn parse_duration(text: &str) -> Result<Nanos, UnitError> {
    let bad = || UnitError::Duration(text.to_owned());
    let mut rest = text.trim();
    if rest.is_empty() {
        return Err(bad());
    }
    let mut seconds = 0.0;
    while !rest.is_empty() {
        let (number, tail) = split_number(rest).ok_or_else(bad)?;
        let tail = tail.trim_start();
        let unit_length = tail
            .find(|c: char| !c.is_alphabetic())
            .unwrap_or(tail.len());
        let (unit, next) = tail.split_at(unit_length);
        let scale = match unit {
            "ns" => 1e-9,
            "us" | "µs" => 1e-6,
            "ms" => 1e-3,
            "s" => 1.0,
            "m" | "min" => 60.0,
            "h" => 3600.0,
            "d" => 86_400.0,
            _ => return Err(bad()),
        };
        seconds += number * scale;
        rest = next.trim_start();
    }
    // A hundred years: beyond it nanoseconds no longer fit and nobody means it.
    if !(seconds.is_finite() && seconds <= 3.2e9) {
        return Err(bad());
    }
    Ok(Nanos::from_secs_f64(seconds))
}

/// Parses `200`, `200/s`, `6000/m`, `7200/h` into events per second; zero and negatives are refused.
pub fn parse_rate(text: &str) -> Result<f64, UnitError> {
    let bad = || UnitError::Rate(text.to_owned());
    let (number, unit) = split_number(text.trim()).ok_or_else(bad)?;
    let per = match unit {
        "" | "/s" => 1.0,
        "/m" | "/min" => 60.0,
        "/h" => 3600.0,
        "k" | "k/s" => 1e-3,
        _ => return Err(bad()),
    };
    let rate = number / per;
    if rate.is_finite() && rate > 0.0 && rate <= 1e9 {
        Ok(rate)
    } else {
        Err(bad())
    }
}

/// Parses `5000`, `5k`, `1m` into a positive count.
pub fn parse_count(text: &str) -> Result<u64, UnitError> {
    let bad = || UnitError::Count(text.to_owned());
    let (number, unit) = split_number(text.trim()).ok_or_else(bad)?;
    let scale = match unit {
        "" => 1.0,
        "k" => 1e3,
        "m" => 1e6,
        _ => return Err(bad()),
    };
    let count = number * scale;
    let whole = count.fract() == 0.0;
    if whole && (1.0..=1e15).contains(&count) {
        Ok(count as u64)
    } else {
        Err(bad())
    }
}

/// Parses `0.1%` or `0.001` into a ratio between 0 and 1.
pub fn parse_ratio(text: &str) -> Result<f64, UnitError> {
    let bad = || UnitError::Ratio(text.to_owned());
    let (number, unit) = split_number(text.trim()).ok_or_else(bad)?;
    let ratio = match unit.trim_start() {
        "" => number,
        "%" => number / 100.0,
        _ => return Err(bad()),
    };
    if (0.0..=1.0).contains(&ratio) {
        Ok(ratio)
    } else {
        Err(bad())
    }
}

/// The leading non-negative decimal number and what follows it.
fn split_number(text: &str) -> Option<(f64, &str)> {
    let end = text
        .find(|c: char| !(c.is_ascii_digit() || c == '.'))
        .unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    digits.parse().ok().map(|number| (number, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_as_people_write_them() {
        for (text, nanos) in [
            ("500ms", 500_000_000),
            ("10s", 10_000_000_000),
            ("1m30s", 90_000_000_000),
            ("1.5s", 1_500_000_000),
            ("1h", 3_600_000_000_000),
            ("250us", 250_000),
            ("250 ms", 250_000_000),
            ("3 min 20 s", 200_000_000_000),
        ] {
            assert_eq!(parse_duration(text), Ok(Nanos(nanos)), "{text}");
        }
        for text in [
            "",
            "10",
            "s",
            "-1s",
            "10x",
            "1e400s",
            "9999999999999d",
            "1s2",
            "1..2s",
        ] {
            assert!(parse_duration(text).is_err(), "{text} must be refused");
        }
    }

    #[test]
    fn rates_counts_and_ratios() {
        assert_eq!(parse_rate("6000/m"), Ok(100.0));
        assert_eq!(parse_rate("2k/s"), Ok(2000.0));
        for text in ["0", "-5", "nan", "inf", "5/x", ""] {
            assert!(parse_rate(text).is_err(), "{text} must be refused");
        }
        assert_eq!(parse_count("5k"), Ok(5000));
        for text in ["0", "1.5", "-1", "", "k"] {
            assert!(parse_count(text).is_err(), "{text} must be refused");
        }
        assert_eq!(parse_ratio("0.1%"), Ok(0.001));
        for text in ["101%", "2", "x"] {
            assert!(parse_ratio(text).is_err(), "{text} must be refused");
        }
    }
}
