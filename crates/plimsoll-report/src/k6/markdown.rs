//! A scripted test in Markdown: for a pull request, or as a GitHub step summary.

use plimsoll_core::metrics::{BuiltIn, Sink};

use super::Results;
use super::text::judged_figure;
use super::value::{figure, percent, plain};
use crate::format::clean;

/// Verdict, thresholds, checks that failed, and the figures that people ask for first.
pub fn markdown(results: &Results<'_>, name: &str) -> String {
    let mut page = String::new();
    let verdict = match (results.passed(), results.judgements.is_empty()) {
        (_, true) => "no thresholds",
        (true, _) => "✓ passed",
        (false, _) => "✗ failed",
    };
    putln!(page, "### {}: {verdict}\n", inline(name));
    thresholds(&mut page, results);
    checks(&mut page, results);
    figures(&mut page, results);
    page
}

fn thresholds(page: &mut String, results: &Results<'_>) {
    if results.judgements.is_empty() {
        return;
    }
    page.push_str("| | metric | threshold | value |\n|---|---|---|---|\n");
    for judgement in results.judgements {
        putln!(
            page,
            "| {} | {} | {} | {} |",
            if judgement.ok { "✓" } else { "✗" },
            code(&judgement.key),
            code(&judgement.source),
            inline(&judged_figure(results, judgement))
        );
    }
    page.push('\n');
}

fn checks(page: &mut String, results: &Results<'_>) {
    let checks = results.store.checks();
    if checks.is_empty() {
        return;
    }
    let held: u64 = checks.iter().map(|check| check.passes).sum();
    let broken: u64 = checks.iter().map(|check| check.fails).sum();
    let share = percent(held as f64 / (held + broken).max(1) as f64);
    putln!(page, "Checks: {share}, {held} of {} held.\n", held + broken);
    let failing = checks.iter().filter(|check| check.fails > 0);
    for check in failing {
        let share = percent(check.passes as f64 / (check.passes + check.fails) as f64);
        let group = if check.group.is_empty() { "" } else { " in " };
        putln!(
            page,
            "- ✗ {}{group}{}: {share}, {} failed",
            inline(&check.name),
            inline(&check.group),
            check.fails
        );
    }
    if broken > 0 {
        page.push('\n');
    }
}

/// Rows of the last table: what is asked for first, where it was counted.
const FIRST: [BuiltIn; 6] = [
    BuiltIn::HttpReqs,
    BuiltIn::HttpReqFailed,
    BuiltIn::HttpReqDuration,
    BuiltIn::Iterations,
    BuiltIn::DroppedIterations,
    BuiltIn::VusMax,
];

fn figures(page: &mut String, results: &Results<'_>) {
    let shown = FIRST.map(|metric| results.store.metric(metric.into()));
    let shown: Vec<_> = shown
        .into_iter()
        .filter(|(_, sink)| !sink.is_empty())
        .collect();
    if shown.is_empty() {
        return;
    }
    page.push_str("| metric | |\n|---|---|\n");
    for (metric, sink) in shown {
        let unit = |value: f64| figure(value, metric.contains, results.unit);
        let cell = match sink {
            Sink::Counter(counter) => format!(
                "{}, {}/s",
                unit(counter.sum()),
                unit(counter.per_s(results.elapsed))
            ),
            Sink::Gauge(gauge) => unit(gauge.max()),
            Sink::Rate(rate) => {
                format!(
                    "{}, {} of {}",
                    percent(rate.ratio()),
                    rate.passes,
                    rate.total
                )
            }
            Sink::Trend(_) => {
                let figures = results.figures(sink).into_iter();
                let cells: Vec<String> = figures
                    .map(|(name, value)| match &*name {
                        "count" => format!("count {}", plain(value)),
                        _ => format!("{name} {}", unit(value)),
                    })
                    .collect();
                cells.join(", ")
            }
        };
        putln!(page, "| {} | {cell} |", code(&metric.name));
    }
}

/// Text that stays in its cell and means nothing to Markdown or HTML.
fn inline(text: &str) -> String {
    let mut safe = String::new();
    for letter in clean(text).chars() {
        match letter {
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            '|' | '*' | '_' | '`' | '[' | ']' | '\\' | '#' => {
                safe.push('\\');
                safe.push(letter);
            }
            other => safe.push(other),
        }
    }
    safe
}

fn code(text: &str) -> String {
    let text = clean(text).replace('`', "'").replace('|', "\\|");
    format!("`{text}`")
}
