//! Levels that every kind of run has: the one load that was set, and the drain after the last.

use anyhow::Result;
use plimsoll_core::record::EventKind;
use plimsoll_core::step::{Phase, Step, StepError, StepLoad};
use plimsoll_core::test::{How, Until};
use plimsoll_core::{Nanos, Tally};

use crate::exit::{Exit, Failure};
use crate::session::Session;

/// Longest a run may take without a time: a count at a rate that never ends would otherwise never end.
const WINDOWS_MAX: u32 = 7 * 24 * 3600;
/// How long attempts in flight may take to end after a signal.
const DRAIN_INTERRUPTED: Nanos = Nanos::from_millis(500);
/// What a drain takes beyond the timeout, at most: timeouts are noticed up to a hundredth late, and later still where
/// the generator waits for a processor; an attempt that was cut off before that would have no end.
const DRAIN_SLACK: Nanos = Nanos::from_secs(1);

/// Begins the level of a load that was set; how long it lasts, if that was said.
pub(super) fn begin_set(session: &mut Session) -> Result<(Step, Option<Nanos>)> {
    let How::Set { load, until, .. } = &session.record.header.test.how else {
        anyhow::bail!("a search has no load that is set");
    };
    let duration = until.and_then(Until::duration);
    let seconds = duration.map(|duration| duration.0.div_ceil(Nanos::from_secs(1).0) as u32);
    let step = Step {
        level: 0,
        phase: Phase::Run,
        load: (*load).into(),
        windows_max: seconds.unwrap_or(WINDOWS_MAX),
    };
    session.level(&step, duration);
    Ok((step, duration))
}

/// Begins the level after the last one, and says how long it may take.
pub(super) fn begin_drain(session: &mut Session, interrupted: bool) -> (u32, Nanos) {
    let levels = session.record.levels.iter();
    let last = levels.map(|start| start.step.level).max();
    let level = last.unwrap_or(0) + 1;
    let drain = Step {
        level,
        phase: Phase::Drain,
        load: StepLoad::Closed { in_flight: 0 },
        windows_max: 1,
    };
    session.level(&drain, None);
    let timeout = session.record.header.test.generator.timeout;
    let limit = if interrupted {
        timeout.min(DRAIN_INTERRUPTED)
    } else {
        timeout + Nanos(timeout.0 / 50) + DRAIN_SLACK
    };
    (level, limit)
}

/// Whether a signal ended the load; any other error is one.
pub(super) fn is_interrupted(session: &mut Session, error: Option<StepError>) -> Result<bool> {
    match error {
        None => Ok(false),
        Some(StepError::Interrupted) => {
            session.event(EventKind::Interrupted);
            Ok(true)
        }
        Some(error) => Err(error.into()),
    }
}

/// Where nothing answers there is nothing to search for. Answers that are all errors are left to the warm-up:
/// a service may need some before it works. `what` sent the requests.
pub(crate) fn refuse_the_dead(tally: &Tally, what: &str) -> Result<()> {
    if tally.attempts() == 0 || tally.answers() > 0 {
        return Ok(());
    }
    let kinds: Vec<String> = tally
        .occurred()
        .map(|(outcome, class)| format!("{} {}", class.count, outcome.name()))
        .collect();
    let message = format!(
        "no request of the {what} got an answer: {}; is the address that the script calls right, and does the \
         service run?",
        kinds.join(", ")
    );
    Err(Failure::new(Exit::Unreachable, message).into())
}
