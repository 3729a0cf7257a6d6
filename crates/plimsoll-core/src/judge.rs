//! Judges attempts against objectives: which are bad, whether they are enough, whether a queue grows without end.
//!
//! Each is defined here and nowhere else. The search asks while it plays, the summary, the gates and the explanation
//! ask of the record, the report asks for its pictures; what they do with the answers (sequential tests, confidence
//! words, colours) is theirs. So a run and a search cannot disagree about one attempt.

mod bad;
mod enough;
mod growth;
mod lateness;
mod overdue;

pub use bad::{Bad, bad_at, bad_of_each, disturbed_of_each, in_time, verdict_despite, verdict_of};
pub use enough::is_enough;
pub use growth::{GROWTH_RATIO, Growth};
pub use lateness::{Lateness, tolerated_of};
pub use overdue::overdue;

/// A median that moved by more than this between the first level and its repeat is drift: the target changed, and the
/// order of the levels is in doubt (capacity-science B.3). 10.0 ms, then 10.6 ms: 6 %, drift.
pub const DRIFT_RATIO: f64 = 0.05;
