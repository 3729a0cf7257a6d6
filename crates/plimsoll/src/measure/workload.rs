//! Loads the databases of a workload, puts the load on them, and looks at what is stored afterwards.

use std::sync::Arc;

use anyhow::{Result, anyhow};
use plimsoll_core::record::{After, Line};
use plimsoll_core::test::Workload;
use plimsoll_core::verdict::SearchResult;
use plimsoll_engine::EngineRunner;
use plimsoll_report::format;
use plimsoll_workload::{Loaded, WorkloadError, shown};

use super::search::{config, drive, keep_anchor, self_check};
use super::setting::Setting;
use super::url::{drain, play_set};
use crate::exit::{Exit, Failure};
use crate::recipe::address_of_store;
use crate::session::Session;

pub(super) fn load(
    workload: &Workload,
    session: &mut Session,
    setting: &Setting<'_>,
) -> Result<()> {
    let loaded = fill(workload, session)?;
    session.watch(address_of_store(&workload.store), setting.watches)?;
    let mut runner = start(&loaded, session, setting)?;
    (setting.on_load)()?;
    let interrupted = play_set(&mut runner, session)?;
    drain(&mut runner, session, interrupted)?;
    drop(runner);
    look(loaded, session);
    Ok(())
}

pub(super) fn search(
    workload: &Workload,
    session: &mut Session,
    setting: &Setting<'_>,
) -> Result<SearchResult> {
    let check = self_check(session, setting)?;
    let loaded = fill(workload, session)?;
    session.watch(address_of_store(&workload.store), setting.watches)?;
    let config = config(session, setting, &check)?;
    let mut runner = start(&loaded, session, setting)?;
    let generator = ("generator, without the driver", &check);
    (setting.on_load)()?;
    let (search, interrupted) = drive(config, generator, &mut runner, session, &mut |_| {})?;
    drain(&mut runner, session, interrupted)?;
    drop(runner);
    keep_anchor(session, &search);
    look(loaded, session);
    Ok(search.found())
}

/// Every run begins with the same documents.
fn fill(workload: &Workload, session: &mut Session) -> Result<Loaded> {
    let documents: u64 = workload
        .databases
        .iter()
        .map(|it| u64::from(it.documents))
        .sum();
    let databases = match workload.databases.as_slice() {
        [one] => format!("database {}", one.name),
        all => format!("{} databases", all.len()),
    };
    session.say(&format!(
        "{}: {databases}, dropped and filled with {} documents",
        shown(&workload.store),
        format::count(documents)
    ));
    Loaded::new(workload, session.clock).map_err(of_store)
}

fn start(loaded: &Loaded, session: &Session, setting: &Setting<'_>) -> Result<EngineRunner> {
    let interrupt = Arc::clone(setting.interrupt);
    let started = loaded.start(&session.record.header.test, session.clock, interrupt);
    started.map_err(|error| match error {
        plimsoll_core::step::StepError::Unreachable(reason) => Failure::new(
            Exit::Unreachable,
            format!("the store went away before the load: {reason}"),
        )
        .into(),
        other => other.into(),
    })
}

/// What failed, in words; and what is stored against what was acknowledged. A store that cannot be read any more costs that
/// look and nothing else: what was measured is kept.
fn look(loaded: Loaded, session: &mut Session) {
    for (outcome, reason) in loaded.reasons() {
        session.say(&format!("  {}: {reason}", outcome.name()));
    }
    match loaded.look() {
        Ok(None) => {}
        Ok(verified) => {
            let at_ns = session.clock.now();
            session.append(Line::After(After {
                at_ns,
                verified,
                ..After::default()
            }));
        }
        Err(error) => session.say(&format!(
            "plimsoll: {error}; what is stored was not verified"
        )),
    }
}

/// The store is to blame, or what was asked for.
fn of_store(error: WorkloadError) -> anyhow::Error {
    if error.is_of_store() {
        return Failure::new(Exit::Unreachable, error.to_string()).into();
    }
    anyhow!(error)
}

/// The same for a store that is only greeted.
pub(crate) fn greet(workload: &Workload) -> Result<()> {
    plimsoll_workload::greet(workload).map_err(of_store)
}
