//! The Prometheus text format: gauges as read, counters as differences.

use std::collections::BTreeMap;

use plimsoll_core::record::MetricsSample;

/// Series kept per endpoint; names that speak of a resource come first.
const SERIES_MAX: usize = 400;
const NAME_BYTES_MAX: usize = 300;

/// One read of an endpoint: series name (labels included) to value and whether it only grows.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Scrape {
    pub(crate) series: BTreeMap<String, Series>,
    /// Lines that are neither comment nor sample.
    pub(crate) unreadable_count: u64,
    /// Series left out above the bound.
    pub(crate) left_out_count: u64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Series {
    pub(crate) value: f64,
    pub(crate) counter: bool,
}

/// Names and values of a text, for callers without a history. Histogram buckets are left out.
pub fn parse_metrics(text: &str) -> BTreeMap<String, f64> {
    let scrape = parse(text);
    let values = scrape.series.into_iter();
    values.map(|(name, series)| (name, series.value)).collect()
}

pub(crate) fn parse(text: &str) -> Scrape {
    let mut kinds: BTreeMap<&str, &str> = BTreeMap::new();
    let mut scrape = Scrape::default();
    let mut rest: Vec<(String, Series)> = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if let Some(comment) = line.strip_prefix('#') {
            let mut words = comment.split_ascii_whitespace();
            if words.next() == Some("TYPE")
                && let (Some(name), Some(kind)) = (words.next(), words.next())
            {
                kinds.insert(name, kind);
            }
            continue;
        }
        let Some((series, value)) = sample(line) else {
            scrape.unreadable_count += 1;
            continue;
        };
        let name = series.split('{').next().unwrap_or(series);
        if name.ends_with("_bucket") || !value.is_finite() || series.len() > NAME_BYTES_MAX {
            continue;
        }
        let kept = Series {
            value,
            counter: is_counter(name, &kinds),
        };
        if speaks_of_a_resource(name) && scrape.series.len() < SERIES_MAX {
            scrape.series.insert(series.to_owned(), kept);
        } else {
            rest.push((series.to_owned(), kept));
        }
    }
    for (series, kept) in rest {
        if scrape.series.len() < SERIES_MAX {
            scrape.series.insert(series, kept);
        } else {
            scrape.left_out_count += 1;
        }
    }
    scrape
}

/// `name{labels} value [timestamp]`; a label's value may hold spaces and braces.
fn sample(line: &str) -> Option<(&str, f64)> {
    let name_end = line.find(|c: char| c.is_whitespace() || c == '{')?;
    let series_end = if line.get(name_end..)?.starts_with('{') {
        name_end + labels_end(line.get(name_end..)?)?
    } else {
        name_end
    };
    let series = line.get(..series_end)?;
    let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | ':');
    if name_end == 0 || !line.get(..name_end)?.chars().all(legal) {
        return None;
    }
    let value = line.get(series_end..)?.split_ascii_whitespace().next()?;
    Some((series, value.parse().ok()?))
}

/// Length of `{…}`, whose quoted values may hold `}` and escaped quotes.
fn labels_end(text: &str) -> Option<usize> {
    let (mut quoted, mut escaped) = (false, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            '}' if !quoted => return Some(at + 1),
            _ => {}
        }
    }
    None
}

/// Declared so, or part of a histogram or summary, or named so.
fn is_counter(name: &str, kinds: &BTreeMap<&str, &str>) -> bool {
    if let Some(kind) = kinds.get(name) {
        return *kind == "counter";
    }
    for suffix in ["_sum", "_count"] {
        if let Some(base) = name.strip_suffix(suffix)
            && let Some(kind) = kinds.get(base)
        {
            return matches!(*kind, "histogram" | "summary");
        }
    }
    name.ends_with("_total")
}

