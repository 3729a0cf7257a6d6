//! Separates the code of a Rust file from its comments, its strings and its inline tests.
//!
//! A full parser would be a large dependency for a handful of questions, each of which can be
//! answered from text in which comments are blank and the insides of strings are underscores.

use super::tree::File;

/// A Rust file with comments blanked, strings filled, and the lines of inline tests marked.
#[derive(Debug)]
pub(crate) struct Source {
    /// As many lines as the file.
    pub(crate) lines: Vec<String>,
    /// Whether a line belongs to a `#[cfg(test)]` item.
    pub(crate) in_test: Vec<bool>,
}

/// A function: its name and the lines from `fn` to its closing brace, both inclusive.
#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) first_line: usize,
    pub(crate) last_line: usize,
}

impl Source {
    /// `None` for a file that is not Rust.
    pub(crate) fn of(file: &File) -> Option<Self> {
        file.has_extension("rs")
            .then(|| Self::parse(&file.text, file.is_test()))
    }

    pub(crate) fn parse(text: &str, all_test: bool) -> Self {
        let lines: Vec<String> = mask(text).lines().map(str::to_owned).collect();
        let mut in_test = vec![all_test; lines.len()];
        for start in 0..lines.len() {
            if lines[start].trim() == "#[cfg(test)]" {
                let end = end_of_item(&lines, start + 1);
                in_test[start..=end].fill(true);
            }
        }
        Self { lines, in_test }
    }

    /// Lines with code on them in `first..=last`.
    pub(crate) fn code_lines(&self, first: usize, last: usize) -> usize {
        self.lines[first..=last]
            .iter()
            .filter(|line| !line.trim().is_empty())
            .count()
    }

    /// Lines outside inline tests, blank and comment lines included.
    pub(crate) fn lines_outside_tests(&self) -> usize {
        self.in_test.iter().filter(|is_test| !**is_test).count()
    }

    /// The line on which the item that starts on line `first` ends.
    pub(crate) fn end_of_item(&self, first: usize) -> usize {
        end_of_item(&self.lines, first)
    }

    /// Every function with a body that is not part of a test.
    pub(crate) fn functions(&self) -> Vec<Function> {
        let mut found = Vec::new();
        for (index, line) in self.lines.iter().enumerate() {
            let Some(name) = function_name(line).filter(|_| !self.in_test[index]) else {
                continue;
            };
            let last_line = self.end_of_item(index);
            found.push(Function {
                name: name.to_owned(),
                first_line: index,
                last_line,
            });
        }
        found
    }
}

/// The name after the `fn` keyword of a line; the type `fn(f64) -> f64` has none.
fn function_name(line: &str) -> Option<&str> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut around = line.split("fn ").zip(line.split("fn ").skip(1));
    let (_, after) = around.find(|(before, _)| !before.ends_with(is_word))?;
    let name = after.split(|c| !is_word(c)).next();
    name.filter(|name| !name.is_empty())
}

/// The line on which the item that starts at `start` ends: at the brace that closes its first
/// brace, or at a semicolon outside brackets before any brace.
fn end_of_item(lines: &[String], start: usize) -> usize {
    let (mut braces, mut brackets) = (0_i32, 0_i32);
    for (index, line) in lines.iter().enumerate().skip(start) {
        for character in line.chars() {
            match character {
                '{' => braces += 1,
                '}' => braces -= 1,
                '(' | '[' => brackets += 1,
                ')' | ']' => brackets -= 1,
                _ => {}
            }
            let closed = character == '}' && braces == 0 && brackets == 0;
            let ended = character == ';' && braces == 0 && brackets == 0;
            if closed || ended {
                return index;
            }
        }
    }
    lines.len().saturating_sub(1)
}

/// Blanks comments and fills strings with underscores; line breaks stay.
fn mask(text: &str) -> String {
    let characters: Vec<char> = text.chars().collect();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while at < characters.len() {
        let rest = &characters[at..];
        let (length, filler) = token(rest, at.checked_sub(1).map(|before| characters[before]));
        for character in &rest[..length] {
            out.push(match filler {
                Some(filler) if *character != '\n' => filler,
                _ => *character,
            });
        }
        at += length;
    }
    out
}

/// The length of the comment, string or character at the start, and what replaces it.
fn token(rest: &[char], before: Option<char>) -> (usize, Option<char>) {
    let follows_word = before.is_some_and(|c| c.is_alphanumeric() || c == '_');
    match rest {
        ['/', '/', ..] => (line_length(rest), Some(' ')),
        ['/', '*', ..] => (block_comment_length(rest), Some(' ')),
        ['r', '"' | '#', ..] if !follows_word => match raw_string_length(&rest[1..]) {
            Some(length) => (length + 1, Some('_')),
            None => (1, None),
        },
        ['b', 'r', '"' | '#', ..] if !follows_word => match raw_string_length(&rest[2..]) {
            Some(length) => (length + 2, Some('_')),
            None => (1, None),
        },
        ['"', ..] => (quoted_length(rest, '"'), Some('_')),
        ['\'', '\\', ..] => (quoted_length(rest, '\''), Some('_')),
        ['\'', _, '\'', ..] => (3, Some('_')),
        _ => (1, None),
    }
}

fn line_length(rest: &[char]) -> usize {
    rest.iter().position(|c| *c == '\n').unwrap_or(rest.len())
}

fn block_comment_length(rest: &[char]) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while at < rest.len() {
        match rest[at..] {
            ['/', '*', ..] => (depth, at) = (depth + 1, at + 2),
            ['*', '/', ..] if depth == 1 => return at + 2,
            ['*', '/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
    }
    rest.len()
}

fn quoted_length(rest: &[char], quote: char) -> usize {
    let mut at = 1;
    while at < rest.len() {
        match rest[at] {
            '\\' => at += 2,
            character if character == quote => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}

/// The length of `##"…"##`, or nothing when it is a raw identifier.
fn raw_string_length(rest: &[char]) -> Option<usize> {
    let hashes = rest.iter().take_while(|c| **c == '#').count();
    if rest.get(hashes) != Some(&'"') {
        return None;
    }
    let mut at = hashes + 1;
    while at < rest.len() {
        let closes = rest[at] == '"'
            && rest.len() > at + hashes
            && rest[at + 1..=at + hashes].iter().all(|c| *c == '#');
        if closes {
            return Some(at + 1 + hashes);
        }
        at += 1;
    }
    Some(rest.len())
}
