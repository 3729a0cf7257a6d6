//! Tests of shares: what fits, and which cores stand in for a quota.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_core::Nanos;
use plimsoll_core::test::Request;

use super::*;
use crate::experiment::{Arrivals, Load, Program, Ready, Test, Tier};

fn tier(name: &str, cpu: Option<f64>, instances: u32) -> Tier {
    Tier {
        name: name.to_owned(),
        program: Program::Command("true".into()),
        args: Vec::new(),
        instances,
        cpu,
        memory_bytes: None,
        port: None,
        ready: Ready::Tcp,
        ready_within: Nanos::from_secs(1),
        env: BTreeMap::new(),
        files: BTreeMap::new(),
        limits: BTreeMap::new(),
        limits_used: BTreeSet::new(),
        watch: Vec::new(),
        faults: Vec::new(),
        stub: None,
        stubbed: false,
    }
}

fn variant(generator: f64, tiers: Vec<Tier>) -> Variant {
    let request = Request::get("http://127.0.0.1:1/");
    Variant {
        probe: false,
        name: "2A".to_owned(),
        about: String::new(),
        base: None,
        changes: Vec::new(),
        tiers,
        test: Test {
            load: Load::Url {
                request,
                arrivals: Arrivals::Closed,
                connections: None,
                duration: Nanos::from_secs(1),
            },
            warm_up: 0,
            timeout: None,
            insecure: false,
            h2: None,
            streams: None,
            cpu: generator,
            seed: None,
            env: BTreeMap::new(),
            after: None,
            times: None,
        },
        objectives: None,
        facts: crate::experiment::Facts::default(),
    }
}

#[test]
fn shares_that_the_machine_has_fit_and_others_are_named() {
    let tiers = || {
        vec![
            tier("app", Some(0.4), 2),
            tier("db", Some(0.2), 1),
            tier("free", None, 9),
        ]
    };
    assert!(check_shares(&variant(1.0, tiers()), 2).is_ok());
    let error = check_shares(&variant(1.5, tiers()), 2)
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("variant `2A` asks for 2.5 cores (app 2 × 0.4, db 0.2, load generator 1.5) and this machine has 2:"),
        "{error}"
    );
    assert!(
        check_shares(&variant(64.0, vec![tier("free", None, 1)]), 1).is_ok(),
        "nobody is confined"
    );
}

#[test]
fn cores_are_dealt_from_the_far_end_and_evenly() {
    let placed = place(
        &variant(
            1.0,
            vec![tier("app", Some(0.5), 2), tier("db", Some(1.5), 1)],
        ),
        &[0, 1, 2, 3],
    );
    let cores = |name: &str| placed.get(name).cloned().unwrap_or_default();
    assert_eq!(cores("app-1"), [3]);
    assert_eq!(cores("app-2"), [2]);
    assert_eq!(cores("db").len(), 2);
    assert!(
        !cores("db").contains(&0),
        "the generator keeps its core while there are others: {placed:?}"
    );
    let small = place(
        &variant(1.0, vec![tier("app", Some(2.0), 1), tier("free", None, 1)]),
        &[0],
    );
    assert_eq!(small, BTreeMap::from([("app".to_owned(), vec![0])]));
}
