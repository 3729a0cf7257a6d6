//! A bounded pool of connections: who comes when all are taken waits, so long at most; gauges say how it stands.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};

use super::clock::now;
use super::metrics::Metrics;

/// Waits that the quantiles of the metrics look back on.
const RECENT: usize = 512;

#[derive(Debug)]
pub(crate) struct Pool {
    free: Semaphore,
    size: usize,
    /// `None`: as long as it takes, as MongoDB's drivers do by default.
    wait_timeout: Option<Duration>,
    waiters: AtomicU64,
    timeouts: AtomicU64,
    waits: Mutex<Waits>,
}

#[derive(Debug, Default)]
struct Waits {
    recent: VecDeque<f64>,
    seconds: f64,
    count: u64,
}

/// No connection became free in time.
#[derive(Debug)]
pub(crate) struct WaitedTooLong;

impl Pool {
    pub(crate) fn new(size: usize, wait_timeout: Option<Duration>) -> Self {
        Self {
            free: Semaphore::new(size),
            size,
            wait_timeout,
            waiters: AtomicU64::new(0),
            timeouts: AtomicU64::new(0),
            waits: Mutex::default(),
        }
    }

    /// The right to one connection, given back when dropped.
    pub(crate) async fn take(&self) -> Result<SemaphorePermit<'_>, WaitedTooLong> {
        let start = now();
        self.waiters.fetch_add(1, Ordering::Relaxed);
        let taken = match self.wait_timeout {
            None => self.free.acquire().await.ok(),
            Some(limit) => {
                let taken = tokio::time::timeout(limit, self.free.acquire()).await;
                taken.ok().and_then(Result::ok)
            }
        };
        self.waiters.fetch_sub(1, Ordering::Relaxed);
        self.waits
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .add(start.elapsed().as_secs_f64());
        taken.ok_or_else(|| {
            self.timeouts.fetch_add(1, Ordering::Relaxed);
            WaitedTooLong
        })
    }

    /// Adds the pool's gauges.
    pub(crate) fn metrics(&self, metrics: Metrics) -> Metrics {
        let in_use = self.size - self.free.available_permits();
        let waits = self.waits.lock().unwrap_or_else(PoisonError::into_inner);
        metrics
            .gauge("pool_in_use", "Connections taken.", in_use as f64)
            .gauge("pool_max", "Connections in the pool.", self.size as f64)
            .gauge(
                "pool_waiters",
                "Requests waiting for a connection.",
                self.waiters.load(Ordering::Relaxed) as f64,
            )
            .summary(
                "pool_wait_seconds",
                "Time until a connection was free.",
                &waits.quantiles(),
                (waits.seconds, waits.count),
            )
            .counter(
                "pool_timeouts_total",
                "Requests that gave up waiting.",
                self.timeouts.load(Ordering::Relaxed) as f64,
            )
    }
}

impl Waits {
    fn add(&mut self, seconds: f64) {
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(seconds);
        self.seconds += seconds;
        self.count += 1;
    }

    fn quantiles(&self) -> Vec<(f64, f64)> {
        let mut sorted: Vec<f64> = self.recent.iter().copied().collect();
        sorted.sort_by(f64::total_cmp);
        let Some(last) = sorted.len().checked_sub(1) else {
            return Vec::new();
        };
        let at = |quantile: f64| (quantile, sorted[(last as f64 * quantile).round() as usize]);
        vec![at(0.5), at(0.99)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_finds_no_connection_in_time_is_counted_and_the_next_is_served() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        runtime.block_on(async {
            let pool = Pool::new(1, Some(Duration::from_millis(5)));
            let taken = pool.take().await.unwrap();
            assert!(pool.take().await.is_err());
            drop(taken);
            assert!(pool.take().await.is_ok());
            let metrics = pool.metrics(Metrics::default());
            let text = metrics.text();
            for line in [
                "pool_max 1",
                "pool_in_use 0",
                "pool_timeouts_total 1",
                "pool_wait_seconds_count 3",
            ] {
                assert!(text.contains(line), "{line} in {text}");
            }
        });
    }
}
