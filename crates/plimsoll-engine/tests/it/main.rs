//! The engine against real sockets: every attempt has one outcome, however the server behaves.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod h2_frames;
#[path = "../../../plimsoll-net/tests/it/h2_server.rs"]
mod h2_server;
mod http2;
mod kept;
mod levels;
mod server;
mod sessions;
mod tls;
mod turns;

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use plimsoll_base::clock::Clock;
use plimsoll_core::objective::Objectives;
use plimsoll_core::schedule::{Arrivals, RateProfile};
use plimsoll_core::step::{Go, Phase, Step, StepLoad, StepRunner as _};
use plimsoll_core::test::{Generator, Http, Request, Url};
use plimsoll_core::{Nanos, Outcome, Tally, Window};
use plimsoll_engine::preflight::{Greeting, Preflight};
use plimsoll_engine::{EngineRunner, Options, Places};
use plimsoll_net::Failure;
use plimsoll_net::resolve::Ways;

use server::{Behaviour, Server};

/// What a test of the engine varies.
#[derive(Clone)]
struct Case {
    url: Url,
    generator: Generator,
}

/// For what is to time out. Where nothing is, a pause of the machine must not make it.
const HASTY: Nanos = Nanos(400_000_000);

fn case(port: u16, workers: u32) -> Case {
    Case {
        url: Url::new(Request::get(format!("http://127.0.0.1:{port}/")), Http::One),
        generator: Generator {
            connections_max: NonZeroU32::new(200).unwrap(),
            workers: NonZeroU32::new(workers).unwrap(),
            timeout: Nanos::from_secs(10),
            seed: 7,
            ..Generator::default()
        },
    }
}

fn options(case: &Case) -> Options {
    let places = Places::resolve(&case.url, &Ways::default()).unwrap();
    let objectives = Objectives::parse("p99<100ms").unwrap();
    Options::new(&case.url, &places, &case.generator, Some(&objectives)).unwrap()
}

/// The request before a load.
fn preflight(options: &Options) -> Result<Greeting, Failure> {
    Preflight::new(options).send(options)
}

fn closed(in_flight: u32) -> StepLoad {
    StepLoad::Closed { in_flight }
}

fn open(rate: f64, arrivals: Arrivals) -> StepLoad {
    StepLoad::Open {
        profile: RateProfile::constant(rate).unwrap(),
        arrivals,
    }
}

/// Everything a run of several levels left behind.
struct Played {
    windows: Vec<Window>,
}

