//! Moments as calendar time and back: the one place that knows the calendar, which is the `time` crate's.

use time::format_description::well_known::Rfc3339;
use time::{Date, Month, OffsetDateTime};

use crate::Nanos;

/// `2026-03-12T10:12:09.25Z` from nanoseconds since 1970; fractions without trailing zeros.
pub fn rfc3339(unix: Nanos, with_fraction: bool) -> String {
    let nanos = if with_fraction {
        unix.0
    } else {
        unix.0 / NANOS_PER_SECOND * NANOS_PER_SECOND
    };
    let moment = OffsetDateTime::from_unix_timestamp_nanos(i128::from(nanos));
    // Nanoseconds in 64 bits end in the year 2554: every one of them has a date that can be written.
    let text = moment.ok().and_then(|moment| moment.format(&Rfc3339).ok());
    text.unwrap_or_default()
}

const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// Seconds since 1970 of `2026-11-21T16:05:16.414Z` or with an offset such as `+02:00`.
pub fn unix_seconds(rfc3339: &str) -> Option<f64> {
    let moment = OffsetDateTime::parse(rfc3339, &Rfc3339).ok()?;
    Some(moment.unix_timestamp_nanos() as f64 / NANOS_PER_SECOND as f64)
}

/// Days from 1 January 1970 in the Gregorian calendar; `None` for a day that is none.
pub fn days_since_1970(year: i64, month: i64, day: i64) -> Option<i64> {
    let month = Month::try_from(u8::try_from(month).ok()?).ok()?;
    let (year, day) = (i32::try_from(year).ok()?, u8::try_from(day).ok()?);
    let date = Date::from_calendar_date(year, month, day).ok()?;
    Some((date - OffsetDateTime::UNIX_EPOCH.date()).whole_days())
}

/// A moment as people write it: day, month in words, year, hours and minutes, in UTC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// `12 March 2026`, with these spaces.
    pub date: String,
    /// `10:12`
    pub clock: String,
}

/// `None` if the text is no moment in RFC 3339.
pub fn written(rfc3339: &str, space: char) -> Option<Written> {
    let moment = OffsetDateTime::parse(rfc3339, &Rfc3339).ok()?;
    let moment = moment.to_offset(time::UtcOffset::UTC);
    Some(Written {
        date: format!(
            "{}{space}{} {}",
            moment.day(),
            moment.month(),
            moment.year()
        ),
        clock: format!("{:02}:{:02}", moment.hour(), moment.minute()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nanoseconds_have_a_date() {
        for (seconds, nanos, shown) in [
            (0, 0, "1970-01-01T00:00:00Z"),
            (951_782_400, 0, "2000-02-29T00:00:00Z"),
            (1_795_277_116, 414_652_365, "2026-11-21T16:05:16.414652365Z"),
            (4_102_444_799, 500_000_000, "2099-12-31T23:59:59.5Z"),
        ] {
            let unix = Nanos(seconds * NANOS_PER_SECOND + nanos);
            assert_eq!(rfc3339(unix, true), shown);
        }
        assert_eq!(rfc3339(Nanos(1_500_000_000), false), "1970-01-01T00:00:01Z");
        assert!(rfc3339(Nanos(u64::MAX), true).starts_with("2554-"));
    }

    #[test]
    fn moments_with_and_without_an_offset() {
        let at = |text| unix_seconds(text).unwrap();
        assert!((at("1970-01-02T00:00:01.5Z") - 86_401.5).abs() < 1e-9);
        assert!((at("2026-11-21T16:05:16Z") - 1_795_277_116.0).abs() < 1e-3);
        assert!((at("2026-11-21T18:05:16+02:00") - 1_795_277_116.0).abs() < 1e-3);
        for bad in ["", "T", "2026-11-21", "2026-11-21T1:2Z", "x-y-zT1:2:3Z"] {
            assert_eq!(unix_seconds(bad), None, "{bad}");
        }
    }

    #[test]
    fn days_that_are_none_have_no_number() {
        assert_eq!(days_since_1970(1970, 1, 2), Some(1));
        assert_eq!(days_since_1970(2000, 2, 29), Some(11_016));
        for (year, month, day) in [(2026, 2, 30), (2026, 13, 1), (2026, 0, 1), (i64::MAX, 1, 1)] {
            assert_eq!(days_since_1970(year, month, day), None);
        }
    }
}
