//! Whose times are quoted, whether they were merged, and what the slowest one says.

use std::fmt::Write as _;

use plimsoll_core::verdict::{Gate, GateId, GateState};

use super::{grouped, percent, state, time};
use crate::gates::{deviation, gate, with_figures, with_note};
use crate::import::docdb::weighted;
use crate::import::figures::{Clients, Figures};

/// A share of failures above which the 95th percentile belongs to them.
const P95_ROOM: f64 = 0.05;
/// A slowest request of fewer milliseconds is no sign of a time limit.
const SLOW_MS: f64 = 5000.0;
/// How far above nearly all others it has to be.
const APART: f64 = 10.0;
/// Time limits that programs have as their defaults, in seconds.
const USUAL_LIMITS: [f64; 9] = [5.0, 10.0, 15.0, 20.0, 30.0, 45.0, 60.0, 90.0, 120.0];
/// What is cut off by a limit ends so shortly after it.
const CUT_WITHIN: f64 = 0.01;

/// Gate 8: whose percentile is quoted, and whether it can stand for the test.
pub(super) fn percentiles(figures: &Figures) -> Gate {
    let line = |state| Gate {
        name: "Percentiles".to_owned(),
        ..gate(
            GateId::Percentiles,
            state,
            "p95 of all with that of successes",
        )
    };
    let Some(all) = figures.all.percentile(95.0) else {
        let note = match figures.percentiles_per {
            Some(per) => format!(
                "the file has percentiles of each {per} and none of everything; those of parts cannot be averaged"
            ),
            None => "the file has no p95".to_owned(),
        };
        return with_note(line(GateState::Unknown), note);
    };
    let mut gate_state = GateState::Pass;
    let mut notes = Vec::new();
    let doubts: Vec<String> = [mean_above(figures, all), moving(figures)]
        .into_iter()
        .flatten()
        .collect();
    if !doubts.is_empty() {
        gate_state = GateState::Warning;
        notes.extend(doubts);
    }
    let successes = figures.successes.percentile(95.0);
    let failed = figures.failure_ratio().unwrap_or(0.0);
    if failed > 0.0 {
        let of_successes = successes
            .map(|millis| format!("; that of successful ones is {} ms", one_decimal(millis)));
        notes.push(format!(
            "the quoted p95 of {} ms is that of all requests{}",
            one_decimal(all),
            of_successes.unwrap_or_default()
        ));
    }
    if failed > P95_ROOM {
        gate_state = GateState::Fail;
        notes.push(format!(
            "over attempts, where a failure is infinitely late, p95 is never: {} failed",
            percent(failed)
        ));
    }
    let right = successes.map_or_else(|| "not in the file".to_owned(), one_decimal);
    let line = with_figures(line(gate_state), one_decimal(all), right, "none");
    with_note(line, notes.join("; "))
}

/// Few very long ones carry the mean; that is so where a target stalls at times, and no fault of the test.
fn mean_above(figures: &Figures, p95: f64) -> Option<String> {
    let mean = figures.all.mean.filter(|mean| *mean > p95)?;
    Some(format!(
        "the mean, {}, is above p95: a few very long ones carry it, which p95 does not show; quote p99.9 and the \
         slowest too",
        time(mean)
    ))
}

/// Percentiles over a load that changed are of no load.
fn moving(figures: &Figures) -> Option<String> {
    let Clients::Changing { low, high } = figures.clients else {
        return None;
    };
    let mut note = format!(
        "between {} and {} clients were at work, so the percentiles are of no one load; hold it, and measure each level",
        grouped(low as u64),
        grouped(high as u64)
    );
    let p95 = figures.windows.iter().map(|(p95, _)| *p95);
    let (least, most) = (p95.clone().reduce(f64::min), p95.reduce(f64::max));
    if let (Some(least), Some(most)) = (least, most) {
        let above = figures
            .windows
            .iter()
            .filter(|(p95, mean)| mean > p95)
            .count();
        let _infallible = write!(
            note,
            "; from one part of the test to the next p95 lies between {} and {}",
            time(least),
            time(most)
        );
        if above > 0 {
            let parts = figures.windows.len();
            let _infallible = write!(
                note,
                ", and in {above} of {parts} parts the mean is above it"
            );
        }
    }
    Some(note)
}

fn one_decimal(value: f64) -> String {
    format!("{value:.1}")
}

/// Gate 9: percentiles of several targets were merged and not averaged.
pub(super) fn merged(figures: &Figures) -> Gate {
    let compared = "p95 of everything with the mean of its parts' p95";
    let line = |state| gate(GateId::Merged, state, compared);
    let whole = figures.global.percentile(95.0);
    let mean = weighted(&figures.parts, |times| times.percentile(95.0));
    let several = whole.zip(mean).filter(|_| figures.parts.len() > 1);
    let Some((whole, mean)) = several else {
        let note = match figures.percentiles_per {
            Some(_) => "the file keeps its parts apart",
            None => "one population",
        };
        return with_note(line(GateState::NotApplicable), note);
    };
    // Parts that differ never agree so closely by chance.
    let is_averaged = deviation(whole, mean) < 2e-3;
    let line = with_figures(
        line(state(!is_averaged)),
        format!("{whole:.3}"),
        format!("{mean:.3}"),
        "0.2 %",
    );
    if is_averaged {
        return with_note(line, "the percentiles of the parts were averaged");
    }
    line
}

/// Gate 10: a slowest request far beyond all others waited for a limit. Absent where it did not.
pub(super) fn slowest(figures: &Figures) -> Option<Gate> {
    let slowest = figures.all.max.filter(|max| *max >= SLOW_MS)?;
    let nearly_all = [99.0, 95.0].map(|percent| (percent, figures.all.percentile(percent)));
    let (percent, usual) = nearly_all
        .into_iter()
        .find_map(|(percent, millis)| Some((percent, millis?)))?;
    let limit = USUAL_LIMITS.into_iter().find(|limit| {
        let over = slowest / (limit * 1e3) - 1.0;
        (0.0..=CUT_WITHIN).contains(&over)
    });
    if slowest < APART * usual && limit.is_none() {
        return None;
    }
    let compared = "the slowest request with nearly all others";
    let line = gate(GateId::Path, GateState::Warning, compared);
    let right = format!("p{percent} of {}", time(usual));
    let line = with_figures(line, time(slowest), right, "10 times");
    let what = match limit {
        Some(limit) => format!(
            "it ended at {limit} s, as a time limit would end it: name the limits of client, proxy and server, and \
             count what reaches them as failed"
        ),
        None => "a request that long waited for something that is not the work: connection attempts that are \
                 repeated after 1, 3, 7, 15 and 31 s, a full backlog, or a slot. No percentile shows it; look at \
                 connections on the path"
            .to_owned(),
    };
    Some(with_note(line, what))
}