/// Words in the names of the gauges that attribution can use.
fn speaks_of_a_resource(name: &str) -> bool {
    const WORDS: [&str; 16] = [
        "pool",
        "conn",
        "wait",
        "queue",
        "lag",
        "loop",
        "gc",
        "fsync",
        "lock",
        "slot",
        "limit",
        "acquire",
        "pending",
        "in_flight",
        "heap",
        "downstream",
    ];
    let lower = name.to_ascii_lowercase();
    WORDS.iter().any(|word| lower.contains(word))
}

/// Gauges of `now`, and counters as they grew since `earlier`, with the suffix `_total`.
/// A counter that stepped back belongs to a restarted process and is left out once.
pub(crate) fn since(now: &Scrape, earlier: &Scrape) -> MetricsSample {
    let mut sample = MetricsSample::default();
    for (name, series) in &now.series {
        if !series.counter {
            sample.values.insert(name.clone(), series.value);
            continue;
        }
        let then = earlier.series.get(name).map(|then| then.value);
        if let Some(then) = then
            && series.value >= then
        {
            sample.values.insert(marked(name), series.value - then);
        }
    }
    sample
}

/// `a_sum{b}` becomes `a_sum_total{b}`, `a_total{b}` stays.
fn marked(series: &str) -> String {
    let (name, labels) = series
        .find('{')
        .map_or((series, ""), |at| series.split_at(at));
    if name.ends_with("_total") {
        series.to_owned()
    } else {
        format!("{name}_total{labels}")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TEXT: &str = "# HELP pool_in_use Connections in use.\n\
        # TYPE pool_in_use gauge\npool_in_use{db=\"a } b\",x=\"\\\"\"} 10 1700000000000\n\
        # TYPE wait_seconds summary\nwait_seconds_sum 2.5\nwait_seconds_count 7\n\
        wait_seconds{quantile=\"0.5\"} NaN\n\
        http_bucket{le=\"1\"} 5\nrequests_total 100\nthings 1e3\n\
        bad line here\n{} 5\nunclosed{a=\"b 5\n";

    #[test]
    fn series_by_name_and_kind() {
        let scrape = parse(TEXT);
        let gauge = scrape.series["pool_in_use{db=\"a } b\",x=\"\\\"\"}"];
        assert_eq!(
            gauge,
            Series {
                value: 10.0,
                counter: false
            }
        );
        assert!(scrape.series["wait_seconds_sum"].counter);
        assert!(scrape.series["requests_total"].counter);
        assert_eq!(
            scrape.series["things"],
            Series {
                value: 1000.0,
                counter: false
            }
        );
        assert_eq!(scrape.series.len(), 5, "no bucket, no NaN");
        assert_eq!(scrape.unreadable_count, 3);
    }

    #[test]
    fn counters_become_differences_and_restarts_are_left_out() {
        let earlier = parse("# TYPE a counter\na 5\nb_total{x=\"1\"} 9\nc 3\n");
        let now = parse("# TYPE a counter\na 7\nb_total{x=\"1\"} 4\nc 2\n");
        let values = since(&now, &earlier).values;
        assert_eq!(values.get("a_total"), Some(&2.0));
        assert_eq!(values.get("b_total{x=\"1\"}"), None, "stepped back");
        assert_eq!(values.get("c"), Some(&2.0), "a gauge may fall");
    }

    #[test]
    fn a_huge_endpoint_keeps_what_speaks_of_a_resource() {
        let lines: Vec<String> = (0..2000).map(|n| format!("thing_{n} 1\n")).collect();
        let mut text = lines.concat();
        text.push_str("my_pool_in_use 3\n");
        let scrape = parse(&text);
        assert_eq!(scrape.series.len(), SERIES_MAX);
        assert!(scrape.series.contains_key("my_pool_in_use"));
        assert_eq!(scrape.left_out_count, 1601);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(\\PC|\n|\"|\\{|\\}|# TYPE a |1){0,80}") {
            let _ = parse(&text);
        }
    }
}
