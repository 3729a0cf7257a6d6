//! The summary on stdout: our block first, every line with a recorded figure behind it.

mod admission;
mod comparison;
mod distribution;
mod find;
mod mix;
mod run;
mod script;
mod shared;
mod sweep;
mod table;

pub use comparison::{comparison, history};
pub use sweep::sweep;

use plimsoll_core::record::Record;

use crate::ink::Page;
use crate::view::{Kind, View};

/// How the summary is written, and what else it names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Style {
    /// ANSI colours; false when stdout is no terminal or `NO_COLOR` is set.
    pub colour: bool,
    /// Columns of the terminal; 100 reads well where there is none.
    pub width: usize,
    /// Only the verdict, the key figures and the paths.
    pub quiet: bool,
    /// Path of the record, as the reader can open it.
    pub record: Option<String>,
    /// Path of the HTML report.
    pub report: Option<String>,
}

impl Default for Style {
    fn default() -> Self {
        Self {
            colour: false,
            width: 100,
            quiet: false,
            record: None,
            report: None,
        }
    }
}

/// The final summary of a record, ending in a line break.
pub fn summary(record: &Record, style: &Style) -> String {
    let view = View::new(record);
    let mut page = Page::new(style.colour, style.width);
    page.blank();
    shared::headline(&mut page, &view);
    match view.kind {
        Kind::Find if view.verdict().is_some() => find::block(&mut page, &view, style.quiet),
        _ => run::block(&mut page, &view, style.quiet),
    }
    if !style.quiet {
        admission::block(&mut page, &view);
    }
    script::block(&mut page, &view);
    if !style.quiet {
        mix::block(&mut page, &view);
    }
    if !style.quiet {
        shared::explanation(&mut page, &view);
    }
    shared::gates(&mut page, &view);
    shared::paths(&mut page, Some(&view), style);
    page.finish()
}
