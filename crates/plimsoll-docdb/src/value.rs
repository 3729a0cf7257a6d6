//! BSON values as MongoDB sees them: order, equality, numbers, paths, and keys whose bytes sort alike.
//!
//! Hot paths read documents through [`Value`] and [`Fields`], which decode an element only when it
//! is asked for and check nothing twice: whatever enters the server passes [`validate`] first.
//! Bytes that did not pass it end an iteration early; they never panic.

mod compare;
pub mod decimal;
pub mod key;
pub mod kind;
pub mod number;
pub mod path;
mod validate;
mod view;
mod write;

#[cfg(test)]
pub(crate) mod samples;

pub use compare::{compare, compare_fields, compare_owned, compare_values};
pub use decimal::Decimal;
pub use number::Number;
pub use validate::{MAX_DEPTH, validate};
pub use view::{Element, Elements, Fields, Value, with_value};
pub use write::Writer;
