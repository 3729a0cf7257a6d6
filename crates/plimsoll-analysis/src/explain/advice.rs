//! What to change, with the inputs, the margin and the precondition of each rule (research G).
//!
//! Rules without their evidence are silent: an in-flight cap needs saturation and an idle response
//! time, a pool size needs a pool that was the limit.

use plimsoll_core::record::Record;
use plimsoll_core::units::three_digits;
use plimsoll_core::verdict::{Advice, Cause, Confidence, Limit, NextLimit, REACH};
use plimsoll_core::{Nanos, Tally};

use super::case::Case;
use super::cause::CLIENT;
use super::saturation::Sign;
use crate::advice::rules::{self, RETRY_BUDGET, Slowest};

/// Percentiles that a timeout may rest on, the furthest first; and the answers beyond one without which it says nothing.
const TAILS: [f64; 2] = [0.999, 0.99];
const TAIL_LEAST: f64 = 1.0;

/// What is advised of requests in flight, if so many are not far beyond what was in flight when it was measured.
fn within_reach(case: &Case, count: f64) -> bool {
    let most = case.levels.iter().flat_map(|level| &level.windows);
    let most = most.map(|window| window.in_flight_max).fold(0.0, f64::max);
    count <= REACH * most
}

pub(super) fn advice(
    case: &Case,
    record: &Record,
    limit: &Limit,
    next: Option<&NextLimit>,
) -> Vec<Advice> {
    let mut advice = Vec::new();
    if limit.confidence >= Confidence::Supported {
        advice.extend(lift(case, limit, next));
    }
    advice.extend(operating_point(case));
    // What is full benefits from a cap. What refuses, stands still or has no room for connections
    // is not full, and nothing is advised for what is not understood (G.10).
    let full = !matches!(
        limit.cause,
        Cause::Rule | Cause::Stalls | Cause::ConnectionSlots | Cause::Unknown
    ) && limit.tier.as_deref() != Some(CLIENT);
    if full && case.saturation.sign == Sign::Throughput {
        advice.extend(in_flight_cap(case));
        advice.extend(queue_bound(case, record));
        // Only what was searched says that there is no more.
        let is_searched = case.found.capacity_per_s.is_some();
        advice.extend(is_searched.then(|| rules::retry_budget(case.shown_peak())));
    }
    advice.extend(client_timeout(case, record));
    advice
}

fn up_to(next: Option<&NextLimit>, peak: f64, factor: f64) -> String {
    let wanted = factor * peak;
    match next {
        Some(next) if next.full_at_per_s < wanted => format!(
            "up to {}/s, where {} of {} is full",
            three_digits(next.full_at_per_s),
            next.resource,
            next.tier
        ),
        _ => format!("towards {}/s", three_digits(wanted)),
    }
}

/// Moves the limit itself.
fn lift(case: &Case, limit: &Limit, next: Option<&NextLimit>) -> Option<Advice> {
    let peak = limit.ceiling_per_s.unwrap_or(case.shown_peak());
    let (action, because) = match limit.cause {
        Cause::PinnedThread => (
            "run a second process of it behind the same port".to_owned(),
            format!(
                "one thread is full at {}/s; two carry {}, less where they wait for each other; a core must be free for it",
                three_digits(peak),
                up_to(next, peak, 2.0)
            ),
        ),
        Cause::EventLoop => (
            format!(
                "above {}/s, refuse requests before any work on them begins",
                three_digits(peak)
            ),
            "requests that were begun take the time of those that are nearly done; if the excess is \
             refused at once, goodput stays at its peak"
                .to_owned(),
        ),
        Cause::CpuQuota => (
            "raise the CPU quota".to_owned(),
            format!(
                "it is used up at {}/s; a quota twice as large carries {}",
                three_digits(peak),
                up_to(next, peak, 2.0)
            ),
        ),
        Cause::Cpu => (
            "add cores or take work off each request".to_owned(),
            format!("all cores are taken at {}/s", three_digits(peak)),
        ),
        Cause::Pool if limit.tier.as_deref() == Some(CLIENT) => (
            "let operations that are given up run to their end (given_up = \"finish\"), or give them the time that they need"
                .to_owned(),
            "an operation that is dropped takes its connection with it, and a driver opens new ones one or two at a time"
                .to_owned(),
        ),
        Cause::Pool => return pool_size(case, peak),
        Cause::ConnectionSlots => return slots(case, peak),
        Cause::Concurrency => (
            "serve more at once, or make each shorter".to_owned(),
            format!(
                "{}/s is all that so many workers or connections carry while processors are idle; twice as many carry {}, if what they wait for allows it",
                three_digits(peak),
                up_to(next, peak, 2.0)
            ),
        ),
        Cause::Lock => (
            "shorten the section that only one request may be in, or split what it guards".to_owned(),
            format!(
                "{}/s is one after the other; more threads, cores or connections wait at the same place",
                three_digits(peak)
            ),
        ),
        Cause::Rule => (
            "raise the configured rate, or let clients send less".to_owned(),
            format!(
                "the rule lets {}/s pass while the service behind it is idle; that carries {}",
                three_digits(peak),
                up_to(next, peak, 2.0)
            ),
        ),
        _ => return None,
    };
    Some(Advice { action, because })
}

