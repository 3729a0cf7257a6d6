//! Where samples are counted: per metric, per submetric that somebody asked for, and per check.
//!
//! Nothing is kept per tag set except which submetrics it feeds, so memory does not grow with the
//! length of a test, and hardly with the number of tag sets. Each worker has a store of its own;
//! merging them gives what one store would have counted.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::registry::{
    BUILT_IN, BuiltIn, Contains, Kind, Metric, MetricError, MetricId, check_name,
};
use super::sink::Sink;
use super::tags::{FEW_VALUES, SCRIPT_TAG_SETS_MAX, TagSetId, TagSets};
use crate::nearest::hint;
use crate::units::Nanos;

/// Tag sets that a store tells apart; 10,000 take about 5 MB. Where nobody sees their tags that is plenty: every count
/// stays right beyond it. k6 warns at 100,000.
const TAG_SETS_MAX: usize = 10_000;

/// The submetric that every test has, because the summary shows it.
const EXPECTED: &str = "http_req_duration{expected_response:true}";

/// Tags and the values that they must have, sorted.
pub type Conditions = Vec<(String, String)>;

/// Samples of a metric whose tags all have the wanted values.
#[derive(Debug, Clone, PartialEq)]
pub struct Submetric {
    /// As it was asked for: `http_req_duration{name:login}`.
    pub key: String,
    pub metric: MetricId,
    pub conditions: Conditions,
    pub sink: Sink,
}

impl Submetric {
    /// An empty wanted value means that the tag is absent or empty.
    fn matches(&self, tags: &[(&str, &str)]) -> bool {
        self.conditions.iter().all(|(name, wanted)| {
            let value = tags.iter().find(|(tag, _)| tag == name);
            value.map_or("", |(_, value)| value) == wanted
        })
    }
}

/// One number of one metric, as it goes to outputs that want every one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    pub metric: MetricId,
    pub tags: TagSetId,
    /// On the run's clock.
    pub at: Nanos,
    pub value: f64,
}

/// How often a check held, in a group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// `::outer::inner`, empty at the root.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub group: String,
    pub name: String,
    pub passes: u64,
    pub fails: u64,
}

/// What a tag set feeds besides the metric itself.
#[derive(Debug, Clone, Default)]
struct Feeds {
    submetrics: Box<[(MetricId, u32)]>,
    check: Option<u32>,
}

/// Metrics and what was counted of them.
#[derive(Debug, Clone)]
pub struct Store {
    metrics: Vec<Metric>,
    sinks: Vec<Sink>,
    by_name: BTreeMap<String, MetricId>,
    submetrics: Vec<Submetric>,
    tags: TagSets,
    feeds: Vec<Feeds>,
    checks: Vec<Check>,
    /// By group, then by name.
    check_places: BTreeMap<String, BTreeMap<String, u32>>,
    /// Group paths in the order in which they were first seen.
    groups: Vec<String>,
    tag_sets_max: usize,
    overflowed: bool,
    not_finite: u64,
}

impl Default for Store {
    fn default() -> Self {
        Self::new(TAG_SETS_MAX)
    }
}

impl Store {
    /// A store with the built-in metrics that tells at most so many tag sets apart.
    pub fn new(tag_sets_max: usize) -> Self {
        let mut store = Self {
            metrics: Vec::new(),
            sinks: Vec::new(),
            by_name: BTreeMap::new(),
            submetrics: Vec::new(),
            tags: TagSets::default(),
            feeds: Vec::new(),
            checks: Vec::new(),
            check_places: BTreeMap::new(),
            groups: Vec::new(),
            tag_sets_max,
            overflowed: false,
            not_finite: 0,
        };
        for spec in BUILT_IN {
            store.add_metric(spec.name, spec.kind, spec.contains);
        }
        let expected = store.submetric(EXPECTED);
        debug_assert!(expected.is_ok());
        store
    }

