//! Workloads against a double whose faults are chosen: closed forms hold, and every fault is found.

mod double;

use std::num::{NonZeroU32, NonZeroU64};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use plimsoll_base::clock::Clock;
use plimsoll_core::record::Verified;
use plimsoll_core::schedule::{Arrivals, RateProfile};
use plimsoll_core::step::{Go, Phase, Step};
use plimsoll_core::test::workload::{Mix, Operation};
use plimsoll_core::test::{Generator, How, Load, Test, Until, What, Workload};
use plimsoll_core::window::{Effects, merge_effects};
use plimsoll_core::{Nanos, Outcome, Tally, Window};

use crate::driver::Driver;
use crate::run::Loaded;
use crate::store;
use crate::{Asked, AskedClient, StoreKind};
use double::Double;

/// A test machine may be busy; nobody waits for this long unless something is broken.
const PATIENCE: Duration = Duration::from_secs(60);

/// What came of a run.
pub(crate) struct Played {
    pub(crate) windows: Vec<Window>,
    pub(crate) verified: Verified,
}

impl Played {
    pub(crate) fn tally(&self) -> Tally {
        let mut tally = Tally::default();
        for window in &self.windows {
            tally.merge(&window.total());
            window
                .carried
                .iter()
                .for_each(|carried| tally.merge(&carried.tally));
        }
        tally
    }

    pub(crate) fn effects(&self) -> Vec<Effects> {
        let mut all = Vec::new();
        self.windows
            .iter()
            .for_each(|window| merge_effects(&mut all, &window.databases));
        all
    }

    /// Attempts in flight, in the mean of the whole seconds after the first.
    fn in_flight(&self) -> f64 {
        let whole: Vec<&Window> = self.whole().collect();
        whole
            .iter()
            .map(|window| window.in_flight_mean)
            .sum::<f64>()
            / whole.len() as f64
    }

    fn whole(&self) -> impl Iterator<Item = &Window> {
        self.windows
            .iter()
            .skip(1)
            .filter(|window| window.level == 0 && window.length_ns > Nanos::from_millis(900))
    }

    /// Commands on the wire of each database, in the mean of the same seconds.
    pub(crate) fn wire(&self) -> Vec<f64> {
        let (mut all, mut seconds) = (Vec::new(), 0.0);
        for window in self.whole() {
            merge_effects(&mut all, &window.databases);
            seconds += window.length_ns.as_secs_f64();
        }
        all.iter()
            .map(|database| database.wire_seconds / seconds)
            .collect()
    }
}

fn workload(name: &str, store: &str, databases: u32, connections: u32, workers: u32) -> Workload {
    let asked = Asked {
        store: Some("mongodb://127.0.0.1".to_owned()),
        databases: NonZeroU32::new(databases),
        connections: NonZeroU32::new(connections),
        workers: NonZeroU32::new(workers),
        documents: Some(200),
        ..Asked::default()
    };
    let mut workload = asked.plan().unwrap();
    workload.store = format!("double:{store}");
    for database in &mut workload.databases {
        database.name = format!("{name}-{}", database.name);
    }
    workload
}

fn play(workload: &Workload, load: Load, until: Until, threads: u32) -> Played {
    play_on::<Double>(workload, load, until, threads)
}

