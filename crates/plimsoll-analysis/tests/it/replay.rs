//! What was recorded live must be explained as what it is known to be.
//!
//! Each file is a shortened record of one embedded service (`plimsoll serve`), driven through closed
//! and open levels with the sampler beside it. The healthy twin got the same load.

use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;

use plimsoll_analysis::explain::{Explanation, explain};
use plimsoll_core::record::Record;
use plimsoll_core::verdict::{Cause, Confidence, SearchResult};

/// File, the cause that was built in, and the tier that has it.
const RECORDED: [(&str, Cause, &str); 11] = [
    ("pinned-loop", Cause::PinnedThread, "target"),
    ("cpu-quota", Cause::CpuQuota, "target"),
    ("small-pool", Cause::Pool, "target"),
    ("proxy-slots", Cause::ConnectionSlots, "target"),
    ("lock", Cause::Lock, "target"),
    ("event-loop", Cause::EventLoop, "target"),
    ("fsync", Cause::Disk, "target"),
    ("slow-downstream", Cause::Downstream, "port-"),
    ("stalls", Cause::Stalls, "target"),
    ("memory-gc", Cause::Memory, "target"),
    ("rate-rule", Cause::Rule, "target"),
];

/// Debian's nginx with 96 connection slots before an idle upstream, and a Node process that burns
/// 4 ms per request.
const REAL: [(&str, Cause, f64); 2] = [
    ("real-nginx-slots", Cause::ConnectionSlots, 544.0),
    ("real-node-pinned", Cause::PinnedThread, 250.0),
];

/// Sampled as a user who may not read the service's descriptors, its process named by number.
const OTHER_USER: [(&str, Cause, Confidence); 2] = [
    (
        "other-user-pinned-loop",
        Cause::PinnedThread,
        Confidence::Supported,
    ),
    ("other-user-lock", Cause::Lock, Confidence::Suspected),
];

fn recorded(name: &str) -> Record {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let path = folder.join(format!("{name}.plimsoll.jsonl"));
    let file = File::open(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    Record::read(BufReader::new(file)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn replayed(name: &str) -> Explanation {
    explain(&recorded(name), &SearchResult::default())
}

#[test]
fn every_cause_is_found_with_two_signals_and_in_its_tier() {
    for (name, cause, tier) in RECORDED {
        let limit = replayed(name).limit;
        assert_eq!(limit.cause, cause, "{name}: {limit:#?}");
        assert_eq!(
            limit.confidence,
            Confidence::Supported,
            "{name}: {limit:#?}"
        );
        assert!(
            limit.tier.as_deref().unwrap_or("").starts_with(tier),
            "{name}: {limit:#?}"
        );
        assert!(!limit.ruled_out.is_empty(), "{name}");
    }
}

#[test]
fn a_healthy_twin_has_no_limit_within_reach() {
    for (name, _, _) in RECORDED {
        let limit = replayed(&format!("{name}-healthy")).limit;
        assert_eq!(limit.cause, Cause::NotReached, "{name}: {limit:#?}");
    }
}

#[test]
fn real_servers_are_explained_like_the_embedded_ones() {
    for (name, cause, ceiling) in REAL {
        let limit = replayed(name).limit;
        assert_eq!(limit.cause, cause, "{name}: {limit:#?}");
        assert_eq!(limit.confidence, Confidence::Supported, "{name}");
        let said = limit.ceiling_per_s.unwrap_or(0.0);
        assert!((said / ceiling - 1.0).abs() < 0.1, "{name}: {said}");
    }
}

#[test]
fn another_users_process_is_explained_as_far_as_it_can_be_seen() {
    for (name, cause, confidence) in OTHER_USER {
        let limit = replayed(name).limit;
        assert_eq!(
            (limit.cause, limit.confidence),
            (cause, confidence),
            "{name}: {limit:#?}"
        );
        let record = recorded(name);
        let hidden = record
            .observations
            .iter()
            .any(|observation| matches!(&observation.seen, plimsoll_core::record::Seen::Absent(_)));
        assert!(hidden, "{name}: the record says what could not be read");
    }
}

/// A name must never be evidence: with every name taken away the verdict stays.
#[test]
fn the_verdict_survives_without_names() {
    for (name, cause, _) in RECORDED {
        let mut record = recorded(name);
        for observation in &mut record.observations {
            if let plimsoll_core::record::Seen::Process(process) = &mut observation.seen {
                process.name = "x".to_owned();
                for thread in &mut process.threads {
                    thread.name = "x".to_owned();
                }
            }
        }
        let limit = explain(&record, &SearchResult::default()).limit;
        assert_eq!(limit.cause, cause, "{name}: {limit:#?}");
    }
}

/// Without observations the same loads are suspected at most, and never wrongly.
#[test]
fn without_a_sampler_nothing_is_more_than_suspected() {
    for (name, cause, _) in RECORDED {
        let mut record = recorded(name);
        record.observations.clear();
        let limit = explain(&record, &SearchResult::default()).limit;
        assert!(
            limit.confidence <= Confidence::Suspected,
            "{name}: {limit:#?}"
        );
        assert!(
            limit.cause == cause || limit.cause == Cause::Unknown,
            "{name}: {limit:#?}"
        );
    }
}
