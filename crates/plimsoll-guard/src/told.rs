//! How a request ended: what its connection does next follows from it, and what the log says.

use plimsoll_core::Nanos;

use crate::refusal::Answer;

/// How a request ended, for the connection and for the log.
#[derive(Debug, Default)]
pub(crate) struct Told {
    /// Zero if the client got no answer.
    pub(crate) status: u16,
    pub(crate) outcome: &'static str,
    /// The word in `X-Plimsoll`, where the answer is our own.
    pub(crate) reason: Option<&'static str>,
    pub(crate) waited: Nanos,
    /// Whom it was sent to, if anybody writes that down.
    pub(crate) member: Option<String>,
    /// Why it would have been refused, where nobody is.
    pub(crate) would_refuse: Option<&'static str>,
    /// From the permit to the end, where there was one.
    pub(crate) upstream: Option<Nanos>,
    pub(crate) request_bytes: u64,
    pub(crate) answer_bytes: u64,
    /// An answer was begun that cannot be ended, or nobody is there to take one.
    pub(crate) is_cut: bool,
}

impl Told {
    /// An answer of ours; `is_cut`: nobody took it.
    pub(crate) fn own(answer: &Answer, outcome: &'static str, is_cut: bool) -> Self {
        Self {
            status: answer.status,
            outcome,
            reason: Some(answer.reason),
            answer_bytes: answer.text.len() as u64 + 1,
            is_cut,
            ..Self::default()
        }
    }

    pub(crate) fn cut(outcome: &'static str) -> Self {
        Self {
            outcome,
            is_cut: true,
            ..Self::default()
        }
    }
}