pub(crate) fn play_on<D: Driver>(
    workload: &Workload,
    load: Load,
    until: Until,
    threads: u32,
) -> Played {
    let test = Test {
        what: What::Workload(Box::new(workload.clone())),
        how: How::Set {
            load,
            until: Some(until),
            objectives: None,
        },
        generator: Generator {
            workers: NonZeroU32::new(threads).unwrap(),
            timeout: Nanos::from_secs(2),
            seed: 7,
            ..Generator::default()
        },
    };
    let clock = Clock::start();
    let ledgers = store::load::<D>(workload, (clock, PATIENCE)).unwrap();
    let shelf = Arc::new(Mutex::new(ledgers.into_iter().map(Some).collect()));
    let loaded = Loaded::of(StoreKind::SCHEMES[0].1, workload, shelf);
    let interrupt = Arc::new(AtomicBool::new(false));
    let mut runner = loaded.start_with::<D>(&test, clock, interrupt).unwrap();
    let step = Step {
        level: 0,
        phase: Phase::Run,
        load: load.into(),
        windows_max: 60,
    };
    let mut windows = Vec::new();
    let length = until.duration();
    let step = Step {
        windows_max: length.map_or(60, |length| length.0.div_ceil(1_000_000_000) as u32),
        ..step
    };
    runner
        .play_for(&step, length, &mut |window| {
            windows.push(window.clone());
            Go::On
        })
        .unwrap();
    windows.push(runner.drain(1, Nanos::from_secs(60)).unwrap());
    drop(runner);
    let verified = loaded.look_with::<D>().unwrap().unwrap();
    Played { windows, verified }
}

pub(crate) fn closed(workload: &Workload) -> Load {
    Load::Closed {
        in_flight: workload.in_flight(),
    }
}

pub(crate) fn seconds(count: u64) -> Until {
    Until::after(Nanos::from_secs(count)).unwrap()
}

#[test]
fn what_is_on_the_wire_is_what_was_configured() {
    for (databases, workers) in [(1, 1), (6, 1), (3, 10), (6, 10)] {
        let name = format!("wire{databases}x{workers}");
        let workload = workload(&name, "delay=20", databases, workers, workers);
        let played = play(&workload, closed(&workload), seconds(3), 1);
        let configured = f64::from(workers);
        for mean in played.wire() {
            assert!((mean / configured - 1.0).abs() < 0.02, "{name}: {mean}");
        }
        for database in played.effects() {
            assert_eq!(database.wire_max, u64::from(workers), "{name}");
        }
        let all = f64::from(databases * workers);
        assert!(
            (played.in_flight() / all - 1.0).abs() < 0.02,
            "{name}: {}",
            played.in_flight()
        );
        assert_eq!(played.verified.broken_count(), 0);
        assert_eq!(played.tally().failures(), 0, "{name}");
    }
}

#[test]
fn littles_law_closes_and_every_operation_is_counted_once() {
    let workload = workload("little", "delay=5,fail=3", 2, 4, 4);
    let played = play(&workload, closed(&workload), seconds(3), 2);
    let tally = played.tally();
    let (mut due, mut in_flight) = (0, 0.0);
    for window in &played.windows {
        due += window.due_count
            + window
                .carried
                .iter()
                .map(|carried| carried.due_count)
                .sum::<u64>();
        in_flight += window.in_flight_mean * window.length_ns.as_secs_f64();
        in_flight += window
            .carried
            .iter()
            .map(|carried| carried.in_flight_seconds)
            .sum::<f64>();
    }
    assert_eq!(due, tally.attempts());
    let residence = tally.residence_ns() as f64 / 1e9;
    assert!(
        (residence / in_flight - 1.0).abs() < 0.02,
        "{residence} {in_flight}"
    );
    let effects = played.effects();
    let attempts: u64 = effects.iter().map(|database| database.attempts_count).sum();
    assert_eq!(attempts, tally.attempts());
    assert!(tally.class(Outcome::Eof).count > 0);
    assert_eq!(played.verified.broken_count(), 0, "{:?}", played.verified);
    assert!(played.verified.unknown_count > 0);
}

#[test]
fn a_client_that_serialises_is_seen_on_the_wire() {
    let workload = workload("serial", "delay=5,serial", 2, 10, 10);
    let played = play(&workload, closed(&workload), seconds(3), 1);
    for (mean, database) in played.wire().into_iter().zip(played.effects()) {
        assert_eq!(database.wire_max, 1);
        assert!(mean < 1.05, "{mean} of 10");
    }
    // Where the published tool looked there is nothing to see: as many are under way as were asked for.
    assert!((played.in_flight() / 20.0 - 1.0).abs() < 0.02);
}

