//! Thresholds: expressions over metrics that decide whether a scripted test passed.
//!
//! `http_req_duration{name:login}: ["p(95)<500", { threshold: "avg<200", abortOnFail: true }]`.
//! They are judged over everything since the start, every [`EVALUATE_EVERY`] and once at the end.
//! While a test runs, a metric without samples is not judged. At the end it counts as zero, except
//! that a rate without samples keeps every threshold (both as observed in k6 2.2). A threshold that
//! says `noData: "fail"`, which is ours, is crossed when there was nothing to judge.

mod expression;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

pub use expression::{Aggregation, Expression, Operator};

use crate::metrics::{Kind, MetricError, Sink, Store};
use crate::scenario::time;
use crate::units::Nanos;

/// How often thresholds are judged while a test runs, as k6 does.
pub const EVALUATE_EVERY: Nanos = Nanos::from_secs(2);

/// A threshold that cannot be judged; the exit code is 104.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum ThresholdError {
    #[error("`{0}` has no operator; write for example p(95)<500, with one of < <= > >= == === !=")]
    NoOperator(String),
    #[error(
        "`{0}` is no aggregation; there are count, rate, value, avg, min, med, max and p(95){1}"
    )]
    Aggregation(String, String),
    #[error("`{0}` is no percentile between 0 and 100; write p(99.9)")]
    Percentile(String),
    #[error("`{0}` is not a number; times are milliseconds without a unit, rates 0 to 1")]
    Number(String),
    #[error("{metric}: `{found}` cannot be judged on a {kind}; a {kind} has {allowed}")]
    Kind {
        metric: String,
        found: String,
        kind: &'static str,
        allowed: &'static str,
    },
    #[error("{place}: {error}")]
    At { place: String, error: Box<Self> },
    #[error("{place}: `{found}` is not {expected}")]
    Shape {
        place: String,
        found: String,
        expected: &'static str,
    },
    #[error(transparent)]
    Metric(#[from] MetricError),
}

/// One expression, and what happens when it does not hold.
#[derive(Debug, Clone, PartialEq)]
pub struct Threshold {
    /// As the script wrote it; results are filed under it.
    pub source: String,
    pub expression: Expression,
    pub(crate) abort_on_fail: bool,
    /// A broken threshold aborts only after so much of the test.
    pub(crate) delay_abort_ns: Nanos,
    /// Without samples at the end it is crossed; ours.
    pub(crate) fails_without_data: bool,
}

/// The thresholds of one metric or submetric.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    /// As the script wrote it: `http_req_duration{name:login}`.
    pub key: String,
    pub thresholds: Vec<Threshold>,
}

/// Every threshold of a test, by key.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Thresholds(Vec<Judged>);

impl Thresholds {
    /// Reads the `thresholds` option; `place` is where it stands, for messages.
    pub fn from_json(place: &str, value: &Value) -> Result<Self, ThresholdError> {
        let map = match value {
            Value::Null => return Ok(Self::default()),
            Value::Object(map) => map,
            other => return Err(shape(place, other, "an object of metrics and expressions")),
        };
        let mut judged = Vec::new();
        for (key, value) in map {
            let place = format!("{place}[{key:?}]");
            let thresholds = match value {
                Value::Array(list) => list
                    .iter()
                    .map(|value| threshold(&place, value))
                    .collect::<Result<_, _>>()?,
                Value::Null => Vec::new(),
                // Not k6's way, but what is meant is clear.
                one => vec![threshold(&place, one)?],
            };
            judged.push(Judged {
                key: key.clone(),
                thresholds,
            });
        }
        Ok(Self(judged))
    }

