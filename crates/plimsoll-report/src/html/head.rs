//! The answer: who was asked, the verdict in a sentence, chips and key figures.

use maud::{Markup, html};
use plimsoll_core::verdict::Judgement;

use super::parts::{chips, note, status};
use super::svg::Svg;
use crate::format;
use crate::view::{Conclusion, Figure, FigureKind, Kind, View, left_out, unbroken};

pub(super) fn masthead(view: &View) -> Markup {
    let header = &view.record.header;
    let (method, name) = header.test.what.request_line();
    let others = format::others(header.test.what.others_count());
    html! {
        header {
            span { b { "plimsoll " (header.test.command()) } }
            span { b { (header.title) } " · " (method) " " (name) (others) }
            span { (format::date(&header.started_at)) }
            span { (format::duration(view.elapsed)) }
        }
    }
}

pub(super) fn answer(view: &View) -> Markup {
    let setup = &view.record.header.note;
    html! {
        p.lede { (view.lede.join(" ")) }
        @if !setup.is_empty() { p.t { b { "Set-up:" } " " (setup) } }
        @for warning in &view.warnings { (note(warning)) }
        (chips(facts(view)))
        @if !view.figures.is_empty() {
            dl.key { @for figure in &view.figures { (key_figure(figure)) } }
        }
    }
}

fn facts(view: &View) -> Vec<Markup> {
    let objective = view.objective();
    let mut facts = vec![
        validity(view),
        html! {
            @if let Some(objective) = objective { "objective " b { (objective) } }
            @else { (unasked(view)) }
        },
    ];
    if view.concludes() {
        facts.extend(results(view));
    }
    if view.kind == Kind::Find {
        let levels = view.levels.len() - view.voids();
        let voids = match view.voids() {
            0 => String::new(),
            n => format!(", and {}", format::plural(n as u64, "void", "voids")),
        };
        facts.push(html! { (format::plural(levels as u64, "level", "levels")) (voids) });
    } else if let Some(level) = view.deciding_level() {
        facts.push(html! { (level.load_words()) });
    }
    facts
}

/// The thresholds of a script are asked for as an objective is.
fn unasked(view: &View) -> &'static str {
    let script = view.script.as_ref();
    let thresholds = script.map_or(0, |script| script.counts.thresholds.len());
    if thresholds > 0 {
        "thresholds of the script, no other objective"
    } else {
        "no objective asked"
    }
}

fn validity(view: &View) -> Markup {
    let Some(verdict) = view.verdict() else {
        return html! { (status("warn", "! interrupted")) " no gate evaluated" };
    };
    if view.conclusion == Conclusion::Interrupted {
        return html! { (status("warn", "! interrupted")) " gates: " (view.gates.words()) };
    }
    let (class, word) = if verdict.valid {
        ("pass", "✓ run valid")
    } else {
        ("fail", "✕ run not valid")
    };
    html! { (status(class, word)) " gates: " (view.gates.words()) }
}

/// The clause that bound a search; every clause of a run.
fn results(view: &View) -> Vec<Markup> {
    let Some(verdict) = view.verdict() else {
        return Vec::new();
    };
    let binding = verdict.found.binding_clause.as_deref();
    let binding = binding.map(|clause| html! { "binding clause " b { (unbroken(clause)) } });
    let objectives = verdict.objectives.iter();
    let objectives = objectives
        .filter(|_| view.kind != Kind::Find)
        .map(|objective| {
            let (class, word) = match objective.judgement {
                Judgement::Pass => ("pass", "✓ passed"),
                Judgement::Fail => ("fail", "✕ missed"),
                Judgement::Inconclusive => ("warn", "? not decided"),
                Judgement::Invalid | Judgement::None => ("off", "– not judged"),
            };
            html! {
                (status(class, word)) " " (unbroken(&objective.clause)) ", measured "
                b { (unbroken(&objective.measured)) }
                @if let Some(left_out) = left_out(objective) { " (" (left_out) ")" }
            }
        });
    binding.into_iter().chain(objectives).collect()
}

fn key_figure(figure: &Figure) -> Markup {
    let is_word = figure.unit.is_empty() && !figure.value.starts_with(|c: char| c.is_ascii_digit());
    html! {
        div {
            dt { @if figure.kind == FigureKind::LoadLine { (load_sign()) } (figure.kind.name()) }
            dd.v.w[is_word] { (figure.value) @if !figure.unit.is_empty() { i { (figure.unit) } } }
            @if !figure.bounds.is_empty() { dd.n { (figure.bounds) } }
            @if !figure.note.is_empty() { dd { (figure.note) } }
        }
    }
}

/// The sign of the load line, beside words.
pub(super) fn load_sign() -> Markup {
    let mut svg = Svg::inline(22.0, 14.0);
    svg.load_sign((11.0, 7.0));
    svg.finish()
}
