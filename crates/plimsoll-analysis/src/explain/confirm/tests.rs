//! Only an experiment that moved the named limit, and nothing else, confirms it.

use std::collections::BTreeMap;

use plimsoll_core::experiment::{Experiment, Run, Variant};
use plimsoll_core::record::{LevelStart, Line};
use plimsoll_core::schedule::{Arrivals, RateProfile};
use plimsoll_core::step::{Phase, Step, StepLoad};
use plimsoll_core::verdict::Verdict;
use plimsoll_core::{Nanos, Tally, Window};

use super::super::tests::build::{Service, search};
use super::*;
use crate::{experiment, summary};

/// A variant that answers `ok` of 1,000 requests a second; the others end as `kind`.
fn record(
    variant: &str,
    base: Option<&str>,
    changes: &[&str],
    tier: TierSetup,
    ok: u64,
    kind: Outcome,
) -> Record {
    let load = StepLoad::Open {
        profile: RateProfile::constant(1_000.0).unwrap(),
        arrivals: Arrivals::Uniform,
    };
    let mut record = search(&Service::default(), &[], false);
    record.header.lab = Some(LabSetup {
        variant: variant.to_owned(),
        base: base.map(str::to_owned),
        changes: changes.iter().map(|change| (*change).to_owned()).collect(),
        tiers: vec![tier],
        ..LabSetup::default()
    });
    record.push(Line::Level(LevelStart {
        start_ns: Nanos::ZERO,
        step: Step {
            level: 1,
            phase: Phase::Run,
            load,
            windows_max: 9,
        },
    }));
    for second in 0..5 {
        let mut tally = Tally::default();
        for attempt in 0..1_000 {
            let outcome = if attempt < ok { Outcome::Ok } else { kind };
            tally.record(
                outcome,
                Nanos::from_millis(2),
                Some(Nanos::from_millis(2)),
                100,
                &[],
            );
        }
        record.push(Line::Window(Window {
            level: 1,
            start_ns: Nanos::from_secs(second),
            length_ns: Nanos::from_secs(1),
            due_count: 1_000,
            sent_count: 1_000,
            operations: vec![tally],
            ..Window::default()
        }));
    }
    record
}

fn tier(slots: f64, cpu: f64) -> TierSetup {
    TierSetup {
        name: "proxy".to_owned(),
        tier: "proxy".to_owned(),
        isolation: String::new(),
        cpu_cores: Some(cpu),
        memory_bytes: None,
        limits: BTreeMap::from([("slots".to_owned(), slots)]),
        stubbed: false,
    }
}

fn limit(cause: Cause) -> Limit {
    Limit {
        cause,
        tier: Some("proxy".to_owned()),
        process: Some("proxy (pid 1)".to_owned()),
        confidence: Confidence::Supported,
        ceiling_per_s: None,
        evidence: Vec::new(),
        ruled_out: Vec::new(),
    }
}

const ONE: &[&str] = &["tiers.proxy.limits.slots: 64 → 1024"];

#[test]
fn slots_are_confirmed_when_lifting_them_removes_the_failures() {
    let few = record("few", None, &[], tier(64.0, 0.5), 700, Outcome::Eof);
    let many = record(
        "many",
        Some("few"),
        ONE,
        tier(1_024.0, 0.5),
        999,
        Outcome::Eof,
    );
    let found = confirm(&limit(Cause::ConnectionSlots), &few, &many).unwrap();
    assert_eq!(found.confidence, Confidence::Confirmed);
    let text = found.evidence.last().unwrap().text.clone();
    assert!(
        text.contains(
            "slots of proxy changed from 64 to 1024 in variant ‘many’: such failures go from 30 % to 0.10 %"
        ),
        "{text}"
    );
}

#[test]
fn failures_that_stay_put_the_cause_in_doubt() {
    let few = record("few", None, &[], tier(64.0, 0.5), 700, Outcome::Eof);
    let many = record(
        "many",
        Some("few"),
        ONE,
        tier(1_024.0, 0.5),
        980,
        Outcome::Eof,
    );
    let found = confirm(&limit(Cause::ConnectionSlots), &few, &many).unwrap();
    assert_eq!(found.confidence, Confidence::Suspected);
}

