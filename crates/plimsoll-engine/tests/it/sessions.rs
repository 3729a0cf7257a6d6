//! Sessions without a driver: what the runner makes of workers that are ready at different times.

use std::io;
use std::os::fd::OwnedFd;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use plimsoll_base::clock::Clock;
use plimsoll_core::step::{Go, Phase, Step, StepRunner as _};
use plimsoll_core::window::Effects;
use plimsoll_core::{Nanos, Outcome};
use plimsoll_engine::EngineRunner;
use plimsoll_engine::sessions::{Desk, Host, SessionEnd, SessionPlan, Traffic};

use super::closed;

/// Does what is due at once.
struct Quick(Desk);

impl Host for Quick {
    fn wait(&mut self, timeout: Nanos) -> io::Result<()> {
        let mut task = Context::from_waker(Waker::noop());
        for lane in 0..self.0.lanes().len() {
            while let Poll::Ready(due) = pin!(self.0.next(lane)).poll(&mut task) {
                let end = SessionEnd {
                    outcome: Outcome::Ok,
                    status: 0,
                    operation: 0,
                    sent: Some(self.0.now()),
                    bytes: 0,
                    effects: Effects::default(),
                };
                self.0.end(lane, due, &end);
            }
        }
        std::thread::sleep(Duration::from_nanos(timeout.0).min(Duration::from_millis(1)));
        Ok(())
    }

    fn take_traffic(&mut self, _now: Nanos) -> Traffic {
        Traffic::default()
    }
}

/// The second worker has nothing to do and says so while the first still opens its sessions. Nobody heard it, and the level
/// went on until its time was over.
#[test]
fn a_count_below_the_number_of_workers_ends_a_level() {
    let plan = SessionPlan {
        workers: 2,
        lanes: 2,
        timeout: Nanos::from_secs(5),
        bounds: Vec::new(),
        seed: 7,
        attempts_max: Some(1),
    };
    let interrupt = Arc::new(AtomicBool::new(false));
    let open = |index: usize| {
        move |desk: Desk, _woken: OwnedFd| {
            if index == 0 {
                std::thread::sleep(Duration::from_millis(200));
            }
            Ok::<_, String>(Quick(desk))
        }
    };
    let mut runner = EngineRunner::start_sessions(&plan, Clock::start(), interrupt, open).unwrap();
    let step = Step {
        level: 0,
        phase: Phase::Run,
        load: closed(2),
        windows_max: 10,
    };
    let mut windows = Vec::new();
    let played = runner.play(&step, &mut |window| {
        windows.push(window.clone());
        Go::On
    });
    played.unwrap();
    assert!(windows.len() < 10, "{} windows", windows.len());
    let ok: u64 = windows.iter().map(|window| window.total().ok()).sum();
    assert_eq!(ok, 1);
}
