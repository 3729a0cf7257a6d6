//! What was done in Markdown: operations or requests, databases, and what was found stored.

use super::escape;
use crate::view::{DATABASE_HEADS, DatabaseRow, View};

pub(super) fn section(out: &mut String, view: &View) {
    let Some(mix) = &view.mix else {
        return;
    };
    let rows: Vec<_> = mix
        .operations
        .iter()
        .map(|row| mix.operation_cells(row))
        .collect();
    table(out, &mix.operation_heads(), &rows);
    let rows: Vec<_> = mix.databases.iter().map(DatabaseRow::cells).collect();
    if !rows.is_empty() {
        table(out, &DATABASE_HEADS, &rows);
    }
    if let Some((_, words)) = mix.verified_words() {
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
