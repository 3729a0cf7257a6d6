//! Every gate with what it compared, both numbers and the tolerance.

use plimsoll_core::verdict::{Gate, GateState};

use super::escape;
use crate::format;
use crate::view::{View, figure, sentence, state_sign, state_word, unbroken};

pub(super) fn section(out: &mut String, view: &View) {
    let Some(verdict) = view.verdict() else {
        return;
    };
    put!(
        out,
        "<section><h2>Gates: {}</h2>",
        escape(&view.gates.words())
    );
    if verdict.gates.is_empty() {
        out.push_str("<p class=\"t\">No gate was evaluated: nothing here is proven.</p></section>");
        return;
    }
    out.push_str("<div class=\"scroll\"><table><thead><tr><th>no.</th><th class=\"l\">result</th><th class=\"l\">what was compared</th><th>one</th><th>other</th><th>tolerance</th></tr></thead><tbody>");
    for gate in &verdict.gates {
        row(out, gate);
    }
    out.push_str("</tbody></table></div></section>");
}

fn row(out: &mut String, gate: &Gate) {
    let class = match gate.state {
        GateState::Pass => "pass",
        GateState::Warning | GateState::Unknown => "warn",
        GateState::Fail => "fail",
        GateState::NotApplicable => "off",
    };
    let note = if gate.note.is_empty() {
        String::new()
    } else {
        format!(
            "<br><span class=\"s\">{}</span>",
            escape(&sentence(&unbroken(&gate.note)))
        )
    };
    let number = |value: &Option<String>| {
        value
            .as_deref()
            .map_or(format::ABSENT.to_owned(), |text| escape(&figure(text)))
    };
    put!(
        out,
        "<tr class=\"gate\"><td>{}</td><td class=\"l\"><span class=\"{class}\">{} {}</span></td><td class=\"l x\"><b>{}</b>: {}{note}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
        gate.number,
        state_sign(gate.state),
        state_word(gate.state),
        escape(&gate.name),
        escape(&unbroken(&gate.compared)),
        number(&gate.left),
        number(&gate.right),
        number(&gate.tolerance)
    );
}
