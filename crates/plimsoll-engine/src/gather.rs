//! Merges the windows of all workers into those of the run, level by level.

use std::collections::VecDeque;

use plimsoll_core::{Nanos, Window};

use crate::recorder::Recorder;

/// Shorter windows without any attempt are not windows.
const EMPTY: Nanos = Nanos::from_millis(1);

/// Windows that have arrived, per worker, until every worker's has.
#[derive(Debug)]
pub(crate) struct Gather {
    arrived: Vec<VecDeque<Box<Recorder>>>,
    /// Windows of an earlier level that came too late to be judged.
    stale: Vec<Recorder>,
}

impl Gather {
    pub(crate) fn new(workers: usize) -> Self {
        Self {
            arrived: (0..workers).map(|_| VecDeque::new()).collect(),
            stale: Vec::new(),
        }
    }

    /// Whatever has not been merged yet belongs to an earlier level from now on.
    pub(crate) fn begin_level(&mut self) {
        for queue in &mut self.arrived {
            self.stale.extend(queue.drain(..).map(|recorder| *recorder));
        }
    }

    /// Takes a worker's window in while `level` is played.
    pub(crate) fn add(&mut self, worker: usize, recorder: Box<Recorder>, level: u32) {
        if recorder.level == level {
            self.arrived[worker].push_back(recorder);
        } else {
            // It ended while the judge decided: its counts are carried into the next window.
            self.stale.push(*recorder);
        }
    }

    /// The next window, once every worker's part is there; each part is given back through `spare`.
    pub(crate) fn take(&mut self, mut spare: impl FnMut(usize, Box<Recorder>)) -> Option<Window> {
        while self.arrived.iter().all(|queue| !queue.is_empty()) {
            let mut window = Window::default();
            for (worker, queue) in self.arrived.iter_mut().enumerate() {
                if let Some(recorder) = queue.pop_front() {
                    recorder.add_to(&mut window);
                    spare(worker, recorder);
                }
            }
            // Workers that were off the processor for seconds send empty windows to keep in step.
            if window.length_ns > EMPTY || window.due_count > 0 || window.sent_count > 0 {
                self.carry_into(&mut window);
                return Some(window);
            }
        }
        None
    }

    /// Adds what came too late for its own window.
    pub(crate) fn carry_into(&mut self, window: &mut Window) {
        for recorder in self.stale.drain(..) {
            recorder.add_as_carried_to(window);
        }
    }
}
