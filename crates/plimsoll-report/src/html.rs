//! One self-contained HTML file from one or several records: no request, no script needed.

mod chart_hero;
mod chart_outcomes;
mod chart_pairs;
mod chart_panels;
mod chart_response;
mod chart_shares;
mod chart_spectrum;
mod chart_variants;
mod compare;
mod comparison;
mod decided;
mod experiment;
mod gates;
mod head;
mod levels;
mod method;
mod paint;
mod scale;
mod style;
mod svg;
mod tiers;

pub use comparison::comparison;
pub(crate) use experiment::experiment;
pub(crate) use paint::token as lane_token;
use plimsoll_core::record::Record;

use crate::format;
use crate::view::{Kind, State, View};

/// The report of the records, each in full; several are first put side by side.
///
/// Every text of a record is escaped, so that a hostile URL or header stays text.
pub fn render(records: &[Record]) -> String {
    let views: Vec<View> = records.iter().map(View::of).collect();
    let mut out = String::new();
    open_page(&mut out, &views);
    if views.len() > 1 {
        compare::section(&mut out, &views);
        for (index, view) in views.iter().enumerate() {
            out.push_str("<article>");
            head::masthead(&mut out, view);
            report(&mut out, view, index, "h2 class=\"h1\"", "h2");
            out.push_str("</article>");
        }
    } else if let Some(view) = views.first() {
        report(&mut out, view, 0, "h1", "h1");
    } else {
        out.push_str("<h1>No record was given.</h1>");
    }
    close_page(&mut out, &views);
    out
}

fn open_page(out: &mut String, views: &[View]) {
    let title = match views {
        [] => "plimsoll report".to_owned(),
        [view] => view.headline.clone(),
        views => compare::headline(views),
    };
    open(out, &title);
    if let [view] = views {
        head::masthead(out, view);
    }
    out.push_str("<main>");
}

/// Everything above the first word of a page.
fn open(out: &mut String, title: &str) {
    put!(
        out,
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width,initial-scale=1\"><meta name=\"color-scheme\" content=\"light dark\"><meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none';style-src 'unsafe-inline';script-src 'unsafe-inline'\"><title>{}</title><style>{}</style></head><body>{}",
        escape(title),
        style::sheet(),
        paint::PATTERNS
    );
}

fn close_page(out: &mut String, views: &[View]) {
    let versions: std::collections::BTreeSet<&str> = views
        .iter()
        .map(|view| view.record.header.plimsoll_version.as_str())
        .collect();
    let versions: Vec<String> = versions.into_iter().map(escape).collect();
    close(out, &versions.join(", "));
}

/// The end of a page; `versions` are text of HTML.
fn close(out: &mut String, versions: &str) {
    put!(
        out,
        "</main><footer>plimsoll {versions} · every figure comes from the record · this file makes no request</footer><script>{}</script></body></html>\n",
        style::SCRIPT
    );
}

/// Answer, evidence, proof, method: the order of every report.
fn report(out: &mut String, view: &View, index: usize, open: &str, close: &str) {
    let id = format!("r{index}");
    head::answer(out, view, open, close);
    if view.kind == Kind::Find || view.load_line().len() > 1 {
        chart_hero::section(out, view, &id);
        if view.state != State::Invalid {
            decided::section(out, view, &id);
        }
    }
    tiers::section(out, view);
    chart_outcomes::section(out, view, &id);
    if view.kind == Kind::Run {
        chart_response::section(out, view, &id);
    }
    chart_spectrum::section(out, view, &id);
    levels::section(out, view);
    gates::section(out, view);
    method::section(out, view);
}

/// Text that cannot become markup, nor steer a terminal that shows the source.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text
        .split('\n')
        .map(format::clean)
        .collect::<Vec<_>>()
        .join("\n")
        .chars()
    {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}
