//! The simulator against queueing theory: every figure within three standard errors.

use plimsoll_core::schedule::{Arrivals, RateProfile};
use plimsoll_core::step::{Go, Phase, Step, StepLoad, StepRunner};
use plimsoll_core::{Nanos, Outcome, Tally};
use plimsoll_sim::Simulator;
use plimsoll_sim::model::{Model, ServiceTime, Slots};

/// Unit service mean of the theory: 1 ms, so that a long run is a short simulation.
pub(crate) const UNIT: Nanos = Nanos::from_millis(1);
const PER_SECOND: f64 = 1000.0;
const REPLICATIONS: u64 = 10;

pub(crate) struct Run {
    tally: Tally,
    seconds: f64,
    pub(crate) in_flight: f64,
}

impl Run {
    /// Mean response time of ok answers in units of the service mean.
    pub(crate) fn response(&self) -> f64 {
        let ok = self.tally.answers_only();
        ok.sum_ns() as f64 / ok.count() as f64 / UNIT.0 as f64
    }

    pub(crate) fn lost(&self) -> f64 {
        self.tally.failures() as f64 / self.tally.attempts() as f64
    }

    fn throughput(&self) -> f64 {
        self.tally.ok() as f64 / self.seconds / PER_SECOND
    }
}

/// Plays `seconds` after a warm-up of a fifth of that; one window is one second.
fn run(model: &Model, load: StepLoad, seconds: u32, seed: u64) -> Run {
    let mut simulator = Simulator::new(model.clone(), Vec::new(), seed).unwrap();
    let warm_up = seconds / 5;
    let mut run = Run {
        tally: Tally::default(),
        seconds: f64::from(seconds),
        in_flight: 0.0,
    };
    let step = Step {
        level: 1,
        phase: Phase::Run,
        load,
        windows_max: warm_up + seconds,
    };
    let mut played = 0;
    let mut judge = |window: &plimsoll_core::Window| {
        played += 1;
        if played > warm_up {
            run.tally.merge(&window.total());
            run.in_flight += window.in_flight_mean / f64::from(seconds);
        }
        Go::On
    };
    simulator.play(&step, &mut judge).unwrap();
    run
}

pub(crate) fn open(load: f64) -> StepLoad {
    StepLoad::Open {
        profile: RateProfile::constant(load * PER_SECOND).unwrap(),
        arrivals: Arrivals::Poisson,
    }
}

/// The mean over replications lies within three standard errors of the truth.
pub(crate) fn agrees(
    name: &str,
    truth: f64,
    seconds: u32,
    model: &Model,
    load: StepLoad,
    of: fn(&Run) -> f64,
) {
    let values: Vec<f64> = (0..REPLICATIONS)
        .map(|seed| of(&run(model, load, seconds, seed)))
        .collect();
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    let error = (squares / (count - 1.0) / count).sqrt();
    assert!(
        (mean - truth).abs() <= 3.0 * error + 1e-9 * truth,
        "{name}: {mean} ± {error}, theory says {truth}"
    );
    assert!(
        error < 0.1 * truth,
        "{name}: ± {error} would agree with anything"
    );
}

fn exponential(servers: u32) -> Model {
    Model::station(servers, ServiceTime::Exponential { mean: UNIT })
}

#[test]
fn one_server_and_many() {
    // λ in units of one server's rate, servers, mean response = 1 + Erlang-C wait (F.3).
    for (load, servers, wait) in [
        (0.8, 1, 4.0),
        (1.6, 2, 1.777_778),
        (3.2, 4, 0.745_541),
        (8.0, 10, 0.204_590),
        (14.4, 16, 0.369_590),
        (45.0, 50, 0.072_773),
    ] {
        let name = format!("M/M/{servers}");
        agrees(
            &name,
            1.0 + wait,
            60,
            &exponential(servers),
            open(load),
            Run::response,
        );
    }
}

#[test]
fn little_s_law_holds_in_the_windows() {
    agrees(
        "M/M/1 in flight",
        4.0,
        100,
        &exponential(1),
        open(0.8),
        |run| run.in_flight,
    );
}