    /// Samples go to outputs with their tags: as many sets are told apart as a script makes.
    pub fn feed_outputs(&mut self) {
        self.tag_sets_max = SCRIPT_TAG_SETS_MAX;
    }

    fn add_metric(&mut self, name: &str, kind: Kind, contains: Contains) -> MetricId {
        let id = MetricId(self.metrics.len() as u32);
        self.metrics.push(Metric {
            name: name.to_owned(),
            kind,
            contains,
        });
        self.sinks.push(Sink::new(kind));
        self.by_name.insert(name.to_owned(), id);
        id
    }

    /// A script's own metric. Every VU registers the same ones; the number stays the same.
    pub fn register(
        &mut self,
        name: &str,
        kind: Kind,
        contains: Contains,
    ) -> Result<MetricId, MetricError> {
        check_name(name)?;
        let Some(id) = self.find(name) else {
            return Ok(self.add_metric(name, kind, contains));
        };
        let there = &self.metrics[id.0 as usize];
        if there.kind == kind && there.contains == contains {
            return Ok(id);
        }
        let words =
            |kind: Kind, contains: Contains| format!("{} of {}", kind.name(), contains.name());
        Err(MetricError::Kind {
            name: name.to_owned(),
            there: words(there.kind, there.contains),
            wanted: words(kind, contains),
        })
    }

    pub fn find(&self, name: &str) -> Option<MetricId> {
        self.by_name.get(name).copied()
    }

    /// The metric of that name, or an error with the nearest name.
    pub fn known(&self, name: &str) -> Result<MetricId, MetricError> {
        self.find(name).ok_or_else(|| MetricError::Unknown {
            name: name.to_owned(),
            hint: hint(name, self.by_name.keys().map(String::as_str)),
        })
    }

    /// Counts samples of `metric{tag:value,…}` apart from now on; returns its place.
    pub fn submetric(&mut self, key: &str) -> Result<usize, MetricError> {
        if let Some(place) = self.find_submetric(key)? {
            return Ok(place);
        }
        let (name, conditions) = parse_key(key)?;
        let metric = self.known(name)?;
        self.submetrics.push(Submetric {
            key: key.trim().to_owned(),
            metric,
            conditions,
            sink: Sink::new(self.metrics[metric.0 as usize].kind),
        });
        for number in 0..self.tags.len() as u32 {
            let tags: Vec<_> = self.tags.tags(TagSetId(number)).collect();
            self.feeds[number as usize].submetrics = feeds_of(&self.submetrics, &tags);
        }
        Ok(self.submetrics.len() - 1)
    }

    /// The place of a submetric that is counted already, in whatever order its tags are written.
    pub fn find_submetric(&self, key: &str) -> Result<Option<usize>, MetricError> {
        let (name, conditions) = parse_key(key)?;
        let metric = self.known(name)?;
        let is_same = |known: &Submetric| known.metric == metric && known.conditions == conditions;
        Ok(self.submetrics.iter().position(is_same))
    }

    /// The number of a tag set; tags may come in any order. Allocates only for a set that is new.
    ///
    /// Beyond the most sets, only the tags that a submetric, a check or a group needs are kept, and those that have few
    /// values: every count stays right, outputs lose the other tags, and [`Store::lost_tags`] says so.
    pub fn tag_set(&mut self, tags: &[(&str, &str)]) -> TagSetId {
        if let Some(known) = self.tags.find(tags) {
            return known;
        }
        if self.tags.len() < self.tag_sets_max {
            return self.add_tag_set(tags);
        }
        self.overflowed = true;
        let needed: Vec<_> = tags
            .iter()
            .copied()
            .filter(|tag| self.is_needed(*tag))
            .collect();
        match self.tags.find(&needed) {
            Some(known) => known,
            // A script that makes up check names without end gets one set for all of them.
            None if self.tags.len() >= 2 * self.tag_sets_max => {
                self.tags.find(&[]).unwrap_or_else(|| self.add_tag_set(&[]))
            }
            None => self.add_tag_set(&needed),
        }
    }