#[test]
fn a_pool_that_is_smaller_than_its_callers_makes_them_wait_in_the_client() {
    let workload = workload("pool", "delay=10", 1, 2, 8);
    let played = play(&workload, closed(&workload), seconds(3), 1);
    assert!(
        (played.wire()[0] / 2.0 - 1.0).abs() < 0.02,
        "{:?}",
        played.wire()
    );
    let tally = played.tally();
    let ok = tally.class(Outcome::Ok);
    let mean = |sum: u128| sum as f64 / ok.count as f64 / 1e6;
    let (response, service) = (mean(ok.response.sum_ns()), mean(ok.service.sum_ns()));
    assert!(
        response > 3.5 * service,
        "{response} ms of which {service} on the wire"
    );
}

#[test]
fn a_store_that_refuses_without_an_error_is_found_by_its_work() {
    let workload = workload("refuse", "delay=1,refuse=30", 1, 4, 4);
    let played = play(&workload, closed(&workload), seconds(2), 1);
    let effects = &played.effects()[0];
    assert!(effects.done() < effects.asked_count * 9 / 10, "{effects:?}");
    let tally = played.tally();
    assert_eq!(
        tally.class(Outcome::CheckFailed).count,
        effects.asked_count - effects.done()
    );
    assert_eq!(
        played.verified.broken_count(),
        0,
        "what was not done was not counted as done"
    );
}

#[test]
fn a_store_that_lies_is_found_by_what_it_has_in_the_end() {
    let mut workload = workload("lose", "delay=1,lose=30", 1, 4, 4);
    workload.databases[0].mix = Mix::new(0.0, 50.0, 30.0, 20.0).unwrap();
    let played = play(&workload, closed(&workload), seconds(2), 1);
    let Verified {
        missing_count,
        stale_count,
        undead_count,
        ..
    } = played.verified;
    assert!(
        missing_count > 0 && stale_count > 0 && undead_count > 0,
        "{:?}",
        played.verified
    );
}

#[test]
fn an_open_load_keeps_its_rate_and_drops_what_finds_no_session() {
    let rate = |per_s| Load::Open {
        profile: RateProfile::constant(per_s).unwrap(),
        arrivals: Arrivals::Uniform,
    };
    let calm = workload("open", "delay=5", 3, 10, 10);
    let count = Until::AttemptsCount(NonZeroU64::new(900).unwrap());
    let played = play(&calm, rate(300.0), count, 2);
    assert_eq!((played.tally().ok(), played.tally().failures()), (900, 0));
    for database in played.effects() {
        assert_eq!(database.attempts_count, 300, "{database:?}");
    }
    // The last of them is due after 2.99 s, however fast the store is; a slow machine only takes longer.
    let lasted: f64 = played
        .windows
        .iter()
        .map(|window| window.length_ns.as_secs_f64())
        .sum();
    assert!(lasted > 2.95, "{lasted} s");
    // 4 sessions of 100 ms carry 40/s of these 200.
    let full = workload("full", "delay=100", 1, 4, 4);
    let played = play(&full, rate(200.0), seconds(4), 1);
    let tally = played.tally();
    assert!(
        tally.class(Outcome::Dropped).count > 0,
        "those that waited for 2 s were never sent"
    );
    let ours: u64 = played
        .windows
        .iter()
        .map(|window| window.health.dropped_ours_count)
        .sum();
    let theirs: u64 = played
        .windows
        .iter()
        .map(|window| window.health.dropped_target_count)
        .sum();
    assert_eq!((ours, theirs), (0, tally.class(Outcome::Dropped).count));
}

#[test]
fn so_many_operations_and_no_more() {
    let workload = workload("count", "", 3, 2, 2);
    let count = Until::AttemptsCount(NonZeroU64::new(100).unwrap());
    let played = play(&workload, closed(&workload), count, 2);
    assert_eq!(played.tally().attempts(), 100);
    assert_eq!(played.verified.broken_count(), 0);
}

