//! Every gate with what it compared, both numbers and the tolerance.

use maud::{Markup, html};
use plimsoll_core::verdict::Gate;

use super::parts::{gate_class, status, table};
use crate::format;
use crate::view::{View, figure, sentence, state_sign, state_word, unbroken};

pub(super) fn section(view: &View) -> Markup {
    let Some(verdict) = view.verdict() else {
        return html! {};
    };
    let heads = [
        "no.",
        "<result",
        "<what was compared",
        "one",
        "other",
        "tolerance",
    ];
    html! {
        section {
            h2 { "Gates: " (view.gates.words()) }
            @if verdict.gates.is_empty() {
                p.t { "No gate was evaluated: nothing here is proven." }
            } @else {
                (table("", &heads, html! { @for gate in &verdict.gates { (row(gate)) } }))
            }
        }
    }
}

fn row(gate: &Gate) -> Markup {
    let number =
        |value: &Option<String>| value.as_deref().map_or(format::ABSENT.to_owned(), figure);
    let result = html! { (state_sign(gate.state)) " " (state_word(gate.state)) };
    html! {
        tr.gate {
            td { (gate.id.number()) }
            td.l { (status(gate_class(gate.state), result)) }
            td.l.x {
                b { (gate.name) } ": " (unbroken(&gate.compared))
                @if !gate.note.is_empty() { br; span.s { (sentence(&unbroken(&gate.note))) } }
            }
            @for value in [&gate.left, &gate.right, &gate.tolerance] { td { (number(value)) } }
        }
    }
}
