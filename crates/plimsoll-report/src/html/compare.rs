//! Several records side by side: figures and load lines on shared axes, and no claim about chance.

use maud::{Markup, html};

use super::parts::{self, status, table_under};
use super::scale::{Scale, room_above};
use super::svg::{Anchor, Svg};
use crate::format;
use crate::view::{CurvePoint, FigureKind, Kind, Varied, View};

pub(super) fn headline(views: &[View]) -> String {
    let parts: Vec<String> = views
        .iter()
        .zip(titles(views))
        .map(|(view, name)| result(view, &name))
        .collect();
    format!("{}.", format::list(&parts))
}

/// The titles, numbered where two are alike.
fn titles(views: &[View]) -> Vec<String> {
    let same = |title: &str| views.iter().filter(|view| view.title() == title).count() > 1;
    let named = |(index, view): (usize, &View)| {
        let title = view.title();
        if same(title) {
            format!("{title} ({})", index + 1)
        } else {
            title.to_owned()
        }
    };
    views.iter().enumerate().map(named).collect()
}

/// `shop-api carries 412/s`, or that it has no verdict.
fn result(view: &View, name: &str) -> String {
    let capacity = view
        .verdict()
        .filter(|verdict| verdict.valid)
        .and_then(|v| v.found.capacity());
    match (capacity, view.kind, view.verdict()) {
        (Some(capacity), ..) if capacity.upper.is_none() => {
            format!(
                "{name} carries at least {}",
                view.varied.text(capacity.estimate)
            )
        }
        (Some(capacity), ..) => format!("{name} carries {}", view.varied.text(capacity.estimate)),
        (None, Kind::Run, Some(verdict)) if verdict.valid => {
            format!(
                "{name} has a goodput of {}",
                format::rate(verdict.goodput_per_s)
            )
        }
        _ => format!("{name} has no verdict"),
    }
}

pub(super) fn section(views: &[View]) -> Markup {
    let records = format::plural(views.len() as u64, "record", "records");
    html! {
        (parts::headline(&headline(views)))
        p.lede {
            (records) " side by side, each in full below. One run each shows no spread: whether a difference is more than chance takes repeated, interleaved runs."
        }
        (figures(views))
        (charts(views))
    }
}

fn figures(views: &[View]) -> Markup {
    let heads = html! { th.l {} @for title in titles(views) { th { (title) } } };
    let rows = html! {
        @for kind in kinds(views) {
            tr { td.l { (kind.name()) } @for view in views { td { (figure(view, kind)) } } }
        }
        tr {
            td.l { "gives way first" }
            @for view in views { td style="white-space:normal" { (limit(view)) } }
        }
        tr {
            td.l { "gates" }
            @for view in views {
                td style="white-space:normal" { (status(validity(view), view.gates.words())) }
            }
        }
    };
    table_under("", heads, rows)
}

fn figure(view: &View, kind: FigureKind) -> Markup {
    let figure = view.figures.iter().find(|figure| figure.kind == kind);
    html! {
        @if let Some(figure) = figure {
            b { (figure.text()) }
            @if !figure.bounds.is_empty() { " " span.s { (figure.bounds) } }
        } @else {
            (format::ABSENT)
        }
    }
}

fn limit(view: &View) -> String {
    let limit = view.verdict().and_then(|verdict| verdict.limit.as_ref());
    limit.map_or("unknown".to_owned(), |limit| {
        let tier = limit.tier.as_deref();
        let tier = tier.map_or(String::new(), |tier| format!(", {tier}"));
        format!("{}{tier}", limit.cause.noun())
    })
}

fn validity(view: &View) -> &'static str {
    if view.verdict().is_some_and(|verdict| verdict.valid) {
        "pass"
    } else {
        "fail"
    }
}

/// Figures in the order of the first record that has them.
fn kinds(views: &[View]) -> Vec<FigureKind> {
    let mut kinds = Vec::new();
    for figure in views.iter().flat_map(|view| &view.figures) {
        if !kinds.contains(&figure.kind) {
            kinds.push(figure.kind);
        }
    }
    kinds
}

/// One small drawing per record, both axes shared, the first record dotted in the others.
fn charts(views: &[View]) -> Markup {
    // A rate and a number of virtual users share no axis.
    let varied = views.first().map_or(Varied::Rate, |view| view.varied);
    let curves: Vec<Vec<CurvePoint>> = views.iter().map(View::curve).collect();
    let lines = curves.iter().filter(|curve| curve.len() > 1).count();
    if views.iter().any(|view| view.varied != varied) || lines < 2 {
        return html! {};
    }
    let all = || curves.iter().flatten();
    let rate = all().map(|point| point.size).fold(0.0, f64::max);
    let good = all().map(|point| point.goodput_per_s).fold(0.0, f64::max);
    let titled = views.iter().zip(&curves).zip(titles(views)).enumerate();
    html! {
        section {
            h2 { "The load lines on the same axes" }
            p.t {
                "Goodput per second against " (varied.axis()) ". The first record is dotted in the others."
            }
            figure {
                div.multi {
                    @for (index, ((view, curve), title)) in titled {
                        div {
                            h3 { (title) }
                            (small(view, curve, curves.first().filter(|_| index > 0), (rate, good), index))
                        }
                    }
                }
            }
        }
    }
}

fn small(
    view: &View,
    curve: &[CurvePoint],
    baseline: Option<&Vec<CurvePoint>>,
    (rate, good): (f64, f64),
    index: usize,
) -> Markup {
    let (left, right, top, bottom) = (46.0, 350.0, 30.0, 190.0);
    let x = Scale::linear(rate * 1.05, left, right);
    let y = Scale::linear(room_above(good), bottom, top);
    let id = format!("c{index}");
    let mut svg = Svg::small(
        (358.0, 220.0),
        &id,
        &format!("Load line of {}", view.title()),
        &view.headline,
    );
    svg.rungs(&y, 4, (left, right), format::number);
    svg.steps(&x, 4, bottom);
    svg.line("axis", (left, bottom), (right, bottom));
    let places = |curve: &[CurvePoint]| -> Vec<(f64, f64)> {
        curve
            .iter()
            .filter(|point| !point.void)
            .map(|point| (x.at(point.size), y.at(point.goodput_per_s)))
            .collect()
    };
    if let Some(baseline) = baseline {
        svg.polyline("ans", &places(baseline));
    }
    let valid = view.verdict().filter(|verdict| verdict.valid);
    if let Some(capacity) = valid.and_then(|verdict| verdict.found.capacity()) {
        let at = x.clamped(capacity.estimate);
        svg.line("cap", (at, 20.0), (at, bottom));
        svg.load_sign((at, 14.0));
        let text = view.varied.text(capacity.estimate);
        if at < f64::midpoint(left, right) {
            svg.text("b", (at + 15.0, 18.0), Anchor::Start, &text);
        } else {
            svg.text("b", (at - 15.0, 18.0), Anchor::End, &text);
        }
    }
    svg.polyline("good", &places(curve));
    for at in places(curve) {
        svg.circle("dgood", at, 3.5);
    }
    svg.finish()
}
