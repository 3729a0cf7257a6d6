//! A service at work: its places, the kinds of its requests, its bugs and how its speed drifts.

use plimsoll_base::random::Rng;
use plimsoll_core::Nanos;

use super::upstream::{Shape, Upstream};
use super::work::{Job, Pace, Place};
use crate::model::Sampler;

/// Everything goes on at once.
const ALL: usize = usize::MAX;

#[derive(Debug)]
pub(super) struct Service {
    upstream: Upstream,
    kinds: Vec<(f64, Sampler, f64)>,
    front: Place,
    /// The pool, what is done in it, and the share of requests that need it.
    pool: Option<(Place, Sampler, f64, f64)>,
    drift_next: Nanos,
    rng: Rng,
}

impl Service {
    pub(super) fn new(upstream: &Upstream, seed: u64) -> Self {
        let workers = |count: u32| Place::new(Pace::Workers, count as usize);
        let (front, pool) = match upstream.shape {
            Shape::Workers(count) => (workers(count), None),
            Shape::Impatient {
                workers: count,
                wait,
            } => (workers(count).waits_at_most(wait), None),
            Shape::FailsFast {
                workers: count,
                most,
            } => (workers(count).holds_at_most(most), None),
            Shape::Sharing { cores } => (Place::new(Pace::Sharing { cores }, ALL), None),
            Shape::Contended { alpha, beta } => {
                (Place::new(Pace::Contended { alpha, beta }, ALL), None)
            }
            Shape::CoresAndPool {
                cores,
                pool,
                pool_time,
                share,
            } => {
                let mean = pool_time.mean().as_secs_f64();
                let behind = (workers(pool), Sampler::new(&pool_time), mean, share);
                (Place::new(Pace::Sharing { cores }, ALL), Some(behind))
            }
        };
        let kind = |(share, time): &(f64, crate::model::ServiceTime)| {
            (*share, Sampler::new(time), time.mean().as_secs_f64())
        };
        Self {
            kinds: upstream.mix.iter().map(kind).collect(),
            upstream: upstream.clone(),
            front,
            pool,
            drift_next: Nanos::ZERO,
            rng: Rng::new(seed, 17),
        }
    }

    fn draw(&mut self, kind: Option<usize>) -> f64 {
        if let Some((_, sampler, mean)) = kind.and_then(|kind| self.kinds.get(kind)) {
            return sampler.draw(&mut self.rng) * mean;
        }
        let mut left = self.rng.unit();
        for (share, sampler, mean) in &self.kinds {
            left -= share;
            if left <= 0.0 {
                return sampler.draw(&mut self.rng) * mean;
            }
        }
        0.0
    }

    /// False if it is answered with a failure at once.
    pub(super) fn begin(&mut self, now: Nanos, job: Job, kind: Option<usize>) -> bool {
        let seconds = self.draw(kind);
        self.front.begin(now, job, seconds)
    }

    pub(super) fn next(&self) -> Nanos {
        let pool = self.pool.as_ref();
        let behind = pool.map_or(Nanos::MAX, |(place, ..)| place.next_end());
        self.front.next_end().min(behind).min(self.drift_next)
    }

    /// What happens at `now`, which is what [`Self::next`] said: a job that leaves, and whether with a good answer.
    pub(super) fn turn(&mut self, now: Nanos) -> Option<(Job, bool)> {
        if now >= self.drift_next {
            let speed = self.upstream.drift.speed(now);
            self.front.set_speed(now, speed);
            if let Some((place, ..)) = &mut self.pool {
                place.set_speed(now, speed);
            }
            self.drift_next = self.upstream.drift.next(now);
            return None;
        }
        if now >= self.front.next_end() {
            let (job, is_done) = self.front.end(now)?;
            if let Some((place, sampler, mean, share)) = &mut self.pool
                && self.rng.unit() <= *share
            {
                let seconds = sampler.draw(&mut self.rng) * *mean;
                place.begin(now, job, seconds);
                return None;
            }
            return Some(self.leaves(job, is_done));
        }
        let (place, ..) = self.pool.as_mut()?;
        let (job, is_done) = place.end(now)?;
        Some(self.leaves(job, is_done))
    }

    fn leaves(&mut self, job: Job, is_done: bool) -> (Job, bool) {
        let ratio = self.upstream.failure_ratio;
        (job, is_done && (ratio <= 0.0 || self.rng.unit() > ratio))
    }
}
