//! What a worker's thread takes of its processor: how long it ran and waited, and the priority that follows.

use plimsoll_base::clock::thread_run_time;
use plimsoll_base::priority::Priority;
use plimsoll_core::Nanos;

/// A thread that ran for more than this share of a second leaves its priority: on the target's machine it would starve it.
const HEAVY: f64 = 0.5;
/// Below this share it takes it again.
const LIGHT: f64 = 0.2;
/// One that ran for nearly all of so long leaves it at once: while many connections are opened because the target, on the same
/// core, has no turn to answer, a second would be too late.
const BREATHLESS: Nanos = Nanos::from_millis(200);
/// Nearly all: this share.
const PAUSELESS: f64 = 0.95;

/// Run time and run-queue wait of this thread since the last reading, and the priority that it has.
#[derive(Debug)]
pub(super) struct Processor {
    run: Nanos,
    wait: Nanos,
    priority: Priority,
    /// When it was last looked whether this thread pauses, and how long it had run until then.
    looked: (Nanos, Nanos),
}

impl Processor {
    pub(super) fn new() -> Self {
        Self {
            run: thread_run_time(),
            wait: thread_wait_time(),
            priority: Priority::Normal,
            looked: (Nanos::ZERO, Nanos::ZERO),
        }
    }

    /// Takes the best priority that the kernel gives.
    pub(super) fn ask(&mut self) {
        self.priority = Priority::raise();
    }

    /// Gives the priority back, or takes it again, after a window in which this thread ran for so long.
    pub(super) fn adapt(&mut self, run: Nanos, window: Nanos) {
        let busy = run.as_secs_f64() / window.as_secs_f64();
        if busy > HEAVY {
            self.priority = self.priority.leave();
        } else if busy < LIGHT && self.priority == Priority::Normal {
            self.ask();
        }
    }

    /// Gives the priority back while this thread runs without a pause.
    pub(super) fn look(&mut self, now: Nanos) {
        let (looked, ran) = self.looked;
        let passed = now.saturating_sub(looked);
        if passed < BREATHLESS {
            return;
        }
        let run = thread_run_time();
        self.looked = (now, run);
        if run.saturating_sub(ran).as_secs_f64() > PAUSELESS * passed.as_secs_f64() {
            self.priority = self.priority.leave();
        }
    }

    pub(super) fn read(&mut self) -> (Nanos, Nanos) {
        let (run, wait) = (thread_run_time(), thread_wait_time());
        let spent = (run - self.run, wait - self.wait);
        (self.run, self.wait) = (run, wait);
        spent
    }
}

/// Second field of schedstat; zero where the kernel does not keep it.
fn thread_wait_time() -> Nanos {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    Nanos(
        text.split_whitespace()
            .nth(1)
            .and_then(|field| field.parse().ok())
            .unwrap_or(0),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs until this thread had the processor for so long.
    fn run_for(time: Nanos) {
        let begin = thread_run_time();
        while thread_run_time().saturating_sub(begin) < time {}
    }

    #[test]
    fn a_thread_that_never_pauses_gives_its_priority_back_within_the_second() {
        std::thread::spawn(|| {
            let mut processor = Processor::new();
            processor.ask();
            let taken = processor.priority;
            processor.look(Nanos::from_millis(200));
            // A fifth of the time: it goes on.
            run_for(Nanos::from_millis(40));
            processor.look(Nanos::from_millis(400));
            assert_eq!(processor.priority, taken);
            run_for(Nanos::from_millis(250));
            processor.look(Nanos::from_millis(600));
            assert_eq!(processor.priority, taken.leave());
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_busy_second_costs_the_priority_and_a_calm_one_gives_it_back() {
        std::thread::spawn(|| {
            let second = Nanos::from_secs(1);
            let mut processor = Processor::new();
            processor.ask();
            let taken = processor.priority;
            processor.adapt(Nanos::from_millis(600), second);
            assert_eq!(processor.priority, taken.leave());
            processor.adapt(Nanos::from_millis(300), second);
            assert_eq!(processor.priority, taken.leave());
            processor.adapt(Nanos::from_millis(100), second);
            assert_eq!(processor.priority, taken);
        })
        .join()
        .unwrap();
    }
}
