//! Numbers as people read them; the only place that turns a figure into text.

use plimsoll_base::calendar;
use plimsoll_core::Nanos;
use plimsoll_core::tally::Quantile;
use plimsoll_core::units::three_digits;
use plimsoll_core::verdict::Bounds;

/// Keeps a number and its unit on one line.
pub const NBSP: char = '\u{a0}';
/// Stands for a figure that was not measured.
pub(crate) const ABSENT: &str = "–";

/// `1,024`
pub fn count(value: u64) -> String {
    grouped(&value.to_string())
}

/// Three significant digits and thousands: `0.84`, `12.4`, `412`, `1,240`.
pub fn number(value: f64) -> String {
    let text = three_digits(value);
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let mut shown = grouped(whole);
    let fraction = fraction.trim_end_matches('0');
    if !fraction.is_empty() {
        put!(shown, ".{fraction}");
    }
    if shown == "-0" { "0".to_owned() } else { shown }
}

/// `412/s`
pub fn rate(per_s: f64) -> String {
    format!("{}/s", number(per_s))
}

/// `404–421`; one number where both are shown alike, `≥ 404` or `≤ 421` where one side is open.
pub fn bounds(bounds: &Bounds) -> String {
    match (bounds.lower, bounds.upper) {
        (Some(lower), Some(upper)) if number(lower) == number(upper) => number(lower),
        (Some(lower), Some(upper)) => format!("{}–{}", number(lower), number(upper)),
        (Some(lower), None) => format!("≥{NBSP}{}", number(lower)),
        (None, Some(upper)) => format!("≤{NBSP}{}", number(upper)),
        (None, None) => "no bounds".to_owned(),
    }
}

/// A share as `0.07 %`. Never rounds to 0 or 100 what is not: `99.98 %`, `< 0.001 %`.
pub fn percent(ratio: f64) -> String {
    let percent = ratio * 100.0;
    if !percent.is_finite() {
        return ABSENT.to_owned();
    }
    let text = if percent == 0.0 {
        "0".to_owned()
    } else if percent > 0.0 && percent < 0.001 {
        format!("<{NBSP}0.001")
    } else if percent < 0.0995 {
        // Two significant digits are enough this far down.
        trimmed(&format!(
            "{:.*}",
            if percent < 0.00995 { 4 } else { 3 },
            percent
        ))
    } else if (99.95..100.0).contains(&percent) {
        if percent >= 99.995 {
            format!(">{NBSP}99.99")
        } else {
            format!("{percent:.2}")
        }
    } else {
        trimmed(&three_digits(percent))
    };
    format!("{text}{NBSP}%")
}

/// `12.4 ms`, `3 min 20 s`
pub fn time(value: Nanos) -> String {
    value.to_string().replace(' ', &NBSP.to_string())
}

/// A bound as it was typed: `250 ms`, not `250.0 ms`.
pub fn bound(value: Nanos) -> String {
    for (unit, nanos) in [("s", 1_000_000_000), ("ms", 1_000_000), ("µs", 1_000)] {
        if value.0 >= nanos && value.0.is_multiple_of(nanos) {
            return format!("{}{NBSP}{unit}", count(value.0 / nanos));
        }
    }
    time(value)
}

/// The unit of a time axis that ends after so many seconds, and how many seconds it has.
pub(crate) fn time_unit(end_seconds: f64) -> (&'static str, f64) {
    if end_seconds > 150.0 {
        ("min", 60.0)
    } else {
        ("s", 1.0)
    }
}

/// Seconds as a time.
pub fn seconds(value: f64) -> String {
    if value.fract() == 0.0 && (0.0..180.0).contains(&value) {
        return format!("{value:.0}{NBSP}s");
    }
    time(Nanos::from_secs_f64(value))
}

