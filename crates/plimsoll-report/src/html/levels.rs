//! Every level in a row: what was offered, what came of it, and the result.

use maud::{Markup, html};
use plimsoll_core::Outcome;
use plimsoll_core::step::Phase;
use plimsoll_core::verdict::LevelState;

use super::head;
use super::parts::{folded, status, table};
use crate::format;
use crate::view::{Lane, LevelView, View, phase_word};

pub(super) fn section(view: &View) -> Markup {
    if view.levels.is_empty() {
        return html! {};
    }
    let lanes = bad_lanes(view);
    let (mut judged, others): (Vec<&LevelView>, Vec<&LevelView>) = view
        .levels
        .iter()
        .partition(|level| level.is_point() || level.phase == Phase::Run);
    judged.sort_by(|a, b| a.size.total_cmp(&b.size));
    let count = format::plural(others.len() as u64, "level", "levels");
    html! {
        section {
            h2 { "Levels" }
            @if !judged.is_empty() { (levels(view, &judged, &lanes)) }
            p.s style="margin-top:6px" {
                @if view.levels.len() > 1 {
                    (head::load_sign())
                    " marks the level of the key figures, shown whole; the first windows of the others are not judged and left out. "
                }
                "Percentiles are over all attempts, a failure counts as infinitely late: " b { "never" }
                " means that more attempts failed than the percentile leaves room for. “Answers” is the p99 of the survivors, for reference only. Lag is the generator’s own lateness."
            }
            @if let Some(level) = view.deciding_level() {
                @if let Some(status) = level.status_words() {
                    p.s { "Status codes of " (level.name()) ": " (status) "." }
                }
                @for further in level.further_requests() {
                    p.s { (further) "." }
                }
            }
            @if !others.is_empty() {
                (folded(
                    format!("Warm-up, anchor, settling and recovery: {count}"),
                    levels(view, &others, &lanes),
                ))
            }
        }
    }
}

fn levels(view: &View, levels: &[&LevelView], lanes: &[Lane]) -> Markup {
    let mut heads = vec!["offered", "<phase", "<result", "sent/s", "goodput/s"];
    heads.extend(lanes.iter().map(|lane| lane.name()));
    heads.extend([
        "not good",
        "p50",
        "p95",
        "p99",
        "p99, answers",
        "service p99",
        "in flight",
        "lag p99",
    ]);
    let deciding = view.deciding_level().map(|level| level.level);
    let is_line = |level: &LevelView| deciding == Some(level.level) && view.levels.len() > 1;
    let rows = html! { @for level in levels { (row(level, lanes, is_line(level))) } };
    table("d", &heads, rows)
}

/// Lanes that are not good and occurred in any level.
fn bad_lanes(view: &View) -> Vec<Lane> {
    Lane::all()
        .filter(|lane| *lane != Lane::Good)
        .filter(|lane| view.levels.iter().any(|level| lane.count(&level.tally) > 0))
        .collect()
}

fn row(level: &LevelView, lanes: &[Lane], is_line: bool) -> Markup {
    let (sign, word) = level.result();
    let (class, word) = match level.state {
        LevelState::Pass => ("pass", word),
        LevelState::Fail => ("fail", word),
        LevelState::Undecided => ("warn", word),
        LevelState::Void => ("off", word),
        LevelState::Observed => ("off", "not judged".to_owned()),
    };
    let kind = match (is_line, level.is_void()) {
        (true, _) => Some("line"),
        (_, true) => Some("void"),
        _ => None,
    };
    let counts = lanes.iter().map(|lane| lane.count(&level.tally));
    html! {
        tr class=[kind] {
            td { @if is_line { (head::load_sign()) } " " (level.name()) }
            td.l { (phase_word(level.phase)) }
            td.l { (status(class, html! { (sign) " " (word) })) }
            td { (format::number(level.achieved_per_s)) }
            td { (format::number(level.goodput_per_s)) }
            @for count in counts { td.z[count == 0] { (format::count(count)) } }
            @for figure in figures(level) { td { (figure) } }
        }
        @if !level.reason.is_empty() {
            // A row of its own: beside the figures a sentence makes the table as wide as itself.
            tr.why {
                td {}
                td.l.s colspan=(lanes.len() + 12) { (level.reason) }
            }
        }
    }
}

fn figures(level: &LevelView) -> [String; 8] {
    let tally = &level.tally;
    [
        level
            .not_good_ratio()
            .map_or(format::ABSENT.to_owned(), format::percent),
        format::quantile(tally.response_quantile(0.5)),
        format::quantile(tally.response_quantile(0.95)),
        format::quantile(tally.response_quantile(0.99)),
        format::maybe_time(tally.class(Outcome::Ok).response.quantile(0.99)),
        format::quantile(tally.service_quantile(0.99)),
        format::number(level.in_flight_mean),
        format::maybe_time(level.lag_p99),
    ]
}
