//! Which gauges are of one pool: a page may show the same pool under the names of two libraries, and several pools.

use std::collections::BTreeMap;

use super::{Gauge, recognise};

/// From this share of its connections in use on a pool is full.
const FULL: f64 = 0.98;
/// Where one of these begins, the name says no longer whose gauge it is but what of it.
const MEANINGS: [&str; 18] = [
    "wait", "pending", "queued", "max", "limit", "size", "capacity", "idle", "free", "in_use",
    "inuse", "active", "used", "busy", "acquired", "borrowed", "usage", "min",
];
/// Words before it that stand in some names of a library and not in others.
const COMMON: [&str; 12] = [
    "pool",
    "pools",
    "conn",
    "conns",
    "connection",
    "connections",
    "num",
    "count",
    "open",
    "total",
    "current",
    "config",
];

type Pool = BTreeMap<Gauge, f64>;

/// The pools of one page, by what their names have in common.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pools(BTreeMap<String, Pool>);

/// Series of one meaning and name are added: one per database, shard or worker.
pub(crate) fn of(values: &BTreeMap<String, f64>) -> Pools {
    let mut pools = Pools::default();
    for (series, value) in values {
        let Some((gauge, scale)) = recognise(series) else {
            continue;
        };
        if matches!(
            gauge,
            Gauge::PoolInUse | Gauge::PoolMax | Gauge::PoolIdle | Gauge::PoolWaiters
        ) {
            let pool = pools.0.entry(family(series)).or_default();
            *pool.entry(gauge).or_insert(0.0) += value * scale;
        }
    }
    pools
}

/// `hikaricp` of `hikaricp_connections_active{pool="x"}`; nothing of `pool_in_use`.
fn family(series: &str) -> String {
    let name = series.split('{').next().unwrap_or(series);
    let name = name.to_ascii_lowercase();
    let meanings = MEANINGS.iter().filter_map(|word| name.find(word));
    let end = meanings.min().unwrap_or(name.len());
    let words = name.get(..end).unwrap_or_default().split(['_', ':', '.']);
    let own: Vec<&str> = words
        .filter(|word| !word.is_empty() && !COMMON.contains(word))
        .collect();
    own.join("_")
}

impl Pools {
    /// The gauges of one family; of all together where none is told apart.
    pub(crate) fn chosen(&self, family: Option<&str>) -> Pool {
        let Some(family) = family else {
            return sum(self.0.values());
        };
        let mut pool = self.0.get(family).cloned().unwrap_or_default();
        // Who waits may be counted under another name, by one who has no other gauge.
        if !pool.is_empty() && !pool.contains_key(&Gauge::PoolWaiters) {
            let others = self.0.values();
            let others = sum(others.filter(|other| !other.contains_key(&Gauge::PoolInUse)));
            let waiters = others.get(&Gauge::PoolWaiters);
            pool.extend(waiters.map(|waiters| (Gauge::PoolWaiters, *waiters)));
        }
        pool
    }

    /// The most that a gauge says of one pool.
    pub(crate) fn most(&self, gauge: Gauge) -> Option<f64> {
        let each = self.0.values().filter_map(|pool| pool.get(&gauge));
        each.copied().reduce(f64::max)
    }
}

fn sum<'a>(pools: impl Iterator<Item = &'a Pool>) -> Pool {
    let mut sum = Pool::new();
    for (gauge, value) in pools.flatten() {
        *sum.entry(*gauge).or_insert(0.0) += value;
    }
    sum
}

