//! What a workload did in Markdown: operations, databases, and what was found stored.

use super::escape;
use crate::view::{DATABASE_HEADS, DatabaseRow, OPERATION_HEADS, View};

pub(super) fn section(out: &mut String, view: &View) {
    let Some(store) = &view.store else {
        return;
    };
    let rows: Vec<_> = store
        .operations
        .iter()
        .map(|row| store.operation_cells(row))
        .collect();
    table(out, &OPERATION_HEADS, &rows);
    let rows: Vec<_> = store.databases.iter().map(DatabaseRow::cells).collect();
    table(out, &DATABASE_HEADS, &rows);
    if let Some((_, words)) = store.verified_words() {
        putln!(out, "Read once after the load: {}.\n", escape(&words));
    }
}

fn table(out: &mut String, heads: &[&str; 7], rows: &[[String; 7]]) {
    let heads = heads.map(|head| head.trim_start_matches('<'));
    putln!(
        out,
        "| {} |\n|---|---:|---:|---:|---:|---:|---:|",
        heads.join(" | ")
    );
    for row in rows {
        let cells: Vec<String> = row.iter().map(|cell| escape(cell)).collect();
        putln!(out, "| {} |", cells.join(" | "));
    }
    out.push('\n');
}
