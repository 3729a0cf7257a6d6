//! What differs is named, and what only seems to differ is not.

use std::num::NonZeroU32;

use plimsoll_core::Nanos;
use plimsoll_core::record::{LabSetup, Machine, SCHEMA};
use plimsoll_core::schedule::{Arrivals, RateProfile};
use plimsoll_core::test::workload::{self, Consistency, Database, Keys, Mix, Workload};
use plimsoll_core::test::{Generator, MixPhase, Request, RequestMix, Test, What};

use super::*;

fn some(count: u32) -> NonZeroU32 {
    NonZeroU32::new(count).unwrap()
}

fn header(what: What, load: Load) -> Header {
    Header {
        schema: SCHEMA.into(),
        test: Test {
            what,
            how: How::endless(load),
            generator: Generator::default(),
        },
        started_at: String::new(),
        machine: Machine::default(),
        plimsoll_version: String::new(),
        title: String::new(),
        note: String::new(),
        lab: None,
    }
}

/// At 100/s.
fn open(what: What) -> Header {
    let load = Load::Open {
        profile: RateProfile::constant(100.0).unwrap(),
        arrivals: Arrivals::Poisson,
    };
    header(what, load)
}

fn of_store() -> Header {
    let workload = Workload {
        store: "mongodb://127.0.0.1".to_owned(),
        databases: vec![
            Database {
                name: "plimsoll_1".to_owned(),
                mix: Mix::default(),
                documents: 1_000,
                document_bytes: 1_024,
            };
            2
        ],
        connections: some(10),
        sessions: some(10),
        keys: Keys::Uniform,
        batch: NonZeroU32::MIN,
        phases: Vec::new(),
        client: workload::Client::default(),
        replicas: None,
        keep: false,
        verify: true,
    };
    header(
        What::Workload(Box::new(workload)),
        Load::Closed {
            in_flight: some(20),
        },
    )
}

/// A ramp whose largest number of VUs k6 saw once a second; `ready` is a setting, which older files lack.
fn ramp(seen: u32, ready: Option<u32>, seconds: f64) -> Fingerprint {
    let ready = ready.map_or_else(String::new, |ready| {
        format!(",\"vus_max\":{{\"min\":{ready},\"max\":{ready}}}")
    });
    let summary = format!(
        "{{\"root_group\":{{}},\"metrics\":{{\"http_reqs\":{{\"count\":176584,\"rate\":{}}},\
         \"vus\":{{\"min\":5,\"max\":{seen}}}{ready}}}}}",
        176_584.0 / seconds
    );
    Fingerprint::from_result(&import::read(summary.as_bytes()).unwrap())
}

fn differs(one: Fingerprint, other: Fingerprint) -> Vec<String> {
    let variants = [("A".to_owned(), vec![one]), ("B".to_owned(), vec![other])];
    mismatches(&variants)
        .into_iter()
        .map(|mismatch| mismatch.fact)
        .collect()
}

#[test]
fn sampled_maxima_of_the_same_load_are_the_same() {
    let none: Vec<String> = Vec::new();
    assert_eq!(
        differs(ramp(1991, None, 80.4), ramp(1990, None, 80.6)),
        none
    );
    assert_eq!(
        differs(ramp(1891, Some(2000), 80.4), ramp(1990, Some(2000), 80.6)),
        none
    );
    assert_eq!(
        differs(ramp(1000, None, 80.4), ramp(1990, None, 80.4)),
        ["in flight"]
    );
    assert_eq!(
        differs(ramp(990, Some(1000), 80.4), ramp(990, Some(1020), 80.4)),
        ["in flight"]
    );
    assert_eq!(
        differs(ramp(1990, None, 80.4), ramp(1990, None, 96.3)),
        ["seconds"]
    );
}

/// Of two headers of which one was changed: the facts and what follows from them.
fn found(header: &Header, change: impl Fn(&mut Header)) -> Vec<(String, Effect)> {
    let mut changed = header.clone();
    change(&mut changed);
    let run = |header| vec![Fingerprint::from_record(header)];
    let variants = [
        ("A".to_owned(), run(header)),
        ("B".to_owned(), run(&changed)),
    ];
    let found = mismatches(&variants).into_iter();
    found.map(|it| (it.fact, it.effect)).collect()
}

