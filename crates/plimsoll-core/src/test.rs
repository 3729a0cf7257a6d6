//! One test: what is asked, how it is loaded, what must hold, and what the generator may use for it.
//!
//! Whatever builds a test (the command line, an experiment, a comparison) builds this one. Values that go together are
//! one type, so that a test which nobody could play cannot be written down.

mod mix;
mod setup;
mod variation;
pub mod workload;

use std::fmt;
use std::num::{NonZeroU32, NonZeroU64};

use serde::{Deserialize, Serialize};
use thiserror::Error;

pub use mix::{MixPhase, RequestMix};
pub use setup::ScriptSetup;
pub use variation::Variation;
pub use workload::Workload;

use crate::objective::Objectives;
use crate::schedule::{Arrivals, RateProfile};
use crate::step::StepLoad;
use crate::units::Nanos;

/// Everything that decides what a run does; kept whole in the record's header.
#[derive(Debug, Clone, PartialEq)]
pub struct Test {
    pub what: What,
    pub how: How,
    pub generator: Generator,
}

/// What is asked of the service.
#[derive(Debug, Clone, PartialEq)]
pub enum What {
    Url(Url),
    Script(Script),
    Workload(Box<Workload>),
}

/// One request, again and again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Url {
    pub request: Request,
    pub http: Http,
    pub variation: Variation,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    pub method: String,
    pub url: String,
    pub headers: Vec<(String, String)>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub body: Vec<u8>,
}

/// The protocol that carries the requests of a URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Http {
    One,
    /// `streams` requests at once on a connection, if the server allows so many.
    Two {
        streams: NonZeroU32,
    },
}

/// Whatever a script does; what is loaded of it lives with who runs it.
#[derive(Debug, Clone, PartialEq)]
pub struct Script {
    /// As it was typed.
    pub name: String,
    /// Absent in records of the first versions.
    pub setup: Option<ScriptSetup>,
}

/// How the load comes about.
#[derive(Debug, Clone, PartialEq)]
pub enum How {
    /// One load that is set beforehand.
    Set {
        load: Load,
        /// None: a script without a length of its own.
        until: Option<Until>,
        objectives: Option<Objectives>,
    },
    /// A search for the load that the objectives allow; each level line says which it played.
    Search {
        settings: SearchSettings,
        objectives: Objectives,
    },
}

/// The rule that starts attempts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Load {
    /// Each connection sends its next request when the last is answered.
    Closed { in_flight: NonZeroU32 },
    /// Arrivals come at their own times and wait for a free connection.
    Open {
        profile: RateProfile,
        arrivals: Arrivals,
    },
}

/// When a run ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Until {
    DurationNs(Nanos),
    AttemptsCount(NonZeroU64),
}

/// What a search is asked beside its objectives. Rates are per second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SearchSettings {
    pub over: Over,
    /// Time for everything, the self-check included.
    pub within: Nanos,
    /// Upper over lower bound minus 1 at which it ends.
    pub goal_width: f64,
    /// Also look for collapse and recovery beyond the capacity.
    pub overshoot: bool,
}

/// What a search varies.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "varies")]
pub enum Over {
    Rate {
        arrivals: Arrivals,
        /// Never offer more.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max_per_s: Option<f64>,
        /// Only say whether this rate passes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        only_per_s: Option<f64>,
    },
    /// Virtual users of a script, who wait for their answers.
    Vus {
        /// Only say whether so many pass.
        #[serde(default, skip_serializing_if = "Option::is_none", rename = "only_vus")]
        only: Option<NonZeroU32>,
    },
}

/// What the generator may use, and how it behaves as a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Generator {
    /// Connections of a URL in an open model, or virtual users of a script.
    pub connections_max: NonZeroU32,
    pub workers: NonZeroU32,
    /// From the intended start; a later answer is the outcome `timeout`.
    pub timeout: Nanos,
    pub keepalive: bool,
    /// Certificates are not verified.
    pub insecure: bool,
    /// All randomness of the run descends from it.
    pub seed: u64,
}

/// Why a test cannot be built; names the value and what would do.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TestError {
    #[error("{0} streams are not between 1 and {most}", most = Http::STREAMS_MAX)]
    Streams(u64),
    #[error("{0} is below 1ms")]
    Timeout(Nanos),
    #[error("the time is zero: give one such as 30s")]
    NoTime,
    #[error("{0} load threads are not between 1 and {most}", most = Generator::WORKERS_MAX)]
    Workers(u64),
}

