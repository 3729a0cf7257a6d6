//! What a workload did in a summary: operations, databases, and what was found stored.

use super::table::Columns;
use crate::ink::{Ink, Page, Role};
use crate::view::{DATABASE_HEADS, DatabaseRow, OPERATION_HEADS, StoreView, View};

/// Databases of each kind; the report has all of them.
const SHOWN: usize = 12;
const WIDTHS: [usize; 7] = [16, 12, 12, 10, 12, 12, 12];

pub(super) fn block(page: &mut Page, view: &View) {
    let Some(store) = &view.store else {
        return;
    };
    let rows: Vec<_> = store
        .operations
        .iter()
        .map(|row| store.operation_cells(row))
        .collect();
    table(page, &OPERATION_HEADS, &rows, &[2, 4]);
    for (operation, tally) in &store.operations {
        let kinds = StoreView::kinds(tally);
        if !kinds.is_empty() {
            let ink = Ink::new(Role::Fail, "✕ ")
                .and(Role::Plain, format!("{}: {kinds}", operation.name()));
            page.row("", &ink);
        }
    }
    let rows: Vec<_> = store
        .databases
        .iter()
        .take(SHOWN)
        .map(DatabaseRow::cells)
        .collect();
    table(page, &DATABASE_HEADS, &rows, &[4, 5, 6]);
    if store.databases.len() > SHOWN {
        let more = format!("and {} more in the report", store.databases.len() - SHOWN);
        page.line(&Ink::new(Role::Dim, more));
    }
    if let Some((is_whole, words)) = store.verified_words() {
        page.blank();
        let (role, sign) = if is_whole {
            (Role::Good, "✓ ")
        } else {
            (Role::Fail, "✕ ")
        };
        page.row("stored", &Ink::new(role, sign).and(Role::Plain, words));
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
