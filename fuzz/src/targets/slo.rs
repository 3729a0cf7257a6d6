//! Objectives: what parses prints as text that parses to the same, but for rounding.

use plimsoll_core::Objectives;

use super::{Outcome, variant};

pub(super) const WORDS: &[&str] = &[
    "p99<250ms",
    "errors<0.1%",
    "p99.9<1s",
    "p50",
    "<=",
    "<",
    ",",
    "ms",
    "us",
    "%",
    "p99.99",
    "1h1m",
];

pub(super) fn read(data: &[u8]) -> Outcome {
    let text = String::from_utf8_lossy(data);
    let objectives = match Objectives::parse(&text) {
        Ok(objectives) => objectives,
        Err(error) => return variant(&error),
    };
    for clause in objectives.clauses() {
        let budget = clause.budget();
        assert!(
            budget > 0.0 && budget < 1.0,
            "a budget of {budget} in {text:?}"
        );
    }
    assert!(
        objectives.bounds().len() <= Objectives::BOUNDS_MAX,
        "too many bounds in {text:?}"
    );
    let printed = objectives.to_string();
    let again = Objectives::parse(&printed);
    let again = again.unwrap_or_else(|error| panic!("{text:?} prints as {printed:?}: {error}"));
    assert!(agree(&objectives, &again), "{text:?} prints as {printed:?}");
    format!("{} clauses", objectives.clauses().len())
}

/// An odd bound is printed with three digits, and a ratio goes through its percentage.
fn agree(one: &Objectives, other: &Objectives) -> bool {
    let close = |a: f64, b: f64| (a - b).abs() <= 0.01 * a.abs().max(b.abs());
    let budgets = one.clauses().iter().zip(other.clauses());
    let bounds = one.bounds().into_iter().zip(other.bounds());
    one.clauses().len() == other.clauses().len()
        && budgets
            .into_iter()
            .all(|(a, b)| close(a.budget(), b.budget()))
        && bounds
            .into_iter()
            .all(|(a, b)| close(a.as_secs_f64(), b.as_secs_f64()))
}
