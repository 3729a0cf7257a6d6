//! The load line: goodput and response time against arrival rate, with what was found marked.

mod goodput;
mod response;

use maud::{Markup, html};
use plimsoll_core::objective::{Clause, percentile_name};
use plimsoll_core::tally::Quantile;
use plimsoll_core::verdict::{Bounds, Collapse, LevelState};

use super::parts::both;
use super::scale::{Scale, room_above};
use super::svg::{Anchor, Size, Svg, text_width};
use crate::format;
use crate::view::{Conclusion, CurvePoint, View, unbroken};

/// What both panels share.
struct Hero<'a> {
    view: &'a View<'a>,
    points: Vec<CurvePoint>,
    size: Size,
    x: Scale,
    left: f64,
    right: f64,
    /// The percentile of the objective, p99 without one.
    quantile: f64,
}

const GOODPUT_TOP: f64 = 46.0;
const GOODPUT_BOTTOM: f64 = 246.0;
const LANE: f64 = 296.0;
const RESPONSE_TOP: f64 = 316.0;
const RESPONSE_BOTTOM: f64 = 466.0;
const HEIGHT: f64 = 508.0;

pub(super) fn section(view: &View, id: &str) -> Markup {
    let points = view.curve();
    if points.len() < 2 {
        return html! {};
    }
    html! {
        section {
            h2 { (heading(view)) }
            p.t {
                "Each point is one " (view.varied.singular())
                "; grey bands are bounds. A failure counts as infinitely late, so a percentile with too many failures is "
                b { "never" } "."
            }
            figure {
                (both(|size| chart(view, points.clone(), size, &format!("{id}h"))))
                figcaption {
                    "Whiskers: 95\u{a0}% interval of the percentile by order statistics, attempts taken as independent. Tint: 95\u{a0}% interval of the goodput over its seconds."
                }
            }
        }
    }
}

/// The finding as a sentence.
fn heading(view: &View) -> String {
    let capacity = view.verdict().and_then(|verdict| verdict.found.capacity());
    let fails = view
        .load_line()
        .into_iter()
        .filter(|level| level.state == LevelState::Fail)
        .min_by(|a, b| a.size.total_cmp(&b.size));
    match (view.conclusion, capacity, fails) {
        (Conclusion::Invalid | Conclusion::Interrupted, ..) | (_, None, None) => {
            format!("What was measured at each {}", view.varied.singular())
        }
        (_, Some(capacity), Some(level)) => {
            let crosses = match level.clause {
                Some(clause @ Clause::ResponseTime { .. }) => {
                    format!("the {} crosses it", clause.subject())
                }
                _ => "errors do".to_owned(),
            };
            let held = view
                .varied
                .text(capacity.lower.unwrap_or(capacity.estimate));
            format!(
                "Up to {held} the objective holds; at {} {crosses}",
                level.name()
            )
        }
        (_, Some(capacity), None) => {
            let held = view
                .varied
                .text(capacity.lower.unwrap_or(capacity.estimate));
            match capacity.upper {
                Some(upper) => format!(
                    "Up to {held} the objective holds; {} was not decided",
                    view.varied.text(upper)
                ),
                None => format!(
                    "The objective holds at every {} offered, up to {held}",
                    view.varied.singular()
                ),
            }
        }
        (_, None, Some(level)) => format!("The objective fails already at {}", level.name()),
    }
}

fn chart(view: &View, points: Vec<CurvePoint>, size: Size, id: &str) -> Markup {
    let highest = points.iter().map(|point| point.size).fold(0.0, f64::max);
    let (left, right) = size.pick((58.0, 910.0), (46.0, 346.0));
    let hero = Hero {
        view,
        points,
        size,
        x: Scale::linear(highest * 1.06, left, right),
        left,
        right,
        quantile: quantile_of(view),
    };
    let title = format!(
        "Load line of {}: goodput and response time against {}",
        view.title(),
        view.varied.singular()
    );
    let mut svg = Svg::new(size, HEIGHT, id, &title, &hero.described());
    hero.bands(&mut svg);
    hero.marks(&mut svg);
    goodput::panel(&hero, &mut svg);
    response::panel(&hero, &mut svg);
    hero.axis(&mut svg);
    hero.hits(&mut svg);
    svg.finish()
}

/// What the record's plan demands; empty when nothing was asked.
fn clauses<'a>(view: &View<'a>) -> &'a [Clause] {
    let objectives = view.record.header.test.objectives();
    objectives.map_or(&[][..], |objectives| objectives.clauses())
}

fn quantile_of(view: &View) -> f64 {
    clauses(view)
        .iter()
        .find_map(|clause| match clause {
            Clause::ResponseTime { quantile, .. } => Some(*quantile),
            Clause::Errors { .. } => None,
        })
        .unwrap_or(0.99)
}

