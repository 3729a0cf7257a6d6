//! What was done in a summary: operations or requests, databases, and what was found stored.

use super::table::Columns;
use crate::format;
use crate::ink::{Ink, Page, Role};
use crate::view::{DATABASE_HEADS, DatabaseRow, MixView, View};

/// Of requests, and of databases; the report has all of them.
const SHOWN: usize = 12;
/// Letters of the name of a request.
const NAME_MOST: usize = 32;
const WIDTHS: [usize; 7] = [16, 12, 12, 10, 12, 12, 12];

pub(super) fn block(page: &mut Page, view: &View) {
    let Some(mix) = &view.mix else {
        return;
    };
    let rows: Vec<_> = mix
        .operations
        .iter()
        .take(SHOWN)
        .map(|row| {
            let mut cells = mix.operation_cells(row);
            cells[0] = format::shortened(&cells[0], NAME_MOST);
            cells
        })
        .collect();
    table(page, &mix.operation_heads(), &rows, &[2, 4]);
    more(page, mix.operations.len());
    for (operation, tally) in &mix.operations {
        let kinds = MixView::kinds(tally);
        if !kinds.is_empty() {
            let ink = Ink::new(Role::Fail, "✕ ").and(Role::Plain, format!("{operation}: {kinds}"));
            page.row("", &ink);
        }
    }
    let rows: Vec<_> = mix
        .databases
        .iter()
        .take(SHOWN)
        .map(DatabaseRow::cells)
        .collect();
    table(page, &DATABASE_HEADS, &rows, &[4, 5, 6]);
    more(page, mix.databases.len());
    if let Some((is_whole, words)) = mix.verified_words() {
        page.blank();
        let (role, sign) = if is_whole {
            (Role::Good, "✓ ")
        } else {
            (Role::Fail, "✕ ")
        };
        page.row("stored", &Ink::new(role, sign).and(Role::Plain, words));
    }
}

fn more(page: &mut Page, count: usize) {
    if count > SHOWN {
        let more = format!("and {} more in the report", count - SHOWN);
        page.line(&Ink::new(Role::Dim, more));
    }
}

fn table(page: &mut Page, heads: &[&str; 7], rows: &[[String; 7]], dropped_first: &[usize]) {
    if rows.is_empty() {
        return;
    }
    page.blank();
    let heads = heads.map(|head| head.trim_start_matches('<').to_owned());
    let all: Vec<&[String]> = std::iter::once(&heads[..])
        .chain(rows.iter().map(|row| &row[..]))
        .collect();
    let columns = Columns::fit(&all, &WIDTHS, page.room(), dropped_first);
    for (index, row) in all.into_iter().enumerate() {
        let mut line = String::new();
        for (column, cell, width) in columns.of(row) {
            if column == 0 {
                put!(line, "{cell:<width$}");
            } else {
                put!(line, "{cell:>width$}");
            }
        }
        let role = if index == 0 { Role::Dim } else { Role::Plain };
        page.line(&Ink::new(role, line));
    }
}
