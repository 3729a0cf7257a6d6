//! A request of a URL allocates nothing once its connection stands: the heap blocks of a long run and of a short one, compared.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use plimsoll_base::clock::Clock;
use plimsoll_core::Nanos;
use plimsoll_core::schedule::{Arrivals, RateProfile};
use plimsoll_core::step::{Go, Phase, Step, StepLoad, StepRunner as _};
use plimsoll_core::test::{Generator, Http, Request, Url};
use plimsoll_engine::{EngineRunner, Options, Places};
use plimsoll_net::resolve::Ways;

#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;

const SHORT: u64 = 2_000;
const LONG: u64 = 22_000;
/// Each window and each thread that a longer run needs may cost some blocks: far fewer than one for each request.
const REQUESTS_PER_BLOCK_MIN: u64 = 40;

/// A machine that is busy answers late: what comes late is no less counted.
const PATIENCE: Nanos = Nanos::from_secs(600);

/// Answers every read with the same bytes and allocates nothing, because it is counted too.
fn answer(mut connection: TcpStream) {
    let mut request = [0_u8; 4096];
    while matches!(connection.read(&mut request), Ok(1..)) {
        let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
        if connection.write_all(answer).is_err() {
            return;
        }
    }
}

fn serve() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            let connection = connection.unwrap();
            std::thread::spawn(move || answer(connection));
        }
    });
    port
}

/// Heap blocks taken by everybody while so many attempts were played.
fn blocks(port: u16, load: StepLoad, attempts: u64) -> u64 {
    let url = Url::new(Request::get(format!("http://127.0.0.1:{port}/")), Http::One);
    let generator = Generator {
        connections_max: NonZeroU32::new(4).unwrap(),
        timeout: PATIENCE,
        ..Generator::default()
    };
    let places = Places::resolve(&url, &Ways::default()).unwrap();
    let mut options = Options::new(&url, &places, &generator, None).unwrap();
    options.attempts_max = Some(attempts);
    let before = dhat::HeapStats::get().total_blocks;
    let interrupt = Arc::new(AtomicBool::new(false));
    let mut runner = EngineRunner::start(&options, Clock::start(), interrupt).unwrap();
    let step = Step {
        level: 0,
        phase: Phase::Run,
        load,
        windows_max: 600,
    };
    let mut done = 0;
    runner
        .play(&step, &mut |window| {
            done += window.total().ok();
            Go::On
        })
        .unwrap();
    done += runner.drain(1, options.timeout).unwrap().total().ok();
    assert_eq!(done, attempts);
    drop(runner);
    dhat::HeapStats::get().total_blocks - before
}

#[test]
fn a_request_allocates_nothing() {
    let _counted = dhat::Profiler::builder().testing().build();
    let port = serve();
    let open = StepLoad::Open {
        profile: RateProfile::constant(20_000.0).unwrap(),
        arrivals: Arrivals::Poisson,
    };
    for load in [StepLoad::Closed { in_flight: 4 }, open] {
        let (short, long) = (blocks(port, load, SHORT), blocks(port, load, LONG));
        let more = long.saturating_sub(short);
        assert!(
            more * REQUESTS_PER_BLOCK_MIN < LONG - SHORT,
            "{short} blocks for {SHORT} requests, {long} for {LONG}: {load:?}"
        );
    }
}
