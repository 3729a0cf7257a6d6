//! Log lines of scripts on stderr, as logfmt.

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock};

use anyhow::{Context as _, Result};
use plimsoll_script::host::LogLevel;

use crate::machine;
use crate::output;

static VERBOSE: AtomicBool = AtomicBool::new(false);
/// Where lines of `console` go instead (`consoleOutput`).
static FILE: OnceLock<Mutex<File>> = OnceLock::new();

/// Where all lines go while the lab plays: a log beside the record, for the terminal has the lab's own lines.
static LOG: Mutex<Option<Log>> = Mutex::new(None);
/// A load that fails says so for every request; more lines tell nothing more.
const LOG_LINES_MAX: u64 = 10_000;

/// Lines of one run. One that comes again is counted instead.
struct Log {
    file: BufWriter<File>,
    last: String,
    again: u64,
    lines: u64,
}

impl Log {
    /// A full disk is no reason to end a measurement.
    fn line(&mut self, time: &str, text: String) {
        if text == self.last {
            self.again += 1;
            return;
        }
        self.say_again();
        self.lines += 1;
        if self.lines <= LOG_LINES_MAX {
            let _full = writeln!(self.file, "time=\"{time}\" {text}");
        }
        self.last = text;
    }

    fn say_again(&mut self) {
        if self.again > 0 && self.lines <= LOG_LINES_MAX {
            let _full = writeln!(self.file, "  (and {} times more)", self.again);
        }
        self.again = 0;
    }

    fn end(mut self) {
        self.say_again();
        if self.lines > LOG_LINES_MAX {
            let left_out = self.lines - LOG_LINES_MAX;
            let _full = writeln!(self.file, "({left_out} lines more are left out)");
        }
        let _full = self.file.flush();
    }
}

/// Until it is dropped, every line goes into the file and none to the terminal.
pub(crate) struct Logged(());

impl Logged {
    pub(crate) fn into(path: &Path) -> Result<Self> {
        let file = File::create(path).with_context(|| format!("write {}", path.display()))?;
        set_log(Some(Log {
            file: BufWriter::new(file),
            last: String::new(),
            again: 0,
            lines: 0,
        }));
        Ok(Self(()))
    }
}

impl Drop for Logged {
    fn drop(&mut self) {
        set_log(None);
    }
}

fn set_log(log: Option<Log>) {
    let before = match LOG.lock() {
        Ok(mut place) => std::mem::replace(&mut *place, log),
        Err(_) => None,
    };
    if let Some(before) = before {
        before.end();
    }
}

/// Shows what is only for debugging, too.
pub(crate) fn be_verbose() {
    VERBOSE.store(true, Ordering::Relaxed);
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
pub(crate) fn line(level: LogLevel, message: &str, source: Option<&str>) {
    if level == LogLevel::Debug && !VERBOSE.load(Ordering::Relaxed) {
        return;
    }
    let time = machine::wall_time();
    let quoted = serde_json::to_string(message).unwrap_or_default();
    let goes_to_file = FILE.get().filter(|_| source == Some("console"));
    let source = source.map_or_else(String::new, |source| format!(" source={source}"));
    let level = level.name();
    let text = format!("level={level} msg={quoted}{source}");
    if let Ok(mut log) = LOG.lock()
        && let Some(log) = log.as_mut()
    {
        log.line(&time, text);
        return;
    }
    let line = format!("time=\"{time}\" {text}");
    match goes_to_file.and_then(|file| file.lock().ok()) {
        // A full disk is no reason to end a measurement.
        Some(mut file) => drop(writeln!(file, "{line}")),
        None => output::progress(&line),
    }
}

pub(crate) fn warn(message: &str) {
    line(LogLevel::Warning, message, None);
}
