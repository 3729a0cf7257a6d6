//! What one run does, validated: a plan that cannot be executed cannot be built.

use std::num::{NonZeroU32, NonZeroU64};

use serde::{Deserialize, Serialize};

use crate::objective::Objectives;
use crate::schedule::{Arrivals, RateProfile};
use crate::units::Nanos;

/// The one request of URL mode.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    pub method: String,
    pub url: String,
    pub headers: Vec<(String, String)>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub body: Vec<u8>,
}

impl Request {
    /// Stands in `method` of a plan whose requests a script makes; `url` then names the script.
    pub const SCRIPT: &str = "SCRIPT";

    pub fn is_script(&self) -> bool {
        self.method == Self::SCRIPT
    }
}

/// When a run ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Until {
    DurationNs(Nanos),
    AttemptsCount(NonZeroU64),
}

/// The rule that starts attempts.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "model")]
pub enum Load {
    /// Each connection sends its next request when the last is answered.
    Closed { in_flight: NonZeroU32 },
    /// Arrivals come at their own times and wait for a free connection.
    Open {
        profile: RateProfile,
        arrivals: Arrivals,
    },
    /// A search plays many loads; each level line says which.
    Search,
}

/// Everything that decides what a run does; kept whole in the record's header.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    pub request: Request,
    pub load: Load,
    pub until: Option<Until>,
    /// Connections the generator may open in an open model.
    pub connections_max: NonZeroU32,
    pub workers: NonZeroU32,
    /// From the intended start; a later answer is the outcome `timeout`.
    pub timeout_ns: Nanos,
    pub keepalive: bool,
    /// Requests at once on one connection of HTTP/2; without it HTTP/1.1 is spoken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub streams_per_connection: Option<NonZeroU32>,
    /// Certificates are not verified.
    pub insecure: bool,
    pub objectives: Option<Objectives>,
    pub seed: u64,
}

impl Plan {
    /// Requests that may be on the wire at once.
    pub fn in_flight_max(&self) -> NonZeroU32 {
        let streams = self.streams_per_connection.unwrap_or(NonZeroU32::MIN);
        self.connections_max.saturating_mul(streams)
    }
}