    pub fn iter(&self) -> impl Iterator<Item = &Judged> {
        self.0.iter()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Checks metrics and aggregations, and has the submetrics counted. Call it for the store of
    /// every worker and for the one that they are merged into, once all metrics are registered.
    pub fn bind(&self, store: &mut Store) -> Result<(), ThresholdError> {
        for Judged { key, thresholds } in &self.0 {
            if key.contains('{') {
                store.submetric(key)?;
            }
            let kind = Counted::find(store, key)?.sink(store).kind();
            for threshold in thresholds {
                let aggregation = threshold.expression.aggregation;
                if !aggregation.fits(kind) {
                    return Err(ThresholdError::Kind {
                        metric: key.clone(),
                        found: aggregation.to_string(),
                        kind: kind.name(),
                        allowed: Aggregation::allowed_on(kind),
                    });
                }
            }
        }
        Ok(())
    }

    /// Judges all thresholds over what `store` holds after `elapsed` of the test.
    pub fn evaluate(&self, store: &Store, elapsed: Nanos, phase: Phase) -> Evaluation {
        let mut evaluation = Evaluation {
            results: Vec::new(),
            abort: false,
        };
        for Judged { key, thresholds } in &self.0 {
            let Ok(place) = Counted::find(store, key) else {
                continue;
            };
            let sink = place.sink(store);
            if phase == Phase::Running && sink.is_empty() {
                continue;
            }
            for threshold in thresholds {
                let value = threshold.expression.aggregation.figure(sink, elapsed);
                let ok = threshold.is_kept(sink, value);
                evaluation.abort |=
                    !ok && threshold.abort_on_fail && elapsed >= threshold.delay_abort_ns;
                evaluation.results.push(Judgement {
                    key: key.clone(),
                    source: threshold.source.clone(),
                    value,
                    ok,
                    is_without_data: sink.is_empty(),
                });
            }
        }
        evaluation
    }
}

/// Whether more samples may come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    Running,
    Final,
}

/// One threshold's value and whether it held.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    /// The metric or submetric.
    pub key: String,
    /// The expression as it was written.
    pub source: String,
    pub value: f64,
    pub ok: bool,
    /// There was no sample to judge: the value is none that was observed.
    #[serde(default, skip_serializing_if = "is_not")]
    pub is_without_data: bool,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde asks for a reference"
)]
const fn is_not(flag: &bool) -> bool {
    !*flag
}

impl Judgement {
    /// The same threshold over what `store` holds after `elapsed`. Without samples there it stays as it is.
    #[must_use]
    pub fn again(&self, store: &Store, elapsed: Nanos) -> Self {
        let place = Counted::find(store, &self.key);
        let expression = Expression::parse(&self.source);
        let (Ok(place), Ok(expression)) = (place, expression) else {
            return self.clone();
        };
        let sink = place.sink(store);
        if sink.is_empty() {
            return self.clone();
        }
        let value = expression.aggregation.figure(sink, elapsed);
        Self {
            value,
            ok: expression.holds(value),
            is_without_data: false,
            ..self.clone()
        }
    }
}

/// All judgements of one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Evaluation {
    pub results: Vec<Judgement>,
    /// A broken threshold wants the test to stop now.
    pub abort: bool,
}

impl Evaluation {
    /// Nothing was broken; the exit code is 99 otherwise.
    pub fn passed(&self) -> bool {
        self.results.iter().all(|result| result.ok)
    }
}

/// Where in a store a key is counted.
enum Counted {
    Metric(crate::metrics::MetricId),
    Submetric(usize),
}

impl Counted {
    fn find(store: &Store, key: &str) -> Result<Self, MetricError> {
        if !key.contains('{') {
            return store.known(key.trim()).map(Self::Metric);
        }
        let place = store.find_submetric(key)?;
        place
            .map(Self::Submetric)
            .ok_or_else(|| MetricError::Submetric(key.to_owned()))
    }

    fn sink<'a>(&self, store: &'a Store) -> &'a Sink {
        match self {
            Self::Metric(id) => store.metric(*id).1,
            Self::Submetric(place) => &store.submetrics()[*place].sink,
        }
    }
}

impl Threshold {
    fn is_kept(&self, sink: &Sink, value: f64) -> bool {
        if sink.is_empty() {
            if self.fails_without_data {
                return false;
            }
            if sink.kind() == Kind::Rate {
                return true;
            }
        }
        self.expression.holds(value)
    }
}

