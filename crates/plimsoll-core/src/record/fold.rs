//! Keeps the record of a long run small in memory: neighbouring windows of its level become one.
//!
//! The file keeps every second. What is read from it is folded by the same rule, so that a report
//! made later says what the report at the end said. Sums, histograms and counts stay exact; only the
//! resolution in time is halved, again and again.

mod looks;

use super::observation::{Observation, Seen};
use crate::units::Nanos;
use crate::window::Window;

/// Windows kept apart in a level that no search bounds: one minute of them, about 1.2 MiB at 5,000
/// requests/s. Coarser windows hold more different values each, so what they may take later is what the
/// fine ones took when they were first folded: a run grows for a minute and never again.
const WINDOWS_MAX: usize = 60;
/// However large they are, this many are kept: a chart needs points.
const WINDOWS_MIN: usize = 16;

/// How far the last level has been folded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Folding {
    level: u32,
    /// When it began: what was seen before is not of it.
    start: Nanos,
    /// Windows of the file that make one in memory.
    stride: u32,
    /// How many of them the last one in memory holds.
    in_last: u32,
    /// Windows of the level in memory.
    count: usize,
    /// What their counts take, the last one's apart.
    bytes: usize,
    last_bytes: usize,
    bytes_max: usize,
}

impl Folding {
    pub(super) fn new(level: u32, start: Nanos) -> Self {
        Self {
            level,
            start,
            stride: 1,
            in_last: 0,
            count: 0,
            bytes: 0,
            last_bytes: 0,
            bytes_max: usize::MAX,
        }
    }

    pub(super) fn level(&self) -> u32 {
        self.level
    }

    /// The level takes as much memory as it may.
    pub(super) fn is_full(&self) -> bool {
        let full = self.bytes + self.last_bytes >= self.bytes_max;
        let is_whole = self.in_last == self.stride && self.count.is_multiple_of(2);
        is_whole && (self.count >= WINDOWS_MAX || full && self.count >= 2 * WINDOWS_MIN)
    }

    /// Keeps the next window of the level: alone, or with the last one until that holds a stride of them.
    pub(super) fn push(&mut self, windows: &mut Vec<Window>, mut window: Window) {
        match windows.last_mut() {
            Some(last) if self.in_last > 0 && self.in_last < self.stride => {
                last.fold(&window);
                self.last_bytes = last.pack();
                self.in_last += 1;
            }
            _ => {
                self.bytes += std::mem::replace(&mut self.last_bytes, window.pack());
                windows.push(window);
                self.in_last = 1;
                self.count += 1;
            }
        }
    }

    /// Every two windows of the level become one, and so do the looks of every two of its seconds.
    pub(super) fn halve(&mut self, windows: &mut Vec<Window>, looks: &mut Vec<Observation>) {
        let first = windows.len() - self.count;
        let before = self.bytes + self.last_bytes;
        self.bytes_max = self.bytes_max.min(before);
        (self.bytes, self.last_bytes) = (0, 0);
        // One pair at a time, so that the fine and the coarse ones are never both in memory.
        let mut fine = windows.split_off(first).into_iter();
        while let Some(mut coarse) = fine.next() {
            if let Some(next) = fine.next() {
                coarse.fold(&next);
            }
            self.bytes += coarse.pack();
            windows.push(coarse);
        }
        self.count = windows.len() - first;
        self.stride *= 2;
        self.in_last = self.stride;
        for look in std::mem::take(looks) {
            self.look(looks, look);
        }
        looks.shrink_to_fit();
        windows.shrink_to_fit();
    }

    /// Keeps the next look. Those of a stride become one with the first look of the next instant: the last ones may wait.
    pub(super) fn look(&self, looks: &mut Vec<Observation>, look: Observation) {
        let last = looks.last().filter(|last| last.at_ns < look.at_ns);
        if let Some(stride) = last.and_then(|last| self.stride_of(last)) {
            let mut before = looks.iter();
            let from = before.rposition(|look| self.stride_of(look) != Some(stride));
            let tail = looks.split_off(from.map_or(0, |from| from + 1));
            // Every word on what could not be seen is kept.
            let is_word = |look: &Observation| matches!(look.seen, Seen::Absent(_));
            let (words, seen): (Vec<_>, Vec<_>) = tail.into_iter().partition(is_word);
            looks.extend(words);
            looks.extend(looks::together(seen));
        }
        looks.push(look);
    }

    /// Which one of the level's a look belongs to; none before it is folded, and of a look that began before it.
    fn stride_of(&self, look: &Observation) -> Option<u64> {
        let begin = match look.seen {
            Seen::Metrics(_) | Seen::Absent(_) => look.at_ns,
            _ => look.begin_ns(),
        };
        let second = look.at_ns.as_secs_f64().round() as u64;
        (self.stride > 1 && begin >= self.start).then(|| second.div_ceil(u64::from(self.stride)))
    }
}

#[cfg(test)]
mod tests;
