//! Names what gives way first, from the record alone, and says how sure that is.
//!
//! ```text
//! facts ──▶ saturation ──▶ case ──▶ cause ──▶ limit ──▶ resource, advice      confirm, predict
//! what was   where it had   tiers,   one test   which one,  what is full next,   what another variant
//! seen       given way      high     each, with  how sure   what to change       says, or would say
//!                           and low  figures
//! ```
//! A cause is `supported` by two independent signals and `suspected` by one; only an experiment makes it
//! `confirmed`. Names of tiers, processes and threads are shown and never weighed.

mod advice;
mod alike;
mod case;
mod cause;
mod confirm;
mod finding;
mod limit;
mod predict;
mod resource;
mod ruled_out;
mod saturation;
mod script;

use plimsoll_core::outcome::Outcome;
use plimsoll_core::record::Record;
use plimsoll_core::units::{percent, three_digits};
use plimsoll_core::verdict::{
    Advice, Cause, Confidence, Evidence, LevelState, Limit, NextLimit, Resource, ScriptFault,
    SearchResult, Signal, Verdict,
};

use crate::facts::level::{Level, constant_rate, is_steady, levels};
use crate::facts::tick::{Tick, ticks};
use alike::alike;
use case::Case;
pub use confirm::{Knob, knobs};
pub(crate) use confirm::{confirm, lifted};
pub use predict::{PlannedTier, Predicted, capacity, predict};
use saturation::{Saturation, Sign, late_beyond, saturation};

/// What gives way first, what next, how full everything is, and what to change.
#[derive(Debug, Clone, PartialEq)]
pub struct Explanation {
    pub limit: Limit,
    pub next_limit: Option<NextLimit>,
    pub resources: Vec<Resource>,
    pub advice: Vec<Advice>,
}

/// Reads levels, windows, observations and objectives of `record`; `found` is what the search knows
/// so far (empty after a plain run). Never fails: what the figures do not carry is `unknown`.
pub fn explain(record: &Record, found: &SearchResult) -> Explanation {
    let levels = levels(record);
    let ticks = ticks(record, &levels);
    let (saturated, held) = saturation(&levels, found);
    let Some(saturated) = saturated else {
        let named = not_reached(record, &levels, held);
        // What was answered too late was carried all the same.
        let carried = late_beyond(&levels, held).map_or(held, |late| late.served);
        return without_saturation(record, &levels, &ticks, found, carried, named);
    };
    let case = Case::new(record, &levels, &ticks, &saturated, found);
    let findings = cause::findings(&case);
    if let Some(alike) = alike(&levels, &saturated)
        && !findings
            .iter()
            .any(|finding| finding.cause == Cause::Stalls)
    {
        let named = (Cause::NotReached, alike.text());
        return without_saturation(record, &levels, &ticks, found, saturated.peak, named);
    }
    let (limit, covered) = limit::choose(&case, findings);
    let resources = resource::resources(&case);
    let next_limit = limit::full_behind_slots(&limit, &covered, saturated.peak)
        .or_else(|| resource::next_limit(&case, &limit, &resources, saturated.peak));
    let advice = advice::advice(&case, record, &limit, next_limit.as_ref());
    Explanation {
        limit,
        next_limit,
        resources,
        advice,
    }
}

/// What a script itself calls wrong: crossed thresholds, failing checks and names; empty where no script played.
pub fn script_faults(record: &Record, verdict: &Verdict) -> Vec<ScriptFault> {
    let judged = record.script_of(&record.deciding_levels(verdict));
    script::faults(record, judged.as_ref())
}

