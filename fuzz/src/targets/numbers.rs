//! Durations, rates, counts and ratios as typed: what is accepted is within the promised range.

use plimsoll_core::units::{parse_count, parse_duration, parse_rate, parse_ratio};

use super::{Outcome, variant};

pub(super) const WORDS: &[&str] = &[
    "ms",
    "us",
    "ns",
    "s",
    "m",
    "h",
    "/s",
    "/m",
    "k",
    "%",
    ".",
    "-",
    "e9",
    "99999999999999999999",
];

pub(super) fn read(data: &[u8]) -> Outcome {
    let text = String::from_utf8_lossy(data);
    let duration = parse_duration(&text);
    let rate = parse_rate(&text);
    let count = parse_count(&text);
    let ratio = parse_ratio(&text);
    if let Ok(rate) = rate {
        assert!(rate > 0.0 && rate <= 1e9, "{text:?} is a rate of {rate}");
    }
    if let Ok(ratio) = ratio {
        assert!(
            (0.0..=1.0).contains(&ratio),
            "{text:?} is a ratio of {ratio}"
        );
    }
    if let Ok(count) = count {
        assert!(count > 0, "{text:?} is a count of zero");
    }
    let outcome = [
        duration
            .as_ref()
            .map_or_else(variant, |_| "duration".to_owned()),
        rate.as_ref().map_or_else(variant, |_| "rate".to_owned()),
        count.as_ref().map_or_else(variant, |_| "count".to_owned()),
        ratio.as_ref().map_or_else(variant, |_| "ratio".to_owned()),
    ];
    outcome.join(" ")
}
