//! Bodies for Prometheus' remote write: every series with its figures, in protobuf and snappy.
//!
//! Names, labels and units are those that k6 2.2 was observed to send: `k6_http_reqs_total`,
//! `k6_vus`, `k6_checks_rate`, `k6_http_req_duration_p99` with times in seconds. Two things are
//! done better: a number of samples is not divided by a thousand, and a tag whose name Prometheus
//! would refuse is renamed.

mod snappy;

use std::collections::BTreeMap;

use plimsoll_core::metrics::{Contains, SeriesCounts, Sink, Store};
use plimsoll_core::scenario::TrendStat;

use super::protobuf::{add_bytes, add_varint};

/// The content type and encoding that go with a body.
pub const REMOTE_WRITE_HEADERS: [(&str, &str); 3] = [
    ("Content-Type", "application/x-protobuf"),
    ("Content-Encoding", "snappy"),
    ("X-Prometheus-Remote-Write-Version", "0.1.0"),
];

/// Says that a series has ended: the one NaN that Prometheus understands so.
const STALE: u64 = 0x7ff0_0000_0000_0002;

/// Tags of a series, sorted by name.
type Labels = Vec<(String, String)>;

#[derive(Debug)]
struct Series {
    sink: Sink,
    contains: Contains,
    is_changed: bool,
}

/// Everything since the start, by metric and tags, over all workers.
#[derive(Debug)]
pub struct RemoteWrite {
    series: BTreeMap<(String, Labels), Series>,
    stats: Vec<TrendStat>,
}

impl RemoteWrite {
    /// Trends are sent as these figures; k6's default is p(99).
    pub fn new(stats: &[TrendStat]) -> Self {
        Self {
            series: BTreeMap::new(),
            stats: stats.to_vec(),
        }
    }

    /// Adds what a worker counted since it last handed over; `store` is that worker's.
    pub fn absorb(&mut self, store: &Store, counts: &SeriesCounts) {
        for (metric, tags, sink) in counts.iter().filter(|(.., sink)| !sink.is_empty()) {
            let metric = store.metric(metric).0;
            let labels = labels(store.tags().tags(tags));
            let series = self.series.entry((metric.name.clone(), labels));
            let series = series.or_insert_with(|| Series {
                sink: Sink::new(metric.kind),
                contains: metric.contains,
                is_changed: true,
            });
            series.sink.merge(sink);
            series.is_changed = true;
        }
    }

    /// The body with every series that changed since the last one; `None` when none did.
    pub fn changed(&mut self, at_unix_ms: u64) -> Option<Vec<u8>> {
        let all = self.series.iter_mut();
        let changed = all.filter_map(|(name, series)| {
            std::mem::take(&mut series.is_changed).then_some((name, &*series))
        });
        body(changed, &self.stats, |value| value, at_unix_ms)
    }

    /// The last body: every series ends.
    pub fn stale(&self, at_unix_ms: u64) -> Option<Vec<u8>> {
        let stale = |_| f64::from_bits(STALE);
        body(self.series.iter(), &self.stats, stale, at_unix_ms)
    }
}

fn body<'s>(
    all: impl Iterator<Item = (&'s (String, Labels), &'s Series)>,
    stats: &[TrendStat],
    shown: impl Fn(f64) -> f64,
    at_unix_ms: u64,
) -> Option<Vec<u8>> {
    let mut request = Vec::new();
    for ((name, labels), series) in all {
        for (suffix, value) in figures(series, stats) {
            let name = full_name(name, &suffix);
            add_series(&mut request, &name, labels, shown(value), at_unix_ms);
        }
    }
    (!request.is_empty()).then(|| snappy::compress(&request))
}

fn full_name(name: &str, suffix: &str) -> String {
    match suffix {
        "" => format!("k6_{name}"),
        suffix => format!("k6_{name}_{suffix}"),
    }
}

/// Names that Prometheus takes, without empty values; a tag cannot pose as the metric's name.
fn labels<'a>(tags: impl Iterator<Item = (&'a str, &'a str)>) -> Labels {
    let mut labels: Labels = tags
        .filter(|(_, value)| !value.is_empty())
        .map(|(name, value)| (label_name(name), value.to_owned()))
        .collect();
    labels.sort();
    labels.dedup_by(|later, earlier| later.0 == earlier.0);
    labels
}

fn label_name(tag: &str) -> String {
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let name: String = tag
        .chars()
        .map(|c| if allowed(c) { c } else { '_' })
        .collect();
    let needs_letter = name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit());
    if needs_letter || name.starts_with("__") {
        format!("tag_{name}")
    } else {
        name
    }
}

/// What is sent of a series, by the end of its name.
fn figures(series: &Series, stats: &[TrendStat]) -> Vec<(String, f64)> {
    match &series.sink {
        Sink::Counter(counter) => vec![("total".to_owned(), counter.sum())],
        Sink::Gauge(gauge) => vec![(String::new(), gauge.value())],
        Sink::Rate(rate) => vec![("rate".to_owned(), rate.ratio())],
        Sink::Trend(trend) => {
            let scale = if series.contains == Contains::Time {
                1e-3
            } else {
                1.0
            };
            let figure = |stat: &TrendStat| match *stat {
                TrendStat::Avg => ("avg".to_owned(), trend.mean() * scale),
                TrendStat::Min => ("min".to_owned(), trend.min() * scale),
                TrendStat::Med => ("med".to_owned(), trend.quantile(0.5) * scale),
                TrendStat::Max => ("max".to_owned(), trend.max() * scale),
                TrendStat::Count => ("count".to_owned(), trend.count() as f64),
                TrendStat::Percentile(percent) => {
                    let name = format!("p{percent}").replace('.', "");
                    (name, trend.quantile(percent / 100.0) * scale)
                }
            };
            stats.iter().map(figure).collect()
        }
    }
}

/// Field 1 of a write request: labels (1) with name (1) and value (2), samples (2) with value (1)
/// and milliseconds (2). Prometheus wants labels sorted; `__name__` sorts before all of ours but
/// those in capitals.
fn add_series(request: &mut Vec<u8>, name: &str, labels: &[(String, String)], value: f64, at: u64) {
    let mut series = Vec::new();
    let is_before = |label: &&(String, String)| label.0.as_str() < "__name__";
    let (before, after): (Vec<_>, Vec<_>) = labels.iter().partition(is_before);
    let own = ("__name__".to_owned(), name.to_owned());
    for (name, value) in before.into_iter().chain([&own]).chain(after) {
        let mut label = Vec::new();
        add_bytes(&mut label, 1, name.as_bytes());
        add_bytes(&mut label, 2, value.as_bytes());
        add_bytes(&mut series, 1, &label);
    }
    let mut sample = vec![1 << 3 | 1];
    sample.extend(value.to_bits().to_le_bytes());
    sample.push(2 << 3);
    add_varint(&mut sample, at);
    add_bytes(&mut series, 2, &sample);
    add_bytes(request, 1, &series);
}

#[cfg(test)]
mod tests;
