//! The utilisation law by hand, and on a synthetic record.

use super::super::tests::build::{Service, ThreadLoad, search};
use super::*;
use plimsoll_core::record::{LabSetup, TierSetup};

fn used(tier: &str, used: f64, was: f64, will: f64) -> Use {
    Use {
        tier: tier.to_owned(),
        used,
        was,
        will,
    }
}

fn per_s(uses: &[Use], rate: f64, generator: f64, cores: f64) -> (f64, Option<String>) {
    let (per_s, full) = bound(uses, rate, generator, cores).unwrap();
    (per_s, full.map(|used| used.tier.clone()))
}

#[test]
fn twice_the_cores_of_what_was_full_carry_twice_as_much_until_something_else_is() {
    // 120/s filled 0.3 core: 2.5 ms each. 0.6 core: 240/s, while the proxy's 0.5 ms fill 0.35 core at 700/s.
    let proxy = used("proxy", 0.06, 0.35, 0.35);
    let two = [used("app", 0.29, 0.3, 0.6), proxy.clone()];
    let (rate, full) = per_s(&two, 120.0, 0.02, 2.0);
    assert!((rate - 240.0).abs() < 1e-9, "{rate}");
    assert_eq!(full.as_deref(), Some("app"));
    // Six times as much: the proxy is full first, at 0.35 ÷ 0.0005.
    let six = [used("app", 0.29, 0.3, 1.8), proxy.clone()];
    let (rate, full) = per_s(&six, 120.0, 0.02, 10.0);
    assert!((rate - 700.0).abs() < 1e-9, "{rate}");
    assert_eq!(full.as_deref(), Some("proxy"));
    // All of it on one core: 0.29 + 0.06 + 0.02 for 120/s.
    let (rate, full) = per_s(&two, 120.0, 0.02, 0.5);
    assert!((rate - 120.0 * 0.5 / 0.37).abs() < 1e-9, "{rate}");
    assert_eq!(full, None);
    assert_eq!(bound(&[], 120.0, 0.0, 2.0), None);
}

#[test]
fn more_of_what_was_not_full_changes_nothing() {
    let uses = [used("app", 0.29, 0.3, 0.3), used("db", 0.01, 0.1, 0.4)];
    let (rate, full) = per_s(&uses, 120.0, 0.0, 2.0);
    assert!((rate - 120.0).abs() < 1e-9);
    assert_eq!(full.as_deref(), Some("app"));
}

/// One thread, 2.5 ms of it per request, on a machine of two cores.
fn pinned() -> Record {
    let service = Service {
        capacity: 400.0,
        threads: |rate| vec![ThreadLoad::new("main", rate * 0.0025, 0.0)],
        ..Service::default()
    };
    let mut record = search(&service, &[0.1, 0.2, 0.4, 0.8, 1.6, 1.2, 1.5], true);
    record.header.lab = Some(LabSetup {
        tiers: vec![TierSetup {
            name: "target".to_owned(),
            tier: "target".to_owned(),
            cpu_cores: Some(1.0),
            ..TierSetup::default()
        }],
        ..LabSetup::default()
    });
    record
}

fn planned(instances: u32, cpu: f64) -> [PlannedTier; 1] {
    [PlannedTier {
        name: "target".to_owned(),
        instances,
        cpu_cores: Some(cpu),
    }]
}

#[test]
fn a_record_is_scaled_by_what_the_variant_gives() {
    let record = pinned();
    let found = SearchResult::default();
    let base = capacity(&record, &found).unwrap();
    assert!((base / 400.0 - 1.0).abs() < 0.02, "{base}");
    let of = |instances, cpu| predict(&record, &found, &planned(instances, cpu)).unwrap();
    let close = |predicted: &Predicted, wanted: f64| {
        assert!(
            (predicted.per_s / wanted - 1.0).abs() < 0.02,
            "{predicted:?}"
        );
    };
    close(&of(1, 0.3), 120.0);
    close(&of(2, 0.3), 240.0);
    let two = of(2, 1.0);
    close(&two, 800.0);
    assert_eq!(two.tier.as_deref(), Some("target"));
    // One thread cannot use two cores, and two cores carry no more than two threads.
    close(&of(1, 2.0), 400.0);
    let three = of(3, 1.0);
    close(&three, 800.0);
    assert_eq!(three.tier, None, "{}", three.why);
}

#[test]
fn what_did_not_reach_its_limit_predicts_nothing() {
    let idle = Service {
        threads: |rate| vec![ThreadLoad::new("main", rate * 0.0002, 0.0)],
        ..Service::default()
    };
    let record = search(&idle, &[0.1, 0.2, 0.4, 0.6], false);
    let problem = predict(&record, &SearchResult::default(), &planned(2, 1.0)).unwrap_err();
    assert_eq!(problem, "its base did not reach its limit");
    assert_eq!(capacity(&record, &SearchResult::default()), None);
}
