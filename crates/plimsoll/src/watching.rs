//! The thread that samples the tiers while the load runs; its observations go into the record.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context as _, Result};
use plimsoll_base::clock::Clock;
use plimsoll_base::random::Rng;
use plimsoll_core::Nanos;
use plimsoll_core::record::Observation;
use plimsoll_observe::{Sampler, Watch};

/// Between two looks at what changes faster than a sample tells, in the mean: queues, thread states. From half of it to one
/// and a half, for looks in step with the load see the same of it each time (measured: 0.57 where 0.83 was true).
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Between two samples.
const SAMPLE_EVERY: Nanos = Nanos::from_secs(1);

pub(crate) struct Watcher {
    observations: Receiver<Vec<Observation>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Watcher {
    /// Samples `target` and everything watched, on the run's clock, until dropped.
    pub(crate) fn start(
        target: Option<std::net::SocketAddr>,
        watches: &[Watch],
        clock: Clock,
    ) -> Result<Self> {
        let sampler = Sampler::new(target, watches).context("--watch")?;
        let (sender, observations) = channel();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::Builder::new()
            .name("watch".to_owned())
            .spawn(move || {
                let mut sampler = sampler;
                let mut random = Rng::new(0, 0);
                let mut next = clock.now() + SAMPLE_EVERY;
                while !stopped.load(Ordering::Relaxed) {
                    std::thread::sleep(LOOK_EVERY.mul_f64(0.5 + random.unit()));
                    let now = clock.now();
                    if now < next {
                        sampler.look();
                        continue;
                    }
                    next = now + SAMPLE_EVERY;
                    if sender.send(sampler.sample(now)).is_err() {
                        return;
                    }
                }
            })?;
        Ok(Self {
            observations,
            stop,
            thread: Some(thread),
        })
    }

    /// What was sampled since the last call.
    pub(crate) fn take(&self) -> impl Iterator<Item = Observation> + '_ {
        self.observations.try_iter().flatten()
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _panicked = thread.join();
        }
    }
}
