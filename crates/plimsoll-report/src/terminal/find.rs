//! The block of a search: load line, knee, peak, collapse, recovery, each with bounds.

use crate::format;
use crate::ink::{Ink, Page, Role, right_aligned};
use crate::view::{Conclusion, Figure, FigureKind, LevelView, View, unbroken};

/// On fewer columns the result would be cut off: two columns make room.
const WIDE: usize = 80;

pub(super) fn block(page: &mut Page, view: &View, quiet: bool) {
    let objective = view.objective().map(|text| text.replace(", ", " and "));
    // What was interrupted found nothing: its levels are what was seen.
    let found = view.figures.iter();
    let found = found.filter(|_| view.conclusion != Conclusion::Interrupted);
    let widths = widths(found.clone());
    for figure in found {
        let leads = figure.kind == FigureKind::LoadLine;
        let mut note = figure.note.clone();
        if let (true, Some(objective)) = (leads, &objective) {
            let held = std::mem::take(&mut note);
            note.push_str(objective);
            if !held.is_empty() {
                put!(note, ", {held}");
            }
        }
        let role = if leads { Role::Bold } else { Role::Plain };
        let probed = !figure.unit.is_empty() || !figure.note.is_empty();
        let role = if probed { role } else { Role::Dim };
        // No-break spaces keep the three columns in place when the note wraps.
        let [value, bounds] = widths;
        let columns = format!("{:<value$}{:<bounds$}", figure.text(), figure.bounds);
        let columns = if note.is_empty() {
            columns.trim_end()
        } else {
            &columns
        };
        let columns = columns.replace(' ', &format::NBSP.to_string());
        page.row(
            figure.kind.short_name(),
            &Ink::new(role, columns).and(Role::Plain, note),
        );
    }
    if quiet {
        return;
    }
    let found = view
        .verdict()
        .filter(|verdict| verdict.valid)
        .map(|verdict| &verdict.found);
    if let Some(clause) = found.and_then(|found| found.binding_clause.as_deref()) {
        page.row("binding", &Ink::plain(unbroken(clause)));
    }
    levels(page, view);
}

/// Of the columns of figures and of their bounds: wider where rates have five digits and more.
fn widths<'a>(figures: impl Iterator<Item = &'a Figure>) -> [usize; 2] {
    let wider = |[value, bounds]: [usize; 2], figure: &Figure| {
        let room = |text: &str| text.chars().count() + 1;
        [
            value.max(room(&figure.text())),
            bounds.max(room(&figure.bounds)),
        ]
    };
    let bounded = figures.filter(|figure| !figure.bounds.is_empty());
    bounded.fold([9, 13], wider)
}

/// The levels in the order of the rate, as a table that fits 80 columns.
fn levels(page: &mut Page, view: &View) {
    let points = view.load_line();
    if points.is_empty() {
        return;
    }
    page.blank();
    let wide = page.width() >= WIDE;
    let mut head = vec!["offered", "goodput", "not good", "p50", "p99", "in flight"];
    if !wide {
        head.retain(|name| !matches!(*name, "p50" | "in flight"));
    }
    let head = right_aligned(&head);
    page.line(&Ink::new(Role::Dim, format!("{head}  result")));
    for level in points {
        page.line(&row(level, view, wide));
    }
}

fn row(level: &LevelView, view: &View, wide: bool) -> Ink {
    let not_good = level
        .not_good_ratio()
        .map_or_else(|| format::ABSENT.to_owned(), format::percent);
    let mut cells = vec![
        view.varied.text(level.size),
        format::rate(level.goodput_per_s),
        not_good,
    ];
    if wide {
        cells.push(format::quantile(level.tally.response_quantile(0.5)));
    }
    cells.push(format::quantile(level.tally.response_quantile(0.99)));
    if wide {
        cells.push(format::number(level.in_flight_mean));
    }
    let cells = right_aligned(&cells);
    let (sign, word) = level.result();
    let role = match sign {
        "✓" => Role::Good,
        "✕" => Role::Fail,
        "?" => Role::Warn,
        _ => Role::Dim,
    };
    let cells_role = if level.is_void() {
        Role::Dim
    } else {
        Role::Plain
    };
    let reason = if level.is_void() && !level.reason.is_empty() {
        format!(": {}", level.reason)
    } else {
        String::new()
    };
    Ink::new(cells_role, cells)
        .and(Role::Plain, "  ")
        .and(role, format!("{sign} {word}{reason}"))
}
