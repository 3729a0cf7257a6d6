//! Figures as k6's summary writes them; observed in its version 2.2, down to what is cut off.

use plimsoll_core::Nanos;
use plimsoll_core::metrics::Contains;
use plimsoll_core::scenario::{SummaryUnit, time};

/// A figure of a metric: `46.81ms`, `110 kB`, `751.625`.
pub(super) fn figure(value: f64, contains: Contains, unit: Option<SummaryUnit>) -> String {
    match contains {
        Contains::Time => milliseconds(value, unit),
        Contains::Data => bytes(value),
        Contains::Default => plain(value),
    }
}

/// At most six decimals, without trailing zeros.
pub(super) fn plain(value: f64) -> String {
    trimmed(&format!("{value:.6}"))
}

fn trimmed(text: &str) -> String {
    let text = if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        text
    };
    if text == "-0" {
        "0".to_owned()
    } else {
        text.to_owned()
    }
}

/// Two decimals, the rest cut off: a percentage never reaches 100 before all are in.
fn cut(value: f64) -> String {
    trimmed(&format!("{:.2}", (value * 100.0 + 1e-7).trunc() / 100.0))
}

/// `1m5s`, `1.23s`, `46.81ms`, `216.17µs`, `500ns`; or in the unit that was asked for.
fn milliseconds(millis: f64, unit: Option<SummaryUnit>) -> String {
    match unit {
        Some(SummaryUnit::Seconds) => return format!("{:.2}s", millis / 1e3),
        Some(SummaryUnit::Millis) => return format!("{millis:.2}ms"),
        Some(SummaryUnit::Micros) => return format!("{:.2}µs", millis * 1e3),
        None => {}
    }
    let sign = if millis < 0.0 { "-" } else { "" };
    let micros = millis.abs() * 1e3;
    // Below a nanosecond there is nothing to show.
    let shown = match micros {
        ..0.0005 => return "0s".to_owned(),
        ..1.0 => format!("{:.0}ns", micros * 1e3),
        ..1e3 => format!("{}µs", cut(micros)),
        ..1e6 => format!("{}ms", cut(micros / 1e3)),
        ..6e7 => format!("{}s", cut(micros / 1e6)),
        _ => time::show(Nanos::from_secs((micros / 1e6) as u64)),
    };
    format!("{sign}{shown}")
}

/// `718 B`, `3.8 kB`, `110 kB`; powers of ten.
fn bytes(value: f64) -> String {
    let (mut size, mut unit) = (value, "B");
    for larger in ["kB", "MB", "GB", "TB", "PB"] {
        if size.abs() < 1000.0 {
            break;
        }
        (size, unit) = (size / 1000.0, larger);
    }
    if unit == "B" {
        return format!("{} B", plain(size.round()));
    }
    if size.abs() < 10.0 {
        format!("{size:.1} {unit}")
    } else {
        format!("{size:.0} {unit}")
    }
}

/// `46.15%`, two decimals, cut off.
pub(super) fn percent(ratio: f64) -> String {
    format!("{:.2}%", (ratio * 10_000.0 + 1e-7).trunc() / 100.0)
}

/// A number for JSON: whole ones without a decimal point.
pub(super) fn number(value: f64) -> serde_json::Value {
    if value.fract() == 0.0 && value.abs() < 9e15 {
        serde_json::json!(value as i64)
    } else {
        serde_json::json!(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every line was observed in k6 2.2, except the negative one.
    #[test]
    fn times_look_as_in_k6() {
        for (millis, shown) in [
            (65_432.1, "1m5s"),
            (3_725_000.0, "1h2m5s"),
            (0.0005, "500ns"),
            (999.999, "999.99ms"),
            (1000.0, "1s"),
            (59_999.9, "59.99s"),
            (0.5, "500µs"),
            (90_061_000.0, "25h1m1s"),
            (0.029_999_9, "29.99µs"),
            (60_000.0, "1m0s"),
            (1.005, "1ms"),
            (0.0, "0s"),
            (8.049_864, "8.04ms"),
            (-5.0, "-5ms"),
        ] {
            assert_eq!(milliseconds(millis, None), shown);
        }
        assert_eq!(
            milliseconds(65_432.1, Some(SummaryUnit::Millis)),
            "65432.10ms"
        );
        assert_eq!(milliseconds(0.5, Some(SummaryUnit::Micros)), "500.00µs");
        assert_eq!(milliseconds(1234.5, Some(SummaryUnit::Seconds)), "1.23s");
    }

    #[test]
    fn other_figures_look_as_in_k6() {
        for (value, shown) in [
            (110_110.0, "110 kB"),
            (3796.0, "3.8 kB"),
            (718.0, "718 B"),
            (0.0, "0 B"),
        ] {
            assert_eq!(bytes(value), shown);
        }
        for (value, shown) in [
            (751.625, "751.625"),
            (0.029_999_9, "0.03"),
            (1500.0, "1500"),
            (-5.0, "-5"),
        ] {
            assert_eq!(plain(value), shown);
        }
        assert_eq!(percent(69.0 / 90.0), "76.66%");
        assert_eq!(
            percent(0.29),
            "29.00%",
            "binary fractions do not lose a digit"
        );
        assert_eq!(number(26.0).to_string(), "26");
        assert_eq!(number(0.5).to_string(), "0.5");
    }
}
