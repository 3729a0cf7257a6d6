//! The generator against its own echo: what this host can send at most, and how late.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context as _, Result};
use plimsoll_core::plan::{Load, Plan, Request};
use plimsoll_core::schedule::{Arrivals, RateProfile};
use plimsoll_core::step::{Go, Phase, Step, StepLoad, StepRunner as _};
use plimsoll_core::{Nanos, Window};
use plimsoll_engine::echo::Echo;
use plimsoll_engine::{EngineRunner, Options};
use plimsoll_net::clock::Clock;
use serde::{Deserialize, Serialize};

/// Connections and seconds of the closed loop that finds the ceiling.
const IN_FLIGHT: u32 = 64;
const CLOSED_SECONDS: u32 = 3;
/// Rate and seconds of the open loop that finds the lag: a tenth of the ceiling, 2,000/s at most.
const OPEN_SHARE: f64 = 0.1;
const OPEN_RATE_MAX: f64 = 2_000.0;
const OPEN_SECONDS: u32 = 3;
/// Share of its threads that a generator may fill in an open loop (capacity-science B.6).
const BUSY: f64 = 0.8;

/// What the generator can do on this host, as measured just now.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct SelfCheck {
    /// Rate at which its threads would be 80 % busy, from processor time per request.
    pub(crate) max_per_s: f64,
    /// Answers per second of the closed loop against the echo, which shares this host.
    pub(crate) echo_per_s: f64,
    pub(crate) run_ns_per_request: f64,
    pub(crate) open_rate_per_s: f64,
    pub(crate) lag_p99_ns: Nanos,
    pub(crate) lag_max_ns: Nanos,
    pub(crate) seconds: f64,
}

pub(crate) fn measure(workers: NonZeroU32, interrupt: &Arc<AtomicBool>) -> Result<SelfCheck> {
    let clock = Clock::start();
    let echo = Echo::start().context("start the built-in echo")?;
    let options = Options::new(&plan(&echo, workers), None)?;
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
    })
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

fn plan(echo: &Echo, workers: NonZeroU32) -> Plan {
    Plan {
        request: Request {
            method: "GET".to_owned(),
            url: format!("http://{}/", echo.address()),
            headers: Vec::new(),
            body: Vec::new(),
        },
        load: Load::Search,
        until: None,
        connections_max: NonZeroU32::MIN.saturating_add(IN_FLIGHT.max(workers.get())),
        workers,
        timeout_ns: Nanos::from_secs(5),
        keepalive: true,
        streams_per_connection: None,
        insecure: false,
        objectives: None,
        seed: 1,
    }
}
