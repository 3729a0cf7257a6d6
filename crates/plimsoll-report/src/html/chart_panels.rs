//! One small drawing for each variant on shared axes: what was attempted, what was good, and how the rest failed.

use maud::{Markup, html};
use plimsoll_core::experiment::{Judged, LoadLines, Point};

use super::paint;
use super::parts::legend;
use super::scale::{Scale, room_above};
use super::svg::{Anchor, Svg};
use crate::format;
use crate::variants::words::{AxisWords, axis};
use crate::view::Lane;

const WIDTH: f64 = 358.0;
const HEIGHT: f64 = 266.0;
const LEFT: f64 = 46.0;
const RIGHT: f64 = 350.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = 220.0;

pub(super) fn section(judged: &Judged<'_>, lines: &LoadLines) -> Markup {
    let axis = axis(lines.axis);
    let lanes = lanes(lines);
    let heading = if lanes.is_empty() {
        "Every attempt of every variant is good"
    } else {
        "The upper edge is what was attempted; blue is what users got"
    };
    let variants = &judged.experiment.variants;
    // Two or four stand in two columns, others in as many as fit.
    let columns = matches!(variants.len(), 2 | 4)
        .then_some("grid-template-columns:repeat(auto-fit,minmax(min(420px,100%),1fr))");
    let panels = Panels {
        lines,
        axis,
        x: Scale::linear(lines.highest(|point| point.at) * 1.02, LEFT, RIGHT),
        y: Scale::linear(
            room_above(lines.highest(Point::attempts_per_s)),
            BOTTOM,
            TOP,
        ),
        lanes,
    };
    html! {
        section {
            h2 { (heading) }
            p.t {
                "Attempts that ended, per second, against " (axis.name)
                ", on the same axes. The base’s goodput is dotted."
            }
            @if !panels.lanes.is_empty() {
                (legend([Lane::Good].iter().chain(&panels.lanes).map(|lane| {
                    (paint::stacked(*lane), lane.name())
                })))
            }
            figure {
                div.multi style=[columns] {
                    @for (index, (variant, meaning)) in judged.variants().enumerate() {
                        div {
                            h3 { (variant.name) }
                            p.s { (variant.about) }
                            (panels.draw(index, meaning.base, variant.name))
                        }
                    }
                }
            }
        }
    }
}

/// What became of attempts that were not good, in the order of stacking.
fn lanes(lines: &LoadLines) -> Vec<Lane> {
    let occurs = |lane: &Lane| {
        let mut points = lines.lines.iter().flatten();
        points.any(|point| lane.count(&point.ended) > 0)
    };
    let not_good = Lane::all().filter(|lane| *lane != Lane::Good);
    not_good.filter(occurs).collect()
}

fn described(name: &str, line: &[Point], axis: AxisWords) -> String {
    let last = line
        .last()
        .map_or("nothing was measured".to_owned(), |point| {
            format!(
                "at {} of {} attempts per second {} are good",
                (axis.place)(point.at),
                format::number(point.attempts_per_s()),
                format::number(point.goodput_per_s())
            )
        });
    format!("{name}: {last}.")
}

/// What all drawings share.
struct Panels<'l> {
    lines: &'l LoadLines,
    axis: AxisWords,
    lanes: Vec<Lane>,
    x: Scale,
    y: Scale,
}

impl Panels<'_> {
    fn draw(&self, index: usize, base: Option<usize>, name: &str) -> Markup {
        let line = self.lines.lines.get(index).filter(|line| !line.is_empty());
        let Some(line) = line else {
            return html! { p.s { "No valid run: nothing is drawn." } };
        };
        let base = base.and_then(|base| self.lines.lines.get(base));
        let (x, y) = (&self.x, &self.y);
        let id = format!("p{index}");
        let desc = described(name, line, self.axis);
        let mut svg = Svg::small((WIDTH, HEIGHT), &id, "Attempts and goodput", &desc);
        self.axes(&mut svg);
        good_ground(&mut svg, line, (x, y));
        stack(&mut svg, line, &self.lanes, (x, y));
        svg.line("axis", (LEFT, BOTTOM), (RIGHT, BOTTOM));
        let good = |line: &[Point]| -> Vec<(f64, f64)> {
            let place = |point: &Point| (x.at(point.at), y.at(point.goodput_per_s()));
            line.iter().map(place).collect()
        };
        if let Some(base) = base {
            svg.polyline("ans", &good(base));
        }
        let attempts: Vec<(f64, f64)> = line
            .iter()
            .map(|point| (x.at(point.at), y.at(point.attempts_per_s())))
            .collect();
        svg.polyline("p50", &attempts);
        svg.polyline("good", &good(line));
        hits(&mut svg, line, self.axis, x);
        svg.finish()
    }

    fn axes(&self, svg: &mut Svg) {
        svg.rungs(&self.y, 6, (LEFT, RIGHT), format::number);
        svg.steps(&self.x, 4, BOTTOM);
        let at = (f64::midpoint(LEFT, RIGHT), BOTTOM + 36.0);
        svg.text("m", at, Anchor::Middle, self.axis.name);
    }
}

/// The ground below goodput.
fn good_ground(svg: &mut Svg, line: &[Point], (x, y): (&Scale, &Scale)) {
    let (Some(first), Some(last)) = (line.first(), line.last()) else {
        return;
    };
    let upper = line
        .iter()
        .map(|point| (x.at(point.at), y.at(point.goodput_per_s())));
    let floor = [last, first].map(|point| (x.at(point.at), y.at(0.0)));
    let outline: Vec<(f64, f64)> = upper.chain(floor).collect();
    svg.polygon("tint", &outline);
}

/// From goodput upwards, an area for each class; together they end at the attempts.
fn stack(svg: &mut Svg, line: &[Point], lanes: &[Lane], (x, y): (&Scale, &Scale)) {
    let mut below: Vec<f64> = line.iter().map(Point::goodput_per_s).collect();
    for lane in lanes {
        let above: Vec<f64> = line
            .iter()
            .zip(&below)
            .map(|(point, below)| below + point.per_s(lane.count(&point.ended)))
            .collect();
        let place = |(point, value): (&Point, &f64)| (x.at(point.at), y.at(*value));
        let upper = line.iter().zip(&above).map(place);
        let lower = line.iter().zip(&below).map(place);
        let outline: Vec<(f64, f64)> = upper.chain(lower.rev()).collect();
        if above.iter().zip(&below).any(|(above, below)| above > below) {
            svg.area(&paint::stacked(*lane), &outline);
        }
        below = above;
    }
}

fn hits(svg: &mut Svg, line: &[Point], axis: AxisWords, x: &Scale) {
    for (index, point) in line.iter().enumerate() {
        let at = x.at(point.at);
        let from = index.checked_sub(1).and_then(|before| line.get(before));
        let from = from.map_or(LEFT, |before| f64::midpoint(x.at(before.at), at));
        let to = line.get(index + 1);
        let to = to.map_or(RIGHT, |after| f64::midpoint(x.at(after.at), at));
        let text = format!(
            "about {}\nattempts {}\ngood {}\nfailed {}",
            (axis.place)(point.at),
            format::rate(point.attempts_per_s()),
            format::rate(point.goodput_per_s()),
            format::percent(point.failed_ratio())
        );
        svg.hit(from, TOP, to - from, BOTTOM - TOP, &text);
    }
}
