//! Services with one injected cause each, loaded by the product itself: does it name the cause, and
//! is it silent about the healthy twin?
//!
//! Each on a ramp from a fifth of its ceiling to half above it: two in every run, all of them with
//! `PLIMSOLL_SOAK`.

use std::fmt::Write as _;

use plimsoll_core::verdict::{Cause, Confidence, Limit};
use plimsoll_lab::serve::catalogue::{Group, Service as Entry, Values, service, services};

use crate::support::{Folder, Service, plimsoll};

/// The two whose cause shows in seconds: one by its processor, one by what it refuses.
const SHORT: [&str; 2] = ["pinned-loop", "proxy-slots"];
const SEED: u64 = 1;
/// Ten steps of a ramp, three windows each.
const SECONDS: u32 = 30;

fn is_soak() -> bool {
    std::env::var_os("PLIMSOLL_SOAK").is_some()
}

/// What was said of one fixture or its twin.
struct Said {
    name: &'static str,
    healthy: bool,
    expected: Cause,
    limit: Option<Limit>,
    /// What the product printed, for a person who reads a failure.
    text: String,
}

impl Said {
    fn is_right(&self) -> bool {
        let cause = self.limit.as_ref().map(|limit| limit.cause);
        cause == Some(self.expected)
    }

    /// Another cause than the injected one, with more than a suspicion.
    fn is_confidently_wrong(&self) -> bool {
        !self.is_right()
            && self.limit.as_ref().is_some_and(|limit| {
                limit.confidence >= Confidence::Supported
                    && !matches!(limit.cause, Cause::Unknown | Cause::NotReached)
            })
    }

    fn line(&self) -> String {
        let twin = if self.healthy { " (twin)" } else { "" };
        let found = match &self.limit {
            Some(limit) => format!("{:?}, {:?}", limit.cause, limit.confidence),
            None => "withheld".to_owned(),
        };
        let mark = if self.is_right() { "right" } else { "WRONG" };
        format!("{mark} {}{twin}: {found}", self.name)
    }
}

/// Starts the service and loads it up to half above the ceiling of the sick one.
fn said_of(entry: &'static Entry, healthy: bool) -> Option<Said> {
    let expected = entry.expected?;
    let ceiling = (expected.ceiling)(&Values::draw(entry, SEED, false));
    let mut args = vec!["fixture", entry.name, "--seed", "1"];
    args.extend(healthy.then_some("--healthy"));
    let served = Service::try_start(&args)?;
    let folder = Folder::new();
    let record = folder.file("run.plimsoll.jsonl");
    let top = ceiling * if healthy { 0.9 } else { 1.5 };
    let ramp = format!("{:.0}/s..{top:.0}/s", ceiling * 0.2);
    let seconds = format!("{SECONDS}s");
    let call = ["run", &served.url, "--slo", expected.slo, "--ramp", &ramp];
    let rest = ["-z", &seconds, "-o", &record, "--quiet"];
    let load = plimsoll(&folder, &[&call[..], &rest[..]].concat());
    let (_, json, errors) = plimsoll(&folder, &["explain", &record, "--format", "json"]);
    let said: serde_json::Value = serde_json::from_str(&json).unwrap_or_default();
    Some(Said {
        name: entry.name,
        healthy,
        expected: if healthy {
            Cause::NotReached
        } else {
            expected.cause
        },
        limit: serde_json::from_value(said["limit"].clone()).ok(),
        text: format!("{}{}{json}{errors}", load.1, load.2),
    })
}

#[test]
fn the_injected_cause_is_named_and_the_twin_is_left_in_peace() {
    let entries: Vec<&Entry> = if is_soak() {
        services()
            .filter(|entry| entry.group == Group::Fixture)
            .collect()
    } else {
        SHORT.iter().map(|name| service(name).unwrap()).collect()
    };
    let (mut sick, mut twins) = (Vec::new(), Vec::new());
    // No right to set a quota, or no disk: those two say so and are left out.
    let needed = entries
        .iter()
        .filter(|entry| !matches!(entry.name, "cpu-quota" | "fsync"));
    let needed = needed.count();
    for entry in entries {
        sick.extend(said_of(entry, false));
        twins.extend(said_of(entry, true));
    }
    assert!(
        sick.len() >= needed && twins.len() >= needed,
        "a fixture did not start"
    );
    let mut report = String::new();
    for said in sick.iter().chain(&twins) {
        writeln!(report, "{}", said.line()).unwrap();
    }
    // Shown by `--nocapture`: the figures of the bar.
    eprintln!("{report}");
    let missed: Vec<&Said> = sick.iter().filter(|said| !said.is_right()).collect();
    let told = |all: &[&Said]| {
        all.iter()
            .map(|said| said.text.as_str())
            .collect::<String>()
    };
    assert!(missed.len() * 10 <= sick.len(), "{report}{}", told(&missed));
    let wrong: Vec<&Said> = sick
        .iter()
        .filter(|said| said.is_confidently_wrong())
        .collect();
    assert!(wrong.is_empty(), "{report}{}", told(&wrong));
    let blamed: Vec<&Said> = twins.iter().filter(|said| !said.is_right()).collect();
    assert!(blamed.is_empty(), "{report}{}", told(&blamed));
}
