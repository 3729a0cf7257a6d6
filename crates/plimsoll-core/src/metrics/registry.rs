//! The one table of built-in metrics, and the rules for a script's own.

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// What a metric does with its samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Adds them up.
    Counter,
    /// Keeps the last, the smallest and the largest.
    Gauge,
    /// Counts those that are not zero among all.
    Rate,
    /// Keeps their distribution.
    Trend,
}

impl Kind {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Rate => "rate",
            Self::Trend => "trend",
        }
    }
}

/// What the numbers of a metric are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Contains {
    Default,
    /// Milliseconds.
    Time,
    /// Bytes.
    Data,
}

impl Contains {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Time => "time",
            Self::Data => "data",
        }
    }
}

/// A metric of a test: the built-in ones first, then those that its script declares, in its order; so
/// it is the same in every store of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct MetricId(pub(super) u32);

impl MetricId {
    /// The metric that the script declared after `before` others.
    pub const fn declared(before: usize) -> Self {
        Self((BUILT_IN.len() + before) as u32)
    }

    /// Its place among the metrics of a store.
    pub const fn place(self) -> usize {
        self.0 as usize
    }
}

/// A metric and what its numbers are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Metric {
    pub name: String,
    pub kind: Kind,
    pub contains: Contains,
}

/// One row of the table of built-in metrics.
#[derive(Debug, Clone, Copy)]
pub struct BuiltInSpec {
    pub name: &'static str,
    pub kind: Kind,
    pub contains: Contains,
    pub help: &'static str,
}

macro_rules! built_in {
    ($($variant:ident $name:literal $kind:ident $contains:ident $help:literal;)*) => {
        /// The metrics that every test has.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum BuiltIn { $($variant),* }

        /// The one table of built-in metrics, in the order of [`BuiltIn`].
        pub const BUILT_IN: &[BuiltInSpec] = &[$(BuiltInSpec {
            name: $name,
            kind: Kind::$kind,
            contains: Contains::$contains,
            help: $help,
        }),*];
    };
}

built_in! {
    Vus "vus" Gauge Default "VUs at work";
    VusMax "vus_max" Gauge Default "VUs that exist";
    Iterations "iterations" Counter Default "iterations that ended";
    IterationDuration "iteration_duration" Trend Time "length of an iteration";
    DroppedIterations "dropped_iterations" Counter Default "iterations that were due and never began";
    Checks "checks" Rate Default "checks that held";
    GroupDuration "group_duration" Trend Time "length of a group";
    HttpReqs "http_reqs" Counter Default "HTTP requests";
    HttpReqDuration "http_req_duration" Trend Time "sending, waiting and receiving";
    HttpReqBlocked "http_req_blocked" Trend Time "until a connection was there, opening it included";
    HttpReqConnecting "http_req_connecting" Trend Time "TCP connection";
    HttpReqTlsHandshaking "http_req_tls_handshaking" Trend Time "TLS handshake";
    HttpReqSending "http_req_sending" Trend Time "request to the wire";
    HttpReqWaiting "http_req_waiting" Trend Time "first byte of the answer";
    HttpReqReceiving "http_req_receiving" Trend Time "rest of the answer";
    HttpReqFailed "http_req_failed" Rate Default "requests with an unexpected answer or none";
    WsSessions "ws_sessions" Counter Default "WebSocket sessions";
    WsMsgsSent "ws_msgs_sent" Counter Default "WebSocket messages sent";
    WsMsgsReceived "ws_msgs_received" Counter Default "WebSocket messages received";
    WsPing "ws_ping" Trend Time "WebSocket ping to pong";
    WsSessionDuration "ws_session_duration" Trend Time "length of a WebSocket session";
    WsConnecting "ws_connecting" Trend Time "WebSocket connection";
    GrpcReqDuration "grpc_req_duration" Trend Time "answer of a gRPC call";
    GrpcStreams "grpc_streams" Counter Default "gRPC streams";
    GrpcStreamsMsgsSent "grpc_streams_msgs_sent" Counter Default "gRPC stream messages sent";
    GrpcStreamsMsgsReceived "grpc_streams_msgs_received" Counter Default "gRPC stream messages received";
    DataSent "data_sent" Counter Data "bytes sent";
    DataReceived "data_received" Counter Data "bytes received";
}

impl From<BuiltIn> for MetricId {
    fn from(metric: BuiltIn) -> Self {
        Self(metric as u32)
    }
}

/// A metric that cannot be.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum MetricError {
    #[error(
        "`{0}` cannot name a metric; use 2 to 128 letters, digits and underscores, no digit first"
    )]
    Name(String),
    #[error("`{0}` is a built-in metric and cannot be declared; choose another name")]
    BuiltIn(String),
    #[error("metric `{name}` is a {there} already and cannot become a {wanted}")]
    Kind {
        name: String,
        there: String,
        wanted: String,
    },
    #[error("there is no metric `{name}`{hint}")]
    Unknown { name: String, hint: String },
    #[error("`{0}` is not a metric with tags; write metric{{tag:value}}")]
    Submetric(String),
}

/// The names that a script's own metrics may have: k6's rule, and none of a built-in metric.
pub fn check_name(name: &str) -> Result<(), MetricError> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let starts_well = !name.starts_with(|c: char| c.is_ascii_digit());
    if !(2..=128).contains(&name.len()) || !name.chars().all(allowed) || !starts_well {
        return Err(MetricError::Name(name.to_owned()));
    }
    if BUILT_IN.iter().any(|spec| spec.name == name) {
        return Err(MetricError::BuiltIn(name.to_owned()));
    }
    Ok(())
}
