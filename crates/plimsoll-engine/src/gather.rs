//! Merges the windows of all workers into those of the run, level by level.

use std::collections::VecDeque;

use plimsoll_core::{Nanos, Window};

use crate::message::Counted;
use crate::recorder::Recorder;

/// Shorter windows in which nothing was counted are not windows.
const EMPTY: Nanos = Nanos::from_millis(1);

/// Windows that have arrived, per worker, until every worker's has.
#[derive(Debug)]
pub(crate) struct Gather {
    arrived: Vec<VecDeque<Counted>>,
    /// Workers of which no further window comes.
    done: Vec<bool>,
    /// Windows of an earlier level that came too late to be judged.
    stale: Vec<Recorder>,
}

impl Gather {
    pub(crate) fn new(workers: usize) -> Self {
        Self {
            arrived: (0..workers).map(|_| VecDeque::new()).collect(),
            done: vec![false; workers],
            stale: Vec::new(),
        }
    }

    /// Whatever has not been merged yet belongs to an earlier level from now on.
    pub(crate) fn begin_level(&mut self) {
        for queue in &mut self.arrived {
            let late = queue.drain(..).map(|counted| *counted.recorder);
            self.stale.extend(late);
        }
    }

    /// Takes a worker's window in while `level` is played.
    pub(crate) fn add(&mut self, worker: usize, counted: Counted, level: u32) {
        if counted.recorder.level == level {
            self.arrived[worker].push_back(counted);
        } else {
            // It ended while the judge decided: its counts are carried into the next window.
            self.stale.push(*counted.recorder);
        }
    }

    /// No further window of this worker will come.
    pub(crate) fn finish(&mut self, worker: usize) {
        self.done[worker] = true;
    }

    pub(crate) fn is_finished(&self) -> bool {
        self.done.iter().all(|done| *done)
    }

    /// The next window, once every worker's part is there; each part is given back through `spare`.
    pub(crate) fn take(&mut self, mut spare: impl FnMut(usize, Counted)) -> Option<Window> {
        let mut all = self.arrived.iter().zip(&self.done);
        let has_any = self.arrived.iter().any(|queue| !queue.is_empty());
        if !has_any || !all.all(|(queue, done)| *done || !queue.is_empty()) {
            return None;
        }
        let mut window = Window::default();
        for (worker, queue) in self.arrived.iter_mut().enumerate() {
            if let Some(counted) = queue.pop_front() {
                counted.recorder.add_to(&mut window);
                spare(worker, counted);
            }
        }
        Some(window)
    }

    /// The same, but workers that were off the processor for seconds send empty windows to keep in step, which are left
    /// out. With what came too late for its own window.
    pub(crate) fn take_full(&mut self, mut spare: impl FnMut(usize, Counted)) -> Option<Window> {
        loop {
            let mut window = self.take(&mut spare)?;
            if window.length_ns > EMPTY || has_counts(&window) {
                self.carry_into(&mut window);
                return Some(window);
            }
        }
    }

    /// Adds what came too late for its own window.
    pub(crate) fn carry_into(&mut self, window: &mut Window) {
        for recorder in self.stale.drain(..) {
            recorder.add_as_carried_to(window);
        }
    }
}

/// Something happened in the window, if only the end of an attempt that was due long before.
fn has_counts(window: &Window) -> bool {
    let counts = [
        window.due_count,
        window.sent_count,
        window.resent_count,
        window.followed_count,
        window.health.connects_count,
    ];
    let mut databases = window.databases.iter();
    counts.into_iter().any(|count| count > 0)
        || window.operations.iter().any(|tally| tally.attempts() > 0)
        || window.carried.iter().any(|carried| !carried.is_empty())
        || databases.any(|effects| effects.attempts_count > 0 || effects.commands_count > 0)
}

#[cfg(test)]
mod tests;
