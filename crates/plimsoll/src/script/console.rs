//! Log lines of scripts on stderr, as logfmt.

use std::sync::atomic::{AtomicBool, Ordering};

use plimsoll_script::host::Level;

use crate::machine;
use crate::output;

static VERBOSE: AtomicBool = AtomicBool::new(false);

/// Shows what is only for debugging, too.
pub(crate) fn be_verbose() {
    VERBOSE.store(true, Ordering::Relaxed);
}

/// `time="…" level=info msg="…" source=console`.
pub(crate) fn line(level: Level, message: &str, source: Option<&str>) {
    if level == Level::Debug && !VERBOSE.load(Ordering::Relaxed) {
        return;
    }
    let time = machine::wall_time();
    let quoted = serde_json::to_string(message).unwrap_or_default();
    let source = source.map_or_else(String::new, |source| format!(" source={source}"));
    let level = level.name();
    output::progress(&format!(
        "time=\"{time}\" level={level} msg={quoted}{source}"
    ));
}

pub(crate) fn warn(message: &str) {
    line(Level::Warning, message, None);
}
