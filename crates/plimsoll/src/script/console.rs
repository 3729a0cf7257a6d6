//! Log lines of scripts on stderr, as logfmt.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock};

use anyhow::{Context as _, Result};
use plimsoll_script::host::Level;

use crate::machine;
use crate::output;

static VERBOSE: AtomicBool = AtomicBool::new(false);
static ONLY_ERRORS: AtomicBool = AtomicBool::new(false);
/// Where lines of `console` go instead (`consoleOutput`).
static FILE: OnceLock<Mutex<File>> = OnceLock::new();

/// Shows what is only for debugging, too.
pub(crate) fn be_verbose() {
    VERBOSE.store(true, Ordering::Relaxed);
}

/// A warning for every failed request is more than anybody reads where failures are what is looked for; the record
/// counts them by kind.
pub(crate) fn show_only_errors() {
    ONLY_ERRORS.store(true, Ordering::Relaxed);
}

/// Lines of `console` are appended to this file from now on.
pub(crate) fn write_to(path: &Path) -> Result<()> {
    let file = OpenOptions::new().create(true).append(true).open(path);
    let file = file.with_context(|| format!("--console-output {}", path.display()))?;
    // Set once per process: there is one script.
    let _already = FILE.set(Mutex::new(file));
    Ok(())
}

/// `time="…" level=info msg="…" source=console`.
pub(crate) fn line(level: Level, message: &str, source: Option<&str>) {
    if level == Level::Debug && !VERBOSE.load(Ordering::Relaxed) {
        return;
    }
    if level != Level::Error && ONLY_ERRORS.load(Ordering::Relaxed) {
        return;
    }
    let time = machine::wall_time();
    let quoted = serde_json::to_string(message).unwrap_or_default();
    let goes_to_file = FILE.get().filter(|_| source == Some("console"));
    let source = source.map_or_else(String::new, |source| format!(" source={source}"));
    let level = level.name();
    let line = format!("time=\"{time}\" level={level} msg={quoted}{source}");
    match goes_to_file.and_then(|file| file.lock().ok()) {
        // A full disk is no reason to end a measurement.
        Some(mut file) => drop(writeln!(file, "{line}")),
        None => output::progress(&line),
    }
}

pub(crate) fn warn(message: &str) {
    line(Level::Warning, message, None);
}
