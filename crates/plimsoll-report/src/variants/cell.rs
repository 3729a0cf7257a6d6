//! One figure of several runs: its median with the lowest and the highest.

use plimsoll_core::tally::Quantile;

use crate::format;

/// Absent without a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Spread {
    pub(crate) median: Option<f64>,
    pub(crate) low: Option<f64>,
    pub(crate) high: Option<f64>,
}

pub(super) fn spread(values: &[f64]) -> Spread {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = |index: usize| sorted.get(index).copied();
    let upper = at(sorted.len() / 2);
    let lower = at(sorted.len().saturating_sub(1) / 2);
    Spread {
        median: lower
            .zip(upper)
            .map(|(lower, upper)| f64::midpoint(lower, upper)),
        low: sorted.first().copied(),
        high: sorted.last().copied(),
    }
}

impl Spread {
    /// `412/s`, or `412/s (404/s–421/s)` of several runs.
    pub(super) fn text(self, show: fn(f64) -> String) -> String {
        let Some(median) = self.median else {
            return format::ABSENT.to_owned();
        };
        let shown = show(median);
        match (self.low.map(show), self.high.map(show)) {
            (Some(low), Some(high)) if low != high => format!("{shown} ({low}–{high})"),
            _ => shown,
        }
    }
}

/// A quantile over attempts of several runs: the middle one, where `never` is above every time.
pub(super) fn times(values: impl Iterator<Item = Option<Quantile>>) -> String {
    let mut sorted: Vec<Quantile> = values.flatten().collect();
    sorted.sort();
    let (Some(low), Some(high)) = (sorted.first(), sorted.last()) else {
        return format::ABSENT.to_owned();
    };
    // Of an even number the worse of the two in the middle: between a time and never there is nothing.
    let middle = sorted.get(sorted.len() / 2).copied();
    let shown = format::quantile(middle);
    let (low, high) = (format::quantile(Some(*low)), format::quantile(Some(*high)));
    if low == high {
        shown
    } else {
        format!("{shown} ({low}–{high})")
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_core::Nanos;

    use super::*;

    #[test]
    fn one_run_shows_no_range_and_several_show_theirs() {
        assert_eq!(spread(&[412.0]).text(format::rate), "412/s");
        assert_eq!(
            spread(&[404.0, 421.0, 412.0]).text(format::rate),
            "412/s (404/s–421/s)"
        );
        assert_eq!(spread(&[400.0, 410.0]).median, Some(405.0));
        assert_eq!(spread(&[]).text(format::rate), format::ABSENT);
    }

    #[test]
    fn never_is_the_worst_time() {
        let at = |ms| Some(Quantile::At(Nanos::from_millis(ms)));
        assert_eq!(
            times([at(20), Some(Quantile::Never), at(10)].into_iter()),
            "20.0\u{a0}ms (10.0\u{a0}ms–never)"
        );
        assert_eq!(times([at(20)].into_iter()), "20.0\u{a0}ms");
        assert_eq!(times(std::iter::empty()), format::ABSENT);
    }
}
