//! The script's own words in Markdown: thresholds, failing checks, requests by name.

use super::escape;
use crate::format;
use crate::view::{ScriptView, View, group_name};

/// Names that are shown; a pull request is no place for a hundred.
const NAMES: usize = 10;

pub(super) fn section(out: &mut String, view: &View) {
    let Some(script) = &view.script else {
        return;
    };
    if !script.scope.is_empty() {
        putln!(out, "{}\n", escape(script.scope.trim_end()));
    }
    if !script.counts.thresholds.is_empty() {
        out.push_str("| threshold | metric | bound | observed |\n|---|---|---|---:|\n");
        for threshold in script.thresholds() {
            let word = if threshold.ok {
                "✓ kept"
            } else {
                "✕ crossed"
            };
            let observed = script.observed(threshold);
            let cells = [word, &threshold.key, &threshold.source, &observed].map(escape);
            putln!(out, "| {} |", cells.join(" | "));
        }
        out.push('\n');
    }
    for check in script.checks().into_iter().filter(|check| check.fails > 0) {
        putln!(
            out,
            "- ✕ {} of {}: {} of {} failed",
            escape(&check.name),
            escape(&group_name(&check.group)),
            format::count(check.fails),
            format::count(check.passes + check.fails)
        );
    }
    let mut words = vec![script.iterations()];
    words.extend(script.vus());
    words.extend(script.check_words());
    putln!(out, "\n{}\n", escape(&words.join("; ")));
    names(out, view);
}

fn names(out: &mut String, view: &View) {
    let rows = view.script.as_ref().map(ScriptView::names);
    let rows = rows.unwrap_or_default();
    if rows.is_empty() {
        return;
    }
    out.push_str("| requests by name | attempts | failed | p50 | p95 | p99 |\n|---|---:|---:|---:|---:|---:|\n");
    for row in rows.iter().take(NAMES) {
        let times = [0.5, 0.95, 0.99].map(|q| format::quantile(row.tally.response_quantile(q)));
        putln!(
            out,
            "| {} | {} | {} | {} |",
            escape(&row.name),
            format::count(row.tally.attempts()),
            format::percent(row.failed_ratio()),
            times.join(" | ")
        );
    }
    if rows.len() > NAMES {
        putln!(
            out,
            "| {} more rows in the report | | | | | |",
            rows.len() - NAMES
        );
    }
    out.push('\n');
}
