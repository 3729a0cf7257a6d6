//! How a scripted test ended, and the exit code that follows: the first cause wins.

/// Why a test ended, or what made it fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// A threshold was crossed, also when it stopped the test.
    ThresholdCrossed,
    SetupTimeout,
    TeardownTimeout,
    /// `handleSummary` took too long.
    OtherTimeout,
    /// Options, thresholds or functions that no test can be made from.
    InvalidOptions,
    Interrupted,
    /// An exception before any VU ran: syntax, imports, the script's top level.
    InitException,
    /// An exception in `setup` or `teardown`.
    HookException,
    /// `exec.test.abort()`.
    Aborted,
    InternalPanic,
    /// `exec.test.fail()`.
    Failed,
}

impl Cause {
    /// Every cause with its exit code and what it means.
    pub const TABLE: [(Self, u8, &'static str); 11] = [
        (Self::ThresholdCrossed, 99, "a threshold was crossed"),
        (Self::SetupTimeout, 100, "setup took too long"),
        (Self::TeardownTimeout, 101, "teardown took too long"),
        (Self::OtherTimeout, 102, "handleSummary took too long"),
        (
            Self::InvalidOptions,
            104,
            "bad usage, options or thresholds",
        ),
        (Self::Interrupted, 105, "interrupted"),
        (
            Self::InitException,
            107,
            "exception in the script's top level",
        ),
        (Self::HookException, 107, "exception in setup or teardown"),
        (Self::Aborted, 108, "the script called exec.test.abort()"),
        (Self::InternalPanic, 109, "internal fault of plimsoll"),
        (Self::Failed, 110, "the script called exec.test.fail()"),
    ];

    pub fn exit_code(self) -> u8 {
        let row = Self::TABLE.iter().find(|(cause, ..)| *cause == self);
        row.map_or(109, |(_, code, _)| *code)
    }

    /// Whether a summary and exports are written all the same. Not when no VU ever ran.
    pub const fn leaves_summary(self) -> bool {
        !matches!(
            self,
            Self::InvalidOptions | Self::InitException | Self::InternalPanic
        )
    }
}

/// Collects causes as they come; only the first decides.
///
/// Exceptions in iterations, failed checks, a failing `handleSummary` and files that it cannot write
/// are no causes: the exit code stays 0, as in k6.
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

    /// 0 when nothing was noted.
    pub fn exit_code(self) -> u8 {
        self.first.map_or(0, Cause::exit_code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_cause_wins() {
        for (causes, code) in [
            (&[][..], 0),
            (&[Cause::ThresholdCrossed], 99),
            (&[Cause::Aborted, Cause::ThresholdCrossed], 108),
            (&[Cause::Failed, Cause::ThresholdCrossed], 110),
            (&[Cause::Interrupted, Cause::ThresholdCrossed], 105),
            (&[Cause::ThresholdCrossed, Cause::HookException], 99),
            (&[Cause::SetupTimeout, Cause::HookException], 100),
        ] {
            let mut ending = Ending::default();
            for cause in causes {
                ending.note(*cause);
            }
            assert_eq!(ending.exit_code(), code, "{causes:?}");
        }
    }

    #[test]
    fn every_cause_has_its_row() {
        for (cause, code, _) in Cause::TABLE {
            assert_eq!(cause.exit_code(), code);
        }
        assert!(Cause::HookException.leaves_summary());
        assert!(!Cause::InitException.leaves_summary());
    }
}
