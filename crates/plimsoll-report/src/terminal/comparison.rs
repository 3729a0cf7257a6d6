//! A comparison, or a history of runs, on the terminal: what differs first, then the answer.

use plimsoll_core::comparison::{Comparison, Contrast, Effect, History, Mismatch, Standing};

use super::Style;
use super::table::Columns;
use crate::format;
use crate::ink::{Ink, Page, Role};
use crate::view::comparison as words;

/// Columns of the table: figure, verdict, baseline, variant, change, interval, p.
const WIDTHS: [usize; 7] = [24, 13, 9, 10, 13, 22, 7];
/// On a page that has no room for all: the interval says what p does.
const DROPPED_FIRST: [usize; 3] = [6, 2, 3];

/// The whole page, ending in a line break.
pub fn comparison(comparison: &Comparison, style: &Style) -> String {
    let mut page = Page::new(style.colour, style.width);
    page.blank();
    mismatches(&mut page, &comparison.mismatches);
    page.paragraph(&Ink::new(Role::Bold, words::headline(comparison)));
    for contrast in comparison.primaries() {
        page.paragraph(&Ink::new(role(contrast.standing), &contrast.because));
    }
    page.blank();
    tables(&mut page, comparison);
    named(&mut page, comparison);
    if !comparison.load.is_empty() {
        page.row("load", &Ink::plain(&comparison.load));
    }
    if let Some(objective) = &comparison.objective {
        page.row("objective", &Ink::plain(objective));
    }
    for line in words::excluded(comparison) {
        page.row("not used", &Ink::new(Role::Warn, line));
    }
    for remark in &comparison.remarks {
        page.row("note", &Ink::plain(remark));
    }
    super::shared::paths(&mut page, None, style);
    page.finish()
}

fn mismatches(page: &mut Page, mismatches: &[Mismatch]) {
    for mismatch in mismatches {
        let role = match mismatch.effect {
            Effect::Noted => Role::Dim,
            Effect::Confounds => Role::Warn,
            Effect::Withholds | Effect::Incomparable => Role::Fail,
        };
        let ink = Ink::plain(words::mismatch(mismatch)).and(role, format!(" ({})", mismatch.says));
        page.row("differs", &ink);
    }
    if !mismatches.is_empty() {
        page.blank();
    }
}

/// A table for every two variants.
fn tables(page: &mut Page, comparison: &Comparison) {
    let mut done: Vec<(&str, &str)> = Vec::new();
    for contrast in &comparison.contrasts {
        let pair = (contrast.baseline.as_str(), contrast.variant.as_str());
        if done.contains(&pair) {
            continue;
        }
        done.push(pair);
        let head = [
            "",
            "verdict",
            pair.0,
            pair.1,
            "change",
            "95 % interval",
            "p",
        ];
        let of_pair = comparison
            .contrasts
            .iter()
            .filter(|contrast| (contrast.baseline.as_str(), contrast.variant.as_str()) == pair);
        let figures: Vec<(Role, [String; 7])> = of_pair
            .map(|contrast| (role(contrast.standing), cells(contrast)))
            .collect();
        let head = head.map(str::to_owned);
        let rows = [&head[..]].into_iter();
        let rows: Vec<&[String]> = rows
            .chain(figures.iter().map(|(_, row)| &row[..]))
            .collect();
        let columns = Columns::fit(&rows, &WIDTHS, page.room(), &DROPPED_FIRST);
        page.line(&row(&columns, &head, Role::Dim, Role::Dim));
        for (verdict, cells) in &figures {
            page.line(&row(&columns, cells, Role::Plain, *verdict));
        }
        page.blank();
    }
}

/// Rows by name that are shown: those that differ come first.
const NAMED: usize = 12;

/// What scripts count by name.
fn named(page: &mut Page, comparison: &Comparison) {
    let rows = words::named(comparison);
    for (index, named) in rows.iter().take(NAMED).enumerate() {
        let contrast = &named.contrast;
        let text = format!(
            "{} {}: {} → {}, {} ",
            format::clean(&named.name),
            contrast.figure.name(),
            words::value(contrast.figure, contrast.baseline_median),
            words::value(contrast.figure, contrast.variant_median),
            words::change(contrast.scale, contrast.estimate),
        );
        let ink = Ink::plain(text).and(role(contrast.standing), contrast.standing.word());
        page.row(if index == 0 { "by name" } else { "" }, &ink);
    }
    if rows.len() > NAMED {
        let more = format!("and {} more with --format json", rows.len() - NAMED);
        page.row("", &Ink::new(Role::Dim, more));
    }
    for (index, row) in comparison.metrics.iter().enumerate() {
        let text = format!("{}: {}", format::clean(&row.metric), words::medians(row));
        page.row(if index == 0 { "metrics" } else { "" }, &Ink::plain(text));
    }
    if !rows.is_empty() || !comparison.metrics.is_empty() {
        page.blank();
    }
}

fn cells(contrast: &Contrast) -> [String; 7] {
    [
        contrast.figure.name(),
        contrast.standing.word().to_owned(),
        words::value(contrast.figure, contrast.baseline_median),
        words::value(contrast.figure, contrast.variant_median),
        words::change(contrast.scale, contrast.estimate),
        words::range(contrast.scale, contrast.interval),
        words::chance(contrast.p_adjusted),
    ]
}

/// Cells in their columns, words to the left and numbers to the right.
fn row(columns: &Columns, cells: &[String; 7], role: Role, verdict: Role) -> Ink {
    let mut ink = Ink::default();
    for (index, cell, width) in columns.of(cells) {
        ink = match index {
            0 => ink.and(role, format!("{cell:<width$}")),
            1 => ink.and(verdict, format!("{cell:<width$}")),
            _ => ink.and(role, format!("{cell:>width$}")),
        };
    }
    ink
}

const fn role(standing: Standing) -> Role {
    match standing {
        Standing::Better => Role::Good,
        Standing::Worse => Role::Fail,
        Standing::Equivalent => Role::Plain,
        Standing::Inconclusive => Role::Warn,
    }
}

/// Change points over a row of runs.
pub fn history(history: &History, style: &Style) -> String {
    let mut page = Page::new(style.colour, style.width);
    page.blank();
    mismatches(&mut page, &history.mismatches);
    page.paragraph(&Ink::new(Role::Bold, words::headline_of_history(history)));
    page.blank();
    for change in &history.changes {
        let ink = Ink::new(role(change.standing), change.standing.word()).and(
            Role::Plain,
            format!(" {}", words::change_point(change, history)),
        );
        page.row("change", &ink);
    }
    if !history.changes.is_empty() {
        page.blank();
    }
    for (index, moment) in history.moments.iter().enumerate() {
        let starts = history
            .changes
            .iter()
            .any(|change| change.first_index == index);
        let ink = Ink::plain(format!(
            "{} {:>12}  {}  ",
            if starts { "→" } else { " " },
            words::value(history.figure, moment.value),
            moment.started_at
        ))
        .and(Role::Dim, &moment.name);
        page.line(&ink);
    }
    for remark in &history.remarks {
        page.row("note", &Ink::plain(remark));
    }
    page.finish()
}
