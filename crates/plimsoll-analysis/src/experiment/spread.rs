//! One figure of several runs: its median with the lowest and the highest.

use plimsoll_core::experiment::{Spread, TimeSpread};
use plimsoll_core::tally::Quantile;

pub(super) fn spread(values: impl IntoIterator<Item = f64>) -> Spread {
    let mut sorted: Vec<f64> = values.into_iter().collect();
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

/// Of a quantile over attempts, where `never` is above every time.
pub(super) fn times(values: impl IntoIterator<Item = Quantile>) -> Option<TimeSpread> {
    let mut sorted: Vec<Quantile> = values.into_iter().collect();
    sorted.sort();
    Some(TimeSpread {
        // Of an even number the worse of the two in the middle: between a time and never there is nothing.
        median: *sorted.get(sorted.len() / 2)?,
        low: *sorted.first()?,
        high: *sorted.last()?,
    })
}

#[cfg(test)]
mod tests {
    use plimsoll_core::Nanos;

    use super::*;

    #[test]
    fn the_median_of_two_lies_between_them() {
        assert_eq!(spread([410.0, 400.0]).median, Some(405.0));
        assert_eq!(spread([404.0, 421.0, 412.0]).high, Some(421.0));
        assert_eq!(spread([]), Spread::default());
    }

    #[test]
    fn never_is_the_worst_time() {
        let at = |ms| Quantile::At(Nanos::from_millis(ms));
        let worst = times([at(20), Quantile::Never, at(10)]).unwrap();
        assert_eq!((worst.low, worst.high), (at(10), Quantile::Never));
        assert_eq!(
            times([at(10), Quantile::Never]).unwrap().median,
            Quantile::Never
        );
        assert_eq!(times([]), None);
    }
}
