//! Renders a record (terminal, JSON, Markdown, HTML, live) and never measures.
//!
//! Every rendering reads the one [`view::View`] of a record and writes its numbers with [`mod@format`],
//! so that a figure is the same text in prose, table and chart.

/// Appends formatted text to a string.
macro_rules! put {
    ($out:expr, $($text:tt)*) => {{
        use std::fmt::Write as _;
        write!($out, $($text)*).expect("invariant: a string takes any text");
    }};
}

/// Appends formatted text and a line break to a string.
macro_rules! putln {
    ($out:expr, $($text:tt)*) => {{
        use std::fmt::Write as _;
        writeln!($out, $($text)*).expect("invariant: a string takes any text");
    }};
}

mod colour;
pub mod format;
pub mod hlog;
pub mod html;
mod ink;
pub mod json;
pub mod k6;
pub mod live;
pub mod markdown;
mod policy;
pub mod terminal;
pub mod variants;
pub mod view;