impl Test {
    pub fn is_search(&self) -> bool {
        matches!(self.how, How::Search { .. })
    }

    pub fn is_script(&self) -> bool {
        matches!(self.what, What::Script(_))
    }

    pub fn url(&self) -> Option<&Url> {
        match &self.what {
            What::Url(url) => Some(url),
            What::Script(_) | What::Workload(_) => None,
        }
    }

    pub fn script(&self) -> Option<&Script> {
        match &self.what {
            What::Script(script) => Some(script),
            What::Url(_) | What::Workload(_) => None,
        }
    }

    pub fn workload(&self) -> Option<&Workload> {
        match &self.what {
            What::Workload(workload) => Some(workload),
            What::Url(_) | What::Script(_) => None,
        }
    }

    pub fn objectives(&self) -> Option<&Objectives> {
        match &self.how {
            How::Set { objectives, .. } => objectives.as_ref(),
            How::Search { objectives, .. } => Some(objectives),
        }
    }

    /// The command that such a test belongs to.
    pub fn command(&self) -> &'static str {
        if self.is_search() { "find" } else { "run" }
    }

    /// Requests at once on one connection of HTTP/2; `None` over HTTP/1.1 and for scripts, which speak what the server
    /// prefers.
    pub fn streams(&self) -> Option<NonZeroU32> {
        match self.url()?.http {
            Http::One => None,
            Http::Two { streams } => Some(streams),
        }
    }

    /// How long the load lasts at most, as far as it says.
    pub fn length(&self) -> Option<Nanos> {
        match &self.how {
            How::Set { until, .. } => until.and_then(Until::duration),
            How::Search { settings, .. } => Some(settings.within),
        }
    }

    /// Requests that may be on the wire at once.
    pub fn in_flight_max(&self) -> NonZeroU32 {
        let streams = self.streams().unwrap_or(NonZeroU32::MIN);
        self.generator.connections_max.saturating_mul(streams)
    }
}

impl What {
    /// What stands in `method` where a script makes the requests.
    pub const SCRIPT: &str = "SCRIPT";
    /// What stands in `method` where a driver makes them.
    pub(crate) const WORKLOAD: &str = "WORKLOAD";

    /// Requests beside the one of [`Self::request_line`].
    pub fn others_count(&self) -> usize {
        match self {
            Self::Url(url) => url.variation.requests.len(),
            Self::Script(_) | Self::Workload(_) => 0,
        }
    }

    /// Method and URL, or `SCRIPT` and its name, or `WORKLOAD` and the store.
    pub fn request_line(&self) -> (&str, &str) {
        match self {
            Self::Url(url) => (&url.request.method, &url.request.url),
            Self::Script(script) => (Self::SCRIPT, &script.name),
            Self::Workload(workload) => (Self::WORKLOAD, &workload.store),
        }
    }
}

impl Url {
    /// One request that is always the same.
    pub fn new(request: Request, http: Http) -> Self {
        Self {
            request,
            http,
            variation: Variation::default(),
        }
    }

    /// Every request that is sent, in turn.
    pub fn requests(&self) -> impl Iterator<Item = &Request> {
        std::iter::once(&self.request).chain(&self.variation.requests)
    }
}

/// Over HTTP/1.1.
impl From<Request> for What {
    fn from(request: Request) -> Self {
        Self::Url(Url::new(request, Http::One))
    }
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (method, name) = self.request_line();
        write!(f, "{method} {name}")
    }
}

impl How {
    /// A search as it is unless more is said.
    pub fn search(objectives: Objectives) -> Self {
        Self::Search {
            settings: SearchSettings::default(),
            objectives,
        }
    }

    /// A load without end and objectives.
    pub fn endless(load: Load) -> Self {
        Self::Set {
            load,
            until: None,
            objectives: None,
        }
    }
}

impl Request {
    pub fn get(url: impl Into<String>) -> Self {
        Self::new("GET", url, Vec::new())
    }

    /// A body that would be got is posted.
    pub fn new(method: &str, url: impl Into<String>, body: Vec<u8>) -> Self {
        let method = match method {
            "GET" if !body.is_empty() => "POST",
            method => method,
        };
        Self {
            method: method.to_owned(),
            url: url.into(),
            headers: Vec::new(),
            body,
        }
    }
}

impl Http {
    /// More than any server allows by default; each has a place of its own in memory.
    pub const STREAMS_MAX: u32 = 10_000;

    pub fn two(streams: u64) -> Result<Self, TestError> {
        let streams = Self::streams(streams)?;
        Ok(Self::Two { streams })
    }

