//! The Gregorian calendar in UTC over all dates that BSON holds, which are more than date libraries hold.

/// A moment taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Civil {
    pub(super) year: i64,
    /// 1 to 12.
    pub(super) month: i64,
    /// 1 to 31.
    pub(super) day: i64,
    /// Milliseconds since midnight.
    pub(super) in_day: i64,
}

pub(super) const DAY: i64 = 86_400_000;

impl Civil {
    pub(super) fn from_millis(millis: i64) -> Self {
        let (year, month, day) = date_of(millis.div_euclid(DAY));
        Self {
            year,
            month,
            day,
            in_day: millis.rem_euclid(DAY),
        }
    }

    /// Milliseconds since 1970; `None` beyond 64 bits.
    pub(super) fn millis(self) -> Option<i64> {
        days_since_1970(self.year, self.month, self.day)?
            .checked_mul(DAY)?
            .checked_add(self.in_day)
    }

    pub(super) const fn hour(&self) -> i64 {
        self.in_day / 3_600_000
    }

    pub(super) const fn minute(&self) -> i64 {
        self.in_day / 60_000 % 60
    }

    pub(super) const fn second(&self) -> i64 {
        self.in_day / 1000 % 60
    }

    pub(super) const fn millisecond(&self) -> i64 {
        self.in_day % 1000
    }

    /// 1 to 366.
    pub(super) fn day_of_year(&self) -> i64 {
        let days = |month, day| days_since_1970(self.year, month, day).unwrap_or(0);
        days(self.month, self.day) - days(1, 1) + 1
    }

    /// The same date `count` months later, on the month's last day where it has no such day.
    pub(super) fn plus_months(self, count: i64) -> Option<Self> {
        let months = self
            .year
            .checked_mul(12)?
            .checked_add(self.month - 1)?
            .checked_add(count)?;
        let (year, month) = (months.div_euclid(12), months.rem_euclid(12) + 1);
        Some(Self {
            year,
            month,
            day: self.day.min(days_in_month(year, month)),
            ..self
        })
    }
}

/// 1 is Sunday, 7 is Saturday.
pub(super) fn day_of_week(millis: i64) -> i64 {
    // 1970 began on a Thursday.
    (millis.div_euclid(DAY) + 4).rem_euclid(7) + 1
}

/// 1 is Monday, 7 is Sunday, and the week's number and year by ISO 8601: a week belongs to its Thursday's year.
pub(super) fn iso_week(millis: i64) -> (i64, i64, i64) {
    let day = (day_of_week(millis) + 5) % 7 + 1;
    let thursday = Civil::from_millis(millis.saturating_add((4 - day) * DAY));
    (thursday.year, (thursday.day_of_year() - 1) / 7 + 1, day)
}

pub(super) const fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

pub(super) const fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Counted in years that begin in March, so that the leap day comes last; 400 years have 146,097 days.
pub(super) fn days_since_1970(year: i64, month: i64, day: i64) -> Option<i64> {
    let (year, month) = (year.checked_sub(i64::from(month <= 2))?, (month + 9) % 12);
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * month + 2) / 5 + day - 1;
    let day_of_era = of_era * 365 + of_era / 4 - of_era / 100 + day_of_year;
    // 719,468 days lie between 1 March of year 0 and 1970.
    era.checked_mul(146_097)?.checked_add(day_of_era - 719_468)
}

fn date_of(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 {
        (month + 3, 0)
    } else {
        (month - 9, 1)
    };
    (era * 400 + year + next, month, day)
}

/// `2024-02-29T12:34:56.789Z`.
pub(super) fn iso_text(millis: i64) -> String {
    let at = Civil::from_millis(millis);
    format!(
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z",
        at.year,
        at.month,
        at.day,
        at.hour(),
        at.minute(),
        at.second(),
        at.millisecond()
    )
}

/// A date of ISO 8601, with or without time, fraction and offset: `2024-02-29`, `2024-02-29T12:34:56.789+01:00`.
pub(super) fn parse_iso(text: &str) -> Option<i64> {
    let mut rest = text.as_bytes();
    let year = digits(&mut rest, 4)?;
    skip(&mut rest, b"-")?;
    let month = digits(&mut rest, 2)?;
    skip(&mut rest, b"-")?;
    let day = digits(&mut rest, 2)?;
    if !(1..=12).contains(&month) || day < 1 || day > days_in_month(year, month) {
        return None;
    }
    let mut in_day = 0;
    let mut offset = 0;
    if !rest.is_empty() {
        skip(&mut rest, b"Tt ")?;
        in_day = time(&mut rest)?;
        offset = self::offset(&mut rest)?;
    }
    let civil = Civil {
        year,
        month,
        day,
        in_day,
    };
    civil.millis()?.checked_sub(offset)
}

/// `12:34`, `12:34:56` or `12:34:56.789`, in milliseconds.
fn time(rest: &mut &[u8]) -> Option<i64> {
    let hour = digits(rest, 2)?;
    skip(rest, b":")?;
    let minute = digits(rest, 2)?;
    let mut seconds = 0;
    let mut millis = 0;
    if skip(rest, b":").is_some() {
        seconds = digits(rest, 2)?;
        if skip(rest, b".").is_some() {
            let mut scale = 100;
            let mut count = 0;
            while let Some(digit) = digits(rest, 1) {
                millis += digit * scale;
                scale /= 10;
                count += 1;
            }
            if count == 0 {
                return None;
            }
        }
    }
    if hour > 23 || minute > 59 || seconds > 59 {
        return None;
    }
    Some(((hour * 60 + minute) * 60 + seconds) * 1000 + millis)
}

/// `Z`, `+01:00`, `-0130` or `+02`, in milliseconds; nothing is UTC.
pub(super) fn offset(rest: &mut &[u8]) -> Option<i64> {
    if skip(rest, b"Zz").is_some() || rest.is_empty() {
        return rest.is_empty().then_some(0);
    }
    let sign = if skip(rest, b"+").is_some() {
        1
    } else {
        skip(rest, b"-")?;
        -1
    };
    let hours = digits(rest, 2)?;
    let minutes = match (skip(rest, b":"), rest.is_empty()) {
        (None, true) => 0,
        _ => digits(rest, 2)?,
    };
    let valid = rest.is_empty() && hours < 24 && minutes < 60;
    valid.then_some(sign * (hours * 60 + minutes) * 60_000)
}

pub(super) fn digits(rest: &mut &[u8], count: usize) -> Option<i64> {
    let (head, tail) = rest.split_at_checked(count)?;
    let mut number = 0;
    for byte in head {
        if !byte.is_ascii_digit() {
            return None;
        }
        number = number * 10 + i64::from(byte - b'0');
    }
    *rest = tail;
    Some(number)
}

pub(super) fn skip(rest: &mut &[u8], any: &[u8]) -> Option<()> {
    let (first, tail) = rest.split_first()?;
    if !any.contains(first) {
        return None;
    }
    *rest = tail;
    Some(())
}
