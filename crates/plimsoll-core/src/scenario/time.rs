//! Durations as k6 scripts write them: Go's syntax with a day unit, and bare numbers as milliseconds.

use serde_json::Value;

use crate::units::Nanos;

/// Ten years: beyond it a duration is a slip, and sums of a few still fit into nanoseconds.
const LONGEST_SECONDS: f64 = 3.2e8;

/// Reads `1d12h`, `1h30m`, `1.5s`, `500ms`, `90` (milliseconds). `None` when it is not a duration.
pub fn parse(text: &str) -> Option<Nanos> {
    let text = text.trim();
    let unsigned = text.strip_prefix('+').unwrap_or(text);
    if unsigned.is_empty() || !unsigned.is_ascii() && !unsigned.contains('µ') {
        return None;
    }
    if let Ok(millis) = unsigned.parse::<f64>() {
        // Rust reads words such as `inf` as numbers, too.
        let digits = unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.');
        return digits.then(|| from_seconds(millis / 1e3)).flatten();
    }
    let mut seconds = 0.0;
    let mut rest = unsigned;
    while !rest.is_empty() {
        let (amount, tail) = split_at_first(rest, |c| !(c.is_ascii_digit() || c == '.'));
        let (unit, next) = split_at_first(tail, |c| c.is_ascii_digit() || c == '.');
        seconds += amount.parse::<f64>().ok()? * unit_seconds(unit)?;
        rest = next;
    }
    from_seconds(seconds)
}

fn split_at_first(text: &str, stop: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(stop).unwrap_or(text.len()))
}

fn unit_seconds(unit: &str) -> Option<f64> {
    Some(match unit {
        "ns" => 1e-9,
        "us" | "µs" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        "d" => 86_400.0,
        _ => return None,
    })
}

fn from_seconds(seconds: f64) -> Option<Nanos> {
    (0.0..=LONGEST_SECONDS)
        .contains(&seconds)
        .then(|| Nanos::from_secs_f64(seconds))
}

/// A duration in an options object: text, or a number of milliseconds.
pub(crate) fn of_json(value: &Value) -> Option<Nanos> {
    match value {
        Value::String(text) => parse(text),
        Value::Number(millis) => from_seconds(millis.as_f64()? / 1e3),
        _ => None,
    }
}

/// As Go prints it, which scripts read back: `0s`, `1.5s`, `1m30s`, `36h0m0s`, `500ms`.
pub fn show(time: Nanos) -> String {
    let nanos = time.0;
    match nanos {
        0 => "0s".to_owned(),
        1..1_000 => format!("{nanos}ns"),
        1_000..1_000_000 => format!("{}µs", decimal(nanos, 1_000)),
        1_000_000..1_000_000_000 => format!("{}ms", decimal(nanos, 1_000_000)),
        _ => {
            let minutes = nanos / 60_000_000_000;
            let seconds = decimal(nanos % 60_000_000_000, 1_000_000_000);
            match (minutes / 60, minutes % 60) {
                (0, 0) => format!("{seconds}s"),
                (0, minutes) => format!("{minutes}m{seconds}s"),
                (hours, minutes) => format!("{hours}h{minutes}m{seconds}s"),
            }
        }
    }
}

/// `value ÷ unit` exactly, without trailing zeros.
fn decimal(value: u64, unit: u64) -> String {
    let (whole, part) = (value / unit, value % unit);
    if part == 0 {
        return whole.to_string();
    }
    let width = unit.ilog10() as usize;
    let digits = format!("{part:0width$}");
    format!("{whole}.{}", digits.trim_end_matches('0'))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn durations_of_scripts() {
        for (text, millis) in [
            ("10s", 10_000.0),
            ("1h30m", 5_400_000.0),
            ("1d12h", 129_600_000.0),
            ("1.5s", 1_500.0),
            ("500ms", 500.0),
            (".5s", 500.0),
            ("250µs", 0.25),
            ("0", 0.0),
            ("90", 90.0),
            ("0s", 0.0),
        ] {
            assert_eq!(parse(text), Some(Nanos((millis * 1e6) as u64)), "{text}");
        }
        for text in [
            "", "s", "10x", "-1s", "1s2", "inf", "nan", "1e400s", "1..2s", "10 s", "99999d", "é",
        ] {
            assert_eq!(parse(text), None, "{text} must be refused");
        }
        assert_eq!(of_json(&json!(1500)), Some(Nanos::from_millis(1500)));
        assert_eq!(of_json(&json!(-1)), None);
        assert_eq!(of_json(&json!(true)), None);
    }

    #[test]
    fn what_is_shown_can_be_read_again() {
        for (millis, text) in [
            (0, "0s"),
            (500, "500ms"),
            (1_500, "1.5s"),
            (30_000, "30s"),
            (90_000, "1m30s"),
            (129_600_000, "36h0m0s"),
        ] {
            let time = Nanos::from_millis(millis);
            assert_eq!(show(time), text);
            assert_eq!(parse(text), Some(time));
        }
        assert_eq!(show(Nanos(1_234_500)), "1.2345ms");
    }
}
