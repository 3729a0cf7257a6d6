//! Counts per metric and tag set, for outputs that want every series; nothing else keeps them.

use std::collections::BTreeMap;

use super::registry::MetricId;
use super::sink::Sink;
use super::store::{Sample, Store};
use super::tags::TagSetId;

/// What one worker counted per series. Its numbers are those of the worker's store.
#[derive(Debug, Clone, Default)]
pub struct SeriesCounts(BTreeMap<(MetricId, TagSetId), Sink>);

impl SeriesCounts {
    /// Counts a sample of `store`; allocates for a series that is new.
    pub fn record(&mut self, store: &Store, sample: &Sample) {
        if !sample.value.is_finite() {
            return;
        }
        let series = (sample.metric, sample.tags);
        let sink = self
            .0
            .entry(series)
            .or_insert_with(|| Sink::new(store.metric(sample.metric).0.kind));
        sink.add(sample.at, sample.value);
    }

    pub fn iter(&self) -> impl Iterator<Item = (MetricId, TagSetId, &Sink)> {
        self.0
            .iter()
            .map(|((metric, tags), sink)| (*metric, *tags, sink))
    }

    /// Forgets the samples; series and memory stay.
    pub fn clear(&mut self) {
        self.0.values_mut().for_each(Sink::clear);
    }
}