    fn is_needed(&self, (name, value): (&str, &str)) -> bool {
        let wanted = |(tag, wanted): &(String, String)| {
            tag == name && (wanted == value || wanted.is_empty())
        };
        matches!(name, "check" | "group")
            || FEW_VALUES.contains(&name)
            || self
                .submetrics
                .iter()
                .any(|submetric| submetric.conditions.iter().any(wanted))
    }

    fn add_tag_set(&mut self, tags: &[(&str, &str)]) -> TagSetId {
        let value = |name| {
            tags.iter()
                .find(|(tag, _)| *tag == name)
                .map(|(_, value)| *value)
        };
        let group = value("group").unwrap_or_default();
        self.add_group(group);
        let check = value("check").map(|name| self.check_place(group, name));
        self.feeds.push(Feeds {
            submetrics: feeds_of(&self.submetrics, tags),
            check,
        });
        self.tags.insert(tags)
    }

    pub(crate) fn add_group(&mut self, group: &str) {
        if !group.is_empty() && !self.groups.iter().any(|known| known == group) {
            self.groups.push(group.to_owned());
        }
    }

    fn check_place(&mut self, group: &str, name: &str) -> u32 {
        let names = self.check_places.entry(group.to_owned()).or_default();
        let place = names.entry(name.to_owned()).or_insert_with(|| {
            self.checks.push(Check {
                group: group.to_owned(),
                name: name.to_owned(),
                passes: 0,
                fails: 0,
            });
            self.checks.len() as u32 - 1
        });
        *place
    }

    /// Counts a sample. Numbers of another store are left out, and so is what is not finite.
    #[inline]
    pub fn record(&mut self, metric: MetricId, tags: TagSetId, at: Nanos, value: f64) {
        if !value.is_finite() {
            self.not_finite += 1;
            return;
        }
        let (Some(sink), Some(feeds)) = (
            self.sinks.get_mut(metric.0 as usize),
            self.feeds.get(tags.0 as usize),
        ) else {
            return;
        };
        sink.add(at, value);
        for (of, place) in &feeds.submetrics {
            if *of == metric {
                self.submetrics[*place as usize].sink.add(at, value);
            }
        }
        if let Some(place) = feeds.check.filter(|_| metric == BuiltIn::Checks.into()) {
            let check = &mut self.checks[place as usize];
            check.passes += u64::from(value != 0.0);
            check.fails += u64::from(value == 0.0);
        }
    }

    /// Adds what another store of the same script counted, in any order.
    pub fn merge(&mut self, other: &Self) {
        for (metric, sink) in other.metrics.iter().zip(&other.sinks) {
            self.add_sink(&metric.name, metric.contains, sink);
        }
        for submetric in &other.submetrics {
            self.add_submetric(&submetric.key, &submetric.sink);
        }
        for group in &other.groups {
            self.add_group(group);
        }
        for check in &other.checks {
            self.add_check(check);
        }
        self.not_finite += other.not_finite;
        self.overflowed |= other.overflowed;
    }

    /// Adds what was counted of a metric elsewhere.
    pub(crate) fn add_sink(&mut self, name: &str, contains: Contains, sink: &Sink) {
        let id = self.find(name);
        let id = id.unwrap_or_else(|| self.add_metric(name, sink.kind(), contains));
        self.sinks[id.0 as usize].merge(sink);
    }

    /// The same of a submetric; one that no metric here could have is left out.
    pub(crate) fn add_submetric(&mut self, key: &str, sink: &Sink) {
        if let Ok(place) = self.submetric(key) {
            self.submetrics[place].sink.merge(sink);
        }
    }