impl Played {
    fn tally(&self) -> Tally {
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

    fn due(&self) -> u64 {
        let carried = |w: &Window| w.carried.iter().map(|c| c.due_count).sum::<u64>();
        self.windows
            .iter()
            .map(|window| window.due_count + carried(window))
            .sum()
    }

    /// The law of every run: what was due has ended, exactly, and time in flight is accounted for.
    fn check_flows(&self) {
        let tally = self.tally();
        let unfinished = self.windows.last().unwrap().in_flight_end;
        assert_eq!(
            self.due(),
            tally.attempts() + unfinished,
            "every attempt has one outcome"
        );
        let residence = tally.residence_ns() as f64 / 1e9;
        let in_flight: f64 = self
            .windows
            .iter()
            .map(|w| w.in_flight_mean * w.length_ns.as_secs_f64())
            .sum();
        let off = (residence - in_flight).abs();
        let between = self.in_flight_between() + self.taken_up_late();
        assert!(
            off <= 0.03 * residence.max(in_flight) + 0.01 + between,
            "{residence} s against {in_flight} s, {between} s between levels"
        );
    }

    /// Seconds in flight before attempts were taken up: where a worker stood still at the end of a window, that was closed by then.
    fn taken_up_late(&self) -> f64 {
        let lag = self.windows.iter().map(|window| window.health.lag.sum_ns());
        lag.sum::<u128>() as f64 / 1e9
    }

    /// Seconds in flight, at most, while levels change: that time belongs to no window, and is a few
    /// milliseconds only where a processor is free.
    fn in_flight_between(&self) -> f64 {
        let pairs = self.windows.iter().zip(&self.windows[1..]);
        let between = pairs.map(|(one, next)| {
            let gap = next.start_ns.saturating_sub(one.end_ns()).as_secs_f64();
            gap * one.in_flight_max.max(next.in_flight_max) as f64
        });
        between.sum()
    }
}

fn play(case: &Case, attempts_max: Option<u64>, loads: &[(StepLoad, u32)]) -> Played {
    let mut options = options(case);
    options.attempts_max = attempts_max;
    play_with(&options, loads)
}

fn play_with(options: &Options, loads: &[(StepLoad, u32)]) -> Played {
    let interrupt = Arc::new(AtomicBool::new(false));
    let mut runner = EngineRunner::start(options, Clock::start(), interrupt).unwrap();
    let mut windows = Vec::new();
    for (level, &(load, windows_max)) in loads.iter().enumerate() {
        let step = Step {
            level: level as u32,
            phase: Phase::Run,
            load,
            windows_max,
        };
        runner
            .play(&step, &mut |window| {
                windows.push(window.clone());
                Go::On
            })
            .unwrap();
    }
    // Longer than any timeout: what is cut off here has no end, and no time in flight that could be checked.
    let patience = options.timeout + Nanos::from_secs(60);
    windows.push(runner.drain(loads.len() as u32, patience).unwrap());
    Played { windows }
}

#[test]
fn a_count_is_kept_exactly_by_any_number_of_workers() {
    let server = Server::start(Behaviour::Answer);
    for workers in [1, 3] {
        let played = play(&case(server.port, workers), Some(1001), &[(closed(8), 60)]);
        assert_eq!(played.tally().ok(), 1001);
        assert_eq!(played.due(), 1001);
        played.check_flows();
    }
}

#[test]
fn a_drain_with_nothing_in_flight_ends_at_once() {
    let server = Server::start(Behaviour::Answer);
    let mut case = case(server.port, 2);
    case.generator.timeout = Nanos::from_secs(30);
    let clock = Clock::start();
    let played = play(&case, Some(100), &[(closed(8), 60)]);
    assert_eq!(played.tally().ok(), 100);
    assert!(clock.now() < case.generator.timeout, "{:?}", clock.now());
}

#[test]
fn arrivals_follow_the_schedule_whatever_the_answers_do() {
    let server = Server::start(Behaviour::Answer);
    for arrivals in [Arrivals::Uniform, Arrivals::Poisson] {
        let played = play(&case(server.port, 2), None, &[(open(400.0, arrivals), 2)]);
        let due = played.due();
        // A level ends later where the machine stood still, and goes on to be offered until then.
        let windows = played.windows.iter().filter(|window| window.level == 0);
        let seconds: f64 = windows.map(|window| window.length_ns.as_secs_f64()).sum();
        let found = due as f64 / seconds;
        assert!((350.0..=450.0).contains(&found), "{found}/s for 400/s");
        assert_eq!(played.tally().ok(), due);
        played.check_flows();
    }
}

#[test]
fn levels_follow_each_other_and_keep_their_attempts_apart() {
    let server = Server::start(Behaviour::Delay(30));
    let loads = [
        (closed(4), 1),
        (open(200.0, Arrivals::Poisson), 1),
        (closed(2), 1),
        (open(50.0, Arrivals::Uniform), 1),
    ];
    let played = play(&case(server.port, 1), None, &loads);
    played.check_flows();
    assert_eq!(played.tally().failures(), 0);
    let closed_again = played
        .windows
        .iter()
        .find(|window| window.level == 2)
        .unwrap();
    assert!(
        closed_again.in_flight_end <= 2,
        "{} in flight",
        closed_again.in_flight_end
    );
    let late: Vec<u32> = played
        .windows
        .iter()
        .flat_map(|w| w.carried.iter().map(|c| c.level))
        .collect();
    assert!(
        late.contains(&0) && late.contains(&1),
        "late ends are carried: {late:?}"
    );
}

#[test]
fn every_misbehaviour_has_its_outcome() {
    let cases = [
        (Behaviour::CloseAtOnce, Outcome::Eof),
        (Behaviour::CloseMidway, Outcome::Eof),
        (Behaviour::Reset, Outcome::Reset),
        (Behaviour::Garbage, Outcome::Protocol),
        (Behaviour::EndlessHead, Outcome::Protocol),
        (Behaviour::EndlessBody, Outcome::Timeout),
        (Behaviour::BrokenChunk, Outcome::Protocol),
        // The answer is whole, and its connection is not kept.
        (Behaviour::TooShortLength, Outcome::Ok),
        (Behaviour::TooLongLength, Outcome::Timeout),
        (Behaviour::Silent, Outcome::Timeout),
        (Behaviour::Status(500), Outcome::Http5xx),
        (Behaviour::Status(503), Outcome::Shed),
        (Behaviour::Status(404), Outcome::Http4xx),
        (Behaviour::Status(202), Outcome::Accepted),
    ];
    std::thread::scope(|scope| {
        for (behaviour, outcome) in cases {
            scope.spawn(move || misbehave(behaviour, outcome));
        }
    });
}

fn misbehave(behaviour: Behaviour, outcome: Outcome) {
    let server = Server::start(behaviour);
    let loads = [(closed(3), 1), (open(40.0, Arrivals::Uniform), 1)];
    let mut case = case(server.port, 1);
    if outcome == Outcome::Timeout {
        case.generator.timeout = HASTY;
    }
    let played = play(&case, None, &loads);
    played.check_flows();
    let tally = played.tally();
    assert!(tally.attempts() > 0, "{behaviour:?}");
    let got: Vec<_> = tally
        .occurred()
        .map(|(outcome, class)| (outcome, class.count))
        .collect();
    assert_eq!(got, [(outcome, tally.attempts())], "{behaviour:?}");
}

#[test]
fn a_body_that_floods_a_worker_does_not_keep_it_from_the_clock() {
    let server = Server::start(Behaviour::Flood);
    let mut case = case(server.port, 1);
    case.generator.timeout = HASTY;
    let played = play(&case, Some(3), &[(closed(1), 60)]);
    played.check_flows();
    assert_eq!(played.tally().class(Outcome::Timeout).count, 3);
}

#[test]
fn a_body_that_is_read_in_several_turns_is_read_to_its_end() {
    let server = Server::start(Behaviour::Large);
    let mut case = case(server.port, 1);
    case.generator.timeout = Nanos::from_secs(20);
    let played = play(&case, Some(20), &[(closed(2), 60)]);
    played.check_flows();
    assert_eq!(played.tally().ok(), 20);
    assert!(played.tally().bytes() > 20 * 20_000_000);
}

#[test]
fn nobody_listens() {
    let port = Server::start(Behaviour::Answer).port;
    let played = play(
        &case(port, 1),
        None,
        &[(closed(2), 1), (open(50.0, Arrivals::Uniform), 1)],
    );
    played.check_flows();
    let tally = played.tally();
    assert_eq!(tally.class(Outcome::Refused).count, tally.attempts());
    let options = options(&case(port, 1));
    assert_eq!(preflight(&options).unwrap_err().outcome, Outcome::Refused);
}

#[test]
fn a_connection_per_request_opens_as_many_and_loses_none() {
    let server = Server::start(Behaviour::AnswerAndClose);
    for keepalive in [true, false] {
        let mut case = case(server.port, 1);
        case.generator.keepalive = keepalive;
        let played = play(&case, Some(300), &[(closed(8), 60)]);
        played.check_flows();
        assert_eq!(played.tally().ok(), 300);
        let connects: u64 = played.windows.iter().map(|w| w.health.connects_count).sum();
        assert!(connects >= 300, "{connects}");
    }
}

#[test]
fn waiting_for_a_connection_is_response_time_and_not_service_time() {
    let server = Server::start(Behaviour::Delay(50));
    // Two connections carry 40/s at most; 80/s are due, so half of the time is spent waiting.
    let mut case = case(server.port, 1);
    case.generator.connections_max = NonZeroU32::new(2).unwrap();
    let played = play(&case, None, &[(open(80.0, Arrivals::Uniform), 2)]);
    played.check_flows();
    let tally = played.tally();
    let ok = tally.class(Outcome::Ok);
    let (response, service) = (ok.response.mean().unwrap(), ok.service.mean().unwrap());
    assert!(
        response.0 > 2 * service.0,
        "response {response}, service {service}"
    );
}

#[test]
fn drops_while_all_connections_wait_are_charged_to_the_target() {
    let server = Server::start(Behaviour::Silent);
    let mut case = case(server.port, 1);
    case.generator.timeout = HASTY;
    case.generator.connections_max = NonZeroU32::new(2).unwrap();
    let played = play(&case, None, &[(open(3000.0, Arrivals::Uniform), 2)]);
    played.check_flows();
    let dropped = played.tally().class(Outcome::Dropped).count;
    assert!(dropped > 0, "no connection became free within the bound");
    let charged: u64 = played
        .windows
        .iter()
        .map(|w| w.health.dropped_target_count)
        .sum();
    assert_eq!(charged, dropped);
}

#[test]
fn the_same_seed_gives_the_same_schedule_and_another_level_another() {
    let server = Server::start(Behaviour::Answer);
    let run = || {
        let played = play(
            &case(server.port, 1),
            None,
            &[(open(300.0, Arrivals::Poisson), 1)],
        );
        played.windows[0].due_count
    };
    // A window ends a few microseconds late, so an arrival at its very edge may move.
    assert!(run().abs_diff(run()) <= 2);
}

#[test]
fn an_interruption_ends_a_level_and_keeps_the_flows() {
    let server = Server::start(Behaviour::Answer);
    let options = options(&case(server.port, 1));
    let interrupt = Arc::new(AtomicBool::new(false));
    let mut runner = EngineRunner::start(&options, Clock::start(), Arc::clone(&interrupt)).unwrap();
    let mut windows = Vec::new();
    let step = Step {
        level: 0,
        phase: Phase::Run,
        load: closed(4),
        windows_max: 60,
    };
    let played = runner.play(&step, &mut |window| {
        windows.push(window.clone());
        interrupt.store(true, std::sync::atomic::Ordering::Relaxed);
        Go::On
    });
    assert!(matches!(
        played,
        Err(plimsoll_core::step::StepError::Interrupted)
    ));
    windows.push(runner.drain(1, options.timeout).unwrap());
    Played { windows }.check_flows();
}