/// What is said in the place of a limit that was not met. It is *not reached* only where nothing above was left open.
fn not_reached(record: &Record, levels: &[Level], held: f64) -> (Cause, String) {
    if levels.is_empty() {
        return (Cause::NotReached, "no level was measured".to_owned());
    }
    let before = if held > 0.0 {
        format!("held up to {}/s", three_digits(held))
    } else {
        "no load was held".to_owned()
    };
    if let Some(late) = late_beyond(levels, held) {
        let text = format!(
            "{before}; {}/s were answered, but later than the objective allows; find, or a run at other loads, tells \
             whether that depends on the load",
            three_digits(late.offered)
        );
        (Cause::Unknown, text)
    } else if held <= 0.0 {
        (Cause::Unknown, nothing_held(levels))
    } else if let Some((rate, state)) = open_question(record, held) {
        let rate = three_digits(rate);
        let text = match state {
            LevelState::Void => format!(
                "{before}; {rate}/s was not judged, because the generator itself was held up there: search again"
            ),
            LevelState::Fail => format!(
                "{before}; {rate}/s failed, but one level alone may have met a disturbance: a longer search tells"
            ),
            _ => format!(
                "{before}; {rate}/s was watched for too short a time to judge it: a longer search tells"
            ),
        };
        (Cause::Unknown, text)
    } else {
        let text = format!("{before}; no level beyond it gave way");
        (Cause::NotReached, text)
    }
}

/// The highest rate above all that was held that failed, or that nobody could judge.
fn open_question(record: &Record, held: f64) -> Option<(f64, LevelState)> {
    let is_open = |state| {
        matches!(
            state,
            LevelState::Fail | LevelState::Undecided | LevelState::Void
        )
    };
    let results = record.level_results.iter();
    let open = results.filter(|result| is_open(result.state));
    let rates = open.filter_map(|result| {
        let step = &record.level(result.level)?.step;
        let rate = constant_rate(step.load).filter(|_| is_steady(step.phase))?;
        (rate > held).then_some((rate, result.state))
    });
    rates.max_by(|a, b| a.0.total_cmp(&b.0))
}

/// Without saturation there is no limit to name, but demand per request and where it would end.
fn without_saturation(
    record: &Record,
    levels: &[Level],
    ticks: &[Tick],
    found: &SearchResult,
    carried: f64,
    (cause, text): (Cause, String),
) -> Explanation {
    let by_rate = |index: &usize| levels.get(*index).map_or(0.0, |level| level.served);
    let highest = (0..levels.len()).max_by(|a, b| by_rate(a).total_cmp(&by_rate(b)));
    // The highest level plays the saturated one's part: shares are taken there.
    let pretended = Saturation {
        sign: Sign::Throughput,
        high: highest.into_iter().collect(),
        low: (0..levels.len()).filter(|i| Some(*i) != highest).collect(),
        peak: carried,
    };
    let case = Case::new(record, levels, ticks, &pretended, found);
    let resources = resource::resources(&case);
    let limit = Limit {
        cause,
        tier: None,
        process: None,
        confidence: Confidence::Unknown,
        ceiling_per_s: None,
        evidence: vec![Evidence {
            signal: Signal::Throughput,
            text,
        }],
        ruled_out: Vec::new(),
    };
    Explanation {
        next_limit: resource::next_limit(&case, &limit, &resources, carried),
        limit,
        resources,
        advice: Vec::new(),
    }
}

/// Why no rate was held, where too little was seen to say that the system gave way.
fn nothing_held(levels: &[Level]) -> String {
    let failures = |level: &&Level| level.tally.failures();
    let Some(level) = levels.iter().max_by_key(failures) else {
        return String::new();
    };
    let (failed, attempts) = (level.tally.failures(), level.tally.decided());
    let wrong = level.tally.class(Outcome::CheckFailed).count;
    if 2 * wrong > failed {
        let share = percent(wrong as f64 / attempts.max(1) as f64);
        return format!(
            "no load was held: checks of the script fail for {wrong} of {attempts} attempts ({share}); find, or a \
             run at another load, tells whether that depends on the load"
        );
    }
    let what = if failed > 0 {
        let share = percent(failed as f64 / attempts.max(1) as f64);
        format!("no load was held: {failed} of {attempts} attempts failed ({share})")
    } else {
        let served = three_digits(level.served);
        format!(
            "no load was held: {served}/s were answered of {}/s offered",
            three_digits(level.offered)
        )
    };
    what + ", too few to say what gave way; a longer run would tell"
}

#[cfg(test)]
mod tests;
