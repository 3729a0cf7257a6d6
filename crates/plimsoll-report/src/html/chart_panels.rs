//! One small drawing for each variant on shared axes: what was attempted, what was good, and how the rest failed.

use super::scale::{Scale, room_above};
use super::svg::{Anchor, Svg};
use super::{escape, paint};
use crate::format;
use crate::variants::Experiment;
use crate::variants::load_line::{LoadLines, Point};
use crate::view::Lane;

const WIDTH: f64 = 358.0;
const HEIGHT: f64 = 266.0;
const LEFT: f64 = 46.0;
const RIGHT: f64 = 350.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = 220.0;

pub(super) fn section(out: &mut String, experiment: &Experiment<'_>, lines: &LoadLines) {
    let lanes = lanes(lines);
    let heading = if lanes.is_empty() {
        "Every attempt of every variant is good"
    } else {
        "The upper edge is what was attempted; blue is what users got"
    };
    put!(
        out,
        "<section><h2>{heading}</h2><p class=\"t\">Attempts that ended, per second, against {}, on the same axes. The base’s goodput is dotted.</p>",
        lines.axis.words()
    );
    legend(out, &lanes);
    // Two or four stand in two columns, others in as many as fit.
    let columns = if matches!(experiment.variants.len(), 2 | 4) {
        " style=\"grid-template-columns:repeat(auto-fit,minmax(min(420px,100%),1fr))\""
    } else {
        ""
    };
    put!(out, "<figure><div class=\"multi\"{columns}>");
    let attempts = lines.highest(Point::attempts_per_s);
    let panels = Panels {
        lines,
        lanes,
        x: Scale::linear(lines.highest(|point| point.at) * 1.02, LEFT, RIGHT),
        y: Scale::linear(room_above(attempts), BOTTOM, TOP),
    };
    for (index, (variant, line)) in experiment.variants.iter().zip(&lines.lines).enumerate() {
        put!(
            out,
            "<div><h3>{}</h3><p class=\"s\">{}</p>",
            escape(variant.name),
            escape(variant.about)
        );
        let base = variant.base.and_then(|base| {
            let place = experiment.variants.iter().position(|v| v.name == base)?;
            lines.lines.get(place)
        });
        out.push_str(&panels.draw(index, line, base, variant.name));
        out.push_str("</div>");
    }
    out.push_str("</div></figure></section>");
}

/// What became of attempts that were not good, in the order of stacking.
fn lanes(lines: &LoadLines) -> Vec<Lane> {
    let occurs = |lane: &Lane| {
        let mut points = lines.lines.iter().flatten();
        points.any(|point| lane.of(&point.ended) > 0)
    };
    let not_good = Lane::all().filter(|lane| *lane != Lane::Good);
    not_good.filter(occurs).collect()
}

fn legend(out: &mut String, lanes: &[Lane]) {
    if lanes.is_empty() {
        return;
    }
    out.push_str("<ul class=\"lg\">");
    for lane in [Lane::Good].iter().chain(lanes) {
        let mut svg = Svg::inline(22.0, 11.0);
        svg.bars(&paint::stacked(*lane), &[(0.5, 0.5, 21.0, 10.0)]);
        put!(out, "<li>{}{}</li>", svg.finish(), lane.name());
    }
    out.push_str("</ul>");
}

fn described(name: &str, line: &[Point], lines: &LoadLines) -> String {
    let last = line
        .last()
        .map_or("nothing was measured".to_owned(), |point| {
            format!(
                "at {} of {} attempts per second {} are good",
                lines.axis.text(point.at),
                format::number(point.attempts_per_s()),
                format::number(point.goodput_per_s())
            )
        });
    format!("{name}: {last}.")
}

/// What all drawings share.
struct Panels<'l> {
    lines: &'l LoadLines,
    lanes: Vec<Lane>,
    x: Scale,
    y: Scale,
}

impl Panels<'_> {
    fn draw(&self, index: usize, line: &[Point], base: Option<&Vec<Point>>, name: &str) -> String {
        let (x, y) = (&self.x, &self.y);
        let id = format!("p{index}");
        let desc = described(name, line, self.lines);
        if line.is_empty() {
            return "<p class=\"s\">No valid run: nothing is drawn.</p>".to_owned();
        }
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
        hits(&mut svg, line, self.lines, x);
        svg.finish()
    }

    fn axes(&self, svg: &mut Svg) {
        for tick in self.y.ticks(6) {
            svg.line("grid", (LEFT, self.y.at(tick)), (RIGHT, self.y.at(tick)));
            let at = (LEFT - 6.0, self.y.at(tick) + 4.0);
            svg.text("m", at, Anchor::End, &format::number(tick));
        }
        for tick in self.x.ticks(4) {
            let at = (self.x.at(tick), BOTTOM + 17.0);
            svg.text("m", at, Anchor::Middle, &format::number(tick));
        }
        let at = (f64::midpoint(LEFT, RIGHT), BOTTOM + 36.0);
        svg.text("m", at, Anchor::Middle, self.lines.axis.words());
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
            .map(|(point, below)| below + point.per_s(lane.of(&point.ended)))
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

fn hits(svg: &mut Svg, line: &[Point], lines: &LoadLines, x: &Scale) {
    for (index, point) in line.iter().enumerate() {
        let at = x.at(point.at);
        let from = index.checked_sub(1).and_then(|before| line.get(before));
        let from = from.map_or(LEFT, |before| f64::midpoint(x.at(before.at), at));
        let to = line.get(index + 1);
        let to = to.map_or(RIGHT, |after| f64::midpoint(x.at(after.at), at));
        let text = format!(
            "about {}\nattempts {}\ngood {}\nfailed {}",
            lines.axis.text(point.at),
            format::rate(point.attempts_per_s()),
            format::rate(point.goodput_per_s()),
            format::percent(point.failed_ratio())
        );
        svg.hit(from, TOP, to - from, BOTTOM - TOP, &text);
    }
}
