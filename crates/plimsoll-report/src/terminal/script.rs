//! The script's own words in a summary: thresholds, checks, names and what it counted.

use crate::format;
use crate::ink::{Ink, Page, Role};
use crate::view::{View, group_name};

/// Rows of each kind; the report has all of them.
const SHOWN: usize = 6;

pub(super) fn block(page: &mut Page, view: &View) {
    let Some(script) = &view.script else {
        return;
    };
    page.blank();
    if !script.scope.is_empty() {
        page.paragraph(&Ink::new(Role::Dim, script.scope.trim_end()));
    }
    for (index, threshold) in script.thresholds().into_iter().enumerate() {
        let (role, word) = if threshold.ok {
            (Role::Good, "✓\u{a0}kept ")
        } else {
            (Role::Fail, "✕\u{a0}crossed ")
        };
        let (key, source) = (
            format::clean(&threshold.key),
            format::clean(&threshold.source),
        );
        let observed = script.observed(threshold);
        let ink =
            Ink::new(role, word).and(Role::Plain, format!("{key} {source}, observed {observed}"));
        page.row(if index == 0 { "thresholds" } else { "" }, &ink);
    }
    checks(page, view);
    names(page, view);
    let vus = script.vus().map(|vus| format!("; {vus}"));
    let words = format!("{}{}", script.iterations(), vus.unwrap_or_default());
    page.row("iterations", &Ink::plain(words));
    for fault in view
        .verdict()
        .iter()
        .flat_map(|verdict| &verdict.script_faults)
    {
        let text = format::clean(&fault.to_string());
        page.row(
            "script says",
            &Ink::new(Role::Fail, "✕ ").and(Role::Plain, text),
        );
    }
}

fn checks(page: &mut Page, view: &View) {
    let Some(script) = &view.script else {
        return;
    };
    if let Some(words) = script.check_words() {
        page.row("checks", &Ink::plain(words));
    }
    let failing = script.checks().into_iter().filter(|check| check.fails > 0);
    for check in failing.take(SHOWN) {
        let all = check.passes + check.fails;
        let text = format!(
            "{} of {}: {} of {} failed",
            format::clean(&check.name),
            format::clean(&group_name(&check.group)),
            format::count(check.fails),
            format::count(all)
        );
        page.row("", &Ink::new(Role::Fail, "✕ ").and(Role::Plain, text));
    }
}

fn names(page: &mut Page, view: &View) {
    let Some(script) = &view.script else {
        return;
    };
    let rows = script.names();
    for (index, row) in rows.iter().take(SHOWN).enumerate() {
        let kinds = row.kinds();
        let failed = if kinds.is_empty() {
            "none failed".to_owned()
        } else {
            format!("{} failed ({kinds})", format::percent(row.failed_ratio()))
        };
        let text = format!(
            "  {}; {failed}; p95 {}",
            format::plural(row.tally.attempts(), "attempt", "attempts"),
            format::quantile(row.tally.response_quantile(0.95))
        );
        let name = Ink::plain(format::clean(&row.name));
        page.row(
            if index == 0 { "names" } else { "" },
            &name.and(Role::Dim, text),
        );
    }
    if rows.len() > SHOWN {
        let more = format!("and {} more in the report", rows.len() - SHOWN);
        page.row("", &Ink::new(Role::Dim, more));
    }
}
