//! Limits for clients and services (research G): each with its inputs and margin, or with the measurement that would allow it.

pub(crate) mod rules;

use plimsoll_core::Nanos;
use plimsoll_core::sweep::{Counsel, Figures, Knee, Line, Rule, Says, Sweep};

use rules::Slowest;

/// A timeout rests on the answers of a system with this much room at least: the highest point below this share of the most.
const ROOM: f64 = 0.8;
/// The percentile that it rests on, and the answers that reach so far.
const TAIL: f64 = 0.999;
const TAIL_ANSWERS: u32 = 1_000;

/// What only the user knows.
#[derive(Debug, Clone, Copy, Default)]
pub struct Declared {
    /// Processes that will share the target.
    pub clients: Option<u32>,
    /// After which the service gives up on a request itself.
    pub server_timeout: Option<Nanos>,
    /// The objective's longest bound on the response time.
    pub bound: Option<Nanos>,
}

/// All rules over what a sweep measured.
pub(crate) fn of_sweep(sweep: &Sweep, declared: &Declared) -> Vec<Counsel> {
    let evidence = Evidence::of(sweep);
    let rules = [
        (Rule::InFlightCap, in_flight_cap(&evidence)),
        (Rule::PoolSize, pool_size(&evidence, declared)),
        (Rule::QueueBound, queue_bound(&evidence, declared)),
        (
            Rule::ClientTimeout,
            client_timeout(&evidence, sweep, declared),
        ),
        (Rule::RetryBudget, retry_budget(&evidence)),
    ];
    rules.map(|(rule, says)| Counsel { rule, says }).to_vec()
}

/// The knee of the line that carries most, or why there is none.
enum Evidence {
    Knee(Knee),
    None(String),
}

impl Evidence {
    fn of(sweep: &Sweep) -> Self {
        let best = sweep.best().map(|(point, _)| point);
        let place = sweep.points.iter().position(|point| Some(point) == best);
        let has = |line: &&Line| place.is_some_and(|place| line.points.contains(&place));
        let Some(line) = sweep.lines.iter().find(has) else {
            return Self::None("no point has a valid run: measure again".to_owned());
        };
        let modelled = &line.modelled;
        let why = modelled.no_knee.as_ref().or(modelled.no_fit.as_ref());
        match modelled.knee {
            Some(knee) => Self::Knee(knee),
            None => Self::None(why.cloned().unwrap_or_default()),
        }
    }

    fn knee(&self) -> Result<Knee, String> {
        match self {
            Self::Knee(knee) => Ok(*knee),
            Self::None(why) => Err(why.clone()),
        }
    }
}

fn says(advice: Result<plimsoll_core::verdict::Advice, String>) -> Says {
    advice.map_or_else(Says::Needs, Says::Advice)
}

fn in_flight_cap(evidence: &Evidence) -> Says {
    let knee = evidence.knee();
    says(knee.map(|knee| rules::in_flight_cap(knee.max_per_s.estimate, knee.base_seconds.estimate)))
}

fn pool_size(evidence: &Evidence, declared: &Declared) -> Says {
    let clients = declared
        .clients
        .ok_or_else(|| "say how many processes will share the target: --clients COUNT".to_owned());
    let both = evidence.knee().and_then(|knee| Ok((knee, clients?)));
    says(both.map(|(knee, clients)| {
        rules::pool_per_process(knee.max_per_s.estimate, knee.base_seconds.estimate, clients)
    }))
}

fn queue_bound(evidence: &Evidence, declared: &Declared) -> Says {
    let bound = declared
        .bound
        .ok_or_else(|| "say how long an answer may take: --slo 'p99<250ms'".to_owned());
    let both = evidence
        .knee()
        .and_then(|knee| Ok((knee.max_per_s.estimate, bound?)));
    let long_enough = both.and_then(|(most, bound)| {
        if rules::queue_length(most, bound) < 1.0 {
            return Err(format!(
                "{bound} is too short for one request to wait: say a longer bound in --slo"
            ));
        }
        Ok(rules::queue_bound(most, bound))
    });
    says(long_enough)
}

fn client_timeout(evidence: &Evidence, sweep: &Sweep, declared: &Declared) -> Says {
    let slowest = evidence.knee().and_then(|knee| {
        let most = ROOM * knee.max_per_s.estimate;
        let figures = sweep.points.iter().filter_map(|point| point.figures.as_ref());
        // Beyond the knee a system that falls back carries little, too, and has no room.
        let is_below = |figures: &&Figures| {
            let concurrency = figures.concurrency.unwrap_or(f64::INFINITY);
            figures.done_per_s <= most && concurrency <= knee.in_flight.estimate
        };
        let below = figures.filter(is_below);
        slowest_of(below).ok_or_else(|| {
            format!(
                "no point that carries at most {:.0} % of the most has {TAIL_ANSWERS} answers: add a smaller value, or play longer runs",
                100.0 * ROOM
            )
        })
    });
    says(slowest.map(|slowest| rules::client_timeout(slowest, declared.server_timeout)))
}

/// Of the point that carries most among these.
fn slowest_of<'f>(figures: impl Iterator<Item = &'f Figures>) -> Option<Slowest> {
    let with_tail = figures.filter_map(|figures| {
        let time = figures
            .p99_9
            .and_then(plimsoll_core::tally::Quantile::finite)?;
        Some((figures.done_per_s, time))
    });
    let (at_per_s, time) = with_tail.max_by(|a, b| a.0.total_cmp(&b.0))?;
    Some(Slowest {
        quantile: TAIL,
        time,
        at_per_s,
        place: "at a point",
    })
}

fn retry_budget(evidence: &Evidence) -> Says {
    let knee = evidence.knee();
    says(knee.map(|knee| rules::retry_budget(knee.max_per_s.estimate)))
}
