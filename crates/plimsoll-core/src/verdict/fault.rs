//! What a script itself calls wrong: a threshold that was crossed, a check that fails, requests of a name that fail.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::LoadSize;
use crate::metrics::Contains;
use crate::outcome::Outcome;
use crate::units::{Nanos, three_digits};

/// One of them; its figures are fields, its words are [`fmt::Display`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "fault", rename_all = "snake_case")]
pub enum ScriptFault {
    Threshold {
        /// The metric, with its tags where the threshold has some.
        metric: String,
        threshold: String,
        /// None where there was nothing to judge.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        observed: Option<f64>,
        contains: Contains,
    },
    Check {
        #[serde(default, skip_serializing_if = "String::is_empty")]
        group: String,
        check: String,
        failed_count: u64,
        evaluated_count: u64,
        load: LoadSize,
        /// The largest load below at which it held nearly always.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        held_at: Option<LoadSize>,
    },
    Name {
        name: String,
        failed_count: u64,
        attempts_count: u64,
        /// The most frequent kind.
        outcome: Outcome,
        load: LoadSize,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        held_at: Option<LoadSize>,
    },
}

/// A figure of a threshold in its unit.
fn observed_words(value: f64, contains: Contains) -> String {
    match contains {
        Contains::Time if value >= 0.0 => Nanos::from_secs_f64(value / 1e3).to_string(),
        Contains::Time => format!("{} ms", three_digits(value)),
        Contains::Data => format!("{} bytes", three_digits(value)),
        Contains::Default => three_digits(value),
    }
}

/// ` at 300/s, and held at 100/s`
fn where_it_fails(
    f: &mut fmt::Formatter<'_>,
    load: LoadSize,
    held_at: Option<LoadSize>,
) -> fmt::Result {
    write!(f, " at {load}")?;
    match held_at {
        Some(held_at) => write!(f, ", and nearly none at {held_at}"),
        None => Ok(()),
    }
}

fn percent(part: u64, all: u64) -> String {
    let share = 100.0 * part as f64 / all.max(1) as f64;
    format!("{} %", three_digits(share))
}

impl fmt::Display for ScriptFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Threshold {
                metric,
                threshold,
                observed,
                contains,
            } => match observed {
                Some(observed) => {
                    let observed = observed_words(*observed, *contains);
                    write!(
                        f,
                        "threshold {threshold} of {metric} was crossed: {observed} observed"
                    )
                }
                None => write!(
                    f,
                    "threshold {threshold} of {metric} was crossed: there was no sample to judge"
                ),
            },
            Self::Check {
                group,
                check,
                failed_count,
                evaluated_count,
                load,
                held_at,
            } => {
                write!(f, "check '{check}'")?;
                if !group.is_empty() {
                    write!(f, " of group '{}'", group.trim_start_matches("::"))?;
                }
                let share = percent(*failed_count, *evaluated_count);
                write!(f, " fails in {share} of {evaluated_count} evaluations")?;
                where_it_fails(f, *load, *held_at)
            }
            Self::Name {
                name,
                failed_count,
                attempts_count,
                outcome,
                load,
                held_at,
            } => {
                let share = percent(*failed_count, *attempts_count);
                let kind = outcome.name();
                write!(
                    f,
                    "of the {attempts_count} requests named {name} {share} fail, mostly {kind},"
                )?;
                where_it_fails(f, *load, *held_at)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_says_what_fails_how_often_and_at_which_load() {
        let check = ScriptFault::Check {
            group: "::checkout".to_owned(),
            check: "status is 200".to_owned(),
            failed_count: 36,
            evaluated_count: 300,
            load: LoadSize::PerS(300.0),
            held_at: Some(LoadSize::PerS(100.0)),
        };
        assert_eq!(
            check.to_string(),
            "check 'status is 200' of group 'checkout' fails in 12.0 % of 300 evaluations at 300/s, and nearly none at 100/s"
        );
        let threshold = ScriptFault::Threshold {
            metric: "http_req_duration{name:login}".to_owned(),
            threshold: "p(95)<500".to_owned(),
            observed: Some(743.2),
            contains: Contains::Time,
        };
        assert!(
            threshold
                .to_string()
                .ends_with("was crossed: 743 ms observed"),
            "{threshold}"
        );
    }
}
