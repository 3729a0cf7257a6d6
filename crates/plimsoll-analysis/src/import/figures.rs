//! What a result says, whichever tool wrote it; what it does not say is absent.

use std::collections::BTreeMap;

use serde_json::Value;

/// Who wrote a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tool {
    #[default]
    K6,
    Oha,
    Vegeta,
    Hey,
    Wrk,
    Latte,
    DocDb,
}

impl Tool {
    pub const fn name(self) -> &'static str {
        match self {
            Self::K6 => "k6",
            Self::Oha => "oha",
            Self::Vegeta => "vegeta",
            Self::Hey => "hey",
            Self::Wrk => "wrk",
            Self::Latte => "latte",
            Self::DocDb => "DocDB load tool",
        }
    }
}

/// Times of a population, in milliseconds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Times {
    pub mean: Option<f64>,
    pub min: Option<f64>,
    pub max: Option<f64>,
    /// By hundredths of a percent: 9,990 is p99.9.
    pub percentiles: BTreeMap<u32, f64>,
}

impl Times {
    pub fn percentile(&self, percent: f64) -> Option<f64> {
        self.percentiles.get(&hundredths(percent)).copied()
    }

    pub(super) fn set(&mut self, percent: f64, millis: Option<f64>) {
        if let Some(millis) = millis.filter(|millis| millis.is_finite()) {
            self.percentiles.insert(hundredths(percent), millis);
        }
    }
}

fn hundredths(percent: f64) -> u32 {
    (percent * 100.0).round() as u32
}

/// What failed, as far as the tool tells kinds apart.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Failures {
    pub total: Option<u64>,
    /// Answers from 400 on by HTTP status, where somebody counted them.
    pub(crate) by_status: BTreeMap<u16, u64>,
    /// Answers with some error status that was not told apart.
    pub(crate) other_answers: u64,
    /// Without an answer, by the tool's own words.
    pub(crate) unanswered: BTreeMap<String, u64>,
}

impl Failures {
    /// Failures that the target answered.
    pub fn answered(&self) -> u64 {
        self.by_status.values().sum::<u64>() + self.other_answers
    }

    /// Failures without any answer: counted as such, or what is left when answers are taken away.
    pub(crate) fn without_answer(&self) -> Option<u64> {
        let counted: u64 = self.unanswered.values().sum();
        let left = self.total?.checked_sub(self.answered());
        left.or(Some(counted))
    }
}

/// One of several equal targets, such as a database.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Part {
    pub name: String,
    pub operations: u64,
    pub times: Times,
}

/// Everything that could be read.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Figures {
    pub tool: Tool,
    pub seconds: Option<f64>,
    /// Everything that was tried, failed or not.
    pub attempts: Option<u64>,
    pub failures: Failures,
    /// Successes as the tool counts them, to be held against attempts and failures.
    pub(crate) counted_successes: Option<u64>,
    /// Rounds of a closed loop, pauses included: how many per second, and their mean in
    /// milliseconds. Requests themselves, where there are no pauses.
    pub rounds: Option<(f64, f64)>,
    /// Throughput as the tool prints it.
    pub(crate) reported_per_s: Option<f64>,
    /// The arrival rate that was asked for.
    pub offered_per_s: Option<f64>,
    /// Times of everything that the tool counts together.
    pub all: Times,
    /// Times of successes alone, where the tool has them.
    pub successes: Times,
    /// Clients, connections or VUs that the test was configured with.
    pub in_flight: Option<f64>,
    /// The configuration changed on purpose during the test.
    pub(crate) is_ramp: bool,
    pub bytes_received: Option<f64>,
    pub parts: Vec<Part>,
    pub(crate) workers_per_part: Option<u64>,
    /// What the tool can have on the wire per part at most, when that is known of it.
    pub(crate) on_wire_per_part: Option<u64>,
    /// Bytes that the target's log grew, and that the acknowledged writes must have taken at least.
    pub(crate) log_bytes: Option<(f64, f64)>,
    /// Percentiles that the tool gives for everything together.
    pub global: Times,
    /// The tool writes down failures at all.
    pub(crate) counts_failures: bool,
}

impl Figures {
    pub fn successes(&self) -> Option<u64> {
        let failed = if self.counts_failures {
            self.failures.total
        } else {
            None
        };
        Some(self.attempts? - failed?.min(self.attempts?))
    }

    /// Successful attempts per second.
    pub fn goodput_per_s(&self) -> Option<f64> {
        per_s(self.successes()?, self.seconds?)
    }

    /// Mean number of clients at work by Little's law, pauses included where the tool has them.
    pub(crate) fn mean_in_flight(&self) -> Option<f64> {
        let requests = || self.attempts_per_s().zip(self.all.mean);
        let (per_s, mean) = self.rounds.or_else(requests)?;
        Some(per_s * mean / 1e3)
    }

    /// All attempts per second.
    pub fn attempts_per_s(&self) -> Option<f64> {
        per_s(self.attempts?, self.seconds?)
    }

    pub(crate) fn failure_ratio(&self) -> Option<f64> {
        let attempts = self.attempts.filter(|attempts| *attempts > 0)?;
        Some(self.failures.total? as f64 / attempts as f64)
    }

    pub(crate) fn bytes_per_success(&self) -> Option<f64> {
        let successes = self.successes().filter(|successes| *successes > 0)?;
        Some(self.bytes_received? / successes as f64)
    }
}

fn per_s(count: u64, seconds: f64) -> Option<f64> {
    (seconds > 0.0).then(|| count as f64 / seconds)
}

/// The number at a path of keys.
pub(super) fn number(value: &Value, path: &[&str]) -> Option<f64> {
    let mut value = value;
    for key in path {
        value = value.get(key)?;
    }
    value.as_f64().filter(|number| number.is_finite())
}

/// The count at a path of keys.
pub(super) fn count(value: &Value, path: &[&str]) -> Option<u64> {
    number(value, path).and_then(whole)
}

/// Counts above are no counts, and thousands of them can be added without overflow.
const COUNT_MAX: f64 = 1e14;

pub(super) fn whole(number: f64) -> Option<u64> {
    (0.0..=COUNT_MAX)
        .contains(&number)
        .then(|| number.round() as u64)
}

/// `p99.9`, `p(99.9)`, `99th`, `P999` as a percentage.
pub(super) fn percent_of(name: &str) -> Option<f64> {
    let inner = name
        .strip_prefix("p(")
        .and_then(|rest| rest.strip_suffix(')'))
        .or_else(|| name.strip_prefix('p'))
        .or_else(|| name.strip_suffix("th"))?;
    let percent: f64 = inner.parse().ok()?;
    (0.0..=100.0).contains(&percent).then_some(percent)
}
