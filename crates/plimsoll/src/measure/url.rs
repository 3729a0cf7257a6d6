//! Loads one URL: at the load that was set, or at those that a search asks for.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Result;
use plimsoll_core::record::{EventKind, Guarded};
use plimsoll_core::step::Go;
use plimsoll_core::verdict::SearchResult;
use plimsoll_engine::{EngineRunner, Options};
use plimsoll_net::Endpoint;

use super::level::{begin_drain, begin_set, is_interrupted};
use super::search::{config, drive, keep_anchor, self_check};
use super::setting::Setting;
use crate::session::Session;

pub(super) fn load(options: &Options, session: &mut Session, setting: &Setting<'_>) -> Result<()> {
    session.watch(tcp(options), setting.watches)?;
    let mut runner = start(options, session, setting)?;
    (setting.on_load)()?;
    let interrupted = play_set(&mut runner, session)?;
    drain(&mut runner, session, interrupted)?;
    keep_guarded(options, session);
    Ok(())
}

/// Who refused is no matter of counts by outcome: one line says it for the whole run.
fn keep_guarded(options: &Options, session: &mut Session) {
    let refused_count = options.guarded_count();
    if refused_count > 0 {
        session.event(EventKind::Guarded(Guarded { refused_count }));
    }
}

/// Plays the load that was set; whether a signal ended it.
pub(super) fn play_set(runner: &mut EngineRunner, session: &mut Session) -> Result<bool> {
    let (step, length) = begin_set(session)?;
    let played = runner.play_for(&step, length, &mut |window| {
        session.window(window);
        Go::On
    });
    is_interrupted(session, played.err())
}

pub(super) fn search(
    options: &Options,
    session: &mut Session,
    setting: &Setting<'_>,
) -> Result<SearchResult> {
    let check = self_check(session, setting)?;
    session.watch(tcp(options), setting.watches)?;
    let config = config(session, setting, &check)?;
    let mut runner = start(options, session, setting)?;
    (setting.on_load)()?;
    let (search, interrupted) = drive(
        config,
        ("generator", &check),
        &mut runner,
        session,
        &mut |_| {},
    )?;
    drain(&mut runner, session, interrupted)?;
    keep_guarded(options, session);
    keep_anchor(session, &search);
    Ok(search.found())
}

/// The port whose process is watched without being named.
fn tcp(options: &Options) -> Option<SocketAddr> {
    options.endpoint().and_then(Endpoint::tcp)
}

fn start(options: &Options, session: &Session, setting: &Setting<'_>) -> Result<EngineRunner> {
    let interrupt = Arc::clone(setting.interrupt);
    Ok(EngineRunner::start(options, session.clock, interrupt)?)
}

pub(super) fn drain(
    runner: &mut EngineRunner,
    session: &mut Session,
    interrupted: bool,
) -> Result<()> {
    let (level, limit) = begin_drain(session, interrupted);
    let window = runner.drain(level, limit)?;
    session.window(&window);
    Ok(())
}
