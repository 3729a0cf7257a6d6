//! What a `PLIMSOLL_*` variable may say for its flag.

use anyhow::{Result, bail};

use super::{Flag, Takes};

/// Whether a variable says what its flag could say; clap has looked at the flags.
pub(super) fn word(variable: &str, flag: &Flag, text: &str) -> Result<()> {
    let words: Vec<&str> = match flag.takes {
        Takes::Choice(_, words) => words.iter().map(|(word, _)| *word).collect(),
        Takes::Nothing => SWITCHED.iter().map(|(word, _)| *word).collect(),
        _ => return Ok(()),
    };
    if words.contains(&text) {
        return Ok(());
    }
    bail!("{variable} is `{text}`; it can be {}", words.join(", "))
}

/// How a variable turns a switch on or off.
pub(super) static SWITCHED: [(&str, bool); 8] = [
    ("true", true),
    ("false", false),
    ("1", true),
    ("0", false),
    ("yes", true),
    ("no", false),
    ("on", true),
    ("off", false),
];
