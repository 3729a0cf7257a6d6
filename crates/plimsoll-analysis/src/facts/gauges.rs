//! Recognises well-known gauges by what their names say, whatever library exports them.

pub(crate) mod pools;

use std::collections::BTreeMap;

use plimsoll_core::statistics::{median, ratio};

use self::pools::Pools;
use super::tick::{Scraped, Tick};

/// What a series measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Gauge {
    PoolInUse,
    PoolMax,
    PoolIdle,
    PoolWaiters,
    /// Seconds waited for a pool, as a counter.
    PoolWaitSeconds,
    LoopLagSeconds,
    LoopUtilisation,
    /// Seconds spent collecting garbage, as a counter.
    GcSeconds,
    FsyncSeconds,
    LockWaitSeconds,
}

/// The meaning of a series name without labels; `None` for all others.
pub(crate) fn recognise(series: &str) -> Option<(Gauge, f64)> {
    let name = series.split('{').next()?.to_ascii_lowercase();
    // Quantiles and bounds of a summary are no level or total of anything.
    if series.contains("quantile=") {
        return None;
    }
    let has = |words: &[&str]| words.iter().any(|word| name.contains(word));
    let growing = name.ends_with("_total");
    let scale = if has(&["millisecond", "_ms"]) {
        1e-3
    } else {
        1.0
    };
    let of_time = has(&["second", "_ms", "duration", "time"]);
    let gauge = if has(&["eventloop", "event_loop"]) {
        if has(&["utili"]) {
            Gauge::LoopUtilisation
        } else if has(&["lag", "delay"]) && !growing && !has(&["min", "stddev", "p50", "p90"]) {
            Gauge::LoopLagSeconds
        } else {
            return None;
        }
    } else if growing && of_time && name.split('_').any(|word| word == "gc") {
        if name.contains("_count") {
            return None;
        }
        Gauge::GcSeconds
    } else if growing && of_time && has(&["fsync", "wal_sync"]) && !name.contains("_count") {
        Gauge::FsyncSeconds
    } else if growing && of_time && has(&["lock_wait", "mutex_wait", "lock_time"]) {
        Gauge::LockWaitSeconds
    } else if has(&["pool", "hikaricp", "db_client_connections", "connections"]) {
        pool(&name, of_time)?
    } else {
        return None;
    };
    Some((gauge, scale))
}

fn pool(name: &str, of_time: bool) -> Option<Gauge> {
    let has = |words: &[&str]| words.iter().any(|word| name.contains(word));
    // Pools of threads and of memory have the same words, and no connections.
    if has(&["timeout", "thread", "executor", "memory", "bytes", "buffer"]) {
        return None;
    }
    if name.ends_with("_total") {
        let waited = of_time && has(&["wait", "acquire"]) && !name.contains("_count");
        return waited.then_some(Gauge::PoolWaitSeconds);
    }
    // Order matters: `pool_wait_max` is no size, `pool_max_in_use` is a bound.
    if has(&["waiter", "waiting", "pending", "wait_queue", "queued"]) {
        Some(Gauge::PoolWaiters)
    } else if of_time || has(&["wait"]) {
        None
    } else if has(&["max", "limit", "size", "capacity"]) {
        Some(Gauge::PoolMax)
    } else if name.contains("idle") || name.contains("free") {
        Some(Gauge::PoolIdle)
    } else if has(&[
        "in_use", "inuse", "active", "used", "busy", "acquired", "borrowed",
    ]) {
        Some(Gauge::PoolInUse)
    } else {
        None
    }
}

/// The recognised gauges of a tier over a set of ticks.
#[derive(Debug, Clone, Default)]
pub(crate) struct Gauges {
    /// Medians; counters as seconds per second.
    values: BTreeMap<Gauge, f64>,
    /// Share of ticks with every connection of the pool in use; with somebody waiting.
    pub(crate) pool_full: f64,
    pub(crate) pool_waited: f64,
    pub(crate) ticks: usize,
    /// The pool that these are of, where names tell several apart.
    family: Option<String>,
}

impl Gauges {
    pub(crate) fn value(&self, gauge: Gauge) -> Option<f64> {
        self.values.get(&gauge).copied()
    }

    /// Connections of its pool in use by other samples.
    pub(crate) fn in_use(&self, values: &BTreeMap<String, f64>) -> Option<f64> {
        let pool = pools::of(values).chosen(self.family.as_deref());
        pool.get(&Gauge::PoolInUse).copied()
    }
}

