//! Moments of a run as calendar time, for outputs that need it.

use plimsoll_core::Nanos;

const DAY_SECONDS: u64 = 86_400;

/// `2026-03-12T10:12:09.25Z` from nanoseconds since 1970; fractions without trailing zeros.
pub(super) fn rfc3339(unix: Nanos, with_fraction: bool) -> String {
    let (seconds, fraction) = (unix.0 / 1_000_000_000, unix.0 % 1_000_000_000);
    let (year, month, day) = date(seconds / DAY_SECONDS);
    let clock = seconds % DAY_SECONDS;
    let mut shown = format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}",
        clock / 3600,
        clock / 60 % 60,
        clock % 60
    );
    if with_fraction && fraction > 0 {
        let digits = format!("{fraction:09}");
        put!(shown, ".{}", digits.trim_end_matches('0'));
    }
    shown.push('Z');
    shown
}

/// Year, month and day from days since 1970, by Howard Hinnant's `civil_from_days`: years begin in
/// March, so that the leap day is the last of them.
const fn date(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    let year = year_of_era + era * 400;
    (if month <= 2 { year + 1 } else { year }, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calendar_time() {
        for (seconds, nanos, shown) in [
            (0, 0, "1970-01-01T00:00:00Z"),
            (951_782_400, 0, "2000-02-29T00:00:00Z"),
            (1_795_277_116, 414_652_365, "2026-11-21T16:05:16.414652365Z"),
            (4_102_444_799, 500_000_000, "2099-12-31T23:59:59.5Z"),
        ] {
            let unix = Nanos(seconds * 1_000_000_000 + nanos);
            assert_eq!(rfc3339(unix, true), shown);
        }
    }
}