/// Length of a run in whole seconds: `9 min 52 s`.
pub fn duration(value: Nanos) -> String {
    if value < Nanos::from_secs(1) {
        return time(value);
    }
    let whole = value.as_secs_f64().round() as u64;
    let (hours, minutes, rest) = (whole / 3600, whole / 60 % 60, whole % 60);
    let parts: Vec<String> = [(hours, "h"), (minutes, "min"), (rest, "s")]
        .into_iter()
        .filter(|(value, _)| *value > 0)
        .map(|(value, unit)| format!("{value}{NBSP}{unit}"))
        .collect();
    parts.join(&NBSP.to_string())
}

/// A clock for a line that is redrawn: `4:07`, `1:02:03`.
pub fn clock(value: Nanos) -> String {
    let whole = value.as_secs_f64().round() as u64;
    match whole / 3600 {
        0 => format!("{}:{:02}", whole / 60, whole % 60),
        hours => format!("{hours}:{:02}:{:02}", whole / 60 % 60, whole % 60),
    }
}

/// `243 ms`, `never`, `–`
pub fn quantile(value: Option<Quantile>) -> String {
    match value {
        Some(Quantile::At(value)) => time(value),
        Some(Quantile::Never) => "never".to_owned(),
        None => ABSENT.to_owned(),
    }
}

/// A time that may not have been measured.
pub(crate) fn maybe_time(value: Option<Nanos>) -> String {
    value.map_or_else(|| ABSENT.to_owned(), time)
}

/// `6,412 B`, `1.24 MB`; powers of ten, as disks and networks count.
pub fn bytes(value: u64) -> String {
    for (unit, size) in [("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e4)] {
        if value as f64 >= size {
            let scale = if unit == "kB" { 1e3 } else { size };
            return format!("{}{NBSP}{unit}", number(value as f64 / scale));
        }
    }
    format!("{}{NBSP}B", count(value))
}

/// `12 March 2026, 10:12 UTC` from `2026-03-12T10:12:09Z`; anything else is shown as it is.
pub fn date(rfc3339: &str) -> String {
    match calendar::written(rfc3339, NBSP) {
        Some(written) => format!("{}, {}{NBSP}UTC", written.date, written.clock),
        None => rfc3339.to_owned(),
    }
}

/// Shows control characters instead of obeying them: a target may answer with escape sequences.
pub fn clean(text: &str) -> String {
    let mut cleaned = String::with_capacity(text.len());
    for letter in text.chars() {
        if letter.is_control() || is_direction(letter) {
            cleaned.extend(letter.escape_unicode());
        } else {
            cleaned.push(letter);
        }
    }
    cleaned
}

/// Characters that reorder the text around them.
const fn is_direction(letter: char) -> bool {
    matches!(letter, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// `0.35 core`, `2 cores`
pub(crate) fn cores(count: f64) -> String {
    let unit = if count > 1.0 { "cores" } else { "core" };
    format!("{}{NBSP}{unit}", number(count))
}

/// A name as such, in quotes: `‘2A’`.
pub fn quoted(name: &str) -> String {
    format!("‘{name}’")
}

/// `1 level`, `3 levels`
pub fn plural(value: u64, one: &str, many: &str) -> String {
    format!(
        "{}{NBSP}{}",
        count(value),
        if value == 1 { one } else { many }
    )
}

/// ` and 2 more requests`, behind the first
pub(crate) fn others(count: usize) -> String {
    match count {
        0 => String::new(),
        count => format!(
            " and {}",
            plural(count as u64, "more request", "more requests")
        ),
    }
}

/// The beginning of a text that is longer than so many letters.
pub(crate) fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most - 1).chain(['…']).collect()
}

/// `a`, `a and b`, `a, b and c`
pub fn list(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

fn trimmed(text: &str) -> String {
    match text.split_once('.') {
        Some((whole, fraction)) => match fraction.trim_end_matches('0') {
            "" => whole.to_owned(),
            rest => format!("{whole}.{rest}"),
        },
        None => text.to_owned(),
    }
}

fn grouped(digits: &str) -> String {
    let (sign, digits) = match digits.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", digits),
    };
    let mut text = String::from(sign);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests;