/// G.2: a + β√a connections for a = λ·S, with β = 1 about a fifth of the requests wait.
fn pool_size(case: &Case, peak: f64) -> Option<Advice> {
    let held = case.base_service()?;
    let wanted = 1.5 * peak;
    let busy = wanted * held;
    let size = (busy + busy.sqrt()).ceil();
    within_reach(case, size).then(|| Advice {
        action: format!(
            "a pool of {size:.0} connections, for {}/s",
            three_digits(wanted)
        ),
        because: format!(
            "{}/s × {} keep {} of them in use; with the square root of that on top, about a fifth of \
             the requests wait for one; no more than the tier behind has processors and connections for",
            three_digits(wanted),
            Nanos::from_secs_f64(held),
            three_digits(busy)
        ),
    })
}

/// G.8: two slots per request in flight, on both sides of a proxy.
fn slots(case: &Case, peak: f64) -> Option<Advice> {
    let most = case.high().map(|level| level.in_flight).fold(0.0, f64::max);
    let base = case.base_service()?;
    let wanted = (2.0 * most.max(2.0 * peak * base)).ceil();
    // Two slots for each request.
    within_reach(case, wanted / 2.0).then(|| Advice {
        action: format!(
            "give it at least {wanted:.0} connection slots, and let it keep connections to the upstream open"
        ),
        because: format!(
            "each request in flight takes two, and {} were in flight; the limit of open files must allow them",
            three_digits(most)
        ),
    })
}

fn in_flight_cap(case: &Case) -> Option<Advice> {
    let (peak, response) = (case.shown_peak(), case.base_response()?);
    let knee = rules::knee(peak, response);
    within_reach(case, 2.0 * knee).then(|| rules::in_flight_cap(peak, response))
}

fn queue_bound(case: &Case, record: &Record) -> Option<Advice> {
    let bound = record.header.test.objectives()?.longest_bound()?;
    let length = rules::queue_length(case.shown_peak(), bound);
    (length >= 1.0 && within_reach(case, length))
        .then(|| rules::queue_bound(case.shown_peak(), bound))
}

/// G.4: what the load line itself takes. A timeout below the slowest answers that the claim rests on would end them.
fn client_timeout(case: &Case, record: &Record) -> Option<Advice> {
    let capacity = case.found.capacity_per_s?.estimate;
    let pooled = &case.found.capacity_levels;
    let levels = if pooled.is_empty() {
        case.found.capacity_level.as_slice()
    } else {
        pooled.as_slice()
    };
    let mut tally = Tally::default();
    for level in levels {
        tally.merge(&record.judged_tally(*level));
    }
    let answers = tally.answers_only();
    let beyond = |quantile: &f64| (1.0 - quantile) * answers.count() as f64;
    let quantile = TAILS
        .into_iter()
        .find(|quantile| beyond(quantile) >= TAIL_LEAST)?;
    let slowest = answers.quantile(quantile)?;
    let slowest = Slowest {
        quantile,
        time: slowest,
        at_per_s: capacity,
        place: "at the load line",
    };
    Some(rules::client_timeout(slowest, None))
}

/// G.7: room for variance and for retries within their budget.
fn operating_point(case: &Case) -> Option<Advice> {
    let capacity = case.found.capacity_per_s?.lower?;
    let with_retries = 0.9 * capacity / (1.0 + RETRY_BUDGET);
    let point = (0.8 * capacity).min(with_retries);
    Some(Advice {
        action: format!("plan for at most {}/s", three_digits(point)),
        because: format!(
            "0.8 × the capacity of {}/s leaves room for variance; {:.0} % of retries alone would allow {}/s",
            three_digits(capacity),
            RETRY_BUDGET * 100.0,
            three_digits(with_retries)
        ),
    })
}