fn changed(header: &mut Header) -> &mut Workload {
    match &mut header.test.what {
        What::Workload(workload) => workload,
        what => panic!("{what}"),
    }
}

fn phase<M>(mix: M) -> MixPhase<M> {
    MixPhase {
        name: String::new(),
        length_ns: Nanos::from_secs(10),
        mix: Some(mix),
        mix_to: None,
    }
}

#[test]
fn what_is_done_to_a_store_is_a_part_of_the_load() {
    let reads = Mix::new(100.0, 0.0, 0.0, 0.0).unwrap();
    let changes: [fn(&mut Workload, Mix); 9] = [
        |it, reads| it.databases[1].mix = reads,
        |it, _| it.databases[0].documents = 500,
        |it, _| it.databases[0].document_bytes = 100,
        |it, _| it.connections = some(5),
        |it, _| it.sessions = some(5),
        |it, _| it.keys = Keys::Zipf { exponent: 0.99 },
        |it, _| it.batch = some(10),
        |it, _| it.replicas = Some(some(3)),
        |it, reads| it.phases = vec![phase(reads)],
    ];
    let header = of_store();
    for (place, change) in changes.iter().enumerate() {
        let found = found(&header, |header| change(changed(header), reads));
        assert_eq!(
            found,
            [("workload".to_owned(), Effect::Withholds)],
            "change {place}"
        );
    }
    let elsewhere = |header: &mut Header| changed(header).store = "mongodb://10.0.0.1".to_owned();
    let found = found(&header, elsewhere);
    assert_eq!(found, [("request".to_owned(), Effect::Noted)]);
}

#[test]
fn how_the_client_of_a_store_behaves_may_be_the_cause() {
    let changes: [fn(&mut workload::Client); 9] = [
        |it| it.try_timeout_ns = Some(Nanos::from_millis(30)),
        |it| it.pool_wait_ns = Some(Nanos::from_millis(30)),
        |it| it.retries = 3,
        |it| it.retry_pause_ns = Nanos(1),
        |it| it.driver_retries = true,
        |it| it.closes_given_up = true,
        |it| it.per_connection = Some(some(2)),
        |it| it.consistency = Some(Consistency::Quorum),
        |it| it.shares_connections = true,
    ];
    let header = of_store();
    for (place, change) in changes.iter().enumerate() {
        let found = found(&header, |header| change(&mut changed(header).client));
        let expected = [("client".to_owned(), Effect::Confounds)];
        assert_eq!(found, expected, "change {place}");
    }
}

#[test]
fn the_connections_of_an_open_loop_are_compared() {
    let header = open(Request::get("http://127.0.0.1:1/").into());
    let fewer = |header: &mut Header| header.test.generator.connections_max = some(7);
    let expected = [("connections".to_owned(), Effect::Confounds)];
    assert_eq!(found(&header, fewer), expected);
    // Virtual users of a script are in its scenarios, and those of a closed loop are its load.
    assert!(found(&of_store(), fewer).is_empty());
}

#[test]
fn phases_of_a_mix_of_requests_are_a_part_of_the_request() {
    let mut header = open(Request::get("http://127.0.0.1:1/").into());
    let phases = |header: &mut Header, phases| {
        let What::Url(url) = &mut header.test.what else {
            panic!("no URL");
        };
        url.variation.mix = Some(RequestMix {
            names: vec!["a".to_owned(), "b".to_owned()],
            shares: vec![50.0, 50.0],
            phases,
        });
    };
    phases(&mut header, Vec::new());
    let later = |header: &mut Header| phases(header, vec![phase(vec![100.0, 0.0])]);
    let expected = [("request".to_owned(), Effect::Noted)];
    assert_eq!(found(&header, later), expected);
}

/// An experiment says itself in what its variants differ.
#[test]
fn variants_of_an_experiment_differ_on_purpose() {
    let mut header = of_store();
    header.lab = Some(LabSetup::default());
    let other = |header: &mut Header| {
        changed(header).connections = some(5);
        changed(header).client.retries = 3;
    };
    assert!(found(&header, other).is_empty());
}
