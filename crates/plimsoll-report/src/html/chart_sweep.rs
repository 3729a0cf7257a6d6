//! Curves of a sweep: what each line carries and how late its answers are, with the chosen model as a thin line.

use maud::{Markup, html};
use plimsoll_core::sweep::{Figures, Line, Sweep};
use plimsoll_core::tally::Quantile;

use super::chart_variants::{colour, spread_apart};
use super::parts::both;
use super::scale::{Scale, room_above};
use super::svg::{Anchor, Size, Svg};
use crate::format::{self, shortened};
use crate::view::sweep as words;

const TOP: i32 = 30;
const BOTTOM: i32 = 270;
const RESPONSE_TOP: i32 = 350;
const RESPONSE_BOTTOM: i32 = 490;
/// Room below the last axis.
const BELOW: i32 = 44;
const LINE_HEIGHT: i32 = 15;

struct Chart<'s> {
    sweep: &'s Sweep,
    size: Size,
    x: Scale,
    left: f64,
    right: f64,
}

pub(super) fn section(sweep: &Sweep) -> Markup {
    if words::highest(sweep) <= 0.0 {
        return html! {};
    }
    html! {
        section {
            h2 { "What is carried, and how late the answers are" }
            p.t {
                "Above: " @if sweep.is_search { "what is carried per second within the objective" } @else { "good answers per second" }
                ", thick; the chosen model of all correct answers, also late ones, thin and dashed. A vertical line is the knee. Below: p99 over attempts."
            }
            figure {
                (both(|size| chart(sweep, size)))
                figcaption { "Each point is the mean of its valid runs, and its bar the 95 % interval of that." }
            }
        }
    }
}

/// Where each point lies: by its concurrency where all have one, else in the order of the values.
fn place(sweep: &Sweep, index: usize, figures: &Figures) -> f64 {
    if by_concurrency(sweep) {
        figures.concurrency.unwrap_or(1.0)
    } else {
        (index + 1) as f64
    }
}

fn by_concurrency(sweep: &Sweep) -> bool {
    let fits = sweep
        .lines
        .iter()
        .any(|line| line.modelled.knee.is_some() || !line.modelled.fits.is_empty());
    let mut figures = sweep
        .points
        .iter()
        .filter_map(|point| point.figures.as_ref());
    fits || sweep
        .lines
        .iter()
        .any(|line| line.efficiency.iter().flatten().count() > 1)
        && figures.all(|figures| figures.concurrency.is_some())
}

fn chart(sweep: &Sweep, size: Size) -> Markup {
    let (left, right) = size.pick((58.0, 850.0), (46.0, 350.0));
    let all = sweep.lines.iter().flat_map(|line| points(sweep, line));
    let places: Vec<f64> = all.map(|(at, _, _)| at).collect();
    let low = places.iter().copied().fold(f64::MAX, f64::min);
    let high = places.iter().copied().fold(0.0, f64::max);
    let chart = Chart {
        sweep,
        size,
        x: Scale::log(low, high, left + 12.0, right - 12.0),
        left,
        right,
    };
    let title = format!("What is carried against {}", words::axis(sweep));
    let height = f64::from(RESPONSE_BOTTOM + BELOW);
    let mut svg = Svg::new(size, height, "sweep", &title, &described(sweep));
    chart.carried(&mut svg);
    chart.response(&mut svg);
    svg.finish()
}

/// Place, text of the value and figures of each valid point.
fn points<'s>(sweep: &'s Sweep, line: &'s Line) -> Vec<(f64, &'s str, &'s Figures)> {
    let points = words::along(sweep, line);
    let valid = points.filter_map(|(index, value, point)| {
        let figures = point.figures.as_ref()?;
        Some((place(sweep, index, figures), value, figures))
    });
    valid.collect()
}

fn described(sweep: &Sweep) -> String {
    let lines = sweep.lines.iter().map(|line| {
        let points = points(sweep, line).into_iter();
        let points = points
            .map(|(_, value, figures)| format!("{value} {}", format::rate(figures.carried_per_s)));
        format!("{} {}.", line.name, points.collect::<Vec<_>>().join(", "))
    });
    lines.collect::<Vec<_>>().join(" ")
}

