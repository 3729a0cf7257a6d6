//! BSON values as MongoDB sees them: order, equality, numbers, paths, and keys whose bytes sort alike.
//!
//! Hot paths read documents through [`Value`] and [`Fields`], which decode an element only when it
//! is asked for and check nothing twice: whatever enters the server passes [`validate`] first.
//! Bytes that did not pass it end an iteration early; they never panic.

mod compare;
pub(crate) mod decimal;
pub(crate) mod display;
pub(crate) mod hostile;
pub(crate) mod key;
pub(crate) mod kind;
pub(crate) mod number;
pub(crate) mod path;
pub(crate) mod pattern;
mod validate;
mod view;
mod write;

#[cfg(test)]
pub(crate) mod samples;
#[cfg(test)]
pub(crate) mod shell;

pub(crate) use compare::{compare_owned, compare_values};
pub(crate) use decimal::Decimal;
pub(crate) use number::Number;
pub(crate) use validate::{MADE_DEPTH_MAX, MAX_DEPTH, nests_deeper, too_deep, validate};
pub(crate) use view::{Element, Fields, Value};
pub(crate) use write::{Writer, decimal, decode};
