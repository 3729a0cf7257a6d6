//! Plays a search again on the windows of its record: what it found must follow from what was seen.
//!
//! A search is a pure machine, so the same windows ask for the same levels and come to the same result. Where they do not,
//! windows, levels or results are not those that the search saw.

use std::fmt;

use plimsoll_core::record::Record;
use plimsoll_core::step::{Go, Phase, Step, StepLoad};
use plimsoll_core::units::three_digits;
use plimsoll_core::verdict::SearchResult;
use plimsoll_core::{Nanos, Window};

use super::{Config, INTERRUPTED, Search, SearchError};

/// Rises with every change of what a search plays or finds: a record of another revision cannot be played again. A test
/// plays a kept record again and fails where this was forgotten.
pub const REVISION: u32 = 7;

/// What the windows of a record come to.
#[derive(Debug, Clone, PartialEq)]
pub struct Replayed {
    pub found: SearchResult,
    /// Where the record went another way than its windows ask for: what was found holds until there.
    pub departure: Option<Departure>,
}

/// A level of a record that does not follow from the windows before it.
#[derive(Debug, Clone, PartialEq)]
pub struct Departure {
    pub level: u32,
    pub what: Departed,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Departed {
    /// The search asks for another step than the record has.
    Step { asked: Step, recorded: Step },
    /// The record has a level, and the search is over.
    Over,
    /// The record ends, and the search goes on.
    Unfinished { asked: Step },
    /// The level has more windows than the search looked at.
    Longer,
    /// It has fewer than the search wants.
    Shorter,
    /// The level ended otherwise than its windows say.
    Result,
}

impl fmt::Display for Departure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let level = self.level;
        match &self.what {
            Departed::Step { asked, recorded } => write!(
                f,
                "level {level} is not the one that follows from the windows before it: {} is recorded, {} follows",
                words(recorded),
                words(asked)
            ),
            Departed::Over => write!(
                f,
                "level {level} was played although the windows before it end the search"
            ),
            Departed::Unfinished { asked } => write!(
                f,
                "level {level} is missing: {} follows from the windows before it",
                words(asked)
            ),
            Departed::Longer => write!(f, "level {level} has more windows than end it"),
            Departed::Shorter => write!(f, "level {level} ends before its windows end it"),
            Departed::Result => {
                write!(
                    f,
                    "the result of level {level} does not follow from its windows"
                )
            }
        }
    }
}

fn words(step: &Step) -> String {
    let seconds = step.windows_max;
    match step.load {
        StepLoad::Closed { in_flight } => format!("{in_flight} at once for up to {seconds} s"),
        StepLoad::Open { profile, .. } => {
            let rate = three_digits(profile.rate_at(Nanos::MAX));
            format!("{rate}/s for up to {seconds} s")
        }
    }
}

/// Plays a search again; `config` is what it started from.
pub fn replay(config: Config, record: &Record) -> Result<Replayed, SearchError> {
    let mut search = Search::new(config)?;
    let departure = departs(&mut search, record);
    Ok(Replayed {
        found: search.found(),
        departure,
    })
}

fn departs(search: &mut Search, record: &Record) -> Option<Departure> {
    let is_interrupted = record.interrupted_at().is_some();
    let mut levels = record
        .levels
        .iter()
        .map(|start| &start.step)
        .filter(|step| is_of_search(step))
        .peekable();
    let mut last = 0;
    while let Some(recorded) = levels.next() {
        last = recorded.level;
        let departed = |what| {
            Some(Departure {
                level: recorded.level,
                what,
            })
        };
        let Some(asked) = search.next_step() else {
            return departed(Departed::Over);
        };
        if asked != *recorded {
            let recorded = recorded.clone();
            return departed(Departed::Step { asked, recorded });
        }
        let is_cut_off = is_interrupted && levels.peek().is_none();
        if let Some(what) = level_departs(search, record, &asked, is_cut_off) {
            return departed(what);
        }
    }
    if is_interrupted {
        return None;
    }
    let asked = search.next_step()?;
    Some(Departure {
        level: last + 1,
        what: Departed::Unfinished { asked },
    })
}

/// The levels that a search asks for; not its trial, nor the drain behind them.
fn is_of_search(step: &Step) -> bool {
    step.level > 0 && !matches!(step.phase, Phase::Run | Phase::SelfCheck | Phase::Drain)
}

/// One level. A signal cuts the last one off wherever it is.
fn level_departs(
    search: &mut Search,
    record: &Record,
    step: &Step,
    is_cut_off: bool,
) -> Option<Departed> {
    let mut go = Go::On;
    let mut played = 0;
    let windows: Vec<&Window> = record.windows_of(step.level).collect();
    for window in windows {
        if go == Go::Stop || played == step.windows_max {
            return Some(Departed::Longer);
        }
        go = search.observe(window);
        played += 1;
    }
    let is_whole = go == Go::Stop || played == step.windows_max;
    let recorded = record.level_result(step.level);
    if is_cut_off {
        // Whether the signal came before or after the end of the level stands in its result.
        let ended = recorded.is_some_and(|result| result.reason != INTERRUPTED);
        if ended {
            search.finish_step();
        } else {
            search.interrupt_step();
        }
        return None;
    }
    if !is_whole {
        return Some(Departed::Shorter);
    }
    (search.finish_step().as_ref() != recorded).then_some(Departed::Result)
}
