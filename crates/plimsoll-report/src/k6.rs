//! A scripted test's results in the shapes that users of k6 know: text, JSON, rows and exports.

mod csv;
mod destination;
mod groups;
mod influx;
mod json;
mod junit;
mod lines;
mod markdown;
mod md5;
mod otlp;
mod protobuf;
mod remote_write;
mod text;
mod value;

use std::collections::BTreeSet;

use plimsoll_core::Nanos;
use plimsoll_core::metrics::{Contains, Metric, Sink, Store};
use plimsoll_core::scenario::{SummaryUnit, TrendStat};
use plimsoll_core::threshold::Judgement;
use serde_json::Value;

pub use csv::{CsvRows, CsvTime};
pub use destination::{DestinationError, File, Output, Target, Written, summary_targets};
pub use influx::InfluxLines;
pub use json::{Config, State, export, handle_summary_data, machine_readable};
pub use junit::junit;
pub use lines::JsonLines;
pub use markdown::markdown;
pub use otlp::Otlp;
pub use remote_write::{REMOTE_WRITE_HEADERS, RemoteWrite};
pub use text::{Detail, text};

/// What a scripted test came to; every rendering reads this.
#[derive(Debug, Clone, Copy)]
pub struct Results<'a> {
    /// The stores of all workers, merged.
    pub store: &'a Store,
    /// Thresholds as judged at the end.
    pub judgements: &'a [Judgement],
    /// From the start of the test until its last iteration ended.
    pub elapsed: Nanos,
    pub trend_stats: &'a [TrendStat],
    /// Times are shown in this unit; in one that fits where none is asked for.
    pub unit: Option<SummaryUnit>,
    /// What `setup` returned.
    pub setup_data: Option<&'a Value>,
}

/// Figures of a trend where nobody asked for others; k6's.
const TREND_STATS: [TrendStat; 6] = [
    TrendStat::Avg,
    TrendStat::Min,
    TrendStat::Med,
    TrendStat::Max,
    TrendStat::Percentile(90.0),
    TrendStat::Percentile(95.0),
];

impl<'a> Results<'a> {
    /// Of what a record holds, as the summary shows it where the script asks for nothing else.
    fn of_record(store: &'a Store, elapsed: Nanos) -> Self {
        Self {
            store,
            judgements: &[],
            elapsed,
            trend_stats: &TREND_STATS,
            unit: None,
            setup_data: None,
        }
    }
}

/// What a threshold observed: `p(95)=46.81ms`.
pub(crate) fn observed(store: &Store, elapsed: Nanos, judgement: &Judgement) -> String {
    text::judged_figure(&Results::of_record(store, elapsed), judgement)
}

/// Figures of a metric, as in the summary of a run.
pub(crate) fn cells(store: &Store, elapsed: Nanos, contains: Contains, sink: &Sink) -> Vec<String> {
    text::cells(&Results::of_record(store, elapsed), contains, sink)
}

/// One metric or submetric that is shown.
#[derive(Debug, Clone, Copy)]
struct Row<'a> {
    /// `http_reqs`, or `http_req_duration{name:login}`.
    key: &'a str,
    metric: &'a Metric,
    sink: &'a Sink,
    is_submetric: bool,
}

impl Row<'_> {
    /// `{name:login}` of a submetric.
    fn condition(&self) -> &str {
        let start = self.key.find('{').unwrap_or(0);
        self.key.get(start..).unwrap_or_default()
    }
}

/// Shown even when nothing was sent.
const ALWAYS: [&str; 2] = ["data_received", "data_sent"];

impl<'a> Results<'a> {
    /// Everything that was counted or that a threshold names, each metric before its submetrics.
    fn rows(&self) -> Vec<Row<'a>> {
        let judged: BTreeSet<&str> = self.judgements.iter().map(|j| j.key.trim()).collect();
        let judged_places: BTreeSet<usize> = judged
            .iter()
            .filter_map(|key| self.store.find_submetric(key).ok().flatten())
            .collect();
        let mut rows = Vec::new();
        for (metric, sink) in self.store.metrics() {
            let name = metric.name.as_str();
            let id = self.store.find(name);
            let submetrics: Vec<Row<'a>> = self
                .store
                .submetrics()
                .iter()
                .enumerate()
                .filter(|(place, submetric)| {
                    let is_shown = !submetric.sink.is_empty() || judged_places.contains(place);
                    Some(submetric.metric) == id && is_shown
                })
                .map(|(_, submetric)| Row {
                    key: &submetric.key,
                    metric,
                    sink: &submetric.sink,
                    is_submetric: true,
                })
                .collect();
            let is_wanted = judged.contains(name) || ALWAYS.contains(&name);
            if !sink.is_empty() || is_wanted || !submetrics.is_empty() {
                rows.push(Row {
                    key: &metric.name,
                    metric,
                    sink,
                    is_submetric: false,
                });
                rows.extend(submetrics);
            }
        }
        rows
    }

    /// Judgements of a row, also where the script wrote its tags in another order.
    fn judgements_of(&self, row: &Row<'_>) -> impl Iterator<Item = &'a Judgement> {
        let place = |key: &str| self.store.find_submetric(key).ok().flatten();
        let mine = if row.is_submetric {
            place(row.key)
        } else {
            None
        };
        let name = (!row.is_submetric).then(|| row.key.to_owned());
        let store = self.store;
        self.judgements.iter().filter(move |judgement| match &name {
            Some(name) => judgement.key.trim() == name,
            None => store.find_submetric(&judgement.key).ok().flatten() == mine,
        })
    }

    /// The figures of a sink, as k6 names them.
    fn figures(&self, sink: &Sink) -> Vec<(String, f64)> {
        let named = |list: &[(&str, f64)]| {
            let own = list
                .iter()
                .map(|(name, value)| ((*name).to_owned(), *value));
            own.collect()
        };
        match sink {
            Sink::Counter(counter) => named(&[
                ("count", counter.sum()),
                ("rate", counter.per_s(self.elapsed)),
            ]),
            Sink::Gauge(gauge) => named(&[
                ("value", gauge.value()),
                ("min", gauge.min()),
                ("max", gauge.max()),
            ]),
            Sink::Rate(rate) => named(&[
                ("rate", rate.ratio()),
                ("passes", rate.passes as f64),
                ("fails", rate.fails() as f64),
            ]),
            Sink::Trend(trend) => {
                let figure = |stat: &TrendStat| {
                    let value = match *stat {
                        TrendStat::Avg => trend.mean(),
                        TrendStat::Min => trend.min(),
                        TrendStat::Med => trend.quantile(0.5),
                        TrendStat::Max => trend.max(),
                        TrendStat::Count => trend.count() as f64,
                        TrendStat::Percentile(percent) => trend.quantile(percent / 100.0),
                    };
                    (stat.name(), value)
                };
                self.trend_stats.iter().map(figure).collect()
            }
        }
    }

    fn passed(&self) -> bool {
        self.judgements.iter().all(|judgement| judgement.ok)
    }
}
