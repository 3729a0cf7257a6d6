//! Recognises well-known gauges by what their names say, whatever library exports them.

use std::collections::BTreeMap;

use plimsoll_core::statistics::median;

use super::tick::Tick;

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
    if name.contains("timeout") {
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
}

impl Gauges {
    pub(crate) fn value(&self, gauge: Gauge) -> Option<f64> {
        self.values.get(&gauge).copied()
    }
}

pub(crate) fn gauges(ticks: &[&Tick], tier: &str) -> Gauges {
    let mut all: BTreeMap<Gauge, Vec<f64>> = BTreeMap::new();
    let (mut full, mut waited, mut count) = (0, 0, 0);
    for tick in ticks {
        let Some(at) = tick.tiers.get(tier) else {
            continue;
        };
        for metrics in &at.metrics {
            let one = gauges_of_sample(&metrics.values, tick.seconds);
            count += 1;
            let at = |gauge| one.get(&gauge).copied();
            let size = at(Gauge::PoolMax).or_else(|| {
                let (used, idle) = (at(Gauge::PoolInUse)?, at(Gauge::PoolIdle)?);
                Some(used + idle)
            });
            if let (Some(used), Some(size)) = (at(Gauge::PoolInUse), size) {
                full += usize::from(size > 0.0 && used >= 0.98 * size);
            }
            waited += usize::from(at(Gauge::PoolWaiters).is_some_and(|n| n > 0.0));
            for (gauge, value) in one {
                all.entry(gauge).or_default().push(value);
            }
        }
    }
    let share = |part: usize| {
        if count > 0 {
            part as f64 / count as f64
        } else {
            0.0
        }
    };
    Gauges {
        values: all
            .into_iter()
            .filter_map(|(gauge, values)| Some((gauge, median(values)?)))
            .collect(),
        pool_full: share(full),
        pool_waited: share(waited),
        ticks: count,
    }
}

/// Series of one meaning are added: one per database, shard or worker. Lags are not: the worst counts.
fn gauges_of_sample(values: &BTreeMap<String, f64>, seconds: f64) -> BTreeMap<Gauge, f64> {
    let mut found: BTreeMap<Gauge, f64> = BTreeMap::new();
    let mut counters: BTreeMap<Gauge, f64> = BTreeMap::new();
    for (series, value) in values {
        let Some((gauge, scale)) = recognise(series) else {
            continue;
        };
        let value = value * scale;
        match gauge {
            Gauge::LoopLagSeconds | Gauge::LoopUtilisation => {
                let worst = found.entry(gauge).or_insert(value);
                *worst = worst.max(value);
            }
            // A collector may export the same seconds as a summary and as a counter.
            Gauge::GcSeconds
            | Gauge::FsyncSeconds
            | Gauge::LockWaitSeconds
            | Gauge::PoolWaitSeconds => {
                let most = counters.entry(gauge).or_insert(0.0);
                *most = most.max(value / seconds);
            }
            Gauge::PoolInUse | Gauge::PoolMax | Gauge::PoolIdle | Gauge::PoolWaiters => {
                *found.entry(gauge).or_insert(0.0) += value;
            }
        }
    }
    found.extend(counters);
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
            ("http_requests_total", None),
            ("magic_total", None),
        ] {
            assert_eq!(recognise(name).map(|(gauge, _)| gauge), gauge, "{name}");
        }
        assert_eq!(recognise("eventloop_delay_ms").map(|(_, s)| s), Some(1e-3));
    }
}
