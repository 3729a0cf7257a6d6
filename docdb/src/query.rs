//! Asks of documents: filters, projections, sort orders, and which index serves a filter.

mod ahead;
pub(crate) mod bounds;
mod computed;
mod condition;
mod constant;
mod field_path;
mod filter;
pub(crate) mod hostile;
pub(crate) mod keys;
mod list;
mod lists;
mod parse;
mod positional;
mod projection;
mod sort;

pub(crate) use ahead::{Ahead, Part};
pub(crate) use filter::Filter;
pub(crate) use keys::{Direction, SortField, encode_key};
pub(crate) use lists::Lists;
#[cfg(test)]
pub(crate) use lists::tests::tally;
pub(crate) use projection::Projection;
pub(crate) use sort::SortOrder;
