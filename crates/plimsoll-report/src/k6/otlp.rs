//! Bodies for OpenTelemetry's protocol (OTLP over HTTP, protobuf): every metric with its series since the start.
//!
//! Counters are sums, gauges are gauges, rates are a sum split by `condition` (zero and nonzero), trends are histograms;
//! that is what k6 sends. Field numbers are those of opentelemetry-proto 1.x, `metrics/v1/metrics.proto`.

use std::collections::BTreeMap;

use plimsoll_core::Nanos;
use plimsoll_core::metrics::{Contains, Kind, Sample, Store};

use super::protobuf::{add_bytes, add_fixed, add_number, add_packed};

/// Bounds of a histogram where nobody names others: those of the OpenTelemetry SDKs.
const BOUNDS: [f64; 15] = [
    0.0, 5.0, 10.0, 25.0, 50.0, 75.0, 100.0, 250.0, 500.0, 750.0, 1000.0, 2500.0, 5000.0, 7500.0,
    10000.0,
];
/// Every point counts from the start.
const CUMULATIVE: u64 = 2;

type Attributes = Vec<(String, String)>;

/// What a series has come to.
#[derive(Debug, Clone)]
enum Point {
    Sum(f64),
    Gauge(f64),
    Histogram(Box<Spread>),
}

#[derive(Debug, Clone)]
struct Spread {
    count: u64,
    sum: f64,
    min: f64,
    max: f64,
    /// The last is beyond the last bound.
    buckets: [u64; BOUNDS.len() + 1],
}

#[derive(Debug)]
struct Metric {
    unit: &'static str,
    points: BTreeMap<Attributes, Point>,
}

/// Everything since the start, by metric and attributes.
#[derive(Debug)]
pub struct Otlp {
    /// Start of the test in nanoseconds since 1970.
    start_unix: Nanos,
    /// Before every name.
    prefix: String,
    /// Of the resource: `service.name` and others.
    resource: Attributes,
    metrics: BTreeMap<String, Metric>,
    is_changed: bool,
}

impl Otlp {
    pub const fn new(start_unix: Nanos, prefix: String, resource: Vec<(String, String)>) -> Self {
        Self {
            start_unix,
            prefix,
            resource,
            metrics: BTreeMap::new(),
            is_changed: false,
        }
    }

    /// Adds samples; metrics and tags are those of `store`.
    pub fn absorb(&mut self, store: &Store, samples: &[Sample]) {
        for sample in samples.iter().filter(|sample| sample.value.is_finite()) {
            self.is_changed = true;
            let metric = store.metric(sample.metric).0;
            let kept = self.metrics.entry(metric.name.clone());
            let kept = kept.or_insert_with(|| Metric {
                unit: unit(metric.contains),
                points: BTreeMap::new(),
            });
            let tags = store.tags().tags(sample.tags);
            let tags = tags.filter(|(_, value)| !value.is_empty());
            let mut attributes: Attributes = tags
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect();
            let value = if metric.kind == Kind::Rate {
                let condition = if sample.value == 0.0 {
                    "zero"
                } else {
                    "nonzero"
                };
                attributes.push(("condition".to_owned(), condition.to_owned()));
                1.0
            } else {
                sample.value
            };
            let point = kept.points.entry(attributes);
            point.or_insert_with(|| Point::new(metric.kind)).add(value);
        }
    }

    /// The body with everything; `None` when nothing came since the last one.
    pub fn changed(&mut self, at_unix: Nanos) -> Option<Vec<u8>> {
        if !std::mem::take(&mut self.is_changed) {
            return None;
        }
        let (mut resource, mut scope, mut of_scope) = (Vec::new(), Vec::new(), Vec::new());
        add_attributes(&mut resource, 1, &self.resource);
        add_bytes(&mut of_scope, 1, b"plimsoll");
        add_bytes(&mut scope, 1, &of_scope);
        for (name, metric) in &self.metrics {
            let name = format!("{}{name}", self.prefix);
            let metric = self.message(&name, metric, at_unix);
            add_bytes(&mut scope, 2, &metric);
        }
        let (mut of_resource, mut request) = (Vec::new(), Vec::new());
        add_bytes(&mut of_resource, 1, &resource);
        add_bytes(&mut of_resource, 2, &scope);
        add_bytes(&mut request, 1, &of_resource);
        Some(request)
    }

    fn message(&self, name: &str, metric: &Metric, at_unix: Nanos) -> Vec<u8> {
        let mut data = Vec::new();
        for (attributes, point) in &metric.points {
            let mut message = Vec::new();
            add_fixed(&mut message, 2, self.start_unix.0);
            add_fixed(&mut message, 3, at_unix.0);
            point.add_to(&mut message);
            let field = if matches!(point, Point::Histogram(_)) {
                9
            } else {
                7
            };
            add_attributes(&mut message, field, attributes);
            add_bytes(&mut data, 1, &message);
        }
        let field = match metric.points.values().next() {
            Some(Point::Gauge(_)) => 5,
            Some(Point::Histogram(_)) => 9,
            Some(Point::Sum(_)) | None => 7,
        };
        if field != 5 {
            add_number(&mut data, 2, CUMULATIVE);
        }
        if field == 7 {
            // It only grows.
            add_number(&mut data, 3, 1);
        }
        let mut message = Vec::new();
        add_bytes(&mut message, 1, name.as_bytes());
        add_bytes(&mut message, 3, metric.unit.as_bytes());
        add_bytes(&mut message, field, &data);
        message
    }
}

