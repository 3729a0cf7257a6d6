//! The test that set the bounds: bad attempts against the budget at the rates around the load line.

use maud::{Markup, html};
use plimsoll_core::objective::Clause;
use plimsoll_core::verdict::{Bounds, LevelState, SearchResult};

use super::parts::both;
use super::scale::Scale;
use super::svg::{Anchor, Size, Svg, text_width};
use crate::format;
use crate::view::{LevelView, Varied, View, unbroken};

/// Rates shown around the boundary; more would crowd the narrow drawing.
const SHOWN: usize = 6;

pub(super) fn section(view: &View, id: &str) -> Markup {
    let Some((clause, budget)) = binding(view) else {
        return html! {};
    };
    let shown = around(view);
    if shown.len() < 2 {
        return html! {};
    }
    let what = match clause {
        Clause::ResponseTime { bound_ns, .. } => {
            format!("failed or later than {}", format::bound(bound_ns))
        }
        Clause::Errors { .. } => "failed".to_owned(),
    };
    let draw = |size| chart(&shown, (budget, view.varied), size, &format!("{id}d"));
    html! {
        section {
            div.two {
                div {
                    h2 { "What decided it: " (unbroken(&clause.to_string())) }
                    p.t {
                        "The search counts bad attempts, " (what) ", against a budget of " (format::percent(budget))
                        ". The highest " (view.varied.singular()) " that held and the lowest that failed are the two bounds."
                    }
                    p.s { "In the order played: " (order(view)) "." }
                }
                figure {
                    (both(draw))
                    figcaption {
                        "Bad attempts as a share of all attempts, with the interval of the test. Levels are evenly spaced here, not to scale."
                    }
                }
            }
        }
    }
}

fn binding(view: &View) -> Option<(Clause, f64)> {
    let clauses = view.record.header.test.objectives()?.clauses();
    let named = view.verdict()?.found.binding_clause.as_deref();
    let clause = named.and_then(Clause::parse).or(clauses.first().copied())?;
    Some((clause, clause.budget()))
}

/// Judged levels nearest to the load line, in the order of the rate.
fn around<'a>(view: &'a View) -> Vec<&'a LevelView> {
    let found = view.verdict().map(|verdict| &verdict.found);
    let Some(capacity) = found.and_then(SearchResult::capacity) else {
        return Vec::new();
    };
    let mut levels: Vec<&LevelView> = view
        .load_line()
        .into_iter()
        .filter(|level| level.bad_ratio.is_some())
        .filter(|level| {
            matches!(
                level.state,
                LevelState::Pass | LevelState::Fail | LevelState::Undecided
            )
        })
        .collect();
    let distance = |level: &LevelView| (level.size / capacity.estimate).ln().abs();
    levels.sort_by(|a, b| distance(a).total_cmp(&distance(b)));
    levels.truncate(SHOWN);
    levels.sort_by(|a, b| a.size.total_cmp(&b.size));
    levels
}

fn order(view: &View) -> String {
    let levels: Vec<String> = view
        .levels
        .iter()
        .filter(|level| level.is_point())
        .map(|level| {
            let (sign, _) = level.result();
            format!("{}{}{sign}", format::number(level.size), format::NBSP)
        })
        .collect();
    levels.join(", ")
}

fn chart(levels: &[&LevelView], (budget, varied): (f64, Varied), size: Size, id: &str) -> Markup {
    let height = 232.0;
    let (width, left) = (size.pick(520.0, 358.0), 52.0);
    let first_above = levels
        .iter()
        .filter_map(|level| level.bad_ratio)
        .map(|bad| bad.estimate)
        .filter(|bad| *bad > budget)
        .fold(f64::MAX, f64::min);
    let top = (budget * 2.2)
        .max((first_above * 1.25).min(budget * 6.0))
        .min(1.0);
    let y = Scale::linear(top, height - 44.0, 26.0);
    let step = (width - left - 8.0) / levels.len() as f64;
    let described: Vec<String> = levels
        .iter()
        .map(|level| {
            format!(
                "{} {}",
                level.name(),
                format::percent(level.bad_ratio.map_or(0.0, |bad| bad.estimate))
            )
        })
        .collect();
    let title = format!(
        "Bad attempts against a budget of {}",
        format::percent(budget)
    );
    let mut svg = Svg::sized(
        size,
        (width, height),
        id,
        &title,
        &format!("Bad attempts: {}.", described.join(", ")),
    );
    svg.rungs(&y, 4, (left, width), format::percent);
    svg.line("slo", (left, y.at(budget)), (width, y.at(budget)));
    let label = format!("budget {}", format::percent(budget));
    svg.text(
        "f halo",
        (left + 2.0, y.at(budget) - 6.0),
        Anchor::Start,
        &label,
    );
    svg.line("axis", (left, y.at(0.0)), (width, y.at(0.0)));
    svg.text(
        "m",
        (f64::midpoint(left, width), height - 8.0),
        Anchor::Middle,
        varied.axis(),
    );
    let places = levels.iter().enumerate();
    let places = places.map(|(index, level)| (level, left + step * (index as f64 + 0.5)));
    for (level, x) in places.clone() {
        let is_held = level.state == LevelState::Pass;
        let class = if is_held { "b" } else { "" };
        let at = (x, y.at(0.0) + 17.0);
        svg.fixed(class, at, Anchor::Middle, &format::number(level.size));
    }
    for (level, x) in places {
        point(&mut svg, level, x, &y, size);
    }
    svg.finish()
}

fn point(svg: &mut Svg, level: &LevelView, x: f64, y: &Scale, size: Size) {
    let bad = level.bad_ratio.unwrap_or(Bounds {
        estimate: 0.0,
        lower: None,
        upper: None,
    });
    let (dot, whisker, word) = match level.state {
        LevelState::Pass => ("dpass", "wpass", "holds"),
        LevelState::Fail => ("dfail", "wfail", "fails"),
        _ => ("dund", "wund", "undecided"),
    };
    let off = bad.estimate > y.to();
    let at = if off {
        y.at(y.to()) + 14.0
    } else {
        y.at(bad.estimate)
    };
    if let (Some(lower), Some(upper), false) = (bad.lower, bad.upper, off) {
        svg.line(whisker, (x, y.clamped(lower)), (x, y.clamped(upper)));
    }
    if level.state == LevelState::Fail {
        svg.line(dot, (x - 5.0, at - 5.0), (x + 5.0, at + 5.0));
        svg.line(dot, (x - 5.0, at + 5.0), (x + 5.0, at - 5.0));
    } else {
        svg.circle(dot, (x, at), 4.5);
    }
    let share = format::percent(bad.estimate);
    let arrow = if off { "↑ " } else { "" };
    let label = format!("{arrow}{share}");
    let above = at > y.at(0.0) - 30.0;
    let base = if above { at - 22.0 } else { at + 20.0 };
    svg.text("b halo", (x, base), Anchor::Middle, &label);
    if size == Size::Wide || text_width(word) < 60.0 {
        svg.text("halo", (x, base + 13.0), Anchor::Middle, word);
    }
}
