//! What became of requests, as numbers.

/// Counted since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    pub arrived: u64,
    pub admitted: u64,
    pub served: u64,
    pub failed: u64,
    /// Of those admitted: their clients left before the answer.
    pub left: u64,
    /// Of those admitted: the service waited for their clients.
    pub aside: u64,
    /// Left while they waited.
    pub left_waiting: u64,
    /// Were answered, in a trial, while they would have waited.
    pub withdrawn: u64,
    pub(super) refused: u64,
    /// Retries beyond their budget, which wait with the background.
    pub retries_demoted: u64,
}

impl Counts {
    pub fn refused(&self) -> u64 {
        self.refused
    }
}