impl Hero<'_> {
    fn found(&self) -> Option<&plimsoll_core::verdict::SearchResult> {
        let verdict = self
            .view
            .verdict()
            .filter(|_| self.view.conclusion != Conclusion::Invalid);
        verdict.map(|verdict| &verdict.found)
    }

    /// Points of the curve: what was measured and is not void.
    fn valid(&self) -> impl Iterator<Item = &CurvePoint> {
        self.points.iter().filter(|point| !point.void)
    }

    /// The grid of a panel with a number at every line, and its axis at `bottom`.
    fn rungs(&self, svg: &mut Svg, y: &Scale, count: usize, bottom: f64) {
        svg.rungs(y, count, (self.left, self.right), format::number);
        svg.line("axis", (self.left, bottom), (self.right, bottom));
    }

    fn described(&self) -> String {
        let parts: Vec<String> = self
            .valid()
            .map(|point| {
                format!(
                    "{} offered: goodput {}, {} {}",
                    self.view.varied.text(point.size),
                    format::rate(point.goodput_per_s),
                    percentile_name(self.quantile),
                    format::quantile(point.tally.response_quantile(self.quantile))
                )
            })
            .collect();
        format!("{} {}.", self.view.headline, parts.join("; "))
    }

    /// Grey grounds of knee and load line through both panels.
    fn bands(&self, svg: &mut Svg) {
        let Some(found) = self.found() else { return };
        for bounds in [found.knee(), found.capacity()].into_iter().flatten() {
            if let (Some(lower), Some(upper)) = (bounds.lower, bounds.upper) {
                let (from, to) = (self.x.clamped(lower), self.x.clamped(upper));
                let width = (to - from).max(1.0);
                svg.rect(
                    "band",
                    from,
                    GOODPUT_TOP,
                    width,
                    GOODPUT_BOTTOM - GOODPUT_TOP,
                );
                svg.rect(
                    "band",
                    from,
                    RESPONSE_TOP - 34.0,
                    width,
                    RESPONSE_BOTTOM - RESPONSE_TOP + 34.0,
                );
            }
        }
    }

    /// Knee and load line as upright lines, each with its label in a row of its own.
    fn marks(&self, svg: &mut Svg) {
        let Some(found) = self.found() else { return };
        if let Some(knee) = found.knee() {
            let x = self.x.clamped(knee.estimate);
            svg.line("knee", (x, GOODPUT_TOP - 8.0), (x, RESPONSE_BOTTOM));
            let text = format!("knee {}", self.marked(&knee));
            self.label(svg, "", (x, GOODPUT_TOP - 14.0), Anchor::End, &text);
        }
        if let Some(capacity) = found.capacity() {
            let x = self.x.clamped(capacity.estimate);
            svg.line("cap", (x, 20.0), (x, RESPONSE_BOTTOM));
            svg.load_sign((x, 14.0));
            let text = format!("load line {}", self.marked(&capacity));
            self.label(svg, "b", (x, 18.0), Anchor::Start, &text);
        }
    }

    /// Beside `x` on the wanted side if it fits there, else on the other.
    fn label(&self, svg: &mut Svg, class: &str, (x, y): (f64, f64), side: Anchor, text: &str) {
        let gap = if class.is_empty() { 6.0 } else { 16.0 };
        // Bold text is about a fourteenth wider.
        let bold = if class.is_empty() { 1.0 } else { 1.07 };
        let (width, end) = (text_width(text) * bold, self.size.width() - 2.0);
        let fits_right = x + gap + width <= end;
        let fits_left = x - gap - width >= 0.0;
        let class = format!("{class} halo");
        if fits_left && (side == Anchor::End || !fits_right) {
            svg.text(&class, (x - gap, y), Anchor::End, text);
        } else {
            svg.text(
                &class,
                ((x + gap).min(end - width).max(0.0), y),
                Anchor::Start,
                text,
            );
        }
    }

    /// The bounds too where there is room; they also stand among the key figures.
    fn marked(&self, bounds: &Bounds) -> String {
        let rate = self.view.varied.text(bounds.estimate);
        match self.size {
            Size::Wide => format!("{rate} ({})", format::bounds(bounds)),
            Size::Narrow => rate,
        }
    }

    fn axis(&self, svg: &mut Svg) {
        for tick in self.x.ticks(self.size.pick(10, 6)) {
            let x = self.x.at(tick);
            svg.line("axis", (x, RESPONSE_BOTTOM), (x, RESPONSE_BOTTOM + 4.0));
            svg.text(
                "m",
                (x, RESPONSE_BOTTOM + 18.0),
                Anchor::Middle,
                &format::number(tick),
            );
        }
        let words = self.view.varied.axis();
        svg.text(
            "m",
            (f64::midpoint(self.left, self.right), HEIGHT - 6.0),
            Anchor::Middle,
            words,
        );
    }

    fn hits(&self, svg: &mut Svg) {
        let at = |index: usize| self.x.at(self.points[index].size);
        for (index, point) in self.points.iter().enumerate() {
            let from = if index == 0 {
                self.left
            } else {
                f64::midpoint(at(index - 1), at(index))
            };
            let to = if index + 1 == self.points.len() {
                self.right
            } else {
                f64::midpoint(at(index), at(index + 1))
            };
            svg.hit(
                from,
                GOODPUT_TOP,
                to - from,
                RESPONSE_BOTTOM - GOODPUT_TOP,
                &self.read_out(point),
            );
        }
    }

    fn read_out(&self, point: &CurvePoint) -> String {
        let tally = &point.tally;
        let void = if point.void {
            format!(" (void: {})", point.first.reason)
        } else {
            String::new()
        };
        let trials = if point.trials > 1 {
            format!(", {} trials", point.trials)
        } else {
            String::new()
        };
        let attempts = tally.decided().max(1) as f64;
        format!(
            "{} offered{trials}{void}\ngoodput {}\np50 {}, p95 {}, p99 {}\nfailed {}, late {}\nin flight {}",
            self.view.varied.text(point.size),
            format::rate(point.goodput_per_s),
            format::quantile(tally.response_quantile(0.5)),
            format::quantile(tally.response_quantile(0.95)),
            format::quantile(tally.response_quantile(0.99)),
            format::percent(tally.failed_ratio().unwrap_or_default()),
            format::percent(tally.ok().saturating_sub(tally.good()) as f64 / attempts),
            format::number(point.in_flight_mean)
        )
    }
}

/// Milliseconds of a percentile that was reached.
fn finite_ms(value: Option<Quantile>) -> Option<f64> {
    value
        .and_then(Quantile::finite)
        .map(plimsoll_core::Nanos::as_millis_f64)
}
