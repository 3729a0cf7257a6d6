//! What every search does: the generator checked, the search driven, each level and window recorded.

use anyhow::{Context as _, Result};
use plimsoll_control::search::{self, Config, Over, Search};
use plimsoll_core::record::{EventKind, Line, SearchStart, SelfCheck};
use plimsoll_core::step::{Step, StepError, StepRunner};
use plimsoll_core::verdict::LevelResult;
use plimsoll_core::{Nanos, Window};

use super::level::is_interrupted;
use super::setting::Setting;
use crate::exit::{Exit, Failure};
use crate::selfcheck;
use crate::session::Session;

/// What the generator can send, as far as nobody measured it already.
pub(super) fn self_check(session: &mut Session, setting: &Setting<'_>) -> Result<SelfCheck> {
    let check = if let Some(check) = setting.reused.self_check {
        check
    } else {
        session.say("self-check: the generator against its own echo, 6 s");
        let workers = session.record.header.test.generator.workers;
        selfcheck::measure(workers, setting.interrupt).map_err(said)?
    };
    session.event(EventKind::SelfCheck(check));
    Ok(check)
}

fn said(error: anyhow::Error) -> anyhow::Error {
    match error.downcast_ref() {
        Some(StepError::Interrupted) => Failure::new(
            Exit::Interrupted,
            "interrupted during the self-check: nothing was measured, and there is no verdict",
        )
        .into(),
        _ => error,
    }
}

/// The search that the test asks for, narrowed by what is known now.
pub(super) fn config(
    session: &Session,
    setting: &Setting<'_>,
    check: &SelfCheck,
) -> Result<Config> {
    let config = Config::from_test(&session.record.header.test);
    Ok(Config {
        spent: session.clock.now(),
        generator_max_per_s: Some(check.max_per_s),
        anchor: setting.reused.anchor,
        ..config.context("a load that is set is no search")?
    })
}

/// What is kept besides levels and windows when a level has ended.
pub(super) type Keep<'a> = &'a mut dyn FnMut(&mut Session);

/// Says what is about to happen, and searches; `generator` is who was checked. Also whether a signal ended it.
pub(super) fn drive(
    config: Config,
    (generator, check): (&str, &SelfCheck),
    runner: &mut dyn StepRunner,
    session: &mut Session,
    keep: Keep<'_>,
) -> Result<(Search, bool)> {
    let start = SearchStart {
        revision: search::REVISION,
        spent_ns: config.spent,
        anchor: config.anchor,
        iteration_ns: match config.over {
            Over::Rate => None,
            Over::Vus { iteration } => Some(iteration),
        },
    };
    let mut search = Search::new(config)?;
    session.say(&format!(
        "{generator}: up to {:.0}/s, lag p99 {} at {:.0}/s, {}",
        check.max_per_s, check.lag_p99_ns, check.open_rate_per_s, check.priority
    ));
    let plan = Nanos::from_secs_f64(search.plan_seconds());
    session.say(&format!(
        "search: at most {plan} from now; Ctrl-C keeps what is known by then"
    ));
    session.event(EventKind::Search(start));
    let driven = search::drive(&mut search, runner, &mut Recording(session, keep));
    let interrupted = is_interrupted(session, driven.err())?;
    Ok((search, interrupted))
}

/// For a later search of a similar target.
pub(super) fn keep_anchor(session: &mut Session, search: &Search) {
    if let Some(anchor) = search.anchor() {
        session.event(EventKind::Anchor(anchor));
    }
}

/// Writes every level and window of a search as it happens.
struct Recording<'a>(&'a mut Session, Keep<'a>);

impl search::Observer for Recording<'_> {
    fn level_start(&mut self, step: &Step, time_left: Nanos) -> Result<(), StepError> {
        self.0.level(step, Some(time_left));
        Ok(())
    }

    fn window(&mut self, window: &Window) -> Result<(), StepError> {
        self.0.window(window);
        Ok(())
    }

    fn level_end(&mut self, result: &LevelResult) -> Result<(), StepError> {
        self.0.append(Line::LevelEnd(result.clone()));
        (self.1)(self.0);
        Ok(())
    }
}
