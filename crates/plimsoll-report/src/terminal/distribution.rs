//! The distribution of response times as a few bars, failures at its end.

use plimsoll_core::tally::Tally;
use plimsoll_core::{Histogram, Nanos, Outcome};

use crate::format;
use crate::ink::{Ink, Role};

const BAR_COLUMNS: usize = 40;
const ROWS_MIN: usize = 5;
const ROWS_MAX: usize = 12;
/// Steps within a decade, coarse to fine: 1-2-5, then the preferred numbers R10 (ISO 3).
const COARSE: [u64; 3] = [100, 200, 500];
const FINE: [u64; 10] = [100, 125, 160, 200, 250, 315, 400, 500, 630, 800];

/// One line per range of times, as shares of all attempts; empty without a timed answer.
pub(super) fn rows(tally: &Tally) -> Vec<Ink> {
    let mut times = tally.class(Outcome::Ok).response.clone();
    times.merge(&tally.class(Outcome::Accepted).response);
    let attempts = tally.decided();
    let Some(edges) = edges(&times) else {
        return Vec::new();
    };
    let mut shares: Vec<(String, u64, Role)> = Vec::new();
    let mut below = 0;
    for edge in edges {
        let now = times.count_at_most(edge);
        // 6.30 ms is read at a glance, 6,300 µs is not.
        let (exact, rounded) = (format::bound(edge), format::time(edge));
        let label = if exact.chars().count() > rounded.chars().count() {
            rounded
        } else {
            exact
        };
        shares.push((format!("≤ {label}"), now - below, Role::Good));
        below = now;
    }
    if times.count() > below {
        shares.push(("later".to_owned(), times.count() - below, Role::Good));
    }
    if tally.failures() > 0 {
        shares.push(("never".to_owned(), tally.failures(), Role::Fail));
    }
    let highest = shares.iter().map(|(_, n, _)| *n).max().unwrap_or(1).max(1);
    shares
        .iter()
        .map(|(label, n, role)| bar(label, *n, *role, highest, attempts))
        .collect()
}

fn bar(label: &str, n: u64, role: Role, highest: u64, attempts: u64) -> Ink {
    let share = format::percent(n as f64 / attempts.max(1) as f64);
    let eighths = (n as f64 / highest as f64 * BAR_COLUMNS as f64 * 8.0).ceil() as usize;
    let mut drawn = "█".repeat(eighths / 8);
    drawn.extend(['▏', '▎', '▍', '▌', '▋', '▊', '▉'].get((eighths % 8).wrapping_sub(1)));
    Ink::new(Role::Dim, format!("{label:>11} "))
        .and(Role::Plain, format!("{share:>10}  "))
        .and(role, drawn)
}

/// Upper edges that cover all but the last thousandth, in the coarsest steps that show a shape.
fn edges(times: &Histogram) -> Option<Vec<Nanos>> {
    let (low, high) = (times.quantile(0.001)?, times.quantile(0.999)?);
    let coarse = steps(low, high, &COARSE);
    let edges = if coarse.len() < ROWS_MIN {
        steps(low, high, &FINE)
    } else {
        coarse
    };
    let skip = edges.len().saturating_sub(ROWS_MAX);
    Some(edges.get(skip..).unwrap_or_default().to_vec())
}

/// The edges from the first at or above `low` to the first at or above `high`.
fn steps(low: Nanos, high: Nanos, within_decade: &[u64]) -> Vec<Nanos> {
    let mut edges = Vec::new();
    for power in 0..12u32 {
        for step in within_decade {
            let edge = Nanos(step * 10u64.pow(power));
            if edge >= low {
                edges.push(edge);
                if edge >= high {
                    return edges;
                }
            }
        }
    }
    edges
}
