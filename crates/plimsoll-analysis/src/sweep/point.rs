//! Figures of one run, and of all valid runs of a point together.

use plimsoll_core::record::Record;
use plimsoll_core::statistics::{mean_and_error, median, ratio, t_975};
use plimsoll_core::sweep::{Figures, Point, Run};
use plimsoll_core::tally::Quantile;
use plimsoll_core::test::{How, Load};
use plimsoll_core::verdict::Verdict;
use plimsoll_core::{Nanos, Outcome};

use crate::compare::unusable;
use crate::gates::residence_and_in_flight;

/// Answers beyond a percentile without which it says nothing.
const TAIL_LEAST: f64 = 1.0;

/// One run with its record; `users` are the virtual users of a script, where that is one number.
pub fn run(path: String, record: &Record, verdict: &Verdict, users: Option<f64>) -> Run {
    Run {
        record: path,
        excluded: unusable(record, verdict),
        figures: Some(figures(record, verdict, users)),
    }
}

fn figures(record: &Record, verdict: &Verdict, users: Option<f64>) -> Figures {
    let times = &verdict.response_time_ns;
    let beyond = 0.001 * verdict.attempts_count as f64;
    let flows = residence_and_in_flight(record);
    let capacity = verdict.found.capacity();
    let held = capacity.map(|bounds| bounds.lower.unwrap_or(bounds.estimate));
    let is_search = record.header.test.is_search();
    let in_flight = match record.header.test.how {
        How::Set {
            load: Load::Closed { in_flight },
            ..
        } if !record.header.test.is_script() => Some(f64::from(in_flight.get())),
        How::Set { .. } => users,
        How::Search { .. } => None,
    };
    let (carried_per_s, done_per_s) = if is_search {
        (held.unwrap_or(0.0), held.unwrap_or(0.0))
    } else {
        (verdict.goodput_per_s, ok_per_s(record, verdict.level))
    };
    Figures {
        carried_per_s,
        carried_interval: None,
        done_per_s,
        done_interval: None,
        throughput_per_s: verdict.throughput_per_s,
        failed_ratio: verdict.failed_ratio(),
        in_flight: verdict.in_flight_mean,
        concurrency: in_flight,
        little: flows.map(|(left, right)| left / right),
        mean_seconds: times.mean.map(Nanos::as_secs_f64),
        p50: times.p50,
        p99: times.p99,
        p99_9: times.p99_9.filter(|_| beyond >= TAIL_LEAST),
    }
}

/// Ok answers that ended within the windows that were judged.
fn ok_per_s(record: &Record, level: u32) -> f64 {
    let (mut count, mut seconds) = (0, 0.0);
    for window in record.judged_windows(level) {
        count += window.total().class(Outcome::Ok).count;
        seconds += window.length_ns.as_secs_f64();
    }
    ratio(count as f64, seconds)
}

fn valid(runs: &[Run]) -> Vec<Figures> {
    let valid = runs.iter().filter(|run| run.excluded.is_none());
    valid.filter_map(|run| run.figures).collect()
}

/// Correct answers per second of each valid run.
pub(super) fn done(point: &Point) -> Vec<f64> {
    let valid = valid(&point.runs);
    valid.iter().map(|figures| figures.done_per_s).collect()
}

/// Rates and shares are means, times the middle ones; none without a valid run.
pub(super) fn over(runs: &[Run]) -> Option<Figures> {
    let runs = valid(runs);
    let mean =
        |figure: fn(&Figures) -> f64| runs.iter().map(figure).sum::<f64>() / runs.len() as f64;
    let means = |figure: fn(&Figures) -> Option<f64>| {
        let values: Vec<f64> = runs.iter().filter_map(figure).collect();
        mean_and_error(&values).map(|(mean, _)| mean)
    };
    let middle = |figure: fn(&Figures) -> Option<Quantile>| {
        let mut values: Vec<Quantile> = runs.iter().filter_map(figure).collect();
        values.sort();
        values.get(values.len().saturating_sub(1) / 2).copied()
    };
    let with_interval = |figure: fn(&Figures) -> f64| {
        let values: Vec<f64> = runs.iter().map(figure).collect();
        let (mean, error) = mean_and_error(&values)?;
        let half = error.map(|error| t_975(values.len() - 1) * error);
        let around = half.map(|half| ((mean - half).max(0.0), mean + half));
        Some((mean, around))
    };
    let (carried_per_s, carried_interval) = with_interval(|run| run.carried_per_s)?;
    let (done_per_s, done_interval) = with_interval(|run| run.done_per_s)?;
    Some(Figures {
        carried_per_s,
        carried_interval,
        done_per_s,
        done_interval,
        throughput_per_s: mean(|run| run.throughput_per_s),
        failed_ratio: mean(|run| run.failed_ratio),
        in_flight: mean(|run| run.in_flight),
        concurrency: runs.first()?.concurrency,
        little: means(|run| run.little),
        mean_seconds: means(|run| run.mean_seconds),
        p50: middle(|run| run.p50),
        p99: middle(|run| run.p99),
        p99_9: middle(|run| run.p99_9),
    })
}

/// By how much runs of one point differ, as a share: the middle of all points that were played more than once.
pub(super) fn spread(points: &[Point]) -> Option<f64> {
    median(points.iter().filter_map(spread_of).collect())
}

/// The standard deviation of the difference of two runs of this point, as a share.
pub(super) fn spread_of(point: &Point) -> Option<f64> {
    let values = done(point);
    let (mean, error) = mean_and_error(&values)?;
    // The difference of two has twice the variance of one.
    let deviation = error? * (values.len() as f64).sqrt() * std::f64::consts::SQRT_2;
    (mean > 0.0).then(|| deviation / mean)
}
