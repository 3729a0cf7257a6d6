//! A comparison for a pull request: what differs, the answer, a table of figures.

use plimsoll_core::comparison::{Comparison, Effect, History, Mismatch};

use super::escape;
use crate::format::quoted;
use crate::view::comparison as words;

/// The comparison under a heading of the third level.
pub fn comparison(comparison: &Comparison) -> String {
    let mut out = String::new();
    mismatches(&mut out, &comparison.mismatches);
    putln!(out, "### {}\n", escape(&words::headline(comparison)));
    for contrast in comparison.primaries() {
        putln!(
            out,
            "{} against {}: {}.\n",
            escape(&quoted(&contrast.variant)),
            escape(&quoted(&contrast.baseline)),
            escape(&contrast.because)
        );
    }
    if !comparison.contrasts.is_empty() {
        out.push_str("| figure | of | value | against | value | change | 95 % interval | p | verdict |\n|---|---|---:|---|---:|---:|---|---:|---|\n");
    }
    for contrast in &comparison.contrasts {
        let cells = [
            contrast.figure.name(),
            contrast.variant.clone(),
            words::value(contrast.figure, contrast.variant_median),
            contrast.baseline.clone(),
            words::value(contrast.figure, contrast.baseline_median),
            words::change(contrast.scale, contrast.estimate),
            words::range(contrast.scale, contrast.interval),
            words::chance(contrast.p_adjusted),
            format!(
                "{} {}",
                words::sign(contrast.standing),
                contrast.standing.word()
            ),
        ];
        putln!(out, "| {} |", cells.map(|cell| escape(&cell)).join(" | "));
    }
    out.push('\n');
    named(&mut out, comparison);
    for line in words::excluded(comparison) {
        putln!(out, "- not used: {}", escape(&line));
    }
    for remark in &comparison.remarks {
        putln!(out, "- {}", escape(remark));
    }
    out
}

/// What scripts count by name.
fn named(out: &mut String, comparison: &Comparison) {
    let rows = words::named(comparison);
    if !rows.is_empty() {
        out.push_str("| by name | figure | of | value | against | value | change | verdict |\n|---|---|---|---:|---|---:|---:|---|\n");
    }
    for named in &rows {
        let contrast = &named.contrast;
        let cells = [
            format!("{} {}", named.kind.word(), named.name),
            contrast.figure.name(),
            contrast.variant.clone(),
            words::value(contrast.figure, contrast.variant_median),
            contrast.baseline.clone(),
            words::value(contrast.figure, contrast.baseline_median),
            words::change(contrast.scale, contrast.estimate),
            contrast.standing.word().to_owned(),
        ];
        putln!(out, "| {} |", cells.map(|cell| escape(&cell)).join(" | "));
    }
    if !rows.is_empty() {
        out.push('\n');
    }
    for row in &comparison.metrics {
        let text = format!("{}: {}", row.metric, words::medians(row));
        putln!(out, "- metric {}", escape(&text));
    }
}

fn mismatches(out: &mut String, mismatches: &[Mismatch]) {
    for mismatch in mismatches {
        let mark = match mismatch.effect {
            Effect::Noted => "",
            _ => "**Warning:** ",
        };
        let (text, says) = (words::mismatch(mismatch), &mismatch.says);
        putln!(out, "> {mark}{} ({})\n>", escape(&text), escape(says));
    }
    if !mismatches.is_empty() {
        out.push('\n');
    }
}

/// Change points under a heading of the third level.
pub fn history(history: &History) -> String {
    let mut out = String::new();
    mismatches(&mut out, &history.mismatches);
    putln!(
        out,
        "### {}\n",
        escape(&words::headline_of_history(history))
    );
    for change in &history.changes {
        let text = words::change_point(change, history);
        putln!(
            out,
            "- {} {}: {}",
            words::sign(change.standing),
            change.standing.word(),
            escape(&text)
        );
    }
    for remark in &history.remarks {
        putln!(out, "- {}", escape(remark));
    }
    out
}
