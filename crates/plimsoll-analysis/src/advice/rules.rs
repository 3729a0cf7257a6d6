//! The rules themselves: what follows from figures that are known, with the figures in the sentence.

use plimsoll_core::Nanos;
use plimsoll_core::objective::percentile_name;
use plimsoll_core::units::three_digits;
use plimsoll_core::verdict::Advice;

/// Of the queue that a bound on the response time leaves room for; the rest is margin (G.3).
const QUEUE_SHARE: f64 = 0.8;
/// Retries may add this share to the load (G.5).
pub(crate) const RETRY_BUDGET: f64 = 0.1;

/// G.1: Xmax × R₀ in flight fill the system; twice that leaves room for variance.
pub(crate) fn knee(max_per_s: f64, base_seconds: f64) -> f64 {
    (max_per_s * base_seconds).ceil().max(1.0)
}

pub(crate) fn in_flight_cap(max_per_s: f64, base_seconds: f64) -> Advice {
    let knee = knee(max_per_s, base_seconds);
    Advice {
        action: format!(
            "let at most {knee:.0} to {:.0} requests be in flight",
            2.0 * knee
        ),
        because: format!(
            "{}/s × {}, the response time without load, keep the system busy; with more in flight only \
             the wait grows; several clients share this number",
            three_digits(max_per_s),
            Nanos::from_secs_f64(base_seconds)
        ),
    }
}

/// G.2: what the tier behind can use is shared among those that ask it.
pub(crate) fn pool_per_process(max_per_s: f64, base_seconds: f64, processes: u32) -> Advice {
    let knee = knee(max_per_s, base_seconds);
    let each = (knee / f64::from(processes)).ceil().max(1.0);
    Advice {
        action: format!("a pool of {each:.0} connections in each of {processes} processes"),
        because: format!(
            "together no more than the {knee:.0} in flight that fill the tier behind ({}/s × {}); more of them wait there \
             instead of here",
            three_digits(max_per_s),
            Nanos::from_secs_f64(base_seconds)
        ),
    }
}

/// G.3: what is queued must still be answered within the bound, K ≤ 0.8·X·T.
pub(crate) fn queue_length(max_per_s: f64, bound: Nanos) -> f64 {
    (QUEUE_SHARE * max_per_s * bound.as_secs_f64()).floor()
}

pub(crate) fn queue_bound(max_per_s: f64, bound: Nanos) -> Advice {
    let length = queue_length(max_per_s, bound);
    Advice {
        action: format!("let at most {length:.0} requests wait, and refuse more at once"),
        because: format!(
            "{QUEUE_SHARE} × {}/s × {bound}: who waits behind so many misses the objective",
            three_digits(max_per_s)
        ),
    }
}

/// The slow end of the answers where the system has room left.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Slowest {
    pub(crate) quantile: f64,
    pub(crate) time: Nanos,
    pub(crate) at_per_s: f64,
    /// `at the load line`
    pub(crate) place: &'static str,
}

/// G.4: a timeout below the slowest answers of a system that has room left would end them; one below the server's own leaves
/// work behind that nobody waits for.
pub(crate) fn client_timeout(slowest: Slowest, server: Option<Nanos>) -> Advice {
    let Slowest {
        quantile,
        time,
        at_per_s,
        place,
    } = slowest;
    let (least, own) = match server {
        Some(server) if server >= time => (
            server,
            format!(
                "; the service's own timeout of {server} is longer, and who gives up before it leaves work that nobody waits for"
            ),
        ),
        Some(server) => (
            rounded_up(time),
            format!(
                "; that is above the service's own timeout of {server}: look at the service first, it gives up on slow answers"
            ),
        ),
        None => (
            rounded_up(time),
            "; add the time to connect, and stay above the service's own timeout".to_owned(),
        ),
    };
    Advice {
        action: format!("client timeout of at least {least}"),
        because: format!(
            "{} {place} of {}/s is {time}{own}",
            percentile_name(quantile),
            three_digits(at_per_s)
        ),
    }
}

/// Two digits, and never less: 76.3 ms is 77 ms, 1.23 s is 1.3 s.
fn rounded_up(time: Nanos) -> Nanos {
    let mut grain = 1;
    while time.0 / grain >= 100 {
        grain *= 10;
    }
    Nanos(time.0.div_ceil(grain) * grain)
}

/// G.5: with a budget b every shock passes while λ(1 + b) < Xmax; three blind retries would need λ < Xmax ÷ 4.
pub(crate) fn retry_budget(max_per_s: f64) -> Advice {
    let percent = RETRY_BUDGET * 100.0;
    Advice {
        action: format!(
            "retry in one layer, twice at most, within a budget of {percent:.0} % of the requests"
        ),
        because: format!(
            "an outage passes as long as the usual load stays below {}/s ÷ {:.1} = {}/s; three retries without a budget need it below {}/s",
            three_digits(max_per_s),
            1.0 + RETRY_BUDGET,
            three_digits(max_per_s / (1.0 + RETRY_BUDGET)),
            three_digits(max_per_s / 4.0)
        ),
    }
}
