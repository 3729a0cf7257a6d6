//! Keeps the record of a long run small in memory: neighbouring windows of its level become one.
//!
//! The file keeps every second. What is read from it is folded by the same rule, so that a report
//! made later says what the report at the end said. Sums, histograms and counts stay exact; only the
//! resolution in time is halved, again and again.

use super::{Observation, Record, Seen};
use crate::step::Phase;
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
    fn of(level: u32) -> Self {
        Self {
            level,
            stride: 1,
            in_last: 0,
            count: 0,
            bytes: 0,
            last_bytes: 0,
            bytes_max: usize::MAX,
        }
    }

    /// The level takes as much memory as it may.
    fn is_full(&self) -> bool {
        let full = self.bytes + self.last_bytes >= self.bytes_max;
        let is_whole = self.in_last == self.stride && self.count.is_multiple_of(2);
        is_whole && (self.count >= WINDOWS_MAX || full && self.count >= 2 * WINDOWS_MIN)
    }
}

impl Record {
    pub(super) fn push_window(&mut self, mut window: Window) {
        let level = window.level;
        let mut folding = self
            .folding
            .filter(|folding| folding.level == level)
            .unwrap_or(Folding::of(level));
        match self.windows.last_mut() {
            Some(last) if folding.in_last > 0 && folding.in_last < folding.stride => {
                last.fold(&window);
                folding.last_bytes = last.pack();
                folding.in_last += 1;
            }
            _ => {
                folding.bytes += std::mem::replace(&mut folding.last_bytes, window.pack());
                self.windows.push(window);
                folding.in_last = 1;
                folding.count += 1;
            }
        }
        let endless = self
            .level(level)
            .is_some_and(|start| start.step.phase == Phase::Run);
        if endless && folding.is_full() {
            self.halve(&mut folding);
        }
        self.folding = Some(folding);
    }

    /// Every two windows of the level become one; every second instant of sampling is let go.
    fn halve(&mut self, folding: &mut Folding) {
        let first = self.windows.len() - folding.count;
        let before = folding.bytes + folding.last_bytes;
        folding.bytes_max = folding.bytes_max.min(before);
        (folding.bytes, folding.last_bytes) = (0, 0);
        // One pair at a time, so that the fine and the coarse ones are never both in memory.
        let mut fine = self.windows.split_off(first).into_iter();
        while let Some(mut coarse) = fine.next() {
            if let Some(next) = fine.next() {
                coarse.fold(&next);
            }
            folding.bytes += coarse.pack();
            self.windows.push(coarse);
        }
        folding.count = self.windows.len() - first;
        folding.stride *= 2;
        folding.in_last = folding.stride;
        let stride = u64::from(folding.stride);
        self.observations
            .retain(|observation| is_kept(observation, stride));
        self.observations.shrink_to_fit();
        self.windows.shrink_to_fit();
    }

    pub(super) fn push_observation(&mut self, observation: Observation) {
        let stride = self.folding.map_or(1, |folding| u64::from(folding.stride));
        if is_kept(&observation, stride) {
            self.observations.push(observation);
        }
    }
}

/// One second of `stride`, and every word on what could not be seen.
fn is_kept(observation: &Observation, stride: u64) -> bool {
    let second = (observation.at_ns.as_secs_f64()).round() as u64;
    second.is_multiple_of(stride) || matches!(observation.seen, Seen::Absent(_))
}

#[cfg(test)]
mod tests;
