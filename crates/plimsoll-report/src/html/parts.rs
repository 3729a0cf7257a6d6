//! What pages are made of: tables that scroll, chips, notes, lists of facts, drawings in both widths.

use maud::{Markup, Render, html};
use plimsoll_core::verdict::GateState;

use super::svg::{Size, Svg};

/// From so many letters on a heading is set smaller, and smaller still: six lines on a phone are as many as are read at a glance.
const LONG: usize = 130;
const LONGEST: usize = 190;
/// What is longer goes on below.
const MOST: usize = 220;

fn length_class(text: &str) -> &'static str {
    match text.chars().count() {
        0..LONG => "",
        LONG..LONGEST => "long",
        _ => "longest",
    }
}

/// The answer as the first heading; of one that is too long for that the first sentence, and the rest below.
pub(super) fn headline(text: &str) -> Markup {
    let (head, rest) = split(text);
    let class = length_class(&head);
    html! {
        h1 class=[(!class.is_empty()).then_some(class)] { (head) }
        @if let Some(rest) = rest { p.lede { (rest) } }
    }
}

/// The same within a page of several.
pub(super) fn headline_of_one(text: &str) -> Markup {
    let (head, rest) = split(text);
    let class = format!("h1 {}", length_class(&head));
    html! {
        h2 class=(class.trim_end()) { (head) }
        @if let Some(rest) = rest { p.lede { (rest) } }
    }
}

/// A heading of a section, which may hold the name of anything.
pub(super) fn heading(text: &str) -> Markup {
    let class = length_class(text);
    html! { h2 class=[(!class.is_empty()).then_some(class)] { (shortened(text)) } }
}

fn split(text: &str) -> (String, Option<String>) {
    if text.chars().count() <= MOST {
        return (text.to_owned(), None);
    }
    match text.split_once(". ") {
        Some((first, rest)) if first.chars().count() < MOST => {
            (format!("{first}."), Some(rest.to_owned()))
        }
        _ => (shortened(text), Some(text.to_owned())),
    }
}

/// Cut where it is too long for a heading.
pub(super) fn shortened(text: &str) -> String {
    crate::format::shortened(text, MOST)
}

/// A table with its headings; the columns whose heading begins with `<` read from the left.
pub(super) fn table(class: &str, headings: &[&str], rows: impl Render) -> Markup {
    let heads = html! { @for heading in headings { (head(heading)) } };
    table_under(class, heads, rows)
}

pub(super) fn table_under(class: &str, headings: impl Render, rows: impl Render) -> Markup {
    html! {
        div.scroll {
            table class=[(!class.is_empty()).then_some(class)] {
                thead { tr { (headings) } }
                tbody { (rows) }
            }
        }
    }
}

fn head(heading: &str) -> Markup {
    let left = heading.strip_prefix('<');
    html! { th.l[left.is_some()] { (left.unwrap_or(heading)) } }
}

/// Small facts below a headline.
pub(super) fn chips<T: Render>(chips: impl IntoIterator<Item = T>) -> Markup {
    html! { ul.chips { @for chip in chips { li { (chip) } } } }
}

/// What a reader must know before any figure.
pub(super) fn note(text: impl Render) -> Markup {
    html! { p.note { b { "!" } " " (text) } }
}

/// A word in the colour of its meaning; its sign tells it too.
pub(super) fn status(class: &str, text: impl Render) -> Markup {
    html! { span class=(class) { (text) } }
}

pub(super) const fn gate_class(state: GateState) -> &'static str {
    match state {
        GateState::Pass => "pass",
        GateState::Warning | GateState::Unknown => "warn",
        GateState::Fail => "fail",
        GateState::NotApplicable => "off",
    }
}

pub(super) fn facts<N: Render, V: Render>(facts: impl IntoIterator<Item = (N, V)>) -> Markup {
    html! { dl.facts { @for (name, value) in facts { dt { (name) } dd { (value) } } } }
}

pub(super) fn folded(summary: impl Render, body: impl Render) -> Markup {
    html! { details { summary { (summary) } (body) } }
}

/// The same drawing for wide and narrow screens; the style sheet shows one.
pub(super) fn both(draw: impl Fn(Size) -> Markup) -> Markup {
    html! { @for size in Size::BOTH { (draw(size)) } }
}

/// A key of colours, each with its text.
pub(super) fn legend<T: Render>(entries: impl IntoIterator<Item = (String, T)>) -> Markup {
    html! {
        ul.lg {
            @for (fill, text) in entries {
                li { (swatch(&fill)) (text) }
            }
        }
    }
}

fn swatch(fill: &str) -> Markup {
    let mut svg = Svg::inline(22.0, 11.0);
    svg.bars(fill, &[(0.5, 0.5, 21.0, 10.0)]);
    svg.finish()
}
