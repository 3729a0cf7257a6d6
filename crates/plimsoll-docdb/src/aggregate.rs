//! Runs an aggregation pipeline: expressions and stages over a stream of documents.

pub mod expression;
mod sum;

use bson::Bson;
use bson::raw::RawBsonRef;

use crate::error::{Code, CommandError};

/// `value` as an owned one.
fn owned(value: RawBsonRef<'_>) -> Result<Bson, CommandError> {
    Bson::try_from(value).map_err(|error| Code::InvalidBSON.error(error.to_string()))
}
