//! Asks of documents: filters, projections, sort orders, and which index serves a filter.

pub(crate) mod bounds;
mod computed;
mod condition;
mod constant;
mod field_path;
mod filter;
pub(crate) mod hostile;
pub(crate) mod keys;
mod parse;
mod positional;
mod projection;
mod sort;

pub(crate) use filter::Filter;
pub(crate) use keys::{Direction, SortField, encode_key};
pub(crate) use projection::Projection;
pub(crate) use sort::SortOrder;