#[test]
fn waits_that_end_at_the_next_limit_neither_confirm_a_pool_nor_put_it_in_doubt() {
    let with_pool = |pool| TierSetup {
        limits: BTreeMap::from([("pool".to_owned(), pool)]),
        ..tier(64.0, 0.5)
    };
    let few = record("few", None, &[], with_pool(4.0), 300, Outcome::Http5xx);
    let after = |ok| {
        let changes = &["tiers.proxy.limits.pool: 4 → 64"];
        let many = record(
            "many",
            Some("few"),
            changes,
            with_pool(64.0),
            ok,
            Outcome::Http5xx,
        );
        confirm(&limit(Cause::Pool), &few, &many)
            .unwrap()
            .confidence
    };
    assert_eq!(after(300), Confidence::Suspected);
    assert_eq!(after(900), Confidence::Supported);
    assert_eq!(after(999), Confidence::Confirmed);
}

#[test]
fn a_halved_quota_must_halve_the_rate() {
    let change = &["tiers.proxy.cpu: 0.5 → 0.25"];
    let whole = record("whole", None, &[], tier(64.0, 0.5), 1_000, Outcome::Timeout);
    for (ok, confidence) in [
        (500, Confidence::Confirmed),
        (560, Confidence::Confirmed),
        (800, Confidence::Suspected),
        (300, Confidence::Suspected),
    ] {
        let half = record(
            "half",
            Some("whole"),
            change,
            tier(64.0, 0.25),
            ok,
            Outcome::Timeout,
        );
        let found = confirm(&limit(Cause::CpuQuota), &whole, &half).unwrap();
        assert_eq!(found.confidence, confidence, "{:?}", found.evidence);
    }
}

#[test]
fn an_experiment_that_moved_something_else_says_nothing() {
    let few = record("few", None, &[], tier(64.0, 0.5), 700, Outcome::Eof);
    let none = |after: &Record, cause| assert_eq!(confirm(&limit(cause), &few, after), None);
    // Another knob than the cause's, two changes at once, no neighbour, the same setup, another tier.
    let many = record(
        "many",
        Some("few"),
        ONE,
        tier(1_024.0, 0.5),
        1_000,
        Outcome::Eof,
    );
    none(&many, Cause::CpuQuota);
    let two = &[ONE[0], "test.think: 0 → 1ms"];
    none(
        &record(
            "many",
            Some("few"),
            two,
            tier(1_024.0, 0.5),
            1_000,
            Outcome::Eof,
        ),
        Cause::ConnectionSlots,
    );
    none(
        &record(
            "many",
            Some("other"),
            ONE,
            tier(1_024.0, 0.5),
            1_000,
            Outcome::Eof,
        ),
        Cause::ConnectionSlots,
    );
    none(
        &record(
            "many",
            Some("few"),
            ONE,
            tier(64.0, 0.5),
            1_000,
            Outcome::Eof,
        ),
        Cause::ConnectionSlots,
    );
    let mut elsewhere = limit(Cause::ConnectionSlots);
    elsewhere.tier = Some("app".to_owned());
    assert_eq!(confirm(&elsewhere, &few, &many), None);
}

#[test]
fn a_lifted_quota_that_meets_another_limit_proves_nothing() {
    let change = &["tiers.proxy.cpu: 0.25 → 1"];
    let low = record("low", None, &[], tier(64.0, 0.25), 250, Outcome::Timeout);
    for (ok, confidence) in [
        (1_000, Confidence::Confirmed),
        (500, Confidence::Supported),
        (260, Confidence::Suspected),
    ] {
        let high = record(
            "high",
            Some("low"),
            change,
            tier(64.0, 1.0),
            ok,
            Outcome::Timeout,
        );
        let found = confirm(&limit(Cause::CpuQuota), &low, &high).unwrap();
        assert_eq!(found.confidence, confidence, "{:?}", found.evidence);
    }
}

#[test]
fn a_pool_that_only_makes_requests_wait_follows_its_size() {
    let of = |pool: f64| TierSetup {
        limits: BTreeMap::from([("pool".to_owned(), pool)]),
        ..tier(0.0, 0.5)
    };
    let change = &["tiers.proxy.limits.pool: 10 → 5"];
    let whole = record("whole", None, &[], of(10.0), 800, Outcome::Dropped);
    let half = record(
        "half",
        Some("whole"),
        change,
        of(5.0),
        400,
        Outcome::Dropped,
    );
    let found = confirm(&limit(Cause::Pool), &whole, &half).unwrap();
    assert_eq!(
        found.confidence,
        Confidence::Confirmed,
        "{:?}",
        found.evidence
    );
}

