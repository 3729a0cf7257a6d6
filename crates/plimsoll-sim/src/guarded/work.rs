//! Work in progress at one place of a service: a virtual time that runs as fast as those in it let each other work.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, VecDeque};

use plimsoll_core::Nanos;

pub(super) type Job = u64;

/// What is done there at once, and how fast.
#[derive(Debug, Clone, Copy)]
pub(super) enum Pace {
    Workers,
    Sharing { cores: f64 },
    Contended { alpha: f64, beta: f64 },
}

impl Pace {
    /// Speed of each of `count`.
    fn of_each(self, count: usize) -> f64 {
        let others = count.saturating_sub(1) as f64;
        match self {
            Self::Workers => 1.0,
            Self::Sharing { cores } => (cores / count as f64).min(1.0),
            Self::Contended { alpha, beta } => {
                1.0 / (1.0 + alpha * others + beta * others * count as f64)
            }
        }
    }
}

#[derive(Debug)]
pub(super) struct Place {
    pace: Pace,
    /// At once.
    workers: usize,
    wait_most: Nanos,
    inside_most: usize,
    speed: f64,
    now: Nanos,
    /// Seconds of work that each job in progress was done since the start.
    done: f64,
    working: BinaryHeap<Working>,
    waiting: VecDeque<(Nanos, Job, f64)>,
    sequence: u64,
}

#[derive(Debug)]
struct Working {
    end: f64,
    sequence: u64,
    job: Job,
}

impl Ord for Working {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_end = other.end.total_cmp(&self.end);
        by_end.then(other.sequence.cmp(&self.sequence))
    }
}

impl PartialOrd for Working {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Working {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Working {}

impl Place {
    pub(super) fn new(pace: Pace, workers: usize) -> Self {
        Self {
            pace,
            workers,
            wait_most: Nanos::MAX,
            inside_most: usize::MAX,
            speed: 1.0,
            now: Nanos::ZERO,
            done: 0.0,
            working: BinaryHeap::new(),
            waiting: VecDeque::new(),
            sequence: 0,
        }
    }

    pub(super) fn waits_at_most(self, wait_most: Nanos) -> Self {
        Self { wait_most, ..self }
    }

    pub(super) fn holds_at_most(self, inside_most: u32) -> Self {
        let inside_most = inside_most as usize;
        Self {
            inside_most,
            ..self
        }
    }

    fn rate(&self) -> f64 {
        self.speed * self.pace.of_each(self.working.len())
    }

    fn pass(&mut self, now: Nanos) {
        if !self.working.is_empty() {
            self.done += self.rate() * (now - self.now).as_secs_f64();
        }
        self.now = now;
    }

    pub(super) fn set_speed(&mut self, now: Nanos, speed: f64) {
        self.pass(now);
        self.speed = speed;
    }

    /// False if it is turned away.
    pub(super) fn begin(&mut self, now: Nanos, job: Job, seconds: f64) -> bool {
        self.pass(now);
        if self.working.len() + self.waiting.len() >= self.inside_most {
            return false;
        }
        if self.working.len() < self.workers {
            self.work(job, seconds);
        } else {
            self.waiting.push_back((now, job, seconds));
        }
        true
    }

    fn work(&mut self, job: Job, seconds: f64) {
        self.sequence += 1;
        self.working.push(Working {
            end: self.done + seconds,
            sequence: self.sequence,
            job,
        });
    }

    /// When the next job leaves, done or not.
    pub(super) fn next_end(&self) -> Nanos {
        let gives_up = self.waiting.front().map_or(Nanos::MAX, |(since, ..)| {
            Nanos(since.0.saturating_add(self.wait_most.0))
        });
        let rate = self.rate();
        let Some(first) = self.working.peek().filter(|_| rate > 0.0) else {
            return gives_up;
        };
        let left = (first.end - self.done).max(0.0) / rate;
        // Rounded up, or the moment would come before the work is done.
        let ns = (left * 1e9).ceil() as u64;
        gives_up.min(Nanos(self.now.0.saturating_add(ns)))
    }

    /// The job that leaves at `now`, which is what [`Self::next_end`] said; false if it gave up.
    pub(super) fn end(&mut self, now: Nanos) -> Option<(Job, bool)> {
        self.pass(now);
        if let Some((since, job, _)) = self.waiting.front().copied()
            && now.0 >= since.0.saturating_add(self.wait_most.0)
        {
            self.waiting.pop_front();
            return Some((job, false));
        }
        let ended = self.working.pop()?;
        if self.working.is_empty() {
            self.done = 0.0;
        }
        if let Some((_, job, seconds)) = self.waiting.pop_front() {
            self.work(job, seconds);
        }
        Some((ended.job, true))
    }
}
