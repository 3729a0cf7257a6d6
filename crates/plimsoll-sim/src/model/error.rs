//! Models that cannot be played, and the one way in which they are refused.

use thiserror::Error;

pub(super) const POSITIVE: &str = "more than zero";
pub(super) const ZERO_OR_MORE: &str = "zero or more";

/// A model that cannot be played.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum ModelError {
    #[error("{what} is {value}; it must be {must}")]
    Value {
        what: &'static str,
        value: String,
        must: &'static str,
    },
}

/// Refuses a number that is not `fine`, is no number, or has no end.
pub(super) fn require(
    what: &'static str,
    value: f64,
    fine: bool,
    must: &'static str,
) -> Result<(), ModelError> {
    if fine && value.is_finite() {
        return Ok(());
    }
    Err(ModelError::Value {
        what,
        value: value.to_string(),
        must,
    })
}