    pub(crate) fn add_check(&mut self, check: &Check) {
        let place = self.check_place(&check.group, &check.name) as usize;
        self.checks[place].passes += check.passes;
        self.checks[place].fails += check.fails;
    }

    /// Forgets every sample; metrics, tag sets, checks, groups and memory stay.
    pub fn clear(&mut self) {
        self.sinks.iter_mut().for_each(Sink::clear);
        for submetric in &mut self.submetrics {
            submetric.sink.clear();
        }
        for check in &mut self.checks {
            (check.passes, check.fails) = (0, 0);
        }
        self.not_finite = 0;
    }

    /// Every metric with what was counted, built-in ones first.
    pub fn metrics(&self) -> impl Iterator<Item = (&Metric, &Sink)> {
        self.metrics.iter().zip(&self.sinks)
    }

    pub fn metric(&self, id: MetricId) -> (&Metric, &Sink) {
        (&self.metrics[id.0 as usize], &self.sinks[id.0 as usize])
    }

    pub fn built_in(&self, metric: BuiltIn) -> &Sink {
        &self.sinks[metric as usize]
    }

    pub fn submetrics(&self) -> &[Submetric] {
        &self.submetrics
    }

    /// Memory of all counters, which stops growing once every magnitude was met.
    pub fn memory_bytes(&self) -> usize {
        let submetrics = self.submetrics.iter().map(|submetric| &submetric.sink);
        let sinks = self.sinks.iter().chain(submetrics);
        let trends = sinks.filter_map(|sink| match sink {
            Sink::Trend(trend) => Some(trend.memory_bytes()),
            _ => None,
        });
        trends.sum()
    }

    /// Checks in the order in which they were first seen.
    pub fn checks(&self) -> &[Check] {
        &self.checks
    }

    /// Group paths in the order in which they were first seen.
    pub fn groups(&self) -> &[String] {
        &self.groups
    }

    pub const fn tags(&self) -> &TagSets {
        &self.tags
    }

    /// What outputs do not get, if anything.
    pub fn lost_tags(&self) -> Option<String> {
        self.overflowed.then(|| {
            format!(
                "more than {} different tag sets: outputs lose most tags of further ones; \
                 give requests a `name` tag, or write URLs with http.url`…`",
                self.tag_sets_max
            )
        })
    }

    /// What was not counted, if anything.
    pub fn left_out(&self) -> Option<String> {
        let count = self.not_finite;
        (count > 0)
            .then(|| format!("samples that are no finite numbers are left out ({count} so far)"))
    }
}

fn feeds_of(submetrics: &[Submetric], tags: &[(&str, &str)]) -> Box<[(MetricId, u32)]> {
    let numbered = submetrics.iter().zip(0..);
    let fed = numbered.filter(|(submetric, _)| submetric.matches(tags));
    fed.map(|(submetric, place)| (submetric.metric, place))
        .collect()
}

/// `metric{tag:value,other:"value"}` as its name and conditions; a tag's value may hold colons.
fn parse_key(key: &str) -> Result<(&str, Conditions), MetricError> {
    let bad = || MetricError::Submetric(key.to_owned());
    let (name, rest) = key.trim().split_once('{').ok_or_else(bad)?;
    let inside = rest.trim_end().strip_suffix('}').ok_or_else(bad)?;
    let mut conditions = Vec::new();
    for pair in inside.split(',') {
        let (tag, value) = pair.split_once(':').ok_or_else(bad)?;
        let tag = unquoted(tag);
        if tag.is_empty() {
            return Err(bad());
        }
        conditions.push((tag.to_owned(), unquoted(value).to_owned()));
    }
    conditions.sort();
    Ok((name.trim(), conditions))
}

fn unquoted(text: &str) -> &str {
    let text = text.trim();
    ['"', '\'']
        .into_iter()
        .find_map(|quote| text.strip_prefix(quote)?.strip_suffix(quote))
        .unwrap_or(text)
}

#[cfg(test)]
mod tests;
