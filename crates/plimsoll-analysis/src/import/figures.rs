//! What a result says, whichever tool wrote it; what it does not say is absent.

use std::collections::BTreeMap;

use serde_json::Value;

/// Who wrote a result; what each is called and which of its files are read is in the table of formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tool {
    #[default]
    K6,
    Oha,
    Vegeta,
    Hey,
    Wrk,
    Wrk2,
    Ab,
    Autocannon,
    JMeter,
    Locust,
    Gatling,
    Ycsb,
    NoSqlBench,
    Hyperfoil,
    Fortio,
    Latte,
    DocDb,
}

/// What made the next request due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Arrivals {
    #[default]
    NotSaid,
    /// The answer to the one before it.
    Closed,
    /// The clock.
    Open,
}

/// What the tool's mean time is the mean of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum MeanOf {
    #[default]
    Requests,
    /// Also of requests that were never made: the tool adds those that a wait kept it from sending.
    Corrected,
    /// It is computed from throughput and the configured number of clients.
    Throughput,
}

/// Whether the file counts failures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Counting {
    #[default]
    Counted,
    /// The tool never does, and counts what failed as done.
    Never,
    /// This file does not, and why.
    NotHere(&'static str),
}

/// How the number of clients went.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) enum Clients {
    #[default]
    Constant,
    /// Between these, on purpose as far as the file tells.
    Changing { low: f64, high: f64 },
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

/// Of two figures that may be absent.
pub(super) fn either(
    one: Option<f64>,
    other: Option<f64>,
    of_both: fn(f64, f64) -> f64,
) -> Option<f64> {
    match one.zip(other) {
        Some((one, other)) => Some(of_both(one, other)),
        None => one.or(other),
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

    /// The total is what was counted by kind.
    pub(super) fn add_up(&mut self) {
        let unanswered: u64 = self.unanswered.values().sum();
        self.total = Some(self.answered() + unanswered);
    }

    pub(super) fn no_answer(&mut self, kind: impl Into<String>, count: u64) {
        if count > 0 {
            *self.unanswered.entry(kind.into()).or_default() += count;
        }
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
    /// `in_flight` is the largest of samples and not a setting, so two equal tests differ in it.
    pub(crate) in_flight_is_sampled: bool,
    pub(crate) arrivals: Arrivals,
    pub(crate) clients: Clients,
    /// Clients do something else between their requests, and how long is not in the file.
    pub(crate) has_pauses: bool,
    pub(crate) mean_of: MeanOf,
    /// Times are cut to whole steps of so many milliseconds, so the mean may be as much larger.
    pub(crate) mean_step: f64,
    /// Requests that were on their way when the time was up.
    pub(crate) unfinished: u64,
    /// Requests that were sent, as the tool counts them.
    pub(crate) sent: Option<u64>,
    /// Successes that are a 202, which says "taken in" and not "done".
    pub(crate) accepted_count: u64,
    /// Why there may be such successes that nobody counted.
    pub(crate) accepts: Option<String>,
    /// What the test was configured with, in the words of its file.
    pub(crate) settings: Vec<(&'static str, String)>,
    /// What else a reader of the failures should know.
    pub(crate) remarks: Vec<String>,
    /// Which part of the file the figures are of; empty for all of it.
    pub scope: String,
    /// What percentiles are given for where there are none of everything together.
    pub(crate) percentiles_per: Option<&'static str>,
    /// Of windows of the test in order, the 95th percentile and the mean.
    pub(crate) windows: Vec<(f64, f64)>,
    pub bytes_received: Option<f64>,
    pub parts: Vec<Part>,
    pub(crate) workers_per_part: Option<u64>,
    /// What the tool can have on the wire per part at most, when that is known of it.
    pub(crate) on_wire_per_part: Option<u64>,
    /// Bytes that the target's log grew, and that the acknowledged writes must have taken at least.
    pub(crate) log_bytes: Option<(f64, f64)>,
    /// Bytes that were in the logs of each part when the test began, and when it ended.
    pub(crate) logs: Vec<(String, f64, f64)>,
    /// Percentiles that the tool gives for everything together.
    pub global: Times,
    pub(crate) counting: Counting,
}

impl Figures {
    pub fn successes(&self) -> Option<u64> {
        let failed = self
            .failures
            .total
            .filter(|_| self.counting == Counting::Counted)?;
        Some(self.attempts?.saturating_sub(failed))
    }

    /// Counts an answer by its HTTP status.
    pub(super) fn answer(&mut self, status: u16, count: u64) {
        match status {
            202 => self.accepted_count += count,
            400.. => {
                *self.failures.by_status.entry(status).or_default() += count;
                return;
            }
            _ => {}
        }
        *self.counted_successes.get_or_insert(0) += count;
    }

    pub(crate) fn is_ramp(&self) -> bool {
        matches!(self.clients, Clients::Changing { .. })
    }

    /// Successful attempts per second.
    pub fn goodput_per_s(&self) -> Option<f64> {
        let done = self.successes()?.saturating_sub(self.accepted_count);
        per_s(done, self.seconds?)
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

/// `p99.9`, `p(99.9)`, `p99_9`, `99th` as a percentage.
pub(super) fn percent_of(name: &str) -> Option<f64> {
    let inner = name
        .strip_prefix("p(")
        .and_then(|rest| rest.strip_suffix(')'))
        .or_else(|| name.strip_prefix('p'))
        .or_else(|| name.strip_suffix("th"))?;
    let percent: f64 = inner.replace('_', ".").parse().ok()?;
    (0.0..=100.0).contains(&percent).then_some(percent)
}
