//! Log lines of scripts: on stderr as logfmt, or where and how `--log-output` and `--log-format` say.

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock};

use anyhow::{Context as _, Result, bail};
use plimsoll_script::host::LogLevel;

use crate::machine;
use crate::output;

static VERBOSE: AtomicBool = AtomicBool::new(false);
/// What was asked for; set once, before the first line.
static LOGGING: OnceLock<Logging> = OnceLock::new();
/// Where lines of `console` go instead (`consoleOutput`).
static FILE: OnceLock<Mutex<File>> = OnceLock::new();
/// The file of `--log-output`.
static LOG_FILE: OnceLock<Mutex<File>> = OnceLock::new();

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

/// Where the log goes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) enum LogPlace {
    #[default]
    Stderr,
    Stdout,
    None,
    /// Appended to, from this level on.
    File(PathBuf, LogLevel),
    /// What was asked for is not written to: stderr, after a warning.
    Other(String),
}

impl LogPlace {
    /// Reads `stderr`, `stdout`, `none`, `file=PATH` or `file=PATH,level=warning`, as k6 writes them.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        match text.split_once('=') {
            None if text == "stderr" => Ok(Self::Stderr),
            None if text == "stdout" => Ok(Self::Stdout),
            None if text == "none" => Ok(Self::None),
            Some(("file", rest)) => {
                let (path, level) = rest.split_once(",level=").unwrap_or((rest, "debug"));
                Ok(Self::File(PathBuf::from(path), level_named(level)?))
            }
            _ if text == "loki" || text.starts_with("loki=") => Ok(Self::Other(text.to_owned())),
            _ => bail!("`{text}` is no place for a log; write stderr, stdout, none or file=PATH"),
        }
    }
}

fn level_named(name: &str) -> Result<LogLevel> {
    Ok(match name {
        "trace" | "debug" => LogLevel::Debug,
        "info" => LogLevel::Info,
        "warning" | "warn" => LogLevel::Warning,
        "error" | "fatal" | "panic" => LogLevel::Error,
        other => bail!("`{other}` is no level; write debug, info, warning or error"),
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum LogFormat {
    /// `time="…" level=info msg="…"`
    #[default]
    Text,
    Json,
    /// The message alone.
    Raw,
}

/// What `--log-output` and `--log-format` say.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Logging {
    pub(crate) place: LogPlace,
    pub(crate) format: LogFormat,
}

/// From now on lines go there.
pub(crate) fn configure(asked: &Logging) -> Result<()> {
    if let LogPlace::File(path, _) = &asked.place {
        let file = OpenOptions::new().create(true).append(true).open(path);
        let file = file.with_context(|| format!("--log-output {}", path.display()))?;
        // Set once per process, as the line below.
        let _already = LOG_FILE.set(Mutex::new(file));
    }
    let _already = LOGGING.set(asked.clone());
    if let LogPlace::Other(place) = &asked.place {
        warn(&format!(
            "--log-output {place} is not followed: the log goes to stderr; file=PATH writes a file"
        ));
    }
    Ok(())
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

/// One line: `time="…" level=info msg="…" source=console`, unless another form was asked for.
pub(crate) fn line(level: LogLevel, message: &str, source: Option<&str>) {
    if level == LogLevel::Debug && !VERBOSE.load(Ordering::Relaxed) {
        return;
    }
    let time = machine::wall_time();
    let goes_to_file = FILE.get().filter(|_| source == Some("console"));
    // As in k6: all lines of that file are of the console.
    let text = logfmt(level, message, source.filter(|_| goes_to_file.is_none()));
    if let Ok(mut log) = LOG.lock()
        && let Some(log) = log.as_mut()
    {
        log.line(&time, text);
        return;
    }
    let logging = LOGGING.get();
    let line = match logging.map_or(LogFormat::Text, |logging| logging.format) {
        LogFormat::Text => format!("time=\"{time}\" {text}"),
        LogFormat::Json => json(&time, level, message, source),
        LogFormat::Raw => message.to_owned(),
    };
    match goes_to_file.and_then(|file| file.lock().ok()) {
        // A full disk is no reason to end a measurement.
        Some(mut file) => drop(writeln!(file, "{line}")),
        None => put(level, line, logging.map(|logging| &logging.place)),
    }
}

fn put(level: LogLevel, line: String, place: Option<&LogPlace>) {
    match place {
        Some(LogPlace::None) => {}
        Some(LogPlace::Stdout) => output::data(&(line + "\n")),
        Some(LogPlace::File(_, least)) => {
            let file = LOG_FILE.get().filter(|_| level >= *least);
            if let Some(mut file) = file.and_then(|file| file.lock().ok()) {
                drop(writeln!(file, "{line}"));
            }
        }
        Some(LogPlace::Stderr | LogPlace::Other(_)) | None => output::progress(&line),
    }
}

/// Quoted where k6 quotes: what is one plain word stands as it is, and of nothing there is no field.
fn logfmt(level: LogLevel, message: &str, source: Option<&str>) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._/@^+".contains(c);
    let said = match message {
        "" => String::new(),
        word if word.chars().all(is_plain) => format!(" msg={word}"),
        text => format!(" msg={}", serde_json::to_string(text).unwrap_or_default()),
    };
    let source = source.map_or_else(String::new, |source| format!(" source={source}"));
    format!("level={}{said}{source}", level.name())
}

fn json(time: &str, level: LogLevel, message: &str, source: Option<&str>) -> String {
    let mut line = serde_json::json!({ "level": level.name(), "msg": message, "time": time });
    if let (Some(source), Some(object)) = (source, line.as_object_mut()) {
        object.insert("source".to_owned(), source.into());
    }
    line.to_string()
}

pub(crate) fn warn(message: &str) {
    line(LogLevel::Warning, message, None);
}

pub(crate) fn error(message: &str) {
    line(LogLevel::Error, message, None);
}
