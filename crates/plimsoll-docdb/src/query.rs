//! Asks of documents: filters, projections, sort orders, and which index serves a filter.

mod condition;
mod constant;
mod field_path;
mod filter;
mod keys;
mod parse;
mod pattern;
mod positional;
mod projection;
mod sort;

pub use filter::Filter;
pub use projection::Projection;
pub use sort::{Direction, SortField, SortOrder};
