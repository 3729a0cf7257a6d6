//! The script's own words: thresholds with what was observed, checks, requests by name, iterations and VUs.

use maud::{Markup, html};
use plimsoll_core::metrics::Check;
use plimsoll_core::threshold::Judgement;

use super::parts::{chips, folded, status, table};
use crate::format;
use crate::view::{NameRow, ScriptView, View, group_name};

/// Rows of a table that are shown before one unfolds the rest.
const SHOWN: usize = 8;

/// On the first screen, below the answer.
pub(super) fn first(view: &View) -> Markup {
    let Some(script) = &view.script else {
        return html! {};
    };
    html! {
        section {
            h2 { (heading(script)) }
            @if !script.scope.is_empty() { p.t { (script.scope) } }
            (chips(facts(script)))
            @if !script.counts.thresholds.is_empty() { (thresholds(script)) }
            @if !script.counts.checks.is_empty() { (checks(script)) }
            @if !script.counts.names.is_empty() { (names(script)) }
            @for words in script.left_out() { p.s { "Not shown: " (words) "." } }
        }
    }
}

/// Custom metrics, and below them all others.
pub(super) fn metrics(view: &View) -> Markup {
    let Some(script) = view
        .script
        .as_ref()
        .filter(|s| !s.counts.metrics.is_empty())
    else {
        return html! {};
    };
    let heads = ["<metric", "<kind", "<figures"];
    let custom: Vec<_> = script.counts.custom().collect();
    let row = |metric: &plimsoll_core::record::MetricCounts| {
        html! {
            tr {
                td.l { code { (metric.name) } }
                td.l { (metric.sink.kind().name()) }
                td.l.x { (script.figures(metric)) }
            }
        }
    };
    html! {
        section {
            h2 { "Metrics of the script" }
            @if custom.is_empty() { p.t { "The script declares none of its own." } }
            @else { (table("", &heads, html! { @for metric in &custom { (row(metric)) } })) }
            (folded(
                "Every metric",
                table("", &heads, html! { @for metric in &script.counts.metrics { (row(metric)) } }),
            ))
        }
    }
}

fn heading(script: &ScriptView) -> String {
    let all = script.counts.thresholds.len() as u64;
    let crossed = script.crossed().len() as u64;
    match (all, crossed) {
        (0, _) => "What the script says".to_owned(),
        (1, 0) => "The threshold of the script was kept".to_owned(),
        (_, 0) => format!(
            "All {} thresholds of the script were kept",
            format::count(all)
        ),
        _ => format!(
            "{} of {} of the script crossed",
            format::count(crossed),
            format::plural(all, "threshold", "thresholds")
        ),
    }
}

fn facts(script: &ScriptView) -> Vec<String> {
    let mut facts = vec![script.iterations()];
    facts.extend(script.vus());
    facts.extend(script.check_words());
    facts
}

fn thresholds(script: &ScriptView) -> Markup {
    let row = |threshold: &Judgement| {
        let (class, word) = match (threshold.ok, threshold.is_without_data) {
            (true, false) => ("pass", "✓ kept"),
            (true, true) => ("off", "– no data"),
            (false, _) => ("fail", "✕ crossed"),
        };
        html! {
            tr {
                td.l { (status(class, word)) }
                td.l { b { (script.observed(threshold)) } }
                td.l.x { code { (threshold.source) } " " (threshold.key) }
            }
        }
    };
    let rows = script.thresholds();
    table(
        "sc",
        &["<threshold", "<observed", "<bound"],
        html! { @for threshold in rows { (row(threshold)) } },
    )
}

fn checks(script: &ScriptView) -> Markup {
    let row = |check: &&Check| {
        let all = check.passes + check.fails;
        let (class, sign) = if check.fails == 0 {
            ("pass", "✓")
        } else {
            ("fail", "✕")
        };
        html! {
            tr {
                td.l.x { (status(class, sign)) " " (check.name) }
                td { (format::percent(check.passes as f64 / all.max(1) as f64)) }
                td { (format::count(check.passes)) }
                td.z[check.fails == 0] { (format::count(check.fails)) }
                td.l { (group_name(&check.group)) }
            }
        }
    };
    let heads = ["<check", "held", "passes", "fails", "<group"];
    let rows = script.checks();
    shortened(&heads, &rows, row, "checks")
}

fn names(script: &ScriptView) -> Markup {
    let row = |row: &NameRow<'_>| {
        let tally = row.tally;
        html! {
            tr {
                td.l.x { @if row.is_rest { (row.name) } @else { code { (row.name) } } }
                td.z[tally.failures() == 0] { (format::percent(row.failed_ratio())) }
                td { (format::count(tally.attempts())) }
                @for q in [0.5, 0.95, 0.99] { td { (format::quantile(tally.response_quantile(q))) } }
                td.l.x { (row.kinds()) }
            }
        }
    };
    let heads = [
        "<requests by name",
        "failed",
        "attempts",
        "p50",
        "p95",
        "p99",
        "<failures by kind",
    ];
    shortened(&heads, &script.names(), row, "names")
}

/// The first rows, and a fold with the others.
fn shortened<T>(heads: &[&str], rows: &[T], row: impl Fn(&T) -> Markup, what: &str) -> Markup {
    let (shown, others) = rows.split_at(rows.len().min(SHOWN));
    html! {
        (table("sc", heads, html! { @for one in shown { (row(one)) } }))
        @if !others.is_empty() {
            (folded(
                format!("{} more {what}", format::count(others.len() as u64)),
                table("sc", heads, html! { @for one in others { (row(one)) } }),
            ))
        }
    }
}