impl Chart<'_> {
    fn axes(&self, svg: &mut Svg, y: &Scale, bottom: f64, show: fn(f64) -> String) {
        svg.rungs(y, 6, (self.left, self.right), show);
        svg.line("axis", (self.left, bottom), (self.right, bottom));
        let mut shown: Vec<&str> = Vec::new();
        for (at, value, _) in self
            .sweep
            .lines
            .iter()
            .flat_map(|line| points(self.sweep, line))
        {
            if !shown.contains(&value) {
                shown.push(value);
                svg.text("m", (self.x.at(at), bottom + 17.0), Anchor::Middle, value);
            }
        }
        let middle = f64::midpoint(self.left, self.right);
        svg.text(
            "m",
            (middle, bottom + 34.0),
            Anchor::Middle,
            words::axis(self.sweep),
        );
    }

    fn carried(&self, svg: &mut Svg) {
        let (top, bottom) = (f64::from(TOP), f64::from(BOTTOM));
        let ends = self
            .sweep
            .points
            .iter()
            .filter_map(|point| point.figures?.carried_interval);
        let most = ends
            .map(|(_, high)| high)
            .fold(words::highest(self.sweep), f64::max);
        let y = Scale::linear(room_above(most), bottom, top);
        self.axes(svg, &y, bottom, format::number);
        svg.text("b", (self.left, top - 14.0), Anchor::Start, "per second");
        let mut names = Vec::new();
        for (index, line) in self.sweep.lines.iter().enumerate() {
            let class = colour(index);
            self.model(svg, line, &y, class);
            let points = points(self.sweep, line);
            let at: Vec<(f64, f64)> = points
                .iter()
                .map(|(x, _, it)| (self.x.at(*x), y.at(it.carried_per_s)))
                .collect();
            svg.polyline(&format!("l{class}"), &at);
            for ((x, _, figures), at) in points.iter().zip(&at) {
                if let Some((low, high)) = figures.carried_interval {
                    let x = self.x.at(*x);
                    svg.line(
                        &format!("t{class}"),
                        (x, y.clamped(low)),
                        (x, y.clamped(high)),
                    );
                }
                svg.circle(&format!("f{class}"), *at, 3.2);
            }
            names.extend(at.last().map(|at| (index, at.1)));
        }
        self.names(svg, names, (top + 4.0, bottom - 4.0));
    }

    /// The chosen model, and where it has its knee.
    fn model(&self, svg: &mut Svg, line: &Line, y: &Scale, class: usize) {
        if let Some(fit) = line.modelled.fits.first() {
            let curve: Vec<(f64, f64)> = fit
                .curve
                .iter()
                .map(|(n, x)| (self.x.clamped(*n), y.clamped(*x)))
                .collect();
            svg.polyline(&format!("t{class}"), &curve);
        }
        if let Some(knee) = line.modelled.knee.filter(|_| by_concurrency(self.sweep)) {
            let x = self.x.clamped(knee.in_flight.estimate);
            svg.line("knee", (x, f64::from(TOP)), (x, f64::from(BOTTOM)));
            let text = format!("knee {}", format::number(knee.in_flight.estimate));
            svg.text(
                "halo",
                (x + 5.0, f64::from(BOTTOM) - 8.0),
                Anchor::Start,
                &text,
            );
        }
    }

    fn response(&self, svg: &mut Svg) {
        let (top, bottom) = (f64::from(RESPONSE_TOP), f64::from(RESPONSE_BOTTOM));
        let seconds = |figures: &Figures| {
            let p99 = figures.p99.and_then(Quantile::finite)?;
            Some(p99.as_secs_f64()).filter(|seconds| *seconds > 0.0)
        };
        let all: Vec<f64> = self
            .sweep
            .points
            .iter()
            .filter_map(|point| seconds(point.figures.as_ref()?))
            .collect();
        if all.is_empty() {
            return;
        }
        let low = all.iter().copied().fold(f64::MAX, f64::min);
        let high = all.iter().copied().fold(0.0, f64::max);
        let y = Scale::log(low * 0.5, high * 2.0, bottom, top);
        self.axes(svg, &y, bottom, format::seconds);
        svg.text(
            "b halo",
            (self.left, top - 8.0),
            Anchor::Start,
            "p99 over attempts",
        );
        for (index, line) in self.sweep.lines.iter().enumerate() {
            let points = points(self.sweep, line);
            let at: Vec<(f64, f64)> = points
                .iter()
                .filter_map(|(x, _, it)| Some((self.x.at(*x), y.at(seconds(it)?))))
                .collect();
            svg.polyline(&format!("l{}", colour(index)), &at);
            for at in &at {
                svg.circle(&format!("f{}", colour(index)), *at, 2.6);
            }
        }
    }

    /// Names at the ends of the lines, each with a line of its own; a single line needs none.
    fn names(&self, svg: &mut Svg, mut names: Vec<(usize, f64)>, within: (f64, f64)) {
        names.sort_by(|a, b| a.1.total_cmp(&b.1));
        let mut places: Vec<f64> = names.iter().map(|(_, y)| *y).collect();
        spread_apart(&mut places, f64::from(LINE_HEIGHT), within);
        for ((index, end), y) in names.into_iter().zip(places) {
            let name = self
                .sweep
                .lines
                .get(index)
                .map_or("", |line| line.name.as_str());
            if name.is_empty() {
                continue;
            }
            let text = shortened(name, self.size.pick(30, 14));
            match self.size {
                Size::Wide => {
                    let class = format!("l{}", colour(index));
                    svg.line(&class, (self.right + 2.0, end), (self.right + 16.0, y));
                    svg.text("b", (self.right + 22.0, y + 4.0), Anchor::Start, &text);
                }
                Size::Narrow => {
                    svg.text("b halo", (self.right - 12.0, y - 4.0), Anchor::End, &text);
                }
            }
        }
    }
}
