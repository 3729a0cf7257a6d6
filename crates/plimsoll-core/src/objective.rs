//! Service-level objectives: the grammar of `--slo` and what each clause demands.

use std::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::status::StatusSet;
use crate::units::{Nanos, parse_duration, parse_ratio};

/// One demand. Quantiles are over attempts: a failure is infinitely late.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "clause")]
pub enum Clause {
    /// The `quantile` (0–1) of the response time stays below `bound_ns`.
    ResponseTime { quantile: f64, bound_ns: Nanos },
    /// The share of attempts that failed stays below `ratio`.
    Errors { ratio: f64 },
}

impl Clause {
    /// The clause of its own words, as a record holds it: `p99 < 250 ms`.
    pub fn parse(text: &str) -> Option<Self> {
        parse_clause(text).ok()
    }

    /// `p99`, `errors`
    pub fn subject(self) -> String {
        match self {
            Self::ResponseTime { quantile, .. } => percentile_name(quantile),
            Self::Errors { .. } => "errors".to_owned(),
        }
    }

    /// The share of attempts that may violate the clause: 1 − quantile, or the error ratio.
    pub fn budget(self) -> f64 {
        match self {
            Self::ResponseTime { quantile, .. } => 1.0 - quantile,
            Self::Errors { ratio } => ratio,
        }
    }
}

/// All clauses must hold. At least one, at most one error clause, at most four bounds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "Vec<Part>", into = "Vec<Part>")]
pub struct Objectives {
    clauses: Vec<Clause>,
    /// Which answers are right ones, where that was said.
    status: Option<StatusSet>,
}

/// What a record lists one by one.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Part {
    Status { status: StatusSet },
    Clause(Clause),
}

impl From<Vec<Part>> for Objectives {
    fn from(parts: Vec<Part>) -> Self {
        let (mut clauses, mut status) = (Vec::new(), None);
        for part in parts {
            match part {
                Part::Status { status: set } => status = Some(set),
                Part::Clause(clause) => clauses.push(clause),
            }
        }
        Self { clauses, status }
    }
}

impl From<Objectives> for Vec<Part> {
    fn from(objectives: Objectives) -> Self {
        let status = objectives.status.map(|status| Part::Status { status });
        let clauses = objectives.clauses.into_iter().map(Part::Clause);
        clauses.chain(status).collect()
    }
}

/// Why a text is not a list of objectives.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ObjectiveError {
    #[error("objective is empty; write for example 'p99<250ms,errors<0.1%'")]
    Empty,
    #[error("`{0}` has no `<`; write for example p99<250ms or errors<0.1%")]
    NoComparison(String),
    #[error("`{0}` is not known here; clauses are pNN (p50 to p99.99), errors and status")]
    Unknown(String),
    #[error("`{clause}`: {reason}")]
    Value { clause: String, reason: String },
    #[error("`{0}` is always met, or can never be; {1}")]
    Trivial(String, &'static str),
    #[error("`{0}` is said twice; keep one")]
    Repeated(String),
    #[error(
        "`{0}` names no status codes; write for example status=200, status=200|204 or status=2xx"
    )]
    Status(String),
    #[error(
        "`{0}` says which answers are right; say too how many must be, such as {0},errors<0.1%"
    )]
    StatusAlone(String),
    #[error("more than four response-time clauses")]
    TooMany,
}

impl Objectives {
    pub const BOUNDS_MAX: usize = 4;

    /// Parses `p99<250ms,errors<0.1%`. White space and `<=` are allowed.
    pub fn parse(text: &str) -> Result<Self, ObjectiveError> {
        let mut clauses: Vec<Clause> = Vec::new();
        let mut status = None;
        for part in text
            .split(',')
            .map(str::trim)
            .filter(|part| !part.is_empty())
        {
            if let Some(codes) = status_codes(part) {
                let set = StatusSet::parse(codes);
                let set = set.ok_or_else(|| ObjectiveError::Status(part.to_owned()))?;
                if status.replace(set).is_some() {
                    return Err(ObjectiveError::Repeated(part.to_owned()));
                }
                continue;
            }
            let clause = parse_clause(part)?;
            if clauses.iter().any(|known| same_subject(*known, clause)) {
                return Err(ObjectiveError::Repeated(part.to_owned()));
            }
            clauses.push(clause);
        }
        if clauses.is_empty() {
            return Err(status.map_or(ObjectiveError::Empty, |set| {
                ObjectiveError::StatusAlone(format!("status={set}"))
            }));
        }
        let objectives = Self { clauses, status };
        if objectives.bounds().len() > Self::BOUNDS_MAX {
            return Err(ObjectiveError::TooMany);
        }
        Ok(objectives)
    }

    pub fn clauses(&self) -> &[Clause] {
        &self.clauses
    }

    /// The status codes of right answers, where they were named.
    pub fn status(&self) -> Option<&StatusSet> {
        self.status.as_ref()
    }

    /// The response-time bounds in clause order; index n is `Tally::within(n)`.
    pub fn bounds(&self) -> Vec<Nanos> {
        self.clauses
            .iter()
            .filter_map(|clause| match *clause {
                Clause::ResponseTime { bound_ns, .. } => Some(bound_ns),
                Clause::Errors { .. } => None,
            })
            .collect()
    }

    /// The longest bound, from which a search derives its client timeout.
    pub fn longest_bound(&self) -> Option<Nanos> {
        self.bounds().into_iter().max()
    }

    /// The shortest time that a clause allows.
    pub fn tightest_bound(&self) -> Option<Nanos> {
        self.bounds().into_iter().min()
    }
}

