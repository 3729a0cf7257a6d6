//! Says what a record means: gates, fits, attribution, comparison, advice.
//!
//! Pure: nothing here reads a clock, a file, a socket or the environment.

pub mod advice;
pub mod compare;
mod crowded;
pub mod experiment;
pub mod explain;
mod facts;
pub mod gates;
pub mod import;
pub mod models;
mod neighbours;
pub mod steal;
pub mod stored;
pub mod summary;
pub mod sweep;
mod watched;