#[test]
fn a_stub_confirms_what_lies_in_the_tier_that_it_stands_for() {
    let of = |stubbed: bool| TierSetup {
        stubbed,
        ..tier(64.0, 0.5)
    };
    let change = &["tiers.proxy.stubbed: not set → true"];
    let whole = record("whole", None, &[], of(false), 400, Outcome::Dropped);
    let confidence = |ok: u64, cause: Cause| {
        let stub = record(
            "stub",
            Some("whole"),
            change,
            of(true),
            ok,
            Outcome::Dropped,
        );
        confirm(&limit(cause), &whole, &stub).map(|limit| {
            let text = limit.evidence.last().unwrap().text.clone();
            (limit.confidence, text)
        })
    };
    let (rose, text) = confidence(900, Cause::Downstream).unwrap();
    assert_eq!(rose, Confidence::Confirmed);
    assert_eq!(
        text,
        "a stub in the place of proxy in variant ‘stub’: 900/s measured, more than 460/s predicted (400/s before)"
    );
    let (stayed, _) = confidence(420, Cause::Lock).unwrap();
    assert_eq!(stayed, Confidence::Suspected);
    // Who has fewer slots in a stub has another front, too: nothing is learnt of them.
    assert_eq!(confidence(900, Cause::ConnectionSlots), None);
}

#[test]
fn what_gives_way_in_a_stub_is_not_confirmed_by_the_tier() {
    let stub = TierSetup {
        stubbed: true,
        ..tier(64.0, 0.5)
    };
    let change = &["tiers.proxy.stubbed: not set → true"];
    let whole = record("whole", None, &[], tier(64.0, 0.5), 400, Outcome::Dropped);
    let is = record("stub", Some("whole"), change, stub, 900, Outcome::Dropped);
    assert_eq!(confirm(&limit(Cause::Downstream), &is, &whole), None);
}

#[test]
fn a_stub_is_the_change_whatever_else_it_has() {
    let whole = record("whole", None, &[], tier(64.0, 0.25), 400, Outcome::Dropped);
    let stub = TierSetup {
        stubbed: true,
        ..tier(64.0, 1.0)
    };
    let change = &["tiers.proxy.stubbed: not set → true"];
    let is = record("stub", Some("whole"), change, stub, 900, Outcome::Dropped);
    let found = confirm(&limit(Cause::Lock), &whole, &is).unwrap();
    assert_eq!(
        found.confidence,
        Confidence::Confirmed,
        "{:?}",
        found.evidence
    );
    // Who waits for something unseen is not the one to be stubbed.
    let mut unseen = limit(Cause::Downstream);
    unseen.process = None;
    assert_eq!(confirm(&unseen, &whole, &is), None);
}

#[test]
fn a_next_limit_that_is_near_proves_nothing() {
    let lifted = Moved {
        tier: "app".to_owned(),
        knob: Knob::Stub,
        from: 0.0,
        to: 1.0,
    };
    let follows = |is: f64, predicted: f64| by_rate(400.0, is, &lifted, Some(predicted)).0;
    assert_eq!(follows(400.0, 450.0), Follows::PartOfTheWay);
    assert_eq!(follows(600.0, 620.0), Follows::AsPredicted);
    assert_eq!(follows(600.0, 900.0), Follows::PartOfTheWay);
    assert_eq!(follows(400.0, 900.0), Follows::Not);
    // The next one lay further off than it seemed, but nothing passes the lifted one that it does not let through.
    let lifted = Moved {
        knob: Knob::Pool,
        from: 4.0,
        to: 16.0,
        ..lifted
    };
    let follows = |is: f64, predicted: f64| by_rate(400.0, is, &lifted, Some(predicted)).0;
    assert_eq!(follows(1000.0, 600.0), Follows::PartOfTheWay);
    assert_eq!(follows(2000.0, 600.0), Follows::Not);
}

