//! What was done: operations or requests, databases, and what was found stored.

use maud::{Markup, html};

use super::parts::{status, table};
use crate::view::{DATABASE_HEADS, MixView, View};

pub(super) fn section(view: &View) -> Markup {
    let Some(mix) = &view.mix else {
        return html! {};
    };
    let mut operation_heads = mix.operation_heads().to_vec();
    operation_heads.push("<failures by kind");
    let operations = html! {
        @for row in &mix.operations {
            tr { (cells(&mix.operation_cells(row))) td.l.x { (MixView::kinds(&row.1)) } }
        }
    };
    let databases = html! {
        @for row in &mix.databases { tr { (cells(&row.cells())) } }
    };
    html! {
        section {
            h2 { (mix.title()) }
            (table("sc", &operation_heads, operations))
            @if !mix.databases.is_empty() { (table("sc", &DATABASE_HEADS, databases)) }
            @if let Some((is_whole, words)) = mix.verified_words() {
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
