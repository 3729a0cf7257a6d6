//! How far two means over windows are apart, and how much of that is chance.

use plimsoll_core::Tally;
use plimsoll_core::statistics::mean_and_error;
use plimsoll_core::window::Window;

/// The fewest windows of either side that show a spread.
const WINDOWS_MIN: usize = 3;
/// How much wider Student's two-sided 99 % is than the normal one, by degrees of freedom from two on: few windows know their
/// own spread badly.
const STUDENT: [f64; 10] = [3.85, 2.26, 1.78, 1.56, 1.44, 1.36, 1.30, 1.26, 1.23, 1.20];
/// Two-sided 99 and 95 % of the normal distribution.
const Z_99: f64 = 2.58;
const Z_95: f64 = 1.96;

/// A figure of one side: over all of its windows, and its standard error from window to window.
#[derive(Debug, Clone, Copy)]
pub(super) struct Side {
    pub(super) value: f64,
    /// As a share of the value.
    error: Option<f64>,
}

impl Side {
    /// `of` is the figure of a tally; windows without one are left out. Windows stand for independent samples: what lasts
    /// longer than a second in a queue is rare at the loads that are compared.
    pub(super) fn of_windows<'a>(
        windows: impl Iterator<Item = &'a Window>,
        of: impl Fn(&Tally) -> Option<f64>,
    ) -> Option<Self> {
        let mut all = Tally::default();
        let mut values = Vec::new();
        for window in windows {
            let total = window.total();
            values.extend(of(&total));
            all.merge(&total);
        }
        let value = of(&all).filter(|value| *value > 0.0)?;
        let known = mean_and_error(&values).filter(|_| values.len() >= WINDOWS_MIN);
        let error = known.and_then(|(_, error)| {
            let wider = STUDENT.get(values.len() - WINDOWS_MIN).copied();
            Some(wider.unwrap_or(1.15) * error? / value)
        });
        Some(Self { value, error })
    }
}

/// How much `is` differs from `was`, as a share of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Change {
    pub(super) share: f64,
    error: Option<f64>,
}

impl Change {
    pub(super) fn between(was: Side, is: Side) -> Self {
        let both = was.error.zip(is.error);
        Self {
            share: is.value / was.value - 1.0,
            error: both.map(|(was, is)| was.hypot(is)),
        }
    }

    /// Beyond `bound` whatever chance did, with 99 % confidence; `None` where so few windows cannot tell.
    pub(super) fn surely_exceeds(self, bound: f64) -> Option<bool> {
        if self.share.abs() <= bound {
            return Some(false);
        }
        let error = self.error?;
        Some(self.share.abs() - Z_99 * (1.0 + self.share) * error > bound)
    }

    /// Not chance alone, with 95 % confidence: ln(1 + share) beyond 1.96 errors, which are shares themselves.
    ///
    /// Of the logarithm, because a queue that grew scatters as much more as it grew: the share itself would be hidden by just what
    /// it is. Of M/M/4 queues of 40 ms at 80 % that became a fifth slower it finds 92 %, and by the share it was 78 %; of
    /// those that did not change it sees a change in 8 % either way.
    pub(super) fn is_seen(self) -> bool {
        let error = self.error.unwrap_or(f64::INFINITY);
        self.share.ln_1p().abs() > Z_95 * error
    }
}
