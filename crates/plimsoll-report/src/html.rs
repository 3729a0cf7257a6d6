//! One self-contained HTML file from one or several records: no request, no script needed.
//!
//! Pages are templates of `maud`, which escapes every text by its type; drawings are written by [`svg`].

mod bars;
mod chart_admission;
mod chart_hero;
mod chart_outcomes;
mod chart_pairs;
mod chart_panels;
mod chart_response;
mod chart_shares;
mod chart_spectrum;
mod chart_sweep;
mod chart_variants;
mod compare;
mod comparison;
mod decided;
mod experiment;
mod gates;
mod head;
mod levels;
mod method;
mod mix;
mod paint;
mod parts;
mod scale;
mod script;
mod style;
mod svg;
mod sweep;
mod tiers;

use std::collections::BTreeSet;

use maud::{Markup, PreEscaped, html};
use plimsoll_core::record::Record;

use crate::view::{Kind, View};
use crate::{format, policy};

pub use comparison::comparison;
pub use experiment::experiment;
pub(crate) use paint::token as lane_token;
pub use sweep::sweep;

/// The report of the records, each in full; several are first put side by side.
///
/// Every text of a record is escaped, so that a hostile URL or header stays text.
pub fn render(records: &[Record]) -> String {
    let views: Vec<View> = records.iter().map(View::new).collect();
    let versions: BTreeSet<&str> = views
        .iter()
        .map(|view| view.record.header.plimsoll_version.as_str())
        .collect();
    let versions: Vec<&str> = versions.into_iter().collect();
    let versions = versions.join(", ");
    match views.as_slice() {
        [] => {
            let body = html! { h1 { "No record was given." } };
            page("plimsoll report", &html! {}, &body, &versions)
        }
        [view] => {
            let body = report(view, 0, &parts::headline(&view.headline));
            page(&view.headline, &head::masthead(view), &body, &versions)
        }
        views => {
            let body = html! {
                (compare::section(views))
                @for (index, view) in views.iter().enumerate() {
                    article {
                        (head::masthead(view))
                        (report(view, index, &parts::headline_of_one(&view.headline)))
                    }
                }
            };
            page(&compare::headline(views), &html! {}, &body, &versions)
        }
    }
}

/// A whole page; `versions` are of the programs that made it.
fn page(title: &str, masthead: &Markup, body: &Markup, versions: &str) -> String {
    let page = html! {
        (PreEscaped("<!doctype html>"))
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width,initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta http-equiv="Content-Security-Policy"
                    content=(policy::of_page(style::SCRIPT, ""));
                title { (title) }
                style { (PreEscaped(style::sheet())) }
            }
            body {
                (PreEscaped(paint::PATTERNS))
                (masthead)
                main { (body) }
                footer {
                    "plimsoll " (versions) " · every figure comes from the record · this file makes no request"
                }
                script { (PreEscaped(style::SCRIPT)) }
            }
        }
    };
    harmless(&page.into_string())
}

/// Nothing in the source of a page steers a terminal that shows it.
fn harmless(page: &str) -> String {
    let lines: Vec<String> = page.lines().map(format::clean).collect();
    lines.join("\n") + "\n"
}

/// Answer, evidence, proof, method: the order of every report.
fn report(view: &View, index: usize, heading: &Markup) -> Markup {
    let id = format!("r{index}");
    let has_load_line = view.kind == Kind::Find || view.load_line().len() > 1;
    html! {
        (heading)
        (head::answer(view))
        (script::first(view))
        (mix::section(view))
        @if has_load_line {
            (chart_hero::section(view, &id))
            @if view.concludes() { (decided::section(view, &id)) }
        }
        (tiers::section(view))
        (chart_outcomes::section(view, &id))
        (chart_admission::section(view.record, &id))
        @if view.kind == Kind::Run { (chart_response::users(view, &id)) }
        @if view.kind == Kind::Run { (chart_response::section(view, &id)) }
        (chart_spectrum::section(view, &id))
        (script::metrics(view))
        (levels::section(view))
        (gates::section(view))
        (method::section(view))
    }
}
