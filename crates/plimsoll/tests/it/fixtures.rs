//! Services with one injected cause each, loaded and explained: is the cause named, and is the
//! healthy twin left in peace?
//!
//! Two of them in every run, all of them with `PLIMSOLL_SOAK`, one of them if that is its name. Tests run side by side, and a
//! host may be shared: an answer that says too little counts if the run that it rests on was valid, one that is sure and wrong
//! always.

mod drive;

use std::fmt::Write as _;

use plimsoll_analysis::explain::explain;
use plimsoll_analysis::{gates, steal};
use plimsoll_core::record::{LevelStart, Observation, Record, Seen};
use plimsoll_core::step::{Phase, StepLoad};
use plimsoll_core::verdict::{Cause, Confidence, GateId, GateState, Limit, SearchResult};
use plimsoll_core::{Nanos, Window};
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

/// So often a fixture is played until its answer is right, or the run was valid.
const PLAYS: usize = 3;
/// A thread that waits for a core for more of its time shares it with other tests.
const CROWDED: f64 = 0.3;

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
    /// What each level showed of the generator, the threads and the host.
    levels: Vec<String>,
    /// No level was void.
    valid: bool,
}

impl Said {
    fn of(name: &'static str, healthy: bool, expected: Cause, record: &Record) -> Self {
        let conditions = conditions(record);
        Self {
            name,
            healthy,
            expected,
            limit: explain(record, &SearchResult::default()).limit,
            valid: conditions.iter().all(|(_, clean)| *clean),
            levels: conditions.into_iter().map(|(text, _)| text).collect(),
        }
    }

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
            let _infallible = write!(line, "\n      [{:?}] {}", evidence.signal, evidence.text);
        }
        if !self.is_right() {
            for level in &self.levels {
                let _infallible = write!(line, "\n        {level}");
            }
        }
        line
    }
}

/// Starts the service, plays the levels and asks what gives way; `report` gets every answer.
fn said_of(entry: &'static Entry, healthy: bool, report: &mut Vec<String>) -> Option<Said> {
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
    let holds_to = match (healthy, stalls) {
        (true, _) => f64::INFINITY,
        (false, true) => 0.0,
        (false, false) => 0.5,
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
        holds_to,
    };
    let expected = if healthy {
        Cause::NotReached
    } else {
        expected.cause
    };
    let mut said = Said::of(entry.name, healthy, expected, &drive.play());
    for _ in 1..PLAYS {
        if said.is_right() || said.valid {
            break;
        }
        report.push(format!("{}\n      (not valid: played again)", said.line()));
        said = Said::of(entry.name, healthy, expected, &drive.play());
    }
    report.push(said.line());
    Some(said)
}

/// What each level that counts showed, and whether the generator could play it on a host of its own.
fn conditions(record: &Record) -> Vec<(String, bool)> {
    let counts = |start: &&LevelStart| matches!(start.step.phase, Phase::Anchor | Phase::Bracket);
    let levels = record.levels.iter().filter(counts);
    levels
        .map(|start| {
            let level = start.step.level;
            let gates = gates::evaluate(record, level);
            let generator = gates
                .iter()
                .find(|gate| gate.id == GateId::Generator)
                .unwrap();
            let to = record.windows_of(level).map(Window::end_ns).max();
            let inside = |seen: &&Observation| {
                let from = seen.at_ns - seen.length_ns;
                from >= start.start_ns && Some(seen.at_ns) <= to
            };
            let seen: Vec<&Observation> = record.observations.iter().filter(inside).collect();
            let is_shared = seen.iter().any(|seen| {
                matches!(&seen.seen, Seen::Host(host) if host.steal_ratio > steal::TOLERATED)
                    || waits(seen) > CROWDED
            });
            let text = format!(
                "{}: generator {:?} ({}); {}",
                offered(start.step.load),
                generator.state,
                generator.left.as_deref().unwrap_or("no figure"),
                seen.into_iter()
                    .filter_map(shares)
                    .collect::<Vec<_>>()
                    .join(", ")
            );
            let is_free = matches!(generator.state, GateState::Pass | GateState::Unknown);
            (text, is_free && !is_shared)
        })
        .collect()
}

/// A load in words.
fn offered(load: StepLoad) -> String {
    match load {
        StepLoad::Open { profile, .. } => format!("{:.0}/s", profile.rate_at(Nanos::ZERO)),
        StepLoad::Closed { in_flight } => format!("{in_flight} in flight"),
    }
}

/// Share of an interval for which the busiest thread of a process waited for a core.
fn waits(seen: &Observation) -> f64 {
    match &seen.seen {
        Seen::Process(process) => process.threads.first().map_or(0.0, |thread| {
            thread.wait_ns.as_secs_f64() / seen.length_ns.as_secs_f64()
        }),
        _ => 0.0,
    }
}

/// The busiest thread of a process, or what the hypervisor took.
fn shares(seen: &Observation) -> Option<String> {
    let whole = seen.length_ns.as_secs_f64();
    match &seen.seen {
        Seen::Process(process) => process.threads.first().map(|thread| {
            let run = thread.run_ns.as_secs_f64() / whole;
            let wait = thread.wait_ns.as_secs_f64() / whole;
            format!("{} runs {run:.2} waits {wait:.2}", seen.tier)
        }),
        Seen::Host(host) if host.steal_ratio > 0.0 => {
            Some(format!("steal {:.2}", host.steal_ratio))
        }
        _ => None,
    }
}

#[test]
fn the_injected_cause_is_named_and_the_twin_is_left_in_peace() {
    let entries = chosen();
    let (mut sick, mut twins, mut report) = (Vec::new(), Vec::new(), Vec::new());
    // No right to set a quota, or no disk: those two say so and are left out.
    let needed = entries
        .iter()
        .filter(|entry| !matches!(entry.name, "cpu-quota" | "fsync"));
    let needed = needed.count();
    for entry in entries {
        sick.extend(said_of(entry, false, &mut report));
        twins.extend(said_of(entry, true, &mut report));
    }
    assert!(
        sick.len() >= needed && twins.len() >= needed,
        "a fixture did not start"
    );
    // The wrong ones first: who reads of a failure may see no more than the beginning.
    report.sort_by_key(|line| !line.starts_with("WRONG"));
    let report = report.join("\n");
    // Shown by `--nocapture`: the figures of the bar.
    eprintln!("{report}");
    let missed = |all: &[Said]| {
        all.iter()
            .filter(|said| said.valid && !said.is_right())
            .count()
    };
    assert!(missed(&sick) * 10 <= sick.len(), "{report}");
    assert_eq!(missed(&twins), 0, "{report}");
    let mut all = sick.iter().chain(&twins);
    assert!(!all.any(Said::is_confidently_wrong), "{report}");
}
