//! What happened once in a run, with its figures: an interruption, what a search measured before it began, what an
//! experiment did to a tier.

use plimsoll_base::priority::Priority;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::units::Nanos;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "ReadEvent")]
pub struct Event {
    pub at_ns: Nanos,
    #[serde(flatten)]
    pub what: EventKind,
    /// More about it, in words.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub detail: String,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "event", content = "figures", rename_all = "snake_case")]
pub enum EventKind {
    Interrupted,
    /// One request before the load, and what came of it.
    Preflight,
    SelfCheck(SelfCheck),
    Anchor(Anchor),
    Search(SearchStart),
    Iteration(Iteration),
    Guarded(Guarded),
    Fault(Fault),
    /// Of another version.
    #[serde(untagged)]
    Other {
        event: String,
    },
}

/// What the generator can do on this host, as measured just now.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct SelfCheck {
    /// Rate at which its threads would be 80 % busy, from processor time per request.
    pub max_per_s: f64,
    /// Answers per second of the closed loop against the echo, which shares this host.
    pub echo_per_s: f64,
    pub run_ns_per_request: f64,
    pub open_rate_per_s: f64,
    pub lag_p99_ns: Nanos,
    pub lag_max_ns: Nanos,
    pub seconds: f64,
    /// How the kernel treats its threads beside others.
    #[serde(default)]
    pub priority: Priority,
}

/// What the closed loop at the start of a search measured: where an open loop starts to look.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Anchor {
    /// Mean response time with one request in flight.
    pub response_ns: Nanos,
    /// Most ok answers per second at any number in flight.
    pub throughput_max_per_s: f64,
}

/// What a search started from, beside the test and the self-check: with the windows it is all that its result follows from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct SearchStart {
    /// Of the rules by which it went on.
    pub revision: u32,
    /// Time that was used up before.
    pub spent_ns: Nanos,
    /// From an earlier search of a similar target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anchor: Option<Anchor>,
    /// Over virtual users: how long an iteration took in the trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iteration_ns: Option<Nanos>,
}

/// What an iteration of a script came to in the mean of a search.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Iteration {
    pub requests_mean: f64,
}

/// How much of what was refused had been refused by a guard: it carried `X-Plimsoll`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Guarded {
    pub refused_count: u64,
}

/// What an experiment did to an instance of a tier while the load was on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// `db`, or `db-2` of several.
    pub instance: String,
    pub what: FaultKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultKind {
    /// Killed and started again.
    Restarted,
    /// Every process of it stands still: its connections stay, and nothing answers.
    Stopped,
    /// Goes on where it was stopped.
    Continued,
    /// Killed for good.
    Ended,
}

impl FaultKind {
    /// Completes "db was …".
    pub const fn word(self) -> &'static str {
        match self {
            Self::Restarted => "killed and started again",
            Self::Stopped => "stopped",
            Self::Continued => "continued",
            Self::Ended => "ended",
        }
    }
}

/// As any version wrote it; figures once were JSON inside the text of `detail`.
#[derive(Deserialize)]
struct ReadEvent {
    at_ns: Nanos,
    event: String,
    #[serde(default)]
    figures: Value,
    #[serde(default)]
    detail: String,
}

impl From<ReadEvent> for Event {
    fn from(read: ReadEvent) -> Self {
        let figures = match read.figures {
            Value::Null => serde_json::from_str(&read.detail).unwrap_or_default(),
            figures => figures,
        };
        let what = match read.event.as_str() {
            "interrupted" => Some(EventKind::Interrupted),
            "preflight" => Some(EventKind::Preflight),
            "self_check" => serde_json::from_value(figures)
                .ok()
                .map(EventKind::SelfCheck),
            "anchor" => serde_json::from_value(figures).ok().map(EventKind::Anchor),
            "search" => serde_json::from_value(figures).ok().map(EventKind::Search),
            "iteration" => serde_json::from_value(figures)
                .ok()
                .map(EventKind::Iteration),
            "guarded" => serde_json::from_value(figures).ok().map(EventKind::Guarded),
            "fault" => serde_json::from_value(figures).ok().map(EventKind::Fault),
            _ => None,
        };
        Self {
            at_ns: read.at_ns,
            detail: match what {
                // Its text was these figures.
                None
                | Some(EventKind::Interrupted | EventKind::Preflight | EventKind::Other { .. }) => {
                    read.detail
                }
                Some(_) => String::new(),
            },
            what: what.unwrap_or(EventKind::Other { event: read.event }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> EventKind {
        serde_json::from_str::<Event>(text).unwrap().what
    }

    #[test]
    fn figures_are_fields_and_those_of_older_records_are_read() {
        let anchor = EventKind::Anchor(Anchor {
            response_ns: Nanos(7),
            throughput_max_per_s: 500.0,
        });
        let old = r#"{"at_ns":1,"event":"anchor","detail":"{\"response_ns\":7,\"throughput_max_per_s\":500.0}"}"#;
        assert_eq!(read(old), anchor);
        let event = Event {
            at_ns: Nanos(1),
            what: anchor.clone(),
            detail: String::new(),
        };
        let written = serde_json::to_string(&event).unwrap();
        assert!(written.contains(r#""event":"anchor","figures":{"response_ns":7"#));
        assert_eq!(read(&written), anchor);
    }

    #[test]
    fn an_event_of_another_version_is_kept_as_it_is() {
        let text = r#"{"at_ns":1,"event":"restarted","detail":"by hand"}"#;
        let event: Event = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&event).unwrap(), text);
        assert_eq!(
            read(r#"{"at_ns":1,"event":"interrupted","detail":"by a signal"}"#),
            EventKind::Interrupted
        );
    }
}
