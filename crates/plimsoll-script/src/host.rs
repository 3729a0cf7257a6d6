//! What a running script asks of its surroundings without suspending: the clock, the sinks, the progress.

use plimsoll_core::Nanos;
use plimsoll_core::metrics::MetricId;

use crate::http::HttpResult;
use crate::tags::TagSetId;

/// The surroundings of all virtual users of one worker. Methods take `&self`: implementers keep their state in
/// cells, since every virtual user of the thread holds the same host.
pub trait Host {
    /// Since the start of the test.
    fn now(&self) -> Nanos;

    /// Wall clock, in milliseconds since 1970: cookies expire by it.
    fn unix_ms(&self) -> i64;

    /// One value of a metric.
    fn sample(&self, metric: MetricId, value: f64, tags: TagSetId);

    /// One request is over: everything the nine `http_*` and `data_*` metrics are made of. Called once per
    /// request on the wire, so once per hop of a redirect.
    fn http(&self, sample: &HttpSample<'_>);

    /// A `check()` failed on the answer to this call; none where its value is no answer.
    fn check_failed(&self, call: Option<u64>);

    /// A line for the log, of a script or about it.
    fn console(&self, line: &ConsoleLine<'_>);

    /// `exec.test.fail(message)`: the test goes on and ends with exit code 110.
    fn mark_failed(&self, message: &str);

    /// What `exec.instance` shows.
    fn instance(&self) -> Instance;

    /// The share of the scenario that is over, 0 to 1.
    fn scenario_progress(&self, scenario: &str) -> f64;
}

/// Hears nothing and stands at zero: for measuring and trying scripts by themselves.
#[derive(Debug, Clone, Copy, Default)]
pub struct Deaf;

impl Host for Deaf {
    fn now(&self) -> Nanos {
        Nanos::ZERO
    }
    fn unix_ms(&self) -> i64 {
        0
    }
    fn sample(&self, _metric: MetricId, _value: f64, _tags: TagSetId) {}
    fn http(&self, _sample: &HttpSample<'_>) {}
    fn check_failed(&self, _call: Option<u64>) {}
    fn console(&self, _line: &ConsoleLine<'_>) {}
    fn mark_failed(&self, _message: &str) {}
    fn instance(&self) -> Instance {
        Instance::default()
    }
    fn scenario_progress(&self, _scenario: &str) -> f64 {
        0.0
    }
}

/// One request as its metrics see it.
#[derive(Debug)]
pub struct HttpSample<'a> {
    /// The call's tags and those of the answer: status, proto, `expected_response`, error, `tls_version`.
    pub tags: TagSetId,
    /// Those of the virtual user outside of any group: bytes carry no others, as in k6.
    pub user_tags: TagSetId,
    /// Whether the answer was one of the expected ones; none when the script switched the question off, and
    /// then `http_req_failed` gets no value.
    pub expected: Option<bool>,
    pub result: &'a HttpResult,
}

/// How loud a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    Debug,
    Info,
    Warning,
    Error,
}

impl LogLevel {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// One line of `console.*`, or an exception's stack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsoleLine<'a> {
    pub level: LogLevel,
    pub message: &'a str,
    /// The `source` field of the log line: `console`, `stacktrace` or none for our own warnings.
    pub source: Option<&'static str>,
}

/// Counts over all virtual users of the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Instance {
    pub iterations_completed: u64,
    pub iterations_interrupted: u64,
    pub vus_active: u64,
    pub vus_initialized: u64,
}
