//! Services with one injected cause each, loaded and explained: is the cause named, and is the
//! healthy twin left in peace?
//!
//! Two of them in every run, all of them with `PLIMSOLL_SOAK`, one of them if that is its name.

mod drive;

use std::fmt::Write as _;

use plimsoll_analysis::explain::explain;
use plimsoll_core::verdict::{Cause, Confidence, Found, Limit};
use plimsoll_lab::serve::catalogue::{Group, Service as Entry, Values, service, services};
use plimsoll_observe::Watch;

use crate::support::Service;
use drive::{At, Drive};

/// The two whose cause shows in seconds, in an unoptimised build too: one by its processor, one by
/// the gauges of its pool.
const SHORT: [&str; 2] = ["pinned-loop", "small-pool"];
const SEED: u64 = 1;
/// From one request at a time to half above the ceiling, as a search passes through them.
const SICK: [At; 6] = [
    At::Closed(1),
    At::Closed(8),
    At::Closed(32),
    At::Share(0.4),
    At::Share(0.8),
    At::Share(1.4),
];
/// The twin is not pushed beyond what the sick one was.
const WELL: [At; 4] = [
    At::Share(0.2),
    At::Share(0.5),
    At::Share(0.8),
    At::Share(1.25),
];
/// Stalls are rarer than a level of seconds: longer levels, and none near a ceiling that is not there.
const STALLING: [At; 4] = [
    At::Share(0.1),
    At::Share(0.2),
    At::Share(0.4),
    At::Share(0.8),
];

/// All, one by its name, or the short ones.
fn chosen() -> Vec<&'static Entry> {
    match std::env::var("PLIMSOLL_SOAK") {
        Ok(name) => match service(&name)
            .ok()
            .filter(|entry| entry.group == Group::Fixture)
        {
            Some(entry) => vec![entry],
            None => services()
                .filter(|entry| entry.group == Group::Fixture)
                .collect(),
        },
        Err(_) => SHORT.iter().map(|name| service(name).unwrap()).collect(),
    }
}

/// What was said of one fixture or its twin.
struct Said {
    name: &'static str,
    healthy: bool,
    expected: Cause,
    limit: Limit,
}

impl Said {
    fn is_right(&self) -> bool {
        self.limit.cause == self.expected
    }

    /// Another cause than the injected one, with more than a suspicion.
    fn is_confidently_wrong(&self) -> bool {
        !self.is_right()
            && self.limit.confidence >= Confidence::Supported
            && !matches!(self.limit.cause, Cause::Unknown | Cause::NotReached)
    }

    fn line(&self) -> String {
        let twin = if self.healthy { " (twin)" } else { "" };
        let mark = if self.is_right() { "right" } else { "WRONG" };
        let Limit {
            cause, confidence, ..
        } = &self.limit;
        let mut line = format!("{mark} {}{twin}: {cause:?}, {confidence:?}", self.name);
        for evidence in &self.limit.evidence {
            let _infallible = write!(line, "\n      [{}] {}", evidence.signal, evidence.text);
        }
        line
    }
}

/// Starts the service, plays the levels and asks what gives way.
fn said_of(entry: &'static Entry, healthy: bool) -> Option<Said> {
    let expected = entry.expected?;
    let ceiling = (expected.ceiling)(&Values::draw(entry, SEED, false));
    let mut args = vec!["fixture", entry.name, "--seed", "1"];
    args.extend(healthy.then_some("--healthy"));
    if std::thread::available_parallelism().is_ok_and(|cores| cores.get() > 1) {
        // The tiers on one core, the generator with the rest: as the demo does.
        args.extend(["--cores", "1"]);
    }
    let served = Service::try_start(&args)?;
    let stalls = expected.cause == Cause::Stalls;
    let (levels, seconds) = match (stalls, healthy) {
        (true, _) => (&STALLING[..], if healthy { 5 } else { 11 }),
        (false, false) => (&SICK[..], 4),
        (false, true) => (&WELL[..], 4),
    };
    let drive = Drive {
        url: &served.url,
        slo: expected.slo,
        watches: served
            .watches
            .iter()
            .map(|text| Watch::parse(text).unwrap())
            .collect(),
        // A service that only stalls has no ceiling.
        ceiling_per_s: if ceiling.is_finite() { ceiling } else { 1000.0 },
        levels,
        seconds,
    };
    let record = drive.play();
    let explanation = explain(&record, &Found::default());
    Some(Said {
        name: entry.name,
        healthy,
        expected: if healthy {
            Cause::NotReached
        } else {
            expected.cause
        },
        limit: explanation.limit,
    })
}

#[test]
fn the_injected_cause_is_named_and_the_twin_is_left_in_peace() {
    let entries = chosen();
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
    let right = |all: &[Said]| all.iter().filter(|said| said.is_right()).count();
    assert!((sick.len() - right(&sick)) * 10 <= sick.len(), "{report}");
    assert!(!sick.iter().any(Said::is_confidently_wrong), "{report}");
    assert_eq!(right(&twins), twins.len(), "{report}");
}
