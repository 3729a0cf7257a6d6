//! Renderings of records from end to end: terminal, live, Markdown, JSON and HTML.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails here")]

mod comparison;
mod html;
mod k6;
mod live;
mod record_format;
mod sample;
mod script;
mod sweep;
mod terminal;
mod text;
mod variants;