#[test]
fn a_client_that_gives_up_and_tries_again_sends_more_than_it_asks() {
    let mut workload = workload("retry", "delay=600", 1, 4, 4);
    workload.client = plimsoll_core::test::workload::Client {
        try_timeout_ns: Some(Nanos::from_millis(30)),
        retries: 3,
        ..workload.client
    };
    let played = play(&workload, closed(&workload), seconds(2), 1);
    let effects = &played.effects()[0];
    let sent = effects.commands_count as f64 / effects.attempts_count as f64;
    assert!(
        (3.5..=4.1).contains(&sent),
        "{sent} commands for each operation"
    );
    let tally = played.tally();
    assert_eq!(tally.ok(), 0);
    assert!(tally.class(Outcome::Timeout).count > 0);
    assert_eq!(played.verified.broken_count(), 0, "{:?}", played.verified);

    workload.client.try_timeout_ns = Some(Nanos::from_millis(1_200));
    workload.databases[0].name = "retry-in-order".to_owned();
    workload.store = "double:delay=60".to_owned();
    let played = play(&workload, closed(&workload), seconds(2), 1);
    assert_eq!(played.tally().failures(), 0);
    let effects = &played.effects()[0];
    assert_eq!(effects.commands_count, effects.attempts_count);
}

#[test]
fn who_gets_no_connection_of_the_pool_in_time_is_dropped() {
    let asked = Asked {
        store: Some("mongodb://127.0.0.1".to_owned()),
        client: AskedClient {
            pool_wait: Some(Nanos::from_millis(10)),
            ..AskedClient::default()
        },
        ..Asked::default()
    };
    let client = asked.plan().unwrap().client;
    let mut workload = workload("wait", "delay=50", 1, 2, 6);
    workload.client = client;
    let played = play(&workload, closed(&workload), seconds(2), 1);
    let tally = played.tally();
    assert!(
        tally.class(Outcome::Dropped).count > tally.ok(),
        "{tally:?}"
    );
    let effects = &played.effects()[0];
    assert_eq!(effects.commands_count, tally.ok());
}

#[test]
fn each_operation_has_counters_of_its_own() {
    let workload = workload("operations", "", 1, 2, 2);
    let count = Until::AttemptsCount(NonZeroU64::new(2_000).unwrap());
    let played = play(&workload, closed(&workload), count, 1);
    let mut each = [0; Operation::COUNT];
    for window in played.windows.iter().filter(|window| window.level == 0) {
        for (count, tally) in each.iter_mut().zip(&window.operations) {
            *count += tally.attempts();
        }
    }
    let expected = [800_u64, 600, 400, 200];
    for (count, expected) in each.into_iter().zip(expected) {
        assert!(count.abs_diff(expected) < 120, "{each:?}");
    }
}

/// The third of ten documents is the last one that was stored when the connection broke; the next try meets the first.
#[test]
fn a_batch_that_was_partly_inserted_is_not_taken_for_whole() {
    let mut workload = workload("torn", "tear=20", 1, 2, 2);
    workload.databases[0].mix = Mix::new(0.0, 100.0, 0.0, 0.0).unwrap();
    workload.batch = NonZeroU32::new(10).unwrap();
    workload.client.retries = 1;
    let count = Until::AttemptsCount(NonZeroU64::new(500).unwrap());
    let played = play(&workload, closed(&workload), count, 1);
    let tally = played.tally();
    let torn = tally.class(Outcome::CheckFailed).count;
    assert!(torn > 50, "{tally:?}");
    assert_eq!(played.verified.broken_count(), 0, "{:?}", played.verified);
    assert_eq!(played.verified.unknown_count, 10 * torn);
}

#[test]
fn a_database_is_filled_although_the_first_command_is_turned_away_halfway() {
    let mut workload = workload("halfway", "turn_away", 1, 2, 2);
    workload.databases[0].mix = Mix::new(100.0, 0.0, 0.0, 0.0).unwrap();
    let count = Until::AttemptsCount(NonZeroU64::new(100).unwrap());
    let played = play(&workload, closed(&workload), count, 1);
    assert_eq!(played.tally().failures(), 0);
    let Verified {
        expected_count,
        intact_count,
        ..
    } = played.verified;
    assert_eq!((expected_count, intact_count), (200, 200));
}
