//! The only place that prints: data to stdout, progress and errors to stderr; a closed pipe is success.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{ErrorKind, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context as _, Result, bail};

use crate::machine;

/// Set once data could not be printed: then a pass would hide that there is nothing to read.
static LOST: AtomicBool = AtomicBool::new(false);

/// Prints data. A reader that went away is not an error (`plimsoll run … | head -1`); a full disk is.
pub(crate) fn data(text: &str) {
    let mut stdout = std::io::stdout().lock();
    let printed = stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush());
    if let Err(reason) = printed
        && reason.kind() != ErrorKind::BrokenPipe
    {
        LOST.store(true, Ordering::Relaxed);
        error(&anyhow::Error::new(reason).context("write to stdout"));
    }
}

/// Whether data could not be printed.
pub(crate) fn is_data_lost() -> bool {
    LOST.load(Ordering::Relaxed)
}

/// Refuses a file that is there already, unless `force` says that it may be written over. A device or a pipe keeps nothing.
pub(crate) fn refuse_existing(path: &Path, force: bool) -> Result<()> {
    if !force && path.is_file() {
        bail!(
            "{} is there already: name another file, or say --force to write over it",
            path.display()
        );
    }
    Ok(())
}

/// Makes the folder; one with something in it is refused, unless `force` says that it may be written over.
pub(crate) fn folder(path: &Path, force: bool) -> Result<()> {
    let shown = path.display();
    std::fs::create_dir_all(path).with_context(|| format!("create folder {shown}"))?;
    let mut inside = std::fs::read_dir(path).with_context(|| format!("look into {shown}"))?;
    if !force && inside.next().is_some() {
        bail!(
            "{shown} is not empty: name another folder, or say --force to write over what is in it"
        );
    }
    Ok(())
}

/// A folder of this moment that is not there yet: two that begin in one second have two.
pub(crate) fn fresh_folder(name: &str) -> PathBuf {
    let first = format!("{name}-{}", machine::wall_time_compact());
    let others = (2..1000).map(|number| format!("{first}-{number}"));
    let mut names = std::iter::once(first.clone()).chain(others);
    let free = names.find(|name| !Path::new(name).exists());
    PathBuf::from(free.unwrap_or(first))
}

/// Says why the file cannot be written, before anything is sent, so that it costs nothing. What is in it stays until there is
/// something to put in its place, and what is not there is not there afterwards: who looks again would find it taken.
pub(crate) fn writable(path: &Path) -> Result<()> {
    let is_there = path.exists();
    // Who reads a pipe would take this for its end.
    if is_there && !path.is_file() && !path.is_dir() {
        return Ok(());
    }
    let shown = path.display();
    File::options()
        .create(true)
        .append(true)
        .open(path)
        .with_context(|| format!("write {shown}"))?;
    if !is_there {
        // Where a link leads nowhere, the link stays.
        let made = path.canonicalize();
        made.and_then(std::fs::remove_file)
            .with_context(|| format!("remove {shown}"))?;
    }
    Ok(())
}

/// Writes a file whole or not at all, through a temporary name beside it. A file that cannot be written is said and costs
/// nothing else.
pub(crate) fn keep(what: &str, path: &Path, bytes: &[u8]) {
    if let Err(reason) = write_whole(path, bytes) {
        error(&reason.context(format!("{what} is not written")));
    }
}

/// Writes a file whole or not at all.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> Result<()> {
    let written = || format!("write {}", path.display());
    // A device or a pipe is written as it is; `/dev/stdout` may be a file and has a name that must stay.
    if path.exists() && !path.is_file() || path.starts_with("/dev") {
        return std::fs::write(path, bytes).with_context(written);
    }
    // A link keeps leading to its file.
    let target = std::fs::canonicalize(path);
    let path = target.as_deref().unwrap_or(path);
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.part", std::process::id()));
    let part = path.with_file_name(name);
    let beside = std::fs::write(&part, bytes);
    // Its folder may take no new file.
    if path.is_file()
        && beside
            .as_ref()
            .is_err_and(|error| error.kind() == ErrorKind::PermissionDenied)
    {
        return std::fs::write(path, bytes).with_context(written);
    }
    let result = beside.and_then(|()| std::fs::rename(&part, path));
    result.with_context(|| {
        let _nothing_left = std::fs::remove_file(&part);
        written()
    })
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

/// stdout shows colour: a terminal that knows it, and nobody said no.
pub(crate) fn colour_on_stdout() -> bool {
    std::io::stdout().is_terminal() && colour_allowed()
}

/// stderr can be redrawn.
pub(crate) fn stderr_is_terminal() -> bool {
    std::io::stderr().is_terminal() && !is_dumb()
}

fn is_dumb() -> bool {
    of_dumb(std::env::var_os("TERM").as_deref())
}

/// A terminal that shows letters and nothing else: it has no colours and does not move its cursor.
fn of_dumb(term: Option<&OsStr>) -> bool {
    term.is_none_or(|term| term.is_empty() || term == "dumb")
}

/// Set by `--no-color`.
static PLAIN: AtomicBool = AtomicBool::new(false);

/// No colours from now on.
pub(crate) fn be_plain() {
    PLAIN.store(true, Ordering::Relaxed);
}

/// Whether a terminal gets colours.
pub(crate) fn colour_allowed() -> bool {
    if PLAIN.load(Ordering::Relaxed) {
        return false;
    }
    let said = |name| std::env::var_os(name);
    of_colour(said("TERM").as_deref(), said("NO_COLOR").as_deref())
}

/// `NO_COLOR` (no-color.org): any non-empty value means no.
fn of_colour(term: Option<&OsStr>, no_color: Option<&OsStr>) -> bool {
    !of_dumb(term) && no_color.is_none_or(OsStr::is_empty)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whether_a_file_can_be_written_is_seen_without_a_trace() {
        let folder = std::env::temp_dir().join(format!("plimsoll-writable-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let [new, old, link] = ["new", "old", "link"].map(|name| folder.join(name));
        std::fs::write(&old, "kept").unwrap();
        std::os::unix::fs::symlink(&new, &link).unwrap();
        for path in [&new, &old, &link] {
            writable(path).unwrap();
            assert!(!new.exists(), "{}", path.display());
        }
        assert_eq!(std::fs::read_to_string(&old).unwrap(), "kept");
        assert!(link.is_symlink());
        for path in [folder.join("gone/file"), folder.clone()] {
            writable(&path).unwrap_err();
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_dumb_terminal_is_plain_and_so_is_one_that_is_told_to_be() {
        for (term, no_color, colour) in [
            (Some("xterm-256color"), None, true),
            (Some("xterm"), Some(""), true),
            (Some("xterm"), Some("1"), false),
            (Some("dumb"), None, false),
            (Some(""), None, false),
            (None, None, false),
        ] {
            let said = of_colour(term.map(OsStr::new), no_color.map(OsStr::new));
            assert_eq!(said, colour, "TERM {term:?}, NO_COLOR {no_color:?}");
        }
    }
}
