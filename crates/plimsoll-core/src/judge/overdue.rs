//! Attempts that are late although they have not ended: where requests starve, those that end are the lucky ones.

use crate::units::Nanos;

/// Of `pending` attempts, those that must be older than `bound`: all but as many as fell due within it. Windows come newest
/// first, as length in seconds and attempts due in it.
///
/// By counting alone. Windows are as fine as it gets, so one that lies partly within the bound counts as young whole: 390
/// pending, 100 due in each of the last seconds, a bound of 2 s: 190.
pub fn overdue(pending: u64, bound: Nanos, newest_first: impl Iterator<Item = (f64, u64)>) -> u64 {
    let bound = bound.as_secs_f64();
    let (mut covered, mut young) = (0.0, 0);
    for (seconds, due) in newest_first {
        if covered >= bound {
            break;
        }
        covered += seconds;
        young += due;
    }
    pending.saturating_sub(young)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_due_within_the_bound_is_young() {
        let late = |pending, bound| {
            let windows = std::iter::repeat_n((1.0, 100), 3);
            overdue(pending, Nanos::from_millis(bound), windows)
        };
        assert_eq!(late(390, 2_000), 190);
        assert_eq!(late(390, 100), 290, "the newest window is always young");
        assert_eq!(late(390, 1_500), 190, "partly within is within");
        assert_eq!(late(50, 100), 0);
        assert_eq!(late(390, 60_000), 90);
    }
}
