//! Several records side by side: figures and load lines on shared axes, and no claim about chance.

use super::escape;
use super::scale::{Scale, room_above};
use super::svg::{Anchor, Svg};
use crate::format;
use crate::view::{CurvePoint, Kind, Varied, View, cause_words};

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

pub(super) fn section(out: &mut String, views: &[View]) {
    put!(
        out,
        "<h1>{}</h1><p class=\"lede\">{} side by side, each in full below. One run each shows no spread: whether a difference is more than chance takes repeated, interleaved runs.</p>",
        escape(&headline(views)),
        escape(&format::plural(views.len() as u64, "record", "records"))
    );
    table(out, views);
    charts(out, views);
}

fn table(out: &mut String, views: &[View]) {
    out.push_str("<div class=\"scroll\"><table><thead><tr><th class=\"l\"></th>");
    for title in titles(views) {
        put!(out, "<th>{}</th>", escape(&title));
    }
    out.push_str("</tr></thead><tbody>");
    for name in names(views) {
        put!(out, "<tr><td class=\"l\">{}</td>", escape(name));
        for view in views {
            let figure = view.figures.iter().find(|figure| figure.name == name);
            let text = figure.map_or(format::ABSENT.to_owned(), |figure| {
                let bounds = if figure.bounds.is_empty() {
                    String::new()
                } else {
                    format!(" <span class=\"s\">{}</span>", escape(&figure.bounds))
                };
                format!("<b>{}</b>{bounds}", escape(&figure.text()))
            });
            put!(out, "<td>{text}</td>");
        }
        out.push_str("</tr>");
    }
    out.push_str("<tr><td class=\"l\">gives way first</td>");
    for view in views {
        let limit = view.verdict().and_then(|verdict| verdict.limit.as_ref());
        let text = limit.map_or("unknown".to_owned(), |limit| {
            let tier = limit
                .tier
                .as_deref()
                .map_or(String::new(), |tier| format!(", {tier}"));
            format!("{}{tier}", cause_words(limit.cause))
        });
        put!(
            out,
            "<td style=\"white-space:normal\">{}</td>",
            escape(&text)
        );
    }
    out.push_str("</tr><tr><td class=\"l\">gates</td>");
    for view in views {
        let class = if view.verdict().is_some_and(|verdict| verdict.valid) {
            "pass"
        } else {
            "fail"
        };
        put!(
            out,
            "<td style=\"white-space:normal\"><span class=\"{class}\">{}</span></td>",
            escape(&view.gates.words())
        );
    }
    out.push_str("</tr></tbody></table></div>");
}

/// Names of figures in the order of the first record that has them.
fn names(views: &[View]) -> Vec<&'static str> {
    let mut names = Vec::new();
    for figure in views.iter().flat_map(|view| &view.figures) {
        if !names.contains(&figure.name) {
            names.push(figure.name);
        }
    }
    names
}

/// One small drawing per record, both axes shared, the first record dotted in the others.
fn charts(out: &mut String, views: &[View]) {
    // A rate and a number of virtual users share no axis.
    let varied = views.first().map_or(Varied::Rate, |view| view.varied);
    if views.iter().any(|view| view.varied != varied) {
        return;
    }
    let curves: Vec<Vec<CurvePoint>> = views.iter().map(View::curve).collect();
    if curves.iter().filter(|curve| curve.len() > 1).count() < 2 {
        return;
    }
    let all = || curves.iter().flatten();
    let rate = all().map(|point| point.size).fold(0.0, f64::max);
    let good = all().map(|point| point.goodput_per_s).fold(0.0, f64::max);
    put!(
        out,
        "<section><h2>The load lines on the same axes</h2><p class=\"t\">Goodput per second against {}. The first record is dotted in the others.</p><figure><div class=\"multi\">",
        varied.axis()
    );
    for (index, ((view, curve), title)) in views.iter().zip(&curves).zip(titles(views)).enumerate()
    {
        put!(out, "<div><h3>{}</h3>", escape(&title));
        let baseline = curves.first().filter(|_| index > 0);
        out.push_str(&small(view, curve, baseline, (rate, good), index));
        out.push_str("</div>");
    }
    out.push_str("</div></figure></section>");
}

fn small(
    view: &View,
    curve: &[CurvePoint],
    baseline: Option<&Vec<CurvePoint>>,
    (rate, good): (f64, f64),
    index: usize,
) -> String {
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
    for tick in y.ticks(4) {
        svg.line("grid", (left, y.at(tick)), (right, y.at(tick)));
        svg.text(
            "m",
            (left - 6.0, y.at(tick) + 4.0),
            Anchor::End,
            &format::number(tick),
        );
    }
    for tick in x.ticks(4) {
        svg.text(
            "m",
            (x.at(tick), bottom + 17.0),
            Anchor::Middle,
            &format::number(tick),
        );
    }
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
        if at < 280.0 {
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