#[test]
fn one_server_with_other_service_times() {
    // Pollaczek and Khinchine at 80 % load: wait = 2 (1 + cv²) (F.3).
    for (service, wait) in [
        (ServiceTime::Fixed { mean: UNIT }, 2.0),
        (
            ServiceTime::Erlang {
                mean: UNIT,
                shape: 4,
            },
            2.5,
        ),
        (
            ServiceTime::Hyperexponential {
                mean: UNIT,
                cv2: 4.0,
            },
            10.0,
        ),
        (
            ServiceTime::Lognormal {
                mean: UNIT,
                cv: 1.0,
            },
            4.0,
        ),
    ] {
        let name = format!("{service:?}");
        let model = Model::station(1, service);
        agrees(&name, 1.0 + wait, 200, &model, open(0.8), Run::response);
    }
}

#[test]
fn a_bounded_queue_loses_what_theory_says() {
    // M/M/1/K holds K requests, one of them in service (F.3).
    for (load, places, lost, response) in [
        (0.8, 10, 0.023_493, 3.797_098),
        (1.5, 10, 0.337_232, 8.176_476),
        (2.0, 50, 0.500_000, 49.0),
    ] {
        let model = Model {
            queue_max: Some(places - 1),
            ..exponential(1)
        };
        agrees("M/M/1/K loss", lost, 30, &model, open(load), Run::lost);
        agrees(
            "M/M/1/K response",
            response,
            60,
            &model,
            open(load),
            Run::response,
        );
    }
}

#[test]
fn servers_without_a_queue_follow_erlang_b() {
    for (servers, load, lost) in [
        (10, 8.0, 0.121_661),
        (50, 45.0, 0.054_104),
        (100, 110.0, 0.136_115),
    ] {
        let model = Model {
            queue_max: Some(0),
            ..exponential(servers)
        };
        agrees("Erlang B", lost, 4, &model, open(load), Run::lost);
        // Slots in front of ample servers are the same system.
        let slots = Model {
            slots: Some(Slots {
                max: u64::from(servers),
                waiting_max: 0,
            }),
            ..exponential(servers * 4)
        };
        agrees("Erlang B by slots", lost, 4, &slots, open(load), Run::lost);
    }
}

#[test]
fn closed_loops_at_the_same_utilisation() {
    // Users, think time in service means, mean response at 80 % utilisation (section C).
    for (users, think, response) in [
        (2, 1.0, 1.5),
        (10, 9.685, 2.815),
        (50, 58.51, 3.992),
        (100, 120.64, 4.356),
    ] {
        let model = Model {
            think_mean: Nanos((think * UNIT.0 as f64) as u64),
            ..exponential(1)
        };
        let load = StepLoad::Closed { in_flight: users };
        let name = format!("{users} users");
        agrees(&name, response, 100, &model, load, Run::response);
        agrees(&name, 0.8, 100, &model, load, Run::throughput);
    }
}

#[test]
fn an_event_loop_with_passes_loses_goodput_in_overload() {
    // Five slices of 1 ms, 200/s: arrivals per second against answers per second (section 1.5).
    let slice = ServiceTime::Fixed { mean: UNIT };
    let model = Model {
        passes: 5,
        ..Model::station(1, slice)
    };
    for (overload, goodput) in [
        (1.2, 176.0),
        (1.5, 147.6),
        (2.0, 113.5),
        (3.0, 72.0),
        (6.0, 24.6),
    ] {
        let load = open(0.2 * overload);
        let run = run(&model, load, 400, 1);
        let measured = run.throughput() * PER_SECOND;
        // The queue grows without end, so this is a limit: within 1 % after some minutes.
        assert!(
            (measured / goodput - 1.0).abs() < 0.01,
            "{overload}: {measured} for {goodput}"
        );
    }
}

#[test]
fn a_timeout_frees_the_client_and_not_the_server() {
    // M/M/1 at 50 %: responses are exponential with mean 2, so e^{-3/2} of them exceed 3 service
    // means, and the server serves all the same.
    let model = Model {
        client_timeout: Some(Nanos(UNIT.0 * 3)),
        ..exponential(1)
    };
    agrees("timeouts", (-1.5f64).exp(), 60, &model, open(0.5), |run| {
        run.tally.class(Outcome::Timeout).count as f64 / run.tally.attempts() as f64
    });
}
