//! The summary for a pull request: verdict, figures, limit and gates in Markdown.

mod comparison;
mod mix;
mod script;
mod sweep;

use plimsoll_core::record::Record;
use plimsoll_core::verdict::GateState;

use crate::format::{self, NBSP};
use crate::view::{
    Kind, LevelView, View, confidence_sentence, figure, limit_sentence, sentence, state_sign,
    state_word, unbroken,
};

pub use comparison::{comparison, history};
pub use sweep::sweep;

/// One section per record, each with a heading of the third level.
pub fn summary(records: &[Record]) -> String {
    let sections: Vec<String> = records
        .iter()
        .map(|record| section(&View::new(record)))
        .collect();
    sections.join("\n")
}

fn section(view: &View) -> String {
    let mut out = String::new();
    putln!(out, "### {}\n", escape(&view.headline));
    if !view.lede.is_empty() {
        putln!(out, "{}\n", escape(&view.lede.join(" ")));
    }
    for warning in &view.warnings {
        putln!(out, "> **Warning:** {}\n", escape(warning));
    }
    figures(&mut out, view);
    codes(&mut out, view);
    script::section(&mut out, view);
    mix::section(&mut out, view);
    if view.kind == Kind::Find {
        levels(&mut out, view);
    }
    explanation(&mut out, view);
    if let Some(line) = view.guard_line(None) {
        putln!(out, "**Guard it from here:** {}\n", code(&line));
    }
    gates(&mut out, view);
    let header = &view.record.header;
    let (method, name) = header.test.what.request_line();
    putln!(
        out,
        "<sub>plimsoll {} {}, {} {}{}, {}</sub>",
        escape(header.test.command()),
        escape(&header.plimsoll_version),
        escape(method),
        code(name),
        format::others(header.test.what.others_count()),
        escape(&format::date(&header.started_at))
    );
    out
}

fn figures(out: &mut String, view: &View) {
    if view.figures.is_empty() {
        return;
    }
    out.push_str("| figure | value | bounds | |\n|---|---:|---|---|\n");
    for figure in &view.figures {
        let cells = [
            figure.kind.name(),
            &figure.text(),
            &figure.bounds,
            &figure.note,
        ]
        .map(escape);
        putln!(
            out,
            "| {} | **{}** | {} | {} |",
            cells[0],
            cells[1],
            cells[2],
            cells[3]
        );
    }
    out.push('\n');
}

/// Of a run its status codes, and what was sent beside the first request of each attempt, as on the terminal.
fn codes(out: &mut String, view: &View) {
    let level = view.deciding_level().filter(|_| view.kind == Kind::Run);
    let Some(level) = level else {
        return;
    };
    if let Some(status) = level.status_words() {
        putln!(out, "**Status codes:** {}\n", escape(&status));
    }
    for further in level.further_requests() {
        putln!(out, "{}.\n", escape(&further));
    }
}

fn levels(out: &mut String, view: &View) {
    let points = view.load_line();
    if points.is_empty() {
        return;
    }
    out.push_str(
        "| offered | goodput | not good | p50 | p99 | result |\n|---:|---:|---:|---:|---:|---|\n",
    );
    for level in points {
        putln!(out, "{}", level_row(level, view));
    }
    out.push('\n');
}

fn level_row(level: &LevelView, view: &View) -> String {
    let (sign, word) = level.result();
    let not_good = level
        .not_good_ratio()
        .map_or_else(|| format::ABSENT.to_owned(), format::percent);
    format!(
        "| {} | {} | {not_good} | {} | {} | {sign} {} |",
        view.varied.text(level.size),
        format::rate(level.goodput_per_s),
        format::quantile(level.tally.response_quantile(0.5)),
        format::quantile(level.tally.response_quantile(0.99)),
        escape(&word)
    )
}

fn explanation(out: &mut String, view: &View) {
    let Some(verdict) = view.verdict().filter(|_| view.concludes()) else {
        return;
    };
    if let Some(limit) = &verdict.limit {
        putln!(
            out,
            "**Gives way first:** {} ({}).",
            escape(&limit_sentence(limit)),
            escape(&confidence_sentence(limit))
        );
        for evidence in &limit.evidence {
            putln!(out, "- {}", escape(&unbroken(&evidence.text)));
        }
        out.push('\n');
    }
    if let Some(next) = &verdict.next_limit {
        let full = format::rate(next.full_at_per_s);
        let text = format!(
            "{} of {}, full at about {full} (predicted).",
            next.resource, next.tier
        );
        putln!(out, "**Then:** {}\n", escape(&text));
    }
    if !verdict.advice.is_empty() {
        out.push_str("**Advice:**\n");
        for advice in &verdict.advice {
            putln!(
                out,
                "- **{}** {}",
                escape(&unbroken(&advice.action)),
                escape(&unbroken(&advice.because))
            );
        }
        out.push('\n');
    }
}

/// Every gate, folded unless one of them is not a pass.
fn gates(out: &mut String, view: &View) {
    let Some(verdict) = view.verdict() else {
        return;
    };
    let quiet = view.gates.failed + view.gates.warnings + view.gates.unknown == 0;
    let open = if quiet { "" } else { " open" };
    putln!(
        out,
        "<details{open}><summary>Gates: {}</summary>\n",
        escape(&view.gates.words())
    );
    out.push_str(
        "| no. | result | compared | one | other | tolerance |\n|---:|---|---|---:|---:|---|\n",
    );
    for gate in &verdict.gates {
        let number = |value: &Option<String>| {
            value
                .as_deref()
                .map_or(format::ABSENT.to_owned(), |text| escape(&figure(text)))
        };
        let note = if gate.note.is_empty() || gate.state == GateState::Pass {
            String::new()
        } else {
            format!(". {}", escape(&sentence(&unbroken(&gate.note))))
        };
        putln!(
            out,
            "| {} | {}{NBSP}{} | {}: {}{note} | {} | {} | {} |",
            gate.id.number(),
            state_sign(gate.state),
            state_word(gate.state),
            escape(&gate.name),
            escape(&gate.compared),
            number(&gate.left),
            number(&gate.right),
            number(&gate.tolerance)
        );
    }
    out.push_str("\n</details>\n\n");
}

/// Text that cannot become markup, a mention or a link, nor end a table cell.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in format::clean(text).chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '@' => escaped.push_str("&#64;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '~' | '!' => {
                escaped.push('\\');
                escaped.push(letter);
            }
            other => escaped.push(other),
        }
    }
    // A link that nobody wrote is not made.
    escaped.replace("://", ":&#47;&#47;")
}

/// Code in HTML, so that no number of backticks ends it.
fn code(text: &str) -> String {
    format!("<code>{}</code>", escape(text))
}
