//! The only place that prints: data to stdout, progress and errors to stderr; a closed pipe is success.

use std::fs::File;
use std::io::{IsTerminal as _, Write as _};
use std::path::Path;

use anyhow::{Context as _, Result};

/// Prints data. A reader that went away is not an error (`plimsoll run … | head -1`).
pub(crate) fn data(text: &str) {
    let mut stdout = std::io::stdout().lock();
    let _closed_pipe = stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush());
}

/// Makes the file, or says why it cannot be made; before anything is sent, so that it costs nothing.
pub(crate) fn writable(path: &Path) -> Result<()> {
    File::create(path)
        .map(drop)
        .with_context(|| format!("write {}", path.display()))
}

/// Prints one line of progress.
pub(crate) fn progress(text: &str) {
    let _closed_pipe = writeln!(std::io::stderr().lock(), "{text}");
}

/// Prints an error with its causes in one line: `plimsoll: open record: permission denied`.
pub(crate) fn error(error: &anyhow::Error) {
    let mut text = format!("plimsoll: {error}");
    for cause in error.chain().skip(1) {
        let cause = cause.to_string();
        // Some libraries repeat their source in their own text.
        if !text.contains(&cause) {
            text.push_str(": ");
            text.push_str(&cause);
        }
    }
    progress(&text);
}

/// stdout shows colour: a terminal, and nobody said no.
pub(crate) fn colour_on_stdout() -> bool {
    std::io::stdout().is_terminal() && colour_allowed()
}

pub(crate) fn stderr_is_terminal() -> bool {
    let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
    std::io::stderr().is_terminal() && !dumb
}

/// `NO_COLOR` (no-color.org): any non-empty value means no.
pub(crate) fn colour_allowed() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Columns for help: those of the terminal, or what COLUMNS says, else 80.
pub(crate) fn help_columns() -> usize {
    let said = std::env::var("COLUMNS").ok();
    let said = said.and_then(|text| text.parse().ok());
    let terminal = || {
        let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
        Some(usize::from(size.ws_col))
    };
    let columns = said.or_else(terminal).filter(|&columns| columns >= 40);
    columns.unwrap_or(80)
}

/// Columns of the terminal behind stderr, 100 when it does not say.
pub(crate) fn terminal_columns() -> usize {
    let size = rustix::termios::tcgetwinsize(std::io::stderr());
    size.ok()
        .map(|size| usize::from(size.ws_col))
        .filter(|&columns| columns > 0)
        .unwrap_or(100)
}
