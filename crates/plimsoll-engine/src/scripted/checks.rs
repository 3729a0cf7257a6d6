//! Checks that fail after their call was counted: the next call of the same virtual user stands in for it.

use std::collections::VecDeque;

use plimsoll_core::Outcome;

/// So many calls of an iteration are remembered: one that never ends must not fill the memory.
const REMEMBERED: usize = 256;

/// What the checks of one virtual user said too late.
///
/// A check that looks at the answer before the script waits again makes its call `check_failed` itself. One that comes later
/// (the answers of a batch but the last, an answer kept over a pause, a value that is no answer) finds its call counted, and
/// windows that are handed over are not changed. Then the next good call of the virtual user counts as failed in its place:
/// the totals are right, at most one iteration late.
#[derive(Debug, Default)]
pub(super) struct Checks {
    /// Calls of the iteration at hand whose answers were good, and that no check of their own has failed.
    good: VecDeque<u64>,
    /// Calls up to this number are forgotten.
    forgotten: u64,
    /// Good calls that should have been counted as failed.
    owed: u64,
    /// The iteration as a whole was failed already, by a check on no call of it.
    is_failed: bool,
}

impl Checks {
    /// A check failed on a call that is counted, or on none: then on the latest good one, else on the iteration.
    pub(super) fn fail(&mut self, call: Option<u64>) {
        let at = match call {
            Some(call) => self.good.iter().position(|good| *good == call),
            None => self.good.len().checked_sub(1),
        };
        match at {
            Some(at) => {
                self.good.remove(at);
                self.owed += 1;
            }
            None if call.is_some_and(|call| call <= self.forgotten) => self.owed += 1,
            // It failed by itself, or by an earlier check.
            None if call.is_some() || self.is_failed => {}
            None => {
                self.is_failed = true;
                self.owed += 1;
            }
        }
    }

    /// What a call that came to `outcome` is counted as.
    pub(super) fn settle(&mut self, call: u64, outcome: Outcome) -> Outcome {
        if outcome.is_failure() || outcome == Outcome::Interrupted {
            return outcome;
        }
        if self.good.len() == REMEMBERED {
            self.forgotten = self.good.pop_front().unwrap_or(self.forgotten);
        }
        self.good.push_back(call);
        if self.owed == 0 {
            return outcome;
        }
        self.owed -= 1;
        Outcome::CheckFailed
    }

    pub(super) fn end_iteration(&mut self) {
        self.good.clear();
        self.is_failed = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_check_fails_the_next_good_call_once() {
        let mut checks = Checks::default();
        let ok = |checks: &mut Checks, call| checks.settle(call, Outcome::Ok);
        assert_eq!(ok(&mut checks, 1), Outcome::Ok);
        assert_eq!(ok(&mut checks, 2), Outcome::Ok);
        checks.fail(Some(1));
        checks.fail(Some(1));
        assert_eq!(checks.settle(3, Outcome::Http5xx), Outcome::Http5xx);
        checks.fail(Some(3));
        assert_eq!(ok(&mut checks, 4), Outcome::CheckFailed, "in place of 1");
        assert_eq!(ok(&mut checks, 5), Outcome::Ok, "once");
        checks.fail(None);
        checks.end_iteration();
        assert_eq!(ok(&mut checks, 6), Outcome::CheckFailed, "in place of 5");
        checks.fail(Some(6));
        checks.end_iteration();
        assert_eq!(
            ok(&mut checks, 9),
            Outcome::CheckFailed,
            "6 was good by itself until then"
        );
        checks.end_iteration();
        checks.fail(None);
        checks.fail(None);
        assert_eq!(
            ok(&mut checks, 7),
            Outcome::CheckFailed,
            "the iteration, once"
        );
        assert_eq!(ok(&mut checks, 8), Outcome::Ok);
    }

    #[test]
    fn an_iteration_without_end_takes_no_memory_without_end() {
        let mut checks = Checks::default();
        for call in 1..=10_000 {
            assert_eq!(checks.settle(call, Outcome::Ok), Outcome::Ok);
        }
        assert_eq!(checks.good.len(), REMEMBERED);
        checks.fail(Some(5));
        assert_eq!(
            checks.settle(10_001, Outcome::Ok),
            Outcome::CheckFailed,
            "forgotten, and failed all the same"
        );
    }
}
