//! The parts that a search and a plain run have in common.

use plimsoll_core::verdict::{GateState, Limit};

use super::Style;
use crate::format;
use crate::ink::{Ink, Page, Role};
use crate::view::{
    Conclusion, View, figure, limit_sentence, sentence, state_sign, state_word, unbroken,
};

pub(super) fn headline(page: &mut Page, view: &View) {
    let role = match view.conclusion {
        Conclusion::Held | Conclusion::NotReached | Conclusion::Measured => Role::Bold,
        Conclusion::Undecided | Conclusion::Interrupted => Role::Warn,
        Conclusion::Missed | Conclusion::Invalid => Role::Fail,
    };
    page.paragraph(&Ink::new(role, view.headline.as_str()));
    if matches!(
        view.conclusion,
        Conclusion::Invalid | Conclusion::Interrupted
    ) {
        for sentence in &view.lede {
            page.paragraph(&Ink::plain(sentence.as_str()));
        }
    }
    let note = &view.record.header.note;
    if !note.is_empty() {
        page.paragraph(&Ink::new(Role::Dim, "set-up: ").and(Role::Plain, note.as_str()));
    }
    for warning in &view.warnings {
        page.paragraph(&Ink::new(Role::Warn, "! ").and(Role::Plain, warning.as_str()));
    }
    page.blank();
}

/// Column of the text behind `gives way first`.
const LONG_LABEL: usize = 20;

/// What gives way first, what then, and what to change.
pub(super) fn explanation(page: &mut Page, view: &View) {
    let Some(verdict) = view.verdict().filter(|_| view.concludes()) else {
        return;
    };
    if let Some(limit) = &verdict.limit {
        page.blank();
        page.indent(LONG_LABEL);
        first_limit(page, limit);
    }
    if let Some(next) = &verdict.next_limit {
        let full = format::rate(next.full_at_per_s);
        let ink = Ink::plain(format!(
            "{} of {}, full at about {full}  ",
            next.resource, next.tier
        ));
        page.row("then", &ink.and(Role::Dim, "predicted"));
    }
    for (index, advice) in verdict.advice.iter().enumerate() {
        let label = if index == 0 { "advice" } else { "" };
        let ink = Ink::new(Role::Bold, unbroken(&advice.action));
        let because = if advice.because.is_empty() {
            String::new()
        } else {
            format!("  {}", unbroken(&advice.because))
        };
        page.row(label, &ink.and(Role::Dim, because));
    }
    page.indent_as_usual();
}

fn first_limit(page: &mut Page, limit: &Limit) {
    let confidence = limit.confidence.word();
    let ink = Ink::new(Role::Bold, limit_sentence(limit));
    let known = limit.cause.is_known();
    let ceiling = limit
        .ceiling_per_s
        .filter(|_| known)
        .map_or(String::new(), |ceiling| {
            format!(", full at {}", format::rate(ceiling))
        });
    let ink = ink.and(Role::Plain, ceiling);
    let ink = if known {
        ink.and(Role::Dim, format!("  {confidence}"))
    } else {
        ink
    };
    page.row("gives way first", &ink);
    for evidence in &limit.evidence {
        page.row("", &Ink::plain(unbroken(&evidence.text)));
    }
    if !limit.ruled_out.is_empty() {
        let ruled_out: Vec<String> = limit.ruled_out.iter().map(|text| unbroken(text)).collect();
        page.row(
            "",
            &Ink::new(Role::Dim, format!("ruled out: {}", ruled_out.join("; "))),
        );
    }
}

/// One line when all is well; a line per gate that is not a pass otherwise.
pub(super) fn gates(page: &mut Page, view: &View) {
    let Some(verdict) = view.verdict() else {
        return;
    };
    page.blank();
    let (role, valid) = if verdict.valid {
        (Role::Good, "run valid")
    } else {
        (Role::Fail, "run not valid")
    };
    let ink = Ink::new(role, valid).and(Role::Plain, format!(": {}", view.gates.words()));
    page.row("gates", &ink);
    for gate in &verdict.gates {
        let role = match gate.state {
            GateState::Pass | GateState::NotApplicable => continue,
            GateState::Warning | GateState::Unknown => Role::Warn,
            GateState::Fail => Role::Fail,
        };
        let head = format!(
            "{}{}{} ",
            state_sign(gate.state),
            format::NBSP,
            state_word(gate.state)
        );
        let mut text = format!("gate {} {}", gate.id.number(), gate.name);
        if let (Some(left), Some(right)) = (&gate.left, &gate.right) {
            put!(text, ": {} against {}", figure(left), figure(right));
        }
        if let Some(tolerance) = &gate.tolerance {
            put!(text, " (tolerance {})", unbroken(tolerance));
        }
        let note = if gate.note.is_empty() {
            String::new()
        } else {
            format!(". {}", sentence(&unbroken(&gate.note)))
        };
        page.row(
            "",
            &Ink::new(role, head)
                .and(Role::Plain, text)
                .and(Role::Dim, note),
        );
    }
}

pub(super) fn paths(page: &mut Page, view: Option<&View>, style: &Style) {
    page.blank();
    let line = view.and_then(|view| view.guard_line(style.record.as_deref()));
    if let Some(line) = line {
        page.row("guard", &Ink::plain(line));
    }
    if let Some(report) = &style.report {
        page.row("report", &Ink::plain(report.as_str()));
    }
    if let Some(record) = &style.record {
        page.row("record", &Ink::plain(record.as_str()));
    }
}