    pub fn streams(count: u64) -> Result<NonZeroU32, TestError> {
        let allowed = u32::try_from(count)
            .ok()
            .filter(|count| *count <= Self::STREAMS_MAX);
        allowed
            .and_then(NonZeroU32::new)
            .ok_or(TestError::Streams(count))
    }
}

impl Until {
    pub fn after(duration: Nanos) -> Result<Self, TestError> {
        match duration {
            Nanos::ZERO => Err(TestError::NoTime),
            duration => Ok(Self::DurationNs(duration)),
        }
    }

    pub fn duration(self) -> Option<Nanos> {
        match self {
            Self::DurationNs(duration) => Some(duration),
            Self::AttemptsCount(_) => None,
        }
    }

    pub fn attempts(self) -> Option<u64> {
        match self {
            Self::DurationNs(_) => None,
            Self::AttemptsCount(count) => Some(count.get()),
        }
    }
}

impl From<Load> for StepLoad {
    fn from(load: Load) -> Self {
        match load {
            Load::Closed { in_flight } => Self::Closed {
                in_flight: in_flight.get(),
            },
            Load::Open { profile, arrivals } => Self::Open { profile, arrivals },
        }
    }
}

impl SearchSettings {
    /// The default time for everything, self-check included (DESIGN section 7).
    pub const WITHIN: Nanos = Nanos::from_secs(300);
    /// The default distance of upper and lower bound (DESIGN section 7).
    pub const GOAL_WIDTH: f64 = 0.05;
    /// Below this a search only says whether one rate passes (DESIGN section 7).
    pub const SHORTEST: Nanos = Nanos::from_secs(150);
}

impl Default for SearchSettings {
    fn default() -> Self {
        Self {
            over: Over::default(),
            within: Self::WITHIN,
            goal_width: Self::GOAL_WIDTH,
            overshoot: true,
        }
    }
}

impl Default for Over {
    fn default() -> Self {
        Self::Rate {
            arrivals: Arrivals::default(),
            max_per_s: None,
            only_per_s: None,
        }
    }
}

impl Generator {
    /// More generator threads than this only add contention on any machine we know.
    pub const WORKERS_MAX: u64 = 256;
    /// A shorter wait would end most answers of a healthy service.
    const TIMEOUT_LEAST: Nanos = Nanos::from_millis(1);

    pub fn workers(count: u64) -> Result<NonZeroU32, TestError> {
        let allowed = Some(count).filter(|count| *count <= Self::WORKERS_MAX);
        allowed
            .and_then(|count| NonZeroU32::new(count as u32))
            .ok_or(TestError::Workers(count))
    }

    pub fn timeout(wait: Nanos) -> Result<Nanos, TestError> {
        if wait < Self::TIMEOUT_LEAST {
            return Err(TestError::Timeout(wait));
        }
        Ok(wait)
    }
}

impl Default for Generator {
    /// One connection, driven by one thread.
    fn default() -> Self {
        Self {
            connections_max: NonZeroU32::MIN,
            workers: NonZeroU32::MIN,
            timeout: Nanos::from_secs(10),
            keepalive: true,
            insecure: false,
            seed: 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_played_cannot_be_built() {
        for (refused, fragment) in [
            (Http::two(0).unwrap_err(), "between 1 and 10000"),
            (Http::two(10_001).unwrap_err(), "10001 streams"),
            (Until::after(Nanos::ZERO).unwrap_err(), "30s"),
            (Generator::timeout(Nanos(1)).unwrap_err(), "below 1ms"),
            (Generator::workers(0).unwrap_err(), "between 1 and 256"),
            (Generator::workers(257).unwrap_err(), "257 load threads"),
        ] {
            let text = refused.to_string();
            assert!(text.contains(fragment), "{text}");
        }
    }

    #[test]
    fn streams_multiply_what_may_be_in_flight() {
        let mut test = Test {
            what: What::Url(Url::new(
                Request::get("http://127.0.0.1/"),
                Http::two(10).unwrap(),
            )),
            how: How::endless(Load::Closed {
                in_flight: NonZeroU32::MIN,
            }),
            generator: Generator {
                connections_max: NonZeroU32::new(4).unwrap(),
                ..Generator::default()
            },
        };
        assert_eq!(test.in_flight_max().get(), 40);
        test.what = What::Script(Script {
            name: "shop.js".to_owned(),
            setup: None,
        });
        assert_eq!(test.in_flight_max().get(), 4);
        assert_eq!(test.what.to_string(), "SCRIPT shop.js");
    }
}
