//! How much work one match may be, and the error of one that is more.

use crate::error::{Code, CommandError, Result};

/// Steps of the machine for a match in a short text: a millisecond or two.
const STEPS: u64 = 400_000;
/// More for each byte of a long one: looking at each once must be possible.
const STEPS_PER_BYTE: u64 = 16;
/// A match took more steps than it may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct GaveUp;

impl GaveUp {
    /// The error that a client gets; MongoDB's code for a match that its engine gave up.
    pub(crate) fn error(source: &str) -> CommandError {
        let shown: String = source.chars().take(100).collect();
        Code::Location(51156).error(format!(
            "the regular expression /{shown}/ takes too many steps on a value; anchor it or make its repetitions exclude each other"
        ))
    }
}

/// Steps that are left to one match, or to all matches in one text, or in one document.
#[derive(Debug)]
pub(crate) struct Steps {
    left: u64,
    /// Steps of the texts before that count.
    before: u64,
    /// What this text alone may take.
    own: u64,
}

impl Steps {
    pub(crate) fn for_text(text: &str) -> Self {
        Self::after(0, text)
    }

    /// As [`Self::for_text`], where other texts took steps already. Of what is given for its bytes only what they really take
    /// is taken from the next.
    pub(super) fn after(before: u64, text: &str) -> Self {
        let own = STEPS_PER_BYTE * text.len() as u64;
        Self {
            left: STEPS.saturating_sub(before) + own,
            before,
            own,
        }
    }

    /// Steps so far that count for the next text: those that its own bytes did not pay for.
    pub(super) fn taken(&self) -> u64 {
        self.before + self.spent().saturating_sub(self.own)
    }

    /// Steps that this text took.
    pub(crate) fn spent(&self) -> u64 {
        STEPS.saturating_sub(self.before) + self.own - self.left
    }

    #[inline]
    pub(super) fn take(&mut self) -> Result<(), GaveUp> {
        self.take_many(1)
    }

    #[inline]
    pub(super) fn take_many(&mut self, count: u64) -> Result<(), GaveUp> {
        self.left = self.left.checked_sub(count).ok_or(GaveUp)?;
        Ok(())
    }
}

/// Where groups matched: start and end of each, the whole match first.
pub(crate) type Groups = Vec<Option<(usize, usize)>>;