impl Point {
    fn new(kind: Kind) -> Self {
        match kind {
            Kind::Counter | Kind::Rate => Self::Sum(0.0),
            Kind::Gauge => Self::Gauge(0.0),
            Kind::Trend => Self::Histogram(Box::new(Spread {
                count: 0,
                sum: 0.0,
                min: f64::INFINITY,
                max: f64::NEG_INFINITY,
                buckets: [0; BOUNDS.len() + 1],
            })),
        }
    }

    fn add(&mut self, value: f64) {
        match self {
            Self::Sum(sum) => *sum += value,
            Self::Gauge(last) => *last = value,
            Self::Histogram(spread) => {
                spread.count += 1;
                spread.sum += value;
                spread.min = spread.min.min(value);
                spread.max = spread.max.max(value);
                // A bound belongs to the bucket below it.
                let bucket = BOUNDS.partition_point(|bound| *bound < value);
                spread.buckets[bucket] += 1;
            }
        }
    }

    fn add_to(&self, message: &mut Vec<u8>) {
        match self {
            Self::Sum(value) | Self::Gauge(value) => add_fixed(message, 4, value.to_bits()),
            Self::Histogram(spread) => {
                add_fixed(message, 4, spread.count);
                add_fixed(message, 5, spread.sum.to_bits());
                add_packed(message, 6, spread.buckets.into_iter());
                add_packed(message, 7, BOUNDS.iter().map(|bound| bound.to_bits()));
                add_fixed(message, 11, spread.min.to_bits());
                add_fixed(message, 12, spread.max.to_bits());
            }
        }
    }
}

/// As UCUM writes them.
const fn unit(contains: Contains) -> &'static str {
    match contains {
        Contains::Time => "ms",
        Contains::Data => "By",
        Contains::Default => "",
    }
}

fn add_attributes(out: &mut Vec<u8>, field: u8, attributes: &[(String, String)]) {
    for (name, value) in attributes {
        let (mut text, mut pair) = (Vec::new(), Vec::new());
        add_bytes(&mut text, 1, value.as_bytes());
        add_bytes(&mut pair, 1, name.as_bytes());
        add_bytes(&mut pair, 2, &text);
        add_bytes(out, field, &pair);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(kind: Kind, values: &[f64]) -> Vec<u8> {
        let mut store = Store::default();
        let metric = store.register("seen", kind, Contains::Time).unwrap();
        let tags = store.tag_set(&[("name", "front")]);
        let sample = |value: &f64| Sample {
            metric,
            tags,
            at: Nanos::ZERO,
            value: *value,
        };
        let samples: Vec<Sample> = values.iter().map(sample).collect();
        let resource = vec![("service.name".to_owned(), "k6".to_owned())];
        let mut otlp = Otlp::new(Nanos(1), "x_".to_owned(), resource);
        otlp.absorb(&store, &samples);
        let body = otlp.changed(Nanos(2)).unwrap();
        assert_eq!(otlp.changed(Nanos(3)), None, "nothing came since");
        body
    }

    fn holds(body: &[u8], part: &[u8]) -> bool {
        body.windows(part.len()).any(|window| window == part)
    }

    #[test]
    fn names_attributes_and_values_are_in_the_body() {
        let counter = body(Kind::Counter, &[2.0, 3.0]);
        for text in ["service.name", "k6", "plimsoll", "x_seen", "ms", "front"] {
            assert!(holds(&counter, text.as_bytes()), "{text}");
        }
        // as_double of 5, behind both times.
        let mut point = Vec::new();
        add_fixed(&mut point, 2, 1);
        add_fixed(&mut point, 3, 2);
        add_fixed(&mut point, 4, 5.0_f64.to_bits());
        assert!(holds(&counter, &point));
        assert!(holds(
            &body(Kind::Gauge, &[2.0, 3.0]),
            &3.0_f64.to_le_bytes()
        ));
        let rate = body(Kind::Rate, &[1.0, 0.0, 1.0]);
        assert!(holds(&rate, b"nonzero") && holds(&rate, &2.0_f64.to_le_bytes()));
    }

    #[test]
    fn a_trend_is_a_histogram_whose_bounds_belong_below() {
        let trend = body(Kind::Trend, &[5.0, 6.0, 20_000.0]);
        let mut buckets = [0_u64; BOUNDS.len() + 1];
        (buckets[1], buckets[2], buckets[15]) = (1, 1, 1);
        let mut packed = Vec::new();
        add_packed(&mut packed, 6, buckets.into_iter());
        assert!(holds(&trend, &packed));
        let mut most = Vec::new();
        add_fixed(&mut most, 12, 20_000.0_f64.to_bits());
        assert!(holds(&trend, &most));
    }
}