/// The limit of the first, whose own run says `own`, in an experiment whose other variants lift the slots and then answer so
/// many.
fn judged_beside(own: Cause, answered: &[u64]) -> Limit {
    let few = record("few", None, &[], tier(64.0, 0.5), 700, Outcome::Eof);
    let lifted = answered.iter().map(|ok| {
        let more = tier(1_024.0, 0.5);
        record("many", Some("few"), ONE, more, *ok, Outcome::Eof)
    });
    judged_of(own, few, lifted.collect())
}

/// The limit of `first`, whose own run says `own`, beside the others.
fn judged_of(own: Cause, mut first: Record, others: Vec<Record>) -> Limit {
    first.verdict = Some(Verdict {
        valid: true,
        limit: Some(limit(own)),
        ..summary::of_run(&first)
    });
    let records: Vec<Record> = [first].into_iter().chain(others).collect();
    let variants = records.iter().map(|record| Variant {
        name: &record.header.lab.as_ref().unwrap().variant,
        about: "",
        base: None,
        changes: &[],
        runs: vec![Run {
            path: String::new(),
            record,
        }],
        predicted: None,
        probe: false,
    });
    let judged = experiment::judged(Experiment {
        title: "slots",
        variants: variants.collect(),
        warnings: Vec::new(),
        folder: String::new(),
        comparison: None,
        report: None,
    });
    let first = judged.meaning.variants[0].limits.first.as_ref();
    first.unwrap().limit.clone()
}

/// On a busy machine one run's sampling said "CPU quota of the proxy, supported" of failures that were gone with more slots.
#[test]
fn an_intervention_decides_against_what_one_runs_sampling_says() {
    let found = judged_beside(Cause::CpuQuota, &[999]);
    assert_eq!(
        (found.cause, found.confidence),
        (Cause::ConnectionSlots, Confidence::Confirmed)
    );
    assert_eq!(found.tier.as_deref(), Some("proxy"));
    assert!(
        found.evidence[0]
            .text
            .contains("slots of proxy changed from 64 to 1024")
    );
    assert!(
        found.ruled_out[0].starts_with("CPU quota"),
        "{:?}",
        found.ruled_out
    );
    for stays in [&[980][..], &[999, 980], &[]] {
        let found = judged_beside(Cause::CpuQuota, stays);
        assert_eq!(
            (found.cause, found.confidence),
            (Cause::CpuQuota, Confidence::Supported)
        );
    }
}

#[test]
fn of_several_variants_that_moved_a_limit_one_that_contradicts_counts() {
    let sure = |answered: &[u64]| judged_beside(Cause::ConnectionSlots, answered).confidence;
    assert_eq!(sure(&[]), Confidence::Supported);
    assert_eq!(sure(&[999]), Confidence::Confirmed);
    assert_eq!(sure(&[999, 980]), Confidence::Suspected);
}

/// A quarter of a core and 30 % timeouts at 1,000/s, four times as much and none: four times 700/s was predicted, and 1,000/s asked.
#[test]
fn a_lifted_quota_decides_although_the_offered_load_ends_the_rise() {
    let of = |own: Cause, ok: u64| {
        let low = record("low", None, &[], tier(64.0, 0.25), 700, Outcome::Timeout);
        let change = &["tiers.proxy.cpu: 0.25 → 1"];
        let more = tier(64.0, 1.0);
        let high = record("high", Some("low"), change, more, ok, Outcome::Timeout);
        judged_of(own, low, vec![high])
    };
    let found = of(Cause::ConnectionSlots, 1_000);
    let sure = (found.cause, found.confidence);
    assert_eq!(sure, (Cause::CpuQuota, Confidence::Confirmed), "{found:#?}");
    let text = &found.evidence[0].text;
    assert!(
        text.contains("all of the 1000/s offered were answered"),
        "{text}"
    );
    assert!(found.ruled_out[0].starts_with("connection slots"));
    let found = of(Cause::CpuQuota, 1_000);
    assert_eq!(found.confidence, Confidence::Confirmed, "{found:#?}");
    // A fifteenth of the failures stays.
    let found = of(Cause::ConnectionSlots, 980);
    let sure = (found.cause, found.confidence);
    assert_eq!(sure, (Cause::ConnectionSlots, Confidence::Supported));
}
