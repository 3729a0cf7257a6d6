//! What a limiter in front of a tier said of itself over the run: the limit as it moved, and who was let in.

use std::collections::BTreeMap;

use plimsoll_core::record::{MetricsSample, Record, Seen};

/// What the names of a limiter's series begin with: of the guard, and of the Node middleware.
const PREFIXES: [&str; 2] = ["plimsoll_guard_", "plimsoll_node_"];

/// One limiter over the run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Admission {
    /// The tier that it is, or stands in.
    pub(crate) tier: String,
    pub(crate) points: Vec<Moment>,
}

/// What was read of it at one moment; rates are those since the reading before.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Moment {
    /// From the start of the load.
    pub(crate) at_seconds: f64,
    pub(crate) length_seconds: f64,
    pub(crate) limit: f64,
    pub(crate) in_flight: f64,
    pub(crate) waiting: f64,
    /// A first reading has no rates.
    pub(crate) rates: Option<Rates>,
}

/// Per second.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Rates {
    pub(crate) arrived: f64,
    pub(crate) admitted: f64,
    pub(crate) served: f64,
    pub(crate) refused: f64,
}

/// Every limiter that the record has readings of, by the name of its tier.
pub(crate) fn admissions(record: &Record) -> Vec<Admission> {
    let start = record.windows.iter().map(|window| window.start_ns).min();
    let start = start.unwrap_or_default();
    let mut tiers: BTreeMap<&str, Vec<Moment>> = BTreeMap::new();
    for observation in &record.observations {
        let Seen::Metrics(sample) = &observation.seen else {
            continue;
        };
        if observation.at_ns < start {
            continue;
        }
        let length = observation.length_ns.as_secs_f64();
        if let Some(read) = moment(sample, length) {
            let points = tiers.entry(&observation.tier).or_default();
            points.push(Moment {
                at_seconds: (observation.at_ns - start).as_secs_f64(),
                length_seconds: length,
                ..read
            });
        }
    }
    let named = |(tier, points): (&str, Vec<Moment>)| Admission {
        tier: tier.to_owned(),
        points,
    };
    tiers.into_iter().map(named).collect()
}

/// `None` if the sample is no limiter's. Of several series of one name (one for each upstream) it is the sum.
fn moment(sample: &MetricsSample, length: f64) -> Option<Moment> {
    let mut sums: BTreeMap<&str, f64> = BTreeMap::new();
    for (series, value) in &sample.values {
        let (name, labels) = series.split_at(series.find('{').unwrap_or(series.len()));
        let own = PREFIXES.iter().find_map(|prefix| name.strip_prefix(prefix));
        let is = |outcome: &str| labels.contains(&format!("outcome=\"{outcome}"));
        let own = match own {
            // The guard has a series for those with a permit and one for the others, the middleware one for all.
            Some("refused_total") => "refused",
            Some("requests_total") if is("refused") => "refused",
            Some("ended_total" | "requests_total") if is("served") => "served",
            Some(own) => own,
            None => continue,
        };
        *sums.entry(own).or_default() += value;
    }
    let read = |name: &str| sums.get(name).copied();
    let per_s = |name: &str| read(name).unwrap_or_default() / length;
    let rates = || Rates {
        arrived: per_s("arrived_total"),
        admitted: per_s("admitted_total"),
        served: per_s("served"),
        refused: per_s("refused"),
    };
    Some(Moment {
        at_seconds: 0.0,
        length_seconds: length,
        limit: read("limit")?,
        in_flight: read("in_flight").unwrap_or_default(),
        waiting: read("waiting").unwrap_or_default(),
        rates: (length > 0.0 && read("admitted_total").is_some()).then(rates),
    })
}

impl Admission {
    pub(crate) fn end_seconds(&self) -> f64 {
        self.points.last().map_or(0.0, |point| point.at_seconds)
    }

    /// The lowest and the highest limit.
    pub(crate) fn range(&self) -> (f64, f64) {
        let limits = || self.points.iter().map(|point| point.limit);
        (
            limits().fold(f64::INFINITY, f64::min),
            limits().fold(0.0, f64::max),
        )
    }

    /// The most of one figure.
    pub(crate) fn most(&self, figure: impl Fn(&Moment) -> f64) -> f64 {
        self.points.iter().map(figure).fold(0.0, f64::max)
    }

    /// Mean of one rate over the readings that have it.
    pub(crate) fn mean(&self, rate: impl Fn(&Rates) -> f64) -> f64 {
        let rated = self.points.iter().filter_map(|point| {
            let rates = point.rates.as_ref()?;
            Some((rate(rates) * point.length_seconds, point.length_seconds))
        });
        let (sum, seconds) = rated.fold((0.0, 0.0), |(sum, all), (part, length)| {
            (sum + part, all + length)
        });
        if seconds > 0.0 { sum / seconds } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(values: &[(&str, f64)]) -> MetricsSample {
        let named = |(name, value): &(&str, f64)| ((*name).to_owned(), *value);
        MetricsSample {
            values: values.iter().map(named).collect(),
        }
    }

    #[test]
    fn a_limiter_is_read_by_the_names_of_its_series_and_others_are_none() {
        let guard = sample(&[
            ("plimsoll_guard_limit{upstream=\"a\"}", 4.0),
            ("plimsoll_guard_limit{upstream=\"b\"}", 2.5),
            ("plimsoll_guard_waiting", 3.0),
            ("plimsoll_guard_admitted_total", 50.0),
            (
                "plimsoll_guard_ended_total{upstream=\"a\",outcome=\"served\"}",
                40.0,
            ),
            (
                "plimsoll_guard_ended_total{upstream=\"a\",outcome=\"left\"}",
                7.0,
            ),
            (
                "plimsoll_guard_refused_total{upstream=\"a\",reason=\"full\"}",
                10.0,
            ),
            (
                "plimsoll_guard_refused_total{upstream=\"b\",reason=\"share\"}",
                5.0,
            ),
            (
                "plimsoll_guard_shadow_refused_total{upstream=\"a\",reason=\"full\"}",
                9.0,
            ),
            ("other_limit", 100.0),
        ]);
        let read = moment(&guard, 0.5).unwrap();
        assert!((read.limit - 6.5).abs() < 1e-9 && (read.waiting - 3.0).abs() < 1e-9);
        let rates = read.rates.unwrap();
        assert!((rates.served - 80.0).abs() < 1e-9 && (rates.refused - 30.0).abs() < 1e-9);
        assert_eq!(moment(&sample(&[("other_limit", 1.0)]), 1.0), None);
        let first = sample(&[("plimsoll_node_limit{name=\"x\"}", 4.0)]);
        assert_eq!(moment(&first, 1.0).unwrap().rates, None);
        let node = sample(&[
            ("plimsoll_node_limit", 4.0),
            ("plimsoll_node_admitted_total", 6.0),
            ("plimsoll_node_requests_total{outcome=\"served\"}", 5.0),
            (
                "plimsoll_node_requests_total{outcome=\"refused_full\"}",
                3.0,
            ),
        ]);
        let rates = moment(&node, 1.0).unwrap().rates.unwrap();
        assert!((rates.served - 5.0).abs() < 1e-9 && (rates.refused - 3.0).abs() < 1e-9);
    }
}
