//! One request before the run, so that a target that cannot work is named in words at once.

use plimsoll_base::clock::Clock;
use plimsoll_base::poll::Poll;
use plimsoll_core::{Nanos, Outcome};
use plimsoll_net::Failure;
use plimsoll_net::h1::Answer;

use crate::options::Options;
use crate::pool::{CallEnd, PoolEvent};
use crate::requests::{Attempt, ORIGIN, OWNER, pool, route};

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
    let broken = |error: std::io::Error| Failure::new(Outcome::Dropped, error.to_string());
    let clock = Clock::start();
    let patience = PATIENCE.min(options.timeout);
    let mut pool = pool(Poll::new().map_err(broken)?, clock, options.clone());
    let opened = pool.open(route(options), None, clock.now());
    opened.map_err(|(failure, _)| failure)?;
    let (mut ready, mut is_connected) = (Vec::new(), false);
    while clock.now() < patience && pool.open_count() > 0 {
        let wait = patience.saturating_sub(clock.now());
        pool.poll.wait(wait, &mut ready).map_err(broken)?;
        ready.drain(..).for_each(|event| pool.on_ready(event));
        while let Some(event) = pool.events.pop() {
            match event {
                PoolEvent::Idle { at } => {
                    is_connected = true;
                    if let Some(token) = pool.take_idle(OWNER, ORIGIN) {
                        pool.give(token, Attempt::begun(at), at);
                        pool.flush();
                    }
                }
                PoolEvent::Lost { failure, .. } => return Err(failure),
                PoolEvent::Ended(ended) => return answer(ended.end),
            }
        }
    }
    Err(if pool.open_count() == 0 {
        let reason = "the server closes connections before a request";
        Failure::new(Outcome::Eof, reason)
    } else if is_connected {
        let reason = format!("connected, but no complete answer within {patience}");
        Failure::new(Outcome::Timeout, reason)
    } else {
        let reason = format!("no connection within {patience}");
        Failure::new(Outcome::ConnectTimeout, reason)
    })
}

fn answer(end: CallEnd) -> Result<Answer, Failure> {
    match end {
        CallEnd::Answered(answer) => Ok(answer),
        CallEnd::Failed(failure) | CallEnd::Unprocessed(failure) => Err(failure),
        CallEnd::TimedOut { .. } | CallEnd::Cancelled | CallEnd::Unfit | CallEnd::NotTaken => Err(
            Failure::new(Outcome::Interrupted, "the request was given up"),
        ),
    }
}