/// The family that is full with somebody waiting in most of the samples, or nearest to it; `None` where none says both how
/// many are in use and how many there are.
pub(crate) fn fullest(samples: &[Pools]) -> Option<String> {
    let mut scores: BTreeMap<&str, [f64; 3]> = BTreeMap::new();
    for (family, pool) in samples.iter().flat_map(|pools| &pools.0) {
        let Some(share) = share(pool) else { continue };
        let waiters = pool.get(&Gauge::PoolWaiters).copied().unwrap_or(0.0);
        let both = is_full(pool) && is_waited_for(pool);
        let score = scores.entry(family).or_default();
        let add = [f64::from(u8::from(both)), share, waiters];
        for (sum, add) in score.iter_mut().zip(add) {
            *sum += add;
        }
    }
    let order = |a: &[f64; 3], b: &[f64; 3]| {
        let each = a.iter().zip(b).map(|(a, b)| a.total_cmp(b));
        each.fold(std::cmp::Ordering::Equal, std::cmp::Ordering::then)
    };
    let fullest = scores.into_iter().max_by(|a, b| order(&a.1, &b.1));
    fullest.map(|(family, _)| family.to_owned())
}

/// Share in use of its size, or of those in use and idle.
fn share(pool: &Pool) -> Option<f64> {
    let at = |gauge| pool.get(&gauge).copied();
    let used = at(Gauge::PoolInUse)?;
    let size = at(Gauge::PoolMax).or_else(|| Some(used + at(Gauge::PoolIdle)?))?;
    (size > 0.0).then(|| used / size)
}

pub(crate) fn is_full(pool: &Pool) -> bool {
    share(pool).is_some_and(|share| share >= FULL)
}

pub(crate) fn is_waited_for(pool: &Pool) -> bool {
    pool.get(&Gauge::PoolWaiters).is_some_and(|n| *n > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(values: &[(&str, f64)]) -> Pools {
        let named = values.iter();
        of(&named
            .map(|(name, value)| ((*name).to_owned(), *value))
            .collect())
    }

    #[test]
    fn a_family_is_what_names_of_one_library_share() {
        for (series, expected) in [
            ("hikaricp_connections_active{pool=\"x\"}", "hikaricp"),
            ("hikaricp_connections_max", "hikaricp"),
            ("go_sql_in_use_connections", "go_sql"),
            ("go_sql_max_open_connections", "go_sql"),
            ("c3p0_num_busy_connections", "c3p0"),
            ("c3p0_max_pool_size", "c3p0"),
            ("pool_in_use", ""),
            ("pool_connections_max", ""),
        ] {
            assert_eq!(family(series), expected, "{series}");
        }
    }

    /// A default page of Spring Boot: one pool under two names, and pools of threads and memory beside it.
    #[test]
    fn one_pool_under_two_names_counts_once() {
        let page = page(&[
            ("executor_pool_max_threads", 2_147_483_647.0),
            ("executor_active_threads", 4.0),
            ("hikaricp_connections_active", 10.0),
            ("hikaricp_connections_max", 10.0),
            ("hikaricp_connections_pending", 3.0),
            ("jdbc_connections_active", 10.0),
            ("jdbc_connections_max", 10.0),
            ("jvm_memory_pool_bytes_used", 5e7),
            ("jvm_memory_pool_bytes_max", 1e9),
        ]);
        let family = fullest(std::slice::from_ref(&page));
        assert_eq!(family.as_deref(), Some("hikaricp"));
        let pool = page.chosen(family.as_deref());
        assert!(is_full(&pool) && is_waited_for(&pool));
        assert_eq!(pool.get(&Gauge::PoolMax), Some(&10.0));
        assert_eq!(page.most(Gauge::PoolInUse), Some(10.0));
    }

    #[test]
    fn a_full_pool_is_not_hidden_by_an_idle_one() {
        let page = page(&[
            ("db_pool_in_use", 10.0),
            ("db_pool_max", 10.0),
            ("waiting_for_pool", 2.0),
            ("http_pool_in_use", 1.0),
            ("http_pool_max", 200.0),
        ]);
        let family = fullest(std::slice::from_ref(&page));
        let pool = page.chosen(family.as_deref());
        assert!(is_full(&pool) && is_waited_for(&pool), "{pool:?}");
    }

    /// Where names have nothing in common they are of the only pool there is.
    #[test]
    fn names_without_a_family_are_added() {
        let page = page(&[("db_connections_active", 10.0), ("pool_size", 10.0)]);
        let family = fullest(std::slice::from_ref(&page));
        assert_eq!(family, None);
        assert!(is_full(&page.chosen(None)));
    }
}
