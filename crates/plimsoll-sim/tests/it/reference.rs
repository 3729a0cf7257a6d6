//! The capacity of a plain station by another method than the simulator's: a recursion over arrivals.

use plimsoll_base::random::Rng;

/// Kiefer and Wolfowitz (1955): with c servers, the next arrival waits for the least of the c times
/// at which servers become free. Returns the share of requests slower than `bound` (seconds).
pub(crate) fn slow_share(
    servers: usize,
    rate: f64,
    bound: f64,
    requests: u64,
    mut service: impl FnMut(&mut Rng) -> f64,
    seed: u64,
) -> f64 {
    let mut arrivals = Rng::new(seed, 101);
    let mut services = Rng::new(seed, 102);
    let mut free = vec![0.0f64; servers];
    let (mut now, mut slow) = (0.0, 0u64);
    let warm_up = requests / 100;
    for index in 0..requests + warm_up {
        now += arrivals.exponential() / rate;
        let first = (0..servers)
            .min_by(|&a, &b| free[a].total_cmp(&free[b]))
            .unwrap();
        let end = free[first].max(now) + service(&mut services);
        free[first] = end;
        slow += u64::from(index >= warm_up && end - now > bound);
    }
    slow as f64 / requests as f64
}

/// Lognormal service with this mean (seconds) and coefficient of variation.
pub(crate) fn lognormal(mean: f64, cv: f64) -> impl FnMut(&mut Rng) -> f64 {
    let variance = (cv * cv).ln_1p();
    let (mu, sigma) = (mean.ln() - variance / 2.0, variance.sqrt());
    move |rng| (mu + sigma * rng.normal()).exp()
}

/// The highest rate whose slow share stays below `budget`, by bisection with common random numbers.
pub(crate) fn capacity(budget: f64, low: f64, high: f64, share: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (low, high);
    while high / low > 1.0005 {
        let middle = (low * high).sqrt();
        if share(middle) < budget {
            low = middle;
        } else {
            high = middle;
        }
    }
    (low * high).sqrt()
}
