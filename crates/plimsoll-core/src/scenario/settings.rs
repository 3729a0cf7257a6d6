//! Everything options say besides the load: HTTP, TLS, names, tags, limits and the summary.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::error::OptionError;
use super::fields::{self, Fields, known, not};
use super::option::Flag;
use super::time;
use crate::units::Nanos;

/// The time unit of the summary, where one is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SummaryUnit {
    Seconds,
    Millis,
    Micros,
}

impl SummaryUnit {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Seconds => "s",
            Self::Millis => "ms",
            Self::Micros => "us",
        }
    }
}

/// One figure of a trend in the summary.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TrendStat {
    Avg,
    Min,
    Med,
    Max,
    Count,
    /// A percentile, 0 to 100.
    Percentile(f64),
}

impl TrendStat {
    /// Reads `avg`, `p(95)` and so on.
    pub fn parse(text: &str) -> Option<Self> {
        Some(match text.trim() {
            "avg" => Self::Avg,
            "min" => Self::Min,
            "med" => Self::Med,
            "max" => Self::Max,
            "count" => Self::Count,
            other => {
                let inside = other.strip_prefix("p(")?.strip_suffix(')')?;
                let percent: f64 = inside.trim().parse().ok()?;
                (0.0..=100.0)
                    .contains(&percent)
                    .then_some(Self::Percentile(percent))?
            }
        })
    }

    /// As scripts write it: `p(99.9)`.
    pub fn name(self) -> String {
        match self {
            Self::Avg => "avg".to_owned(),
            Self::Min => "min".to_owned(),
            Self::Med => "med".to_owned(),
            Self::Max => "max".to_owned(),
            Self::Count => "count".to_owned(),
            Self::Percentile(percent) => format!("p({percent})"),
        }
    }
}

/// How host names are resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dns {
    /// How long an answer is kept; `None` keeps it for the whole test.
    pub ttl_ns: Option<Nanos>,
    /// `first`, `random` or `roundRobin`.
    pub select: String,
    /// `preferIPv4`, `preferIPv6`, `onlyIPv4`, `onlyIPv6` or `any`.
    pub policy: String,
}

const SELECTS: [&str; 3] = ["first", "random", "roundRobin"];
const POLICIES: [&str; 5] = ["preferIPv4", "preferIPv6", "onlyIPv4", "onlyIPv6", "any"];

impl Dns {
    pub(super) fn read(place: &str, value: &Value) -> Result<Self, OptionError> {
        let read;
        let map = match value {
            Value::Object(map) => map,
            Value::String(text) => {
                read = text
                    .split(',')
                    .filter_map(|pair| pair.split_once('='))
                    .map(|(name, value)| (name.trim().to_owned(), value.trim().into()))
                    .collect();
                &read
            }
            other => return Err(not(place, other, "an object { ttl, select, policy }")),
        };
        let fields = Fields { place, map };
        known(&fields, &["ttl", "select", "policy"])?;
        let ttl_ns = match fields.value("ttl") {
            Some(Value::String(text)) if text == "inf" => None,
            Some(value) => Some(fields::duration(&fields.place_of("ttl"), value)?),
            None => Some(Nanos::from_secs(300)),
        };
        Ok(Self {
            ttl_ns,
            select: one_of(&fields, "select", &SELECTS, "random")?,
            policy: one_of(&fields, "policy", &POLICIES, "preferIPv4")?,
        })
    }
}

fn one_of(
    fields: &Fields<'_>,
    field: &str,
    known: &[&str],
    default: &str,
) -> Result<String, OptionError> {
    let word = fields.text(field)?.unwrap_or_else(|| default.to_owned());
    let found = known.iter().find(|known| known.eq_ignore_ascii_case(&word));
    found.map(|known| (*known).to_owned()).ok_or_else(|| {
        let expected = format!("one of {}", known.join(", "));
        not(&fields.place_of(field), &Value::String(word), &expected)
    })
}

