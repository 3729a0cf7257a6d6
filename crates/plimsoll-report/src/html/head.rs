//! The answer: who was asked, the verdict in a sentence, chips and key figures.

use plimsoll_core::verdict::Judgement;

use super::escape;
use super::svg::Svg;
use crate::format;
use crate::view::{FigureKind, Kind, State, View, unbroken};

pub(super) fn masthead(out: &mut String, view: &View) {
    let header = &view.record.header;
    let request = &header.plan.request;
    put!(
        out,
        "<header><span><b>plimsoll {}</b></span><span><b>{}</b> · {} {}</span><span>{}</span><span>{}</span></header>",
        escape(&header.command),
        escape(&header.title),
        escape(&request.method),
        escape(&request.url),
        escape(&format::date(&header.started_at)),
        escape(&format::duration(view.elapsed))
    );
}

pub(super) fn answer(out: &mut String, view: &View, open: &str, close: &str) {
    put!(out, "<{open}>{}</{close}>", escape(&view.headline));
    put!(
        out,
        "<p class=\"lede\">{}</p>",
        escape(&view.lede.join(" "))
    );
    if !view.record.header.note.is_empty() {
        let note = escape(&view.record.header.note);
        put!(out, "<p class=\"t\"><b>Set-up:</b> {note}</p>");
    }
    for warning in &view.warnings {
        put!(out, "<p class=\"note\"><b>!</b> {}</p>", escape(warning));
    }
    chips(out, view);
    figures(out, view);
}

fn chips(out: &mut String, view: &View) {
    out.push_str("<ul class=\"chips\">");
    if let Some(verdict) = view.verdict() {
        let (class, word) = if verdict.valid {
            ("pass", "✓ run valid")
        } else {
            ("fail", "✕ run not valid")
        };
        put!(
            out,
            "<li><span class=\"{class}\">{word}</span> gates: {}</li>",
            escape(&view.gates.words())
        );
    } else {
        out.push_str("<li><span class=\"warn\">! interrupted</span> no gate evaluated</li>");
    }
    match view.objective() {
        Some(objective) => put!(out, "<li>objective <b>{}</b></li>", escape(&objective)),
        None => out.push_str("<li>no objective asked</li>"),
    }
    if view.state != State::Invalid {
        results(out, view);
    }
    if view.kind == Kind::Find {
        let levels = view.levels.len() - view.voids();
        let voids = match view.voids() {
            0 => String::new(),
            n => format!(", and {}", format::plural(n as u64, "void", "voids")),
        };
        put!(
            out,
            "<li>{}{}</li>",
            escape(&format::plural(levels as u64, "level", "levels")),
            escape(&voids)
        );
    } else if let Some(level) = view.deciding_level() {
        put!(out, "<li>{}</li>", escape(&level.load_words()));
    }
    out.push_str("</ul>");
}

/// The clause that bound a search; every clause of a run.
fn results(out: &mut String, view: &View) {
    let Some(verdict) = view.verdict() else {
        return;
    };
    if let Some(clause) = &verdict.found.binding_clause {
        put!(
            out,
            "<li>binding clause <b>{}</b></li>",
            escape(&unbroken(clause))
        );
    }
    if view.kind == Kind::Find {
        return;
    }
    for objective in &verdict.objectives {
        let (class, word) = match objective.judgement {
            Judgement::Pass => ("pass", "✓ passed"),
            Judgement::Fail => ("fail", "✕ missed"),
            Judgement::Inconclusive => ("warn", "? not decided"),
            Judgement::Invalid | Judgement::None => ("off", "– not judged"),
        };
        put!(
            out,
            "<li><span class=\"{class}\">{word}</span> {}, measured <b>{}</b></li>",
            escape(&unbroken(&objective.clause)),
            escape(&unbroken(&objective.measured))
        );
    }
}

fn figures(out: &mut String, view: &View) {
    if view.figures.is_empty() {
        return;
    }
    out.push_str("<dl class=\"key\">");
    for figure in &view.figures {
        let sign = if figure.kind == FigureKind::LoadLine {
            load_sign()
        } else {
            String::new()
        };
        let words =
            if figure.unit.is_empty() && !figure.value.starts_with(|c: char| c.is_ascii_digit()) {
                " w"
            } else {
                ""
            };
        let unit = if figure.unit.is_empty() {
            String::new()
        } else {
            format!("<i>{}</i>", escape(figure.unit))
        };
        put!(
            out,
            "<div><dt>{sign}{}</dt><dd class=\"v{words}\">{}{unit}</dd>",
            escape(figure.name),
            escape(&figure.value)
        );
        if !figure.bounds.is_empty() {
            put!(out, "<dd class=\"n\">{}</dd>", escape(&figure.bounds));
        }
        if !figure.note.is_empty() {
            put!(out, "<dd>{}</dd>", escape(&figure.note));
        }
        out.push_str("</div>");
    }
    out.push_str("</dl>");
}

/// The sign of the load line, beside words.
pub(super) fn load_sign() -> String {
    let mut svg = Svg::inline(22.0, 14.0);
    svg.load_sign((11.0, 7.0));
    svg.finish()
}