fn shape(place: &str, value: &Value, expected: &'static str) -> ThresholdError {
    ThresholdError::Shape {
        place: place.to_owned(),
        found: value.to_string(),
        expected,
    }
}

fn threshold(place: &str, value: &Value) -> Result<Threshold, ThresholdError> {
    let plain = |source: &str| {
        let expression = Expression::parse(source);
        let expression = expression.map_err(|error| ThresholdError::At {
            place: place.to_owned(),
            error: Box::new(error),
        })?;
        Ok(Threshold {
            source: source.to_owned(),
            expression,
            abort_on_fail: false,
            delay_abort_ns: Nanos::ZERO,
            fails_without_data: false,
        })
    };
    let map = match value {
        Value::String(source) => return plain(source),
        Value::Object(map) => map,
        other => return Err(shape(place, other, "an expression such as \"p(95)<500\"")),
    };
    let known = ["threshold", "abortOnFail", "delayAbortEval", "noData"];
    if let Some(field) = map.keys().find(|field| !known.contains(&field.as_str())) {
        let expected = "one of threshold, abortOnFail, delayAbortEval and noData";
        return Err(shape(place, &field.as_str().into(), expected));
    }
    let source = map.get("threshold").and_then(Value::as_str);
    let source = source.ok_or_else(|| shape(place, value, "an object with a `threshold`"))?;
    let abort_on_fail = match map.get("abortOnFail") {
        None | Some(Value::Null) => false,
        Some(Value::Bool(abort)) => *abort,
        Some(other) => return Err(shape(place, other, "true or false")),
    };
    let delay_abort_ns = match map.get("delayAbortEval").filter(|delay| !delay.is_null()) {
        None => Nanos::ZERO,
        Some(delay) => {
            time::of_json(delay).ok_or_else(|| shape(place, delay, "a duration such as \"10s\""))?
        }
    };
    let fails_without_data = match map.get("noData") {
        None | Some(Value::Null) => false,
        Some(Value::String(word)) if word == "pass" || word == "fail" => word == "fail",
        Some(other) => return Err(shape(place, other, "\"pass\" or \"fail\"")),
    };
    Ok(Threshold {
        abort_on_fail,
        delay_abort_ns,
        fails_without_data,
        ..plain(source)?
    })
}

impl Aggregation {
    fn fits(self, kind: Kind) -> bool {
        match kind {
            Kind::Counter => matches!(self, Self::Count | Self::Rate),
            Kind::Gauge => self == Self::Value,
            Kind::Rate => self == Self::Rate,
            Kind::Trend => !matches!(self, Self::Count | Self::Rate | Self::Value),
        }
    }

    const fn allowed_on(kind: Kind) -> &'static str {
        match kind {
            Kind::Counter => "count and rate",
            Kind::Gauge => "value",
            Kind::Rate => "rate",
            Kind::Trend => "avg, min, med, max and p(95)",
        }
    }

    /// The figure of a sink; zero where the sink has none of that name.
    fn figure(self, sink: &Sink, elapsed: Nanos) -> f64 {
        match (sink, self) {
            (Sink::Counter(counter), Self::Rate) => counter.per_s(elapsed),
            (Sink::Counter(counter), _) => counter.sum(),
            (Sink::Gauge(gauge), _) => gauge.value(),
            (Sink::Rate(rate), _) => rate.ratio(),
            (Sink::Trend(trend), Self::Avg) => trend.mean(),
            (Sink::Trend(trend), Self::Min) => trend.min(),
            (Sink::Trend(trend), Self::Max) => trend.max(),
            (Sink::Trend(trend), Self::Med) => trend.quantile(0.5),
            (Sink::Trend(trend), Self::Percentile(percent)) => trend.quantile(percent / 100.0),
            (Sink::Trend(_), Self::Count | Self::Rate | Self::Value) => 0.0,
        }
    }
}

#[cfg(test)]
mod tests;
