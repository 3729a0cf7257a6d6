//! The report of k6's web dashboard: a page that carries the test's events, packed, in one of its scripts.

use std::io::Read as _;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use flate2::read::MultiGzDecoder;
use serde_json::{Map, Value, json};

use super::figures::{Figures, number};
use super::{ImportError, k6};

const TOOL: &str = "k6 dashboard";
/// More than any test writes; what unpacks to more is no report.
const BYTES_MAX: u64 = 1 << 28;
/// What there is of a metric of each type, unless the page says otherwise.
const AGGREGATES: [(&str, &[&str]); 4] = [
    ("counter", &["count", "rate"]),
    ("gauge", &["value"]),
    ("rate", &["rate"]),
    (
        "trend",
        &["avg", "max", "med", "min", "p(90)", "p(95)", "p(99)"],
    ),
];

/// The page has such a script and speaks of k6.
pub(super) fn is(text: &str) -> bool {
    text.starts_with('<') && data(text).is_some() && text.contains("k6")
}

/// What stands in the script that is called `data`.
fn data(text: &str) -> Option<&str> {
    let named = ["id=\"data\"", "id=data", "id='data'"];
    let mut at = named.iter().filter_map(|name| text.find(name));
    let (_, rest) = text.get(at.next()?..)?.split_once('>')?;
    Some(rest.split_once("</script>")?.0.trim())
}

pub(super) fn read(text: &str) -> Result<Figures, ImportError> {
    let field = "script id=\"data\"";
    let unreadable = ImportError::Missing { tool: TOOL, field };
    let events = data(text).and_then(unpacked).ok_or(unreadable)?;
    let mut report = Report::default();
    for line in events.lines().filter(|line| !line.trim().is_empty()) {
        // What a page that was cut off still has is worth reading.
        if let Ok(event) = serde_json::from_str::<Value>(line) {
            report.take(&event);
        }
    }
    let summary = report.summary().ok_or(ImportError::Missing {
        tool: TOOL,
        field: "cumulative",
    })?;
    let mut figures = k6::summary(&summary)?;
    figures.settings.extend(report.settings);
    figures.windows = report.windows;
    Ok(figures)
}

/// Base64 of gzip, or of text, or text.
fn unpacked(data: &str) -> Option<String> {
    if data.starts_with('{') {
        return Some(data.to_owned());
    }
    let packed: String = data.split_whitespace().collect();
    let bytes = BASE64_STANDARD.decode(packed).ok()?;
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        return String::from_utf8(bytes).ok();
    }
    let mut text = Vec::new();
    let unpacking = MultiGzDecoder::new(bytes.as_slice());
    let whole = unpacking.take(BYTES_MAX).read_to_end(&mut text);
    (whole.is_ok() || !text.is_empty()).then(|| String::from_utf8_lossy(&text).into_owned())
}

#[derive(Debug, Default)]
struct Report {
    /// Metrics in the order of their names, which is that of the figures, with their types.
    metrics: Map<String, Value>,
    aggregates: Value,
    started_ms: Option<f64>,
    stopped_ms: Option<f64>,
    whole: Option<Map<String, Value>>,
    vus: Vec<f64>,
    windows: Vec<(f64, f64)>,
    settings: Vec<(&'static str, String)>,
}

impl Report {
    fn take(&mut self, event: &Value) {
        let data = &event["data"];
        match event["event"].as_str().unwrap_or_default() {
            "param" => {
                self.aggregates = data["aggregates"].clone();
                let script = data["scriptPath"].as_str();
                self.settings
                    .extend(script.map(|path| ("script", path.to_owned())));
            }
            "metric" => {
                let more = data.as_object().cloned().unwrap_or_default();
                self.metrics.extend(more);
            }
            "start" => self.started_ms = data[0][0].as_f64(),
            "stop" => self.stopped_ms = data[0][0].as_f64(),
            "snapshot" => {
                let window = self.named(data);
                self.vus.extend(number(&window["vus"], &["value"]));
                let time = |stat| number(&window["http_req_duration"], &[stat]);
                self.windows.extend(time("p(95)").zip(time("avg")));
            }
            "cumulative" => self.whole = self.named(data).as_object().cloned(),
            _ => {}
        }
    }

    /// Lists of bare numbers, as metrics with named figures.
    fn named(&self, data: &Value) -> Value {
        let mut names: Vec<&String> = self.metrics.keys().collect();
        names.sort();
        let lists = data.as_array().into_iter().flatten();
        let mut metrics = Map::new();
        for (name, list) in names.into_iter().zip(lists) {
            let kind = self.metrics[name]["type"].as_str().unwrap_or_default();
            let figures = self.aggregates_of(kind).into_iter();
            let values = list.as_array().into_iter().flatten().cloned();
            let values: Map<String, Value> = figures.zip(values).collect();
            metrics.insert(name.clone(), Value::Object(values));
        }
        Value::Object(metrics)
    }

    fn aggregates_of(&self, kind: &str) -> Vec<String> {
        let listed = self.aggregates[kind].as_array();
        let listed = listed.map(|list| list.iter().filter_map(Value::as_str).collect::<Vec<_>>());
        let usual = AGGREGATES.iter().find(|(name, _)| *name == kind);
        let names = listed.or_else(|| usual.map(|(_, names)| names.to_vec()));
        names
            .unwrap_or_default()
            .into_iter()
            .map(str::to_owned)
            .collect()
    }

    /// As k6's own summary would have it.
    fn summary(&self) -> Option<Value> {
        let mut metrics = self.whole.clone()?;
        let low = self.vus.iter().copied().reduce(f64::min);
        let high = self.vus.iter().copied().reduce(f64::max);
        metrics.insert("vus".to_owned(), json!({ "min": low, "max": high }));
        let span = self.stopped_ms.zip(self.started_ms);
        let state = json!({ "testRunDurationMs": span.map(|(stop, start)| stop - start) });
        Some(json!({ "metrics": metrics, "state": state }))
    }
}