/// Typed values of every option that is not the load.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    pub(super) flags: BTreeSet<Flag>,
    pub setup_timeout_ns: Nanos,
    pub teardown_timeout_ns: Nanos,
    pub handle_summary_timeout_ns: Nanos,
    pub min_iteration_ns: Nanos,
    pub max_redirects: u64,
    pub batch: u64,
    /// Zero is unlimited.
    pub batch_per_host: u64,
    /// Zero is unlimited.
    pub requests_per_s_max: u64,
    pub user_agent: Option<String>,
    pub http_debug: Option<String>,
    pub tls_auth: Option<Value>,
    pub tls_version: Option<Value>,
    pub tls_cipher_suites: Vec<String>,
    pub blacklist_ips: Vec<String>,
    pub block_hostnames: Vec<String>,
    pub hosts: BTreeMap<String, String>,
    pub dns: Dns,
    pub local_ips: Vec<String>,
    pub summary_trend_stats: Vec<TrendStat>,
    pub summary_unit: Option<SummaryUnit>,
    pub summary_mode: String,
    pub summary_export: Option<String>,
    pub system_tags: BTreeSet<String>,
    pub tags: BTreeMap<String, String>,
    pub console_output: Option<String>,
    /// Which of how many equal parts of the test this instance plays, counted from zero.
    pub part: (u64, u64),
}

impl Settings {
    pub fn is_set(&self, flag: Flag) -> bool {
        self.flags.contains(&flag)
    }
}

pub(super) fn trend_stats(place: &str, names: &[String]) -> Result<Vec<TrendStat>, OptionError> {
    let stat = |name: &String| {
        let expected = "a figure of a trend: avg, min, med, max, count or p(95)";
        TrendStat::parse(name).ok_or_else(|| not(place, &name.as_str().into(), expected))
    };
    names.iter().map(stat).collect()
}

pub(super) fn summary_unit(place: &str, name: &str) -> Result<SummaryUnit, OptionError> {
    let units = [
        SummaryUnit::Seconds,
        SummaryUnit::Millis,
        SummaryUnit::Micros,
    ];
    let found = units.into_iter().find(|unit| unit.name() == name);
    found.ok_or_else(|| not(place, &name.into(), "s, ms or us"))
}

pub(super) fn summary_mode(place: &str, name: &str) -> Result<String, OptionError> {
    match name {
        "compact" | "full" | "disabled" => Ok(name.to_owned()),
        other => Err(not(place, &other.into(), "compact, full or disabled")),
    }
}

/// `1/4:2/4` is part 1 of 4. Parts of different sizes are refused, never rounded.
pub(super) fn part(place: &str, segment: &str) -> Result<(u64, u64), OptionError> {
    let unequal = || OptionError::Rule {
        place: place.to_owned(),
        problem: format!("`{segment}` is not one of several equal parts"),
        fix: "write for example 1/4:2/4 for the second quarter".to_owned(),
    };
    let (from, to) = segment.split_once(':').ok_or_else(unequal)?;
    let (from, to) = (fraction(from), fraction(to));
    let ((a, b), (c, d)) = from.zip(to).ok_or_else(unequal)?;
    // The width c/d − a/b must be 1/n, and the start a multiple of it.
    let width = (c * b).checked_sub(a * d).filter(|width| *width > 0);
    let (width, whole) = (width.ok_or_else(unequal)?, b * d);
    let start = a * d;
    if c > d || whole % width != 0 || start % width != 0 {
        return Err(unequal());
    }
    Ok((start / width, whole / width))
}

fn fraction(text: &str) -> Option<(u64, u64)> {
    let (above, below) = text.trim().split_once('/').unwrap_or((text.trim(), "1"));
    let (above, below) = (above.parse::<u32>().ok()?, below.parse::<u32>().ok()?);
    (below > 0 && below < 1_000_000).then_some((above.into(), below.into()))
}

pub(super) fn show_duration(value: &Value) -> Option<String> {
    time::of_json(value).map(time::show)
}