fn same_subject(a: Clause, b: Clause) -> bool {
    match (a, b) {
        (Clause::ResponseTime { quantile: a, .. }, Clause::ResponseTime { quantile: b, .. }) => {
            (a - b).abs() < 1e-9
        }
        (Clause::Errors { .. }, Clause::Errors { .. }) => true,
        _ => false,
    }
}

/// What stands behind `status=`.
fn status_codes(part: &str) -> Option<&str> {
    let (subject, codes) = part.split_once('=')?;
    (subject.trim() == "status").then(|| codes.trim_start_matches('=').trim())
}

fn parse_clause(part: &str) -> Result<Clause, ObjectiveError> {
    let (subject, value) = part
        .split_once('<')
        .ok_or_else(|| ObjectiveError::NoComparison(part.to_owned()))?;
    let subject = subject.trim();
    let value = value.strip_prefix('=').unwrap_or(value).trim();
    let reason = |error: crate::units::UnitError| ObjectiveError::Value {
        clause: part.to_owned(),
        reason: error.to_string(),
    };
    if matches!(subject, "errors" | "error" | "failures") {
        let ratio = parse_ratio(value).map_err(reason)?;
        if ratio <= 0.0 || ratio >= 1.0 {
            let fix = "an error budget lies between 0 and 100 %, such as 0.1%";
            return Err(ObjectiveError::Trivial(part.to_owned(), fix));
        }
        return Ok(Clause::Errors { ratio });
    }
    let percent = subject
        .strip_prefix('p')
        .and_then(|digits| digits.parse::<f64>().ok())
        .ok_or_else(|| ObjectiveError::Unknown(subject.to_owned()))?;
    if !(1.0..=99.99).contains(&percent) {
        return Err(ObjectiveError::Unknown(subject.to_owned()));
    }
    let bound_ns = parse_duration(value).map_err(reason)?;
    if bound_ns == Nanos::ZERO {
        return Err(ObjectiveError::Trivial(
            part.to_owned(),
            "a bound is longer than zero",
        ));
    }
    // Rounded so that 99.9 becomes 0.999 and not 0.9990000000000001.
    Ok(Clause::ResponseTime {
        // As fine as it is printed: what reads the same is the same.
        quantile: (percent * 1e4).round() / 1e6,
        bound_ns,
    })
}

impl fmt::Display for Clause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ResponseTime { bound_ns, .. } => {
                write!(f, "{} < {}", self.subject(), plain(*bound_ns))
            }
            Self::Errors { ratio } => write!(f, "{} < {} %", self.subject(), ratio * 100.0),
        }
    }
}

/// A bound as a person typed it: `250 ms`, not `250.0 ms`.
fn plain(bound: Nanos) -> String {
    for (unit, nanos) in [("s", 1_000_000_000), ("ms", 1_000_000), ("µs", 1_000)] {
        if bound.0 >= nanos && bound.0.is_multiple_of(nanos) {
            return format!("{} {unit}", bound.0 / nanos);
        }
    }
    bound.to_string()
}

/// `0.99` is shown as `p99`, `0.999` as `p99.9`.
pub fn percentile_name(quantile: f64) -> String {
    format!("p{}", (quantile * 1e6).round() / 1e4)
}

impl fmt::Display for Objectives {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, clause) in self.clauses.iter().enumerate() {
            if index > 0 {
                f.write_str(", ")?;
            }
            write!(f, "{clause}")?;
        }
        match &self.status {
            Some(status) => write!(f, ", status = {status}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grammar() {
        let objectives = Objectives::parse("p99<250ms, errors<0.1%").unwrap();
        assert_eq!(objectives.to_string(), "p99 < 250 ms, errors < 0.1 %");
        assert_eq!(objectives.bounds(), [Nanos::from_millis(250)]);
        assert!((objectives.clauses()[0].budget() - 0.01).abs() < 1e-12);
        assert_eq!(
            Objectives::parse("p99.9<=1s").unwrap().to_string(),
            "p99.9 < 1 s"
        );
    }

    #[test]
    fn what_is_printed_can_be_typed() {
        for text in [
            "p99<250ms,errors<0.1%",
            "p95<1m30s",
            "p99.9<250us",
            "p99<1s,status=200|3xx",
        ] {
            let objectives = Objectives::parse(text).unwrap();
            let json = serde_json::to_string(&objectives).unwrap();
            assert_eq!(
                serde_json::from_str::<Objectives>(&json).unwrap(),
                objectives
            );
            assert_eq!(Objectives::parse(&objectives.to_string()), Ok(objectives));
        }
    }

    #[test]
    fn what_is_refused_says_why() {
        for (text, fragment) in [
            ("", "empty"),
            (",", "empty"),
            ("p99", "no `<`"),
            ("p99>1s", "no `<`"),
            ("latency<1s", "not known"),
            ("p100<1s", "not known"),
            ("pNaN<1s", "not known"),
            ("p99<10", "not a duration"),
            ("p99<0ms", "longer than zero"),
            ("errors<0", "error budget"),
            ("errors<100%", "error budget"),
            ("errors<2", "not a ratio"),
            ("p99<1s,p99.0<2s", "twice"),
            ("p99<1s,p99.000008<2s", "twice"),
            ("errors<1%,errors<2%", "twice"),
            ("status=200", "status=200,errors<0.1%"),
            ("status=20,errors<1%", "status=2xx"),
            ("status=200,p99<1s,status=204", "twice"),
            ("p1<1s,p2<1s,p3<1s,p4<1s,p5<1s", "more than four"),
        ] {
            let error = Objectives::parse(text).unwrap_err().to_string();
            assert!(error.contains(fragment), "{text}: {error}");
        }
    }
}
