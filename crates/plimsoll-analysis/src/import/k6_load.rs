//! What kind of load k6 put on: its files never name the executor, so the VUs and iterations have to tell.

use super::figures::{Arrivals, Clients, Figures};

/// What a file says of VUs and iterations.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Vus {
    pub(super) low: Option<f64>,
    pub(super) high: Option<f64>,
    /// Made ready beforehand.
    pub(super) ready: Option<f64>,
    /// Arrivals for which no VU was free.
    pub(super) dropped: f64,
    pub(super) iterations: Option<f64>,
}

/// A closed loop puts all VUs that are ready to work; samples of one second miss the last few.
const ALL_AT_WORK: f64 = 0.9;
/// VUs that were at work on average, of those at most, where their number was held.
const HELD: f64 = 0.95;
/// So long a run does not have a whole number of iterations per second by chance.
const WHOLE_SECONDS_MIN: f64 = 20.0;

/// Says how arrivals came about, and whether the number of VUs was changed on purpose.
pub(super) fn classify(figures: &mut Figures, vus: Vus) {
    let (Some(low), Some(high)) = (vus.low, vus.high) else {
        return;
    };
    let is_held = low >= high
        || figures
            .mean_in_flight()
            .is_some_and(|mean| mean >= HELD * high);
    // Dropped with all VUs at work throughout: iterations that ran out of time are counted so too.
    if vus.dropped > 0.0 && low >= high {
        return;
    }
    if is_by_arrival_rate(figures, vus, high, is_held) {
        figures.arrivals = Arrivals::Open;
        if vus.dropped == 0.0 {
            let remark = "taken for arrivals at a rate by its VUs and iterations: the file does not name the executor";
            figures.remarks.push(remark.to_owned());
        }
        let due = vus.iterations.map(|done| done + vus.dropped);
        let seconds = figures.seconds.filter(|seconds| *seconds > 0.0);
        figures.offered_per_s = due.zip(seconds).map(|(due, seconds)| due / seconds);
        return;
    }
    figures.arrivals = Arrivals::Closed;
    figures.in_flight = vus.ready.filter(|_| !is_held).or(Some(high));
    figures.in_flight_is_sampled = is_held || vus.ready.is_none();
    if !is_held {
        figures.clients = Clients::Changing { low, high };
    }
}

fn is_by_arrival_rate(figures: &Figures, vus: Vus, high: f64, is_held: bool) -> bool {
    let some_were_idle = vus.ready.is_some_and(|ready| high < ALL_AT_WORK * ready);
    if vus.dropped > 0.0 || some_were_idle {
        return true;
    }
    !is_held && has_whole_rate(figures.seconds, vus.iterations)
}

/// Arrivals at a constant rate are a whole number per second, give or take the one at the end.
fn has_whole_rate(seconds: Option<f64>, iterations: Option<f64>) -> bool {
    let Some((seconds, iterations)) = seconds.zip(iterations) else {
        return false;
    };
    seconds >= WHOLE_SECONDS_MIN
        && [seconds.floor(), seconds.round()]
            .into_iter()
            .any(|whole| iterations >= whole && iterations % whole <= 1.0)
}