pub(crate) fn gauges(ticks: &[&Tick], tier: &str) -> Gauges {
    let scraped = ticks.iter().filter_map(|tick| tick.tiers.get(tier));
    let scraped: Vec<&Scraped> = scraped.flat_map(|at| &at.metrics).collect();
    let pools: Vec<Pools> = scraped.iter().map(|one| pools::of(one.values)).collect();
    let family = pools::fullest(&pools);
    let mut all: BTreeMap<Gauge, Vec<f64>> = BTreeMap::new();
    let (mut full, mut waited) = (0, 0);
    for (one, pools) in scraped.iter().zip(&pools) {
        let pool = pools.chosen(family.as_deref());
        full += usize::from(pools::is_full(&pool));
        waited += usize::from(pools::is_waited_for(&pool));
        for (gauge, value) in pool.into_iter().chain(beside_pools(one)) {
            all.entry(gauge).or_default().push(value);
        }
    }
    let share = |part: usize| ratio(part as f64, scraped.len() as f64);
    Gauges {
        values: all
            .into_iter()
            .filter_map(|(gauge, values)| Some((gauge, median(values)?)))
            .collect(),
        pool_full: share(full),
        pool_waited: share(waited),
        ticks: scraped.len(),
        family,
    }
}

/// Counters and lags: of several the worst counts.
fn beside_pools(scraped: &Scraped) -> BTreeMap<Gauge, f64> {
    let mut found: BTreeMap<Gauge, f64> = BTreeMap::new();
    for (series, value) in scraped.values {
        let Some((gauge, scale)) = recognise(series) else {
            continue;
        };
        let value = match gauge {
            Gauge::LoopLagSeconds | Gauge::LoopUtilisation => value * scale,
            // A collector may export the same seconds as a summary and as a counter.
            Gauge::GcSeconds
            | Gauge::FsyncSeconds
            | Gauge::LockWaitSeconds
            | Gauge::PoolWaitSeconds => ratio(value * scale, scraped.seconds),
            Gauge::PoolInUse | Gauge::PoolMax | Gauge::PoolIdle | Gauge::PoolWaiters => continue,
        };
        let worst = found.entry(gauge).or_insert(value);
        *worst = worst.max(value);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_many_libraries() {
        for (name, gauge) in [
            ("pool_in_use", Some(Gauge::PoolInUse)),
            ("pool_max", Some(Gauge::PoolMax)),
            ("pool_waiters", Some(Gauge::PoolWaiters)),
            ("pool_wait_seconds_sum_total", Some(Gauge::PoolWaitSeconds)),
            ("pool_wait_seconds_count_total", None),
            ("pool_timeouts_total", None),
            ("pool_wait_seconds{quantile=\"0.5\"}", None),
            (
                "hikaricp_connections_active{pool=\"x\"}",
                Some(Gauge::PoolInUse),
            ),
            ("hikaricp_connections_pending", Some(Gauge::PoolWaiters)),
            ("hikaricp_connections_max", Some(Gauge::PoolMax)),
            ("hikaricp_connections_idle", Some(Gauge::PoolIdle)),
            ("go_sql_in_use_connections", Some(Gauge::PoolInUse)),
            ("nodejs_eventloop_lag_seconds", Some(Gauge::LoopLagSeconds)),
            ("nodejs_eventloop_lag_min_seconds", None),
            ("nodejs_eventloop_utilization", Some(Gauge::LoopUtilisation)),
            (
                "nodejs_gc_duration_seconds_sum_total{kind=\"major\"}",
                Some(Gauge::GcSeconds),
            ),
            ("gc_seconds_total", Some(Gauge::GcSeconds)),
            ("go_gc_duration_seconds_count_total", None),
            ("jvm_gc_pause_seconds_sum_total", Some(Gauge::GcSeconds)),
            (
                "wal_fsync_duration_seconds_sum_total",
                Some(Gauge::FsyncSeconds),
            ),
            ("jdbc_connections_active", Some(Gauge::PoolInUse)),
            ("executor_pool_max_threads", None),
            ("executor_pool_size_threads", None),
            ("jvm_threads_pool_active", None),
            ("jvm_memory_pool_bytes_used{pool=\"CodeCache\"}", None),
            ("jvm_memory_pool_bytes_max", None),
            ("jvm_buffer_pool_used_buffers", None),
            ("http_requests_total", None),
            ("magic_total", None),
        ] {
            assert_eq!(recognise(name).map(|(gauge, _)| gauge), gauge, "{name}");
        }
        assert_eq!(recognise("eventloop_delay_ms").map(|(_, s)| s), Some(1e-3));
    }
}
