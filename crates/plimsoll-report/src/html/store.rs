//! What a workload did: operations, databases, and what was found stored.

use maud::{Markup, html};

use super::parts::{status, table};
use crate::view::{DATABASE_HEADS, OPERATION_HEADS, StoreView, View};

pub(super) fn section(view: &View) -> Markup {
    let Some(store) = &view.store else {
        return html! {};
    };
    let mut operation_heads = OPERATION_HEADS.to_vec();
    operation_heads.push("<failures by kind");
    let operations = html! {
        @for row in &store.operations {
            tr { (cells(&store.operation_cells(row))) td.l.x { (StoreView::kinds(&row.1)) } }
        }
    };
    let databases = html! {
        @for row in &store.databases { tr { (cells(&row.cells())) } }
    };
    html! {
        section {
            h2 { "The store" }
            (table("sc", &operation_heads, operations))
            (table("sc", &DATABASE_HEADS, databases))
            @if let Some((is_whole, words)) = store.verified_words() {
                p.t {
                    @if is_whole { (status("pass", "✓")) } @else { (status("fail", "✕")) }
                    " Read once after the load: " (words) "."
                }
            }
        }
    }
}

fn cells(cells: &[String; 7]) -> Markup {
    let [name, figures @ ..] = cells;
    html! {
        td.l { code { (name) } }
        @for figure in figures { td { (figure) } }
    }
}
