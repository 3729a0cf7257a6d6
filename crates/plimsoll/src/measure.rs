//! One test from the start of its record to all but its verdict: the same for `run`, `find`, `compare` and `lab`, and for
//! URLs, scripts and workloads.

mod attempts;
mod level;
mod script;
mod search;
mod setting;
mod url;
mod workload;

use anyhow::Result;
use plimsoll_core::ending::{Cause, Ending};
use plimsoll_core::record::EventKind;
use plimsoll_core::verdict::{SearchResult, Verdict};

pub(crate) use level::refuse_the_dead;
pub(crate) use setting::Setting;
pub(crate) use workload::greet as greet_store;

use crate::exit::Exit;
use crate::prepared::{Prepared, Subject};
use crate::script::play::Played;
use crate::session::Session;
use crate::verdicts;

/// A run that is over, also by a signal.
pub(crate) struct Measured {
    pub(crate) session: Session,
    /// Of a search.
    found: Option<SearchResult>,
    /// Of a script with its own load.
    pub(crate) played: Option<Played>,
}

pub(crate) fn measure(prepared: &Prepared, setting: &Setting<'_>) -> Result<Measured> {
    let Prepared { test, subject, .. } = prepared;
    let mut session = Session::start(test.clone(), setting.output)?;
    if let Some(words) = &prepared.greeting {
        session.note(EventKind::Preflight, words);
    }
    let (mut found, mut played) = (None, None);
    match (subject, test.is_search()) {
        (Subject::Url(options), false) => match &prepared.csv {
            None => url::load(options, &mut session, setting)?,
            Some(path) => attempts::listed(path, options, |options| {
                url::load(options, &mut session, setting)
            })?,
        },
        (Subject::Url(options), true) => {
            found = Some(url::search(options, &mut session, setting)?);
        }
        (Subject::Workload(workload), false) => workload::load(workload, &mut session, setting)?,
        (Subject::Workload(workload), true) => {
            found = Some(workload::search(workload, &mut session, setting)?);
        }
        (Subject::Script(loaded), false) => {
            played = Some(script::load(loaded, &mut session, setting)?);
        }
        (Subject::Script(loaded), true) => {
            found = Some(script::search(loaded, &mut session, setting)?);
        }
    }
    session.settle();
    Ok(Measured {
        session,
        found,
        played,
    })
}

impl Measured {
    /// What the record means, with everything that was added to it since.
    pub(crate) fn verdict(&self) -> Verdict {
        verdicts::compute(&self.session.record, self.found.as_ref())
    }

    /// A script that threw or gave up has measured nothing; crossed thresholds of its own are its own affair.
    pub(crate) fn refuse_unfinished(&self) -> Result<()> {
        let ending = self.played.as_ref().map_or(Ending::default(), |p| p.ending);
        match ending.cause() {
            None | Some(Cause::ThresholdCrossed | Cause::Interrupted) => Ok(()),
            Some(cause) => anyhow::bail!(
                "the script did not come to its end: {}",
                Exit::from(cause).meaning()
            ),
        }
    }
}
