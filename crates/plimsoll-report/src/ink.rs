//! Words with a role, wrapped to the width and painted; no control character of a target gets through.

use crate::format::{NBSP, clean};

/// What a piece of text is; the colour follows from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Plain,
    Bold,
    Dim,
    Good,
    Warn,
    Fail,
}

impl Role {
    const fn codes(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Bold => "1",
            Self::Dim => "2",
            Self::Good => "32",
            Self::Warn => "33",
            Self::Fail => "1;31",
        }
    }
}

/// Text with roles, in one paragraph.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Ink {
    spans: Vec<(Role, String)>,
}

impl Ink {
    pub(crate) fn plain(text: impl Into<String>) -> Self {
        Self::default().and(Role::Plain, text)
    }

    pub(crate) fn new(role: Role, text: impl Into<String>) -> Self {
        Self::default().and(role, text)
    }

    /// Adds text; the caller puts spaces where they belong.
    #[must_use]
    pub(crate) fn and(mut self, role: Role, text: impl Into<String>) -> Self {
        self.spans.push((role, clean(&text.into())));
        self
    }

    /// On one line of at most `width` columns. What is cut off is cut between words, so that no number lacks its digits or
    /// its unit, and that shows.
    pub(crate) fn line(&self, colour: bool, width: usize) -> String {
        let whole: String = self.spans.iter().map(|(_, text)| text.as_str()).collect();
        let (mut left, end) = cut(whole.trim_end(), width);
        let mut out = String::new();
        for (role, text) in &self.spans {
            let cut: String = text.chars().take(left).collect();
            left -= cut.chars().count();
            paint(&mut out, colour, *role, &cut);
        }
        out.push_str(end);
        out
    }

    /// Pieces between breakable spaces, each a run of spans.
    fn words(&self) -> Vec<Vec<(Role, String)>> {
        let mut words: Vec<Vec<(Role, String)>> = vec![Vec::new()];
        for (role, text) in &self.spans {
            for (index, piece) in text.split(' ').enumerate() {
                if index > 0 {
                    words.push(Vec::new());
                }
                if let Some(word) = words.last_mut().filter(|_| !piece.is_empty()) {
                    word.push((*role, piece.to_owned()));
                }
            }
        }
        words
    }
}

/// How many letters of a line are shown, and what says that there are more.
fn cut(text: &str, width: usize) -> (usize, &'static str) {
    if text.chars().count() <= width {
        return (width, "");
    }
    let room = width.saturating_sub(1);
    let shown: Vec<char> = text.chars().take(width).collect();
    let space = shown.iter().rposition(|letter| *letter == ' ');
    // A word as long as half of the line is cut where it must be.
    let at = space.filter(|at| *at >= width / 2);
    (at.map_or(room, |at| (at + 1).min(room)), "…")
}

/// Appends text in the colour of its role.
pub(crate) fn paint(out: &mut String, colour: bool, role: Role, text: &str) {
    let text = text.replace(NBSP, " ");
    if colour && role != Role::Plain && !text.is_empty() {
        put!(out, "\x1b[{}m{text}\x1b[0m", role.codes());
    } else {
        out.push_str(&text);
    }
}

/// Cells of ten columns, numbers under each other.
pub(super) fn right_aligned<T: AsRef<str>>(cells: &[T]) -> String {
    let mut row = String::new();
    for cell in cells {
        put!(row, "{:>10}", cell.as_ref());
    }
    row
}

/// Rows of a label and wrapped text.
#[derive(Debug)]
pub(super) struct Page {
    out: String,
    colour: bool,
    width: usize,
    /// Column where text begins behind a label.
    column: usize,
}

/// Left margin, and the column of text behind most labels.
const MARGIN: usize = 2;
const TEXT_COLUMN: usize = 15;

impl Page {
    pub(super) fn new(colour: bool, width: usize) -> Self {
        // Below 40 columns every line would be a word.
        Self {
            out: String::new(),
            colour,
            width: width.max(40),
            column: TEXT_COLUMN,
        }
    }

    pub(super) fn blank(&mut self) {
        if !self.out.ends_with("\n\n") {
            self.out.push('\n');
        }
    }

    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// Columns behind the margin.
    pub(super) fn room(&self) -> usize {
        self.width - MARGIN
    }

    pub(super) fn indent(&mut self, column: usize) {
        self.column = column;
    }

    pub(super) fn indent_as_usual(&mut self) {
        self.column = TEXT_COLUMN;
    }

    /// A label in its column and text behind it.
    pub(super) fn row(&mut self, label: &str, ink: &Ink) {
        let label = format!("{:MARGIN$}{label}", "");
        let column = self.column.max(label.chars().count() + 2);
        self.wrapped(&format!("{label:column$}"), Role::Dim, column, ink);
    }

    /// Text over the whole width.
    pub(super) fn paragraph(&mut self, ink: &Ink) {
        self.wrapped(&" ".repeat(MARGIN), Role::Plain, MARGIN, ink);
    }

    /// Text as it is, painted, behind the margin; cut at the width.
    pub(super) fn line(&mut self, ink: &Ink) {
        let line = ink.line(self.colour, self.width - MARGIN);
        putln!(self.out, "{:MARGIN$}{}", "", line.trim_end());
    }

    fn wrapped(&mut self, first: &str, role: Role, indent: usize, ink: &Ink) {
        let mut column = first.chars().count();
        paint(&mut self.out, self.colour, role, first);
        let mut begun = false;
        for word in ink.words() {
            let width: usize = word.iter().map(|(_, text)| text.chars().count()).sum();
            if begun && column + 1 + width > self.width {
                self.end_line();
                self.out.push_str(&" ".repeat(indent));
                column = indent;
            } else if begun {
                self.out.push(' ');
                column += 1;
            }
            for (role, text) in &word {
                paint(&mut self.out, self.colour, *role, text);
            }
            column += width;
            // Of two spaces between columns none is left where a line begins.
            begun = column > indent;
        }
        self.end_line();
    }

    fn end_line(&mut self) {
        let kept = self.out.trim_end_matches(' ').len();
        self.out.truncate(kept);
        self.out.push('\n');
    }

    pub(super) fn finish(self) -> String {
        self.out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two spaces divide a sentence from what is said of it: broken there, the next line began a column too far to the right.
    #[test]
    fn a_line_begins_where_the_others_do_wherever_two_spaces_are_broken() {
        for length in 10..50 {
            let mut page = Page::new(false, 40);
            page.row(
                "label",
                &Ink::plain(format!("{}  supported", "x".repeat(length))),
            );
            let text = page.finish();
            let lines: Vec<&str> = text.lines().collect();
            let indent = |line: &&str| line.len() - line.trim_start().len();
            assert!(
                lines[1..].iter().all(|line| indent(line) == TEXT_COLUMN),
                "{text}"
            );
            assert!(
                lines[1..].len() <= 1 && text.contains("supported"),
                "{text}"
            );
        }
    }
}
