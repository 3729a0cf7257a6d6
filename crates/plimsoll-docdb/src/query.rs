//! Asks of documents: filters, projections, sort orders, and which index serves a filter.

pub mod bounds;
mod computed;
mod condition;
mod constant;
mod field_path;
mod filter;
pub mod hostile;
pub mod keys;
mod parse;
mod pattern;
mod positional;
mod projection;
mod sort;

pub use filter::Filter;
pub(crate) use pattern::compile as compile_pattern;
pub use projection::Projection;
pub use sort::{Direction, SortField, SortOrder};
