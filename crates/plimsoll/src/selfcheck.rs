//! The generator against its own echo: what this host can send at most, and how late.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context as _, Result};
use plimsoll_base::clock::Clock;
use plimsoll_base::priority::Priority;
use plimsoll_core::record::SelfCheck;
use plimsoll_core::schedule::{Arrivals, RateProfile};
use plimsoll_core::step::{Go, Phase, Step, StepLoad, StepRunner as _};
use plimsoll_core::test::{Generator, Http, Request, Url};
use plimsoll_core::{Nanos, Window};
use plimsoll_engine::echo::Echo;
use plimsoll_engine::{EngineRunner, Options, Places};
use plimsoll_net::resolve::Ways;

/// Connections and seconds of the closed loop that finds the ceiling.
const IN_FLIGHT: u32 = 64;
const CLOSED_SECONDS: u32 = 3;
/// Rate and seconds of the open loop that finds the lag: a tenth of the ceiling, 2,000/s at most.
const OPEN_SHARE: f64 = 0.1;
const OPEN_RATE_MAX: f64 = 2_000.0;
const OPEN_SECONDS: u32 = 3;
/// Share of its threads that a generator may fill in an open loop (capacity-science B.6).
const BUSY: f64 = 0.8;

pub(crate) fn measure(workers: NonZeroU32, interrupt: &Arc<AtomicBool>) -> Result<SelfCheck> {
    let clock = Clock::start();
    let echo = Echo::start().context("start the built-in echo")?;
    let options = options(&echo, workers)?;
    let mut runner = EngineRunner::start(&options, clock, Arc::clone(interrupt))?;
    let closed = StepLoad::Closed {
        in_flight: IN_FLIGHT.max(workers.get()),
    };
    // The first second opens connections and warms caches.
    let windows = play(&mut runner, 0, closed, CLOSED_SECONDS)?.split_off(1);
    let answers: u64 = windows.iter().map(|window| window.total().ok()).sum();
    let seconds: f64 = windows
        .iter()
        .map(|window| window.length_ns.as_secs_f64())
        .sum();
    let run: u64 = windows
        .iter()
        .flat_map(|w| &w.health.worker_run_ns)
        .map(|run| run.0)
        .sum();
    let run_ns_per_request = run as f64 / answers.max(1) as f64;
    let max_per_s = BUSY * f64::from(workers.get()) * 1e9 / run_ns_per_request.max(1.0);
    let rate = (OPEN_SHARE * max_per_s).clamp(1.0, OPEN_RATE_MAX);
    let open = StepLoad::Open {
        profile: RateProfile::constant(rate)?,
        arrivals: Arrivals::Poisson,
    };
    let mut lag = plimsoll_core::Histogram::new();
    for window in play(&mut runner, 1, open, OPEN_SECONDS)? {
        lag.merge(&window.health.lag);
    }
    Ok(SelfCheck {
        max_per_s,
        echo_per_s: answers as f64 / seconds.max(1e-9),
        run_ns_per_request,
        open_rate_per_s: rate,
        lag_p99_ns: lag.quantile(0.99).unwrap_or_default(),
        lag_max_ns: lag.max().unwrap_or_default(),
        seconds: clock.now().as_secs_f64(),
        priority: priority(),
    })
}

/// What the kernel gives a thread that asks; one of its own asks, so that this one stays as it is.
fn priority() -> Priority {
    std::thread::spawn(Priority::raise)
        .join()
        .unwrap_or_default()
}

fn play(
    runner: &mut EngineRunner,
    level: u32,
    load: StepLoad,
    windows_max: u32,
) -> Result<Vec<Window>> {
    let mut windows = Vec::new();
    let step = Step {
        level,
        phase: Phase::SelfCheck,
        load,
        windows_max,
    };
    runner.play(&step, &mut |window| {
        windows.push(window.clone());
        Go::On
    })?;
    Ok(windows)
}

/// The echo, loaded over connections enough for every level.
fn options(echo: &Echo, workers: NonZeroU32) -> Result<Options> {
    let request = Request::get(format!("http://{}/", echo.address()));
    let url = Url::new(request, Http::One);
    let generator = Generator {
        connections_max: NonZeroU32::MIN.saturating_add(IN_FLIGHT.max(workers.get())),
        workers,
        timeout: Nanos::from_secs(5),
        ..Generator::default()
    };
    let places = Places::resolve(&url, &Ways::default())?;
    Ok(Options::new(&url, &places, &generator, None)?)
}
