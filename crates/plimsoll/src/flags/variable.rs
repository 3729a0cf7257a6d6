//! What a `PLIMSOLL_*` variable may say for a switch.

use std::ffi::OsStr;

use anyhow::{Context as _, Result};

const WORDS: [(&str, bool); 8] = [
    ("true", true),
    ("false", false),
    ("1", true),
    ("0", false),
    ("yes", true),
    ("no", false),
    ("on", true),
    ("off", false),
];

/// Whether it turns the switch on.
pub(super) fn switches(variable: &str, text: &OsStr) -> Result<bool> {
    let known = WORDS.iter().find(|(word, _)| text == *word);
    known.map(|(_, is_on)| *is_on).with_context(|| {
        let words = WORDS.map(|(word, _)| word).join(", ");
        format!("{variable} is `{}`; it can be {words}", text.display())
    })
}
