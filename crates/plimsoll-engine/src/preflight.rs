//! One request before the run, so that a target that cannot work is named in words at once.

use plimsoll_core::{Nanos, Outcome};
use plimsoll_net::Connection;
use plimsoll_net::clock::Clock;
use plimsoll_net::connection::{Failure, Progress, SCRATCH_BYTES};
use plimsoll_net::h1::Answer;
use plimsoll_net::poll::Poll;

use crate::options::Options;

/// Attempts before the target is called unreachable: one may hit an unlucky moment.
const ATTEMPTS: u32 = 3;
/// Longest wait for one of them.
const PATIENCE: Nanos = Nanos::from_secs(5);

/// Sends up to three requests, one after the other, until one is answered.
pub fn preflight(options: &Options) -> Result<Answer, Failure> {
    let mut result = attempt(options);
    for _ in 1..ATTEMPTS {
        if result.is_ok() {
            break;
        }
        result = attempt(options);
    }
    result
}

fn attempt(options: &Options) -> Result<Answer, Failure> {
    let of_io = |error: std::io::Error| Failure {
        outcome: Outcome::Dropped,
        reason: error.to_string(),
    };
    let clock = Clock::start();
    let patience = PATIENCE.min(options.timeout);
    let poll = Poll::new().map_err(of_io)?;
    let mut connection = Connection::open(&options.setup)?;
    poll.add(&connection, 0).map_err(of_io)?;
    let mut scratch = vec![0; SCRATCH_BYTES];
    let mut ready = Vec::new();
    while clock.now() < patience {
        poll.wait(patience.saturating_sub(clock.now()), &mut ready)
            .map_err(of_io)?;
        for event in ready.drain(..) {
            match connection.ready(&options.request, event.hung_up, &mut scratch) {
                Progress::Pending => {}
                Progress::Connected => connection.send(&options.request)?,
                Progress::Answered(answer) => return Ok(answer),
                Progress::ClosedIdle => {
                    let reason = "the server closes connections before a request".to_owned();
                    return Err(Failure {
                        outcome: Outcome::Eof,
                        reason,
                    });
                }
                Progress::Failed(failure) => return Err(failure),
            }
        }
    }
    if connection.is_connected() {
        let reason = format!("connected, but no complete answer within {patience}");
        return Err(Failure {
            outcome: Outcome::Timeout,
            reason,
        });
    }
    let reason = format!("no connection within {patience}");
    Err(Failure {
        outcome: Outcome::ConnectTimeout,
        reason,
    })
}
