//! The summary of a record on stdout, in the format asked for.

use plimsoll_core::record::Record;
use plimsoll_report::terminal::{self, Style};

use crate::args::{Format, OutputArgs};
use crate::output;

/// Prints the summary of a record in the format asked for.
pub(crate) fn print(
    record: &Record,
    asked: &OutputArgs,
    record_path: Option<String>,
    report_path: Option<String>,
) {
    output::data(&match asked.format {
        Format::Json => plimsoll_report::json::summary(record),
        Format::Markdown => plimsoll_report::markdown::summary(std::slice::from_ref(record)),
        Format::Text => {
            let style = Style {
                colour: output::colour_on_stdout(),
                width: output::terminal_columns().min(120),
                quiet: asked.quiet,
                record: record_path,
                report: report_path,
            };
            terminal::summary(record, &style)
        }
    });
}
