//! Puts frames on a terminal in place, or a plain line every second or five into a log.

use std::io::{self, Write};

use plimsoll_core::Nanos;

use super::Live;
use crate::format::{NBSP, clean};

/// Between two lines where nothing can be redrawn.
const LINE_EVERY: Nanos = Nanos::from_secs(5);
/// The same of a script with its own load, as k6 does.
const LINE_OF_SCRIPT_EVERY: Nanos = Nanos::from_secs(1);
/// A window may be some milliseconds short.
const SLACK: Nanos = Nanos::from_millis(100);

/// What the other side can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// A terminal: frames replace each other.
    Redraw { colour: bool },
    /// A file or a pipe: a plain line now and then.
    Lines,
}

/// Where progress goes.
#[derive(Debug)]
pub struct LiveWriter<W: Write> {
    out: W,
    mode: Mode,
    /// Columns of every line on the screen that belongs to the frame.
    drawn: Vec<usize>,
    next_line_at: Nanos,
    /// When the last line was.
    told_at: Option<Nanos>,
}

impl<W: Write> LiveWriter<W> {
    pub fn new(out: W, mode: Mode) -> Self {
        Self {
            out,
            mode,
            drawn: Vec::new(),
            next_line_at: Nanos::ZERO,
            told_at: None,
        }
    }

    /// Shows the present state. `width` is asked each time because people resize terminals.
    pub fn draw(&mut self, live: &Live, width: usize) -> io::Result<()> {
        let Mode::Redraw { colour } = self.mode else {
            return self.plain_line(live);
        };
        // The last column stays empty: some terminals wrap when it is filled.
        let columns = width.saturating_sub(1).max(20);
        let frame = live.frame(columns, colour);
        let plain = if colour {
            live.frame(columns, false)
        } else {
            frame.clone()
        };
        let mut bytes = self.rewind(width);
        for line in frame.lines() {
            bytes.push_str(line);
            // What an older, longer line left behind it.
            bytes.push_str("\x1b[K\r\n");
        }
        // Lines of an older, higher frame below.
        bytes.push_str("\x1b[J");
        self.drawn = plain.lines().map(|line| line.chars().count()).collect();
        self.out.write_all(bytes.as_bytes())?;
        self.out.flush()
    }

    /// Writes a line that stays, above the frame.
    pub fn keep(&mut self, text: &str) -> io::Result<()> {
        let text = clean(&text.replace(NBSP, " "));
        let mut bytes = self.erased();
        bytes.push_str(&text);
        bytes.push('\n');
        self.out.write_all(bytes.as_bytes())?;
        self.out.flush()
    }

    /// Takes the frame away, so that the summary starts on a clean screen. Of a script, the last line stays: it says how
    /// many iterations there were.
    pub fn finish(&mut self, live: &Live) -> io::Result<()> {
        if self.mode == Mode::Lines && live.is_own_load() && self.told_at != Some(live.elapsed()) {
            self.next_line_at = Nanos::ZERO;
            return self.plain_line(live);
        }
        let bytes = self.erased();
        self.out.write_all(bytes.as_bytes())?;
        self.out.flush()
    }

    fn erased(&mut self) -> String {
        if self.drawn.is_empty() {
            return String::new();
        }
        let mut bytes = self.rewind(usize::MAX);
        bytes.push_str("\x1b[J");
        self.drawn.clear();
        bytes
    }

    /// Back to the first line of the frame. A terminal that became narrower wrapped our lines.
    fn rewind(&self, width: usize) -> String {
        let rows: usize = self
            .drawn
            .iter()
            .map(|columns| columns.div_ceil(width.max(1)).max(1))
            .sum();
        if rows == 0 {
            String::new()
        } else {
            format!("\x1b[{rows}A\r")
        }
    }

    fn plain_line(&mut self, live: &Live) -> io::Result<()> {
        if live.elapsed() < self.next_line_at {
            return Ok(());
        }
        let every = if live.is_own_load() {
            LINE_OF_SCRIPT_EVERY
        } else {
            LINE_EVERY
        };
        self.next_line_at = (live.elapsed() + every).saturating_sub(SLACK);
        self.told_at = Some(live.elapsed());
        writeln!(self.out, "{}", clean(&live.line()))?;
        self.out.flush()
    }
}
