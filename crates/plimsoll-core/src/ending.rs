//! How a scripted test ended: the first cause wins. The binary's table of exit codes gives each its code.

/// Why a test ended, or what made it fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// A threshold was crossed, also when it stopped the test.
    ThresholdCrossed,
    SetupTimeout,
    TeardownTimeout,
    /// `handleSummary` took too long.
    SummaryTimeout,
    /// Options, thresholds or functions that no test can be made from.
    InvalidOptions,
    Interrupted,
    /// An exception before any VU ran: syntax, imports, the script's top level.
    InitException,
    /// An exception in `setup` or `teardown`.
    HookException,
    /// `exec.test.abort()`.
    Aborted,
    /// `exec.test.fail()`.
    Failed,
    /// The script uses what is not there yet.
    Unsupported,
    /// The script's file cannot be read.
    Missing,
}

/// Collects causes as they come; only the first decides.
///
/// Exceptions in iterations, failed checks, a failing `handleSummary` and files that it cannot write
/// are no causes: the test passes all the same, as in k6.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ending {
    first: Option<Cause>,
}

impl Ending {
    pub fn note(&mut self, cause: Cause) {
        self.first.get_or_insert(cause);
    }

    pub const fn cause(self) -> Option<Cause> {
        self.first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_cause_wins() {
        for (causes, first) in [
            (&[][..], None),
            (&[Cause::ThresholdCrossed], Some(Cause::ThresholdCrossed)),
            (
                &[Cause::Aborted, Cause::ThresholdCrossed],
                Some(Cause::Aborted),
            ),
            (
                &[Cause::Failed, Cause::ThresholdCrossed],
                Some(Cause::Failed),
            ),
            (
                &[Cause::Interrupted, Cause::ThresholdCrossed],
                Some(Cause::Interrupted),
            ),
            (
                &[Cause::ThresholdCrossed, Cause::HookException],
                Some(Cause::ThresholdCrossed),
            ),
            (
                &[Cause::SetupTimeout, Cause::HookException],
                Some(Cause::SetupTimeout),
            ),
        ] {
            let mut ending = Ending::default();
            for cause in causes {
                ending.note(*cause);
            }
            assert_eq!(ending.cause(), first, "{causes:?}");
        }
    }
}
