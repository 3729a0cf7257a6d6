//! `--out json`: a declaration per metric and a point per sample, one JSON object per line.

use std::collections::BTreeSet;
use std::io::{self, Write};

use plimsoll_base::calendar::rfc3339;
use plimsoll_core::Nanos;
use plimsoll_core::metrics::{MetricId, Sample, Store};
use plimsoll_core::threshold::Thresholds;
use serde_json::{Map, Value, json};

use super::value::number;

/// Writes samples as they come; each metric is declared before its first.
#[derive(Debug)]
pub struct JsonLines<W> {
    out: W,
    /// When the clock of the samples stands at zero, in nanoseconds since 1970.
    start_unix: Nanos,
    declared: BTreeSet<MetricId>,
}

impl<W: Write> JsonLines<W> {
    pub const fn new(out: W, start_unix: Nanos) -> Self {
        Self {
            out,
            start_unix,
            declared: BTreeSet::new(),
        }
    }

    /// From now on, the clock that samples are stamped with stands at zero at `zero_unix` since 1970.
    pub const fn count_from(&mut self, zero_unix: Nanos) {
        self.start_unix = zero_unix;
    }

    /// Writes one sample; metric and tags are those of `store`.
    pub fn write(
        &mut self,
        store: &Store,
        thresholds: &Thresholds,
        sample: &Sample,
    ) -> io::Result<()> {
        if self.declared.insert(sample.metric) {
            let declaration = declaration(store, thresholds, sample.metric);
            writeln!(self.out, "{declaration}")?;
        }
        let tags: Map<String, Value> = store
            .tags()
            .tags(sample.tags)
            .map(|(name, value)| (name.to_owned(), json!(value)))
            .collect();
        let point = json!({
            "metric": store.metric(sample.metric).0.name,
            "type": "Point",
            "data": {
                "time": rfc3339(self.start_unix + sample.at, true),
                "value": number(sample.value),
                "tags": tags,
            },
        });
        writeln!(self.out, "{point}")
    }

    /// Gives the writer back, so that it can be flushed and closed.
    pub fn into_inner(self) -> W {
        self.out
    }
}

fn declaration(store: &Store, thresholds: &Thresholds, id: MetricId) -> Value {
    let metric = store.metric(id).0;
    let judged = thresholds
        .iter()
        .filter(|judged| judged.key.trim() == metric.name);
    let sources: Vec<&str> = judged
        .flat_map(|judged| &judged.thresholds)
        .map(|threshold| threshold.source.as_str())
        .collect();
    let submetrics = store.submetrics().iter().filter(|inner| inner.metric == id);
    let submetrics: Vec<Value> = submetrics
        .map(|inner| {
            let start = inner.key.find('{').unwrap_or(0);
            let suffix = inner.key.get(start..).unwrap_or_default();
            let tags = inner.conditions.iter();
            let tags: Map<String, Value> = tags
                .map(|(name, value)| (name.clone(), json!(value)))
                .collect();
            json!({ "name": inner.key, "suffix": suffix.trim_matches(['{', '}']), "tags": tags })
        })
        .collect();
    json!({
        "type": "Metric",
        "data": {
            "name": metric.name,
            "type": metric.kind.name(),
            "contains": metric.contains.name(),
            "thresholds": sources,
            "submetrics": if submetrics.is_empty() { Value::Null } else { json!(submetrics) },
        },
        "metric": metric.name,
    })
}
