//! Plays a search on anything that can play a step, and tells an observer what happens.

use plimsoll_core::step::{Go, Step, StepError, StepRunner};
use plimsoll_core::verdict::{LevelResult, SearchResult};
use plimsoll_core::{Nanos, Window};

use super::Search;

/// Writes the record, draws the progress.
pub trait Observer {
    /// A level begins; `time_left` is the time until the printed end of the search.
    fn level_start(&mut self, step: &Step, time_left: Nanos) -> Result<(), StepError>;
    fn window(&mut self, window: &Window) -> Result<(), StepError>;
    fn level_end(&mut self, result: &LevelResult) -> Result<(), StepError>;
}

/// Plays every step to the end of the search. After an error, what was found so far is in
/// [`Search::found`]; the level under way is ended and reported first.
pub fn drive(
    search: &mut Search,
    runner: &mut dyn StepRunner,
    observer: &mut dyn Observer,
) -> Result<SearchResult, StepError> {
    while let Some(step) = search.next_step() {
        observer.level_start(&step, search.time_left())?;
        let mut failed = None;
        let played = runner.play(&step, &mut |window| {
            if let Err(error) = observer.window(window) {
                failed = Some(error);
                return Go::Stop;
            }
            search.observe(window)
        });
        let result = if played.is_err() || failed.is_some() {
            search.interrupt_step()
        } else {
            search.finish_step()
        };
        if let Some(result) = result {
            observer.level_end(&result)?;
        }
        if let Some(error) = failed {
            return Err(error);
        }
        played?;
    }
    Ok(search.found())
}
