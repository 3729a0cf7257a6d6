//! Every level in a row: what was offered, what came of it, and the result.

use plimsoll_core::Outcome;
use plimsoll_core::step::Phase;

use super::{escape, head};
use crate::format;
use crate::view::{Lane, LevelView, View, phase_word};

pub(super) fn section(out: &mut String, view: &View) {
    if view.levels.is_empty() {
        return;
    }
    let lanes = bad_lanes(view);
    let (mut judged, others): (Vec<&LevelView>, Vec<&LevelView>) = view
        .levels
        .iter()
        .partition(|level| level.is_point() || level.phase == Phase::Run);
    judged.sort_by(|a, b| a.size.total_cmp(&b.size));
    out.push_str("<section><h2>Levels</h2>");
    if !judged.is_empty() {
        table(out, view, &judged, &lanes);
    }
    out.push_str("<p class=\"s\" style=\"margin-top:6px\">");
    if view.levels.len() > 1 {
        put!(
            out,
            "{} marks the level of the key figures, shown whole; the first windows of the others are not judged and left out. ",
            head::load_sign()
        );
    }
    out.push_str("Percentiles are over all attempts, a failure counts as infinitely late: <b>never</b> means that more attempts failed than the percentile leaves room for. “Answers” is the p99 of the survivors, for reference only. Lag is the generator’s own lateness.</p>");
    if !others.is_empty() {
        let n = format::plural(others.len() as u64, "level", "levels");
        put!(
            out,
            "<details><summary>Warm-up, anchor, settling and recovery: {n}</summary>"
        );
        table(out, view, &others, &lanes);
        out.push_str("</details>");
    }
    out.push_str("</section>");
}

fn table(out: &mut String, view: &View, levels: &[&LevelView], lanes: &[Lane]) {
    out.push_str("<div class=\"scroll\"><table class=\"d\"><thead><tr><th>offered</th><th class=\"l\">phase</th><th class=\"l\">result</th><th>sent/s</th><th>goodput/s</th>");
    for lane in lanes {
        put!(out, "<th>{}</th>", lane.name());
    }
    out.push_str("<th>not good</th><th>p50</th><th>p95</th><th>p99</th><th>p99, answers</th><th>service p99</th><th>in flight</th><th>lag p99</th></tr></thead><tbody>");
    let deciding = view.deciding_level().map(|level| level.level);
    for level in levels {
        row(
            out,
            level,
            lanes,
            deciding == Some(level.level) && view.levels.len() > 1,
        );
    }
    out.push_str("</tbody></table></div>");
}

/// Lanes that are not good and occurred in any level.
fn bad_lanes(view: &View) -> Vec<Lane> {
    Lane::all()
        .filter(|lane| *lane != Lane::Good)
        .filter(|lane| view.levels.iter().any(|level| lane.of(&level.tally) > 0))
        .collect()
}

fn row(out: &mut String, level: &LevelView, lanes: &[Lane], line: bool) {
    let class = match (line, level.is_void()) {
        (true, _) => " class=\"line\"",
        (_, true) => " class=\"void\"",
        _ => "",
    };
    let mark = if line {
        head::load_sign()
    } else {
        String::new()
    };
    let (sign, word) = level.result();
    let word = if sign == "·" {
        "not judged".to_owned()
    } else {
        word
    };
    let result = match sign {
        "✓" => "pass",
        "✕" => "fail",
        "?" => "warn",
        _ => "off",
    };
    put!(
        out,
        "<tr{class}><td>{mark} {}</td><td class=\"l\">{}</td><td class=\"l\"><span class=\"{result}\">{sign} {}</span></td><td>{}</td><td>{}</td>",
        escape(&level.name()),
        phase_word(level.phase),
        escape(&word),
        format::number(level.achieved_per_s),
        format::number(level.goodput_per_s)
    );
    for lane in lanes {
        let n = lane.of(&level.tally);
        let quiet = if n == 0 { " class=\"z\"" } else { "" };
        put!(out, "<td{quiet}>{}</td>", format::count(n));
    }
    let tally = &level.tally;
    let not_good = level
        .not_good_ratio()
        .map_or(format::ABSENT.to_owned(), format::percent);
    let cells = [
        not_good,
        format::quantile(tally.response_quantile(0.5)),
        format::quantile(tally.response_quantile(0.95)),
        format::quantile(tally.response_quantile(0.99)),
        format::maybe_time(tally.class(Outcome::Ok).response.quantile(0.99)),
        format::quantile(tally.service_quantile(0.99)),
        format::number(level.in_flight_mean),
        format::maybe_time(level.lag_p99),
    ];
    for cell in cells {
        put!(out, "<td>{}</td>", escape(&cell));
    }
    out.push_str("</tr>");
    if !level.reason.is_empty() {
        // A row of its own: beside the figures a sentence makes the table as wide as itself.
        put!(
            out,
            "<tr class=\"why\"><td></td><td class=\"l s\" colspan=\"{}\">{}</td></tr>",
            lanes.len() + 12,
            escape(&level.reason)
        );
    }
}
