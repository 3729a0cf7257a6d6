//! Asks of documents: filters, projections, sort orders, and which index serves a filter.

mod condition;
mod constant;
mod filter;
mod parse;
mod pattern;
mod positional;

pub use filter::Filter;
