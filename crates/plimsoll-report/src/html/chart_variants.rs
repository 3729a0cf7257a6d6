//! All variants in one picture: goodput and response time against what the load varied, one colour each.

use maud::{Markup, html};
use plimsoll_core::Nanos;
use plimsoll_core::experiment::{Experiment, LoadLines, Point};
use plimsoll_core::objective::percentile_name;
use plimsoll_core::tally::Quantile;

use super::parts::both;
use super::scale::{Scale, room_above};
use super::svg::{Anchor, Size, Svg};
use crate::colour::VARIANTS;
use crate::format::{self, quoted, shortened};
use crate::variants::words::{AxisWords, axis};

const TOP: f64 = 30.0;
const BOTTOM: f64 = 290.0;
/// From the goodput's axis to the first lane of what is never reached.
const LANES: f64 = 58.0;
const LANE: f64 = 15.0;
const RESPONSE: f64 = 150.0;
/// Lines of text closer than this touch.
const LINE_HEIGHT: f64 = 15.0;
/// Throughput is drawn where it is this much more than goodput.
const APART: f64 = 1.03;

struct Chart<'e> {
    experiment: &'e Experiment<'e>,
    lines: &'e LoadLines,
    axis: AxisWords,
    size: Size,
    x: Scale,
    left: f64,
    right: f64,
}

pub(super) fn section(experiment: &Experiment<'_>, lines: &LoadLines) -> Markup {
    let words = axis(lines.axis);
    let caption = if lines.axis.is_load() {
        "Each point holds all seconds of a variant’s valid runs with about that load, counts added up. An attempt is shown when it ended."
    } else {
        "The load does not change; each point holds the same seconds of all valid runs of a variant, counts added up. An attempt is shown when it ended."
    };
    html! {
        section {
            h2 { (heading(experiment, lines, words)) }
            p.t {
                "Above: good answers per second, thick; all answers, thin and dashed, where they are more. Below: "
                (percentile_name(lines.quantile))
                " over attempts, where a failure is infinitely late and too many failures make it " b { "never" } "."
            }
            figure {
                (both(|size| chart(experiment, lines, words, size)))
                figcaption { (caption) }
            }
        }
    }
}

/// Where the lines end up, best and worst.
fn heading(experiment: &Experiment<'_>, lines: &LoadLines, axis: AxisWords) -> String {
    let named = experiment.variants.iter().zip(&lines.lines);
    let mut ends: Vec<(&str, &Point)> = named
        .filter_map(|(variant, line)| Some((variant.name, line.last()?)))
        .collect();
    ends.sort_by(|one, other| other.1.goodput_per_s().total_cmp(&one.1.goodput_per_s()));
    let says = |(name, point): &(&str, &Point)| {
        format!(
            "{} of {}",
            format::rate(point.goodput_per_s()),
            quoted(name)
        )
    };
    match (ends.first(), ends.last()) {
        (Some(best), Some(worst)) if lines.axis.is_load() && best.0 != worst.0 => format!(
            "At the highest load, about {}, {} is good, {}",
            (axis.place)(best.1.at),
            says(best),
            says(worst)
        ),
        (Some(best), _) if lines.axis.is_load() => format!(
            "At the highest load, about {}, {} is good",
            (axis.place)(best.1.at),
            says(best)
        ),
        _ => "Goodput and response time over the run".to_owned(),
    }
}

fn chart(experiment: &Experiment<'_>, lines: &LoadLines, axis: AxisWords, size: Size) -> Markup {
    let (left, right) = size.pick((58.0, 850.0), (46.0, 350.0));
    let highest = lines.highest(|point| point.at);
    let chart = Chart {
        experiment,
        lines,
        axis,
        size,
        x: Scale::linear(highest * 1.02, left, right),
        left,
        right,
    };
    let never = chart.with_never();
    let response_top = BOTTOM + LANES + never.len() as f64 * LANE + 20.0;
    let height = response_top + RESPONSE + 44.0;
    let title = format!("Goodput of all variants against {}", axis.name);
    let mut svg = Svg::new(size, height, "variants", &title, &chart.described());
    chart.goodput(&mut svg);
    chart.never(&mut svg, &never);
    chart.response(&mut svg, response_top);
    svg.finish()
}

/// Which of the palette's colours; variants beyond it begin again, and their names tell them apart.
pub(super) fn colour(index: usize) -> usize {
    index % VARIANTS.len()
}

impl Chart<'_> {
    fn described(&self) -> String {
        let named = self.experiment.variants.iter().zip(&self.lines.lines);
        let texts: Vec<String> = named
            .map(|(variant, line)| {
                let points: Vec<String> = line
                    .iter()
                    .step_by(4)
                    .map(|point| {
                        let at = (self.axis.place)(point.at);
                        format!("{at} {}", format::rate(point.goodput_per_s()))
                    })
                    .collect();
                format!("{}: {}", variant.name, points.join(", "))
            })
            .collect();
        format!("Goodput. {}.", texts.join(". "))
    }

    fn axes(&self, svg: &mut Svg, y: &Scale, bottom: f64, show: fn(f64) -> String) {
        svg.rungs(y, 6, (self.left, self.right), show);
        svg.steps(&self.x, self.size.pick(8, 4), bottom);
        svg.line("axis", (self.left, bottom), (self.right, bottom));
        svg.text(
            "m",
            (f64::midpoint(self.left, self.right), bottom + 34.0),
            Anchor::Middle,
            self.axis.name,
        );
    }

    fn goodput(&self, svg: &mut Svg) {
        let most = self.lines.highest(Point::throughput_per_s);
        let most = most.max(self.lines.highest(Point::goodput_per_s));
        let y = Scale::linear(room_above(most), BOTTOM, TOP);
        self.axes(svg, &y, BOTTOM, format::number);
        svg.text(
            "b",
            (self.left, TOP - 14.0),
            Anchor::Start,
            "good answers per second",
        );
        let mut names = Vec::new();
        for (index, line) in self.lines.lines.iter().enumerate() {
            let good = self.places(line, |point| Some(y.at(point.goodput_per_s())));
            let apart = line
                .iter()
                .any(|p| p.throughput_per_s() > APART * p.goodput_per_s());
            if apart {
                let all = self.places(line, |point| Some(y.at(point.throughput_per_s())));
                svg.polyline(&format!("t{}", colour(index)), &all);
            }
            svg.polyline(&format!("l{}", colour(index)), &good);
            for at in &good {
                svg.circle(&format!("f{}", colour(index)), *at, 2.6);
            }
            if let (Some(at), Some(last)) = (good.last(), line.last()) {
                names.push((index, at.1, Some(last.goodput_per_s())));
            }
        }
        self.names(svg, names, (TOP + 4.0, BOTTOM - 4.0));
    }

    fn places(&self, line: &[Point], y: impl Fn(&Point) -> Option<f64>) -> Vec<(f64, f64)> {
        let place = |point: &Point| Some((self.x.at(point.at), y(point)?));
        line.iter().filter_map(place).collect()
    }

    /// The bound of the percentile that is drawn.
    fn objective(&self, svg: &mut Svg, y: &Scale, bound: Option<f64>) {
        let (Some(bound), Some(asked)) = (bound, self.lines.bound) else {
            return;
        };
        let at = y.at(bound);
        svg.line("slo", (self.left, at), (self.right, at));
        let text = format!("objective {}", format::bound(asked));
        svg.text("f halo", (self.right - 4.0, at + 14.0), Anchor::End, &text);
    }

    /// Names at the ends of the lines, moved apart until each has a line of its own.
    fn names(&self, svg: &mut Svg, mut names: Vec<(usize, f64, Option<f64>)>, within: (f64, f64)) {
        names.sort_by(|one, other| one.1.total_cmp(&other.1));
        let mut places: Vec<f64> = names.iter().map(|(_, y, _)| *y).collect();
        spread_apart(&mut places, LINE_HEIGHT, within);
        for ((index, end, goodput), y) in names.into_iter().zip(places) {
            let Some(variant) = self.experiment.variants.get(index) else {
                continue;
            };
            let figure = goodput.map_or(String::new(), |at| format!(" {}", format::rate(at)));
            let most = self.size.pick(18, 14);
            let text = format!("{}{figure}", shortened(variant.name, most));
            match self.size {
                Size::Wide => {
                    let class = format!("l{}", colour(index));
                    svg.line(&class, (self.right + 2.0, end), (self.right + 16.0, y));
                    svg.text("b", (self.right + 22.0, y + 4.0), Anchor::Start, &text);
                }
                Size::Narrow => {
                    let dot = (self.right - 4.0, y - 8.0);
                    svg.circle(&format!("f{}", colour(index)), dot, 3.5);
                    svg.text("b halo", (self.right - 12.0, y - 4.0), Anchor::End, &text);
                }
            }
        }
    }

    /// Variants whose percentile is never reached somewhere.
    fn with_never(&self) -> Vec<usize> {
        let never = |line: &[Point]| line.iter().any(|point| self.is_never(point));
        let lines = self.lines.lines.iter().enumerate();
        lines
            .filter(|(_, line)| never(line))
            .map(|(index, _)| index)
            .collect()
    }

    fn is_never(&self, point: &Point) -> bool {
        point.quantile(self.lines.quantile) == Some(Quantile::Never)
    }

    /// One lane for each of them.
    fn never(&self, svg: &mut Svg, never: &[usize]) {
        for (lane, index) in never.iter().enumerate() {
            let y = BOTTOM + LANES + lane as f64 * LANE;
            let Some(line) = self.lines.lines.get(*index) else {
                continue;
            };
            svg.line("grid", (self.left, y), (self.right, y));
            let mut worst = 0.0_f64;
            for point in line.iter().filter(|point| self.is_never(point)) {
                svg.triangle(&format!("f{}", colour(*index)), (self.x.at(point.at), y));
                worst = worst.max(point.failed_ratio());
            }
            if lane == 0 {
                svg.text("b", (self.left, y - 10.0), Anchor::Start, "never");
            }
            if self.size == Size::Wide {
                let name = self.experiment.variants.get(*index).map_or("", |v| v.name);
                let text = format!(
                    "{}, up to {} fail",
                    shortened(name, 12),
                    format::percent(worst)
                );
                svg.text("", (self.right + 22.0, y + 4.0), Anchor::Start, &text);
            }
        }
    }

    fn response(&self, svg: &mut Svg, top: f64) {
        let bottom = top + RESPONSE;
        let ms = |point: &Point| {
            let at = point.quantile(self.lines.quantile)?.finite()?;
            Some(at.as_millis_f64()).filter(|ms| *ms > 0.0)
        };
        let all: Vec<f64> = self.lines.lines.iter().flatten().filter_map(ms).collect();
        let (low, high) = all.iter().fold((f64::MAX, 0.0_f64), |(low, high), ms| {
            (low.min(*ms), high.max(*ms))
        });
        if all.is_empty() {
            return;
        }
        // A bound far from everything measured would flatten it.
        let near = self.lines.bound.map(Nanos::as_millis_f64);
        let near = near.filter(|bound| *bound < high * 20.0 && *bound > low / 20.0);
        let (low, high) = near.map_or((low, high), |at| (low.min(at), high.max(at)));
        let y = Scale::log(low * 0.8, high * 1.25, bottom, top);
        self.axes(svg, &y, bottom, |ms| format::seconds(ms / 1e3));
        self.objective(svg, &y, near);
        let name = format!("{} over attempts", percentile_name(self.lines.quantile));
        svg.text("b halo", (self.left, top - 8.0), Anchor::Start, &name);
        let mut names = Vec::new();
        for (index, line) in self.lines.lines.iter().enumerate() {
            // A line ends where the percentile is never reached: between two failures there is no value.
            for run in line.split(|point| ms(point).is_none()) {
                let places = self.places(run, |point| ms(point).map(|ms| y.clamped(ms)));
                svg.polyline(&format!("l{}", colour(index)), &places);
                for at in &places {
                    svg.circle(&format!("f{}", colour(index)), *at, 2.2);
                }
            }
            if let Some(last) = line.last().and_then(ms) {
                names.push((index, y.clamped(last), None));
            }
        }
        self.names(svg, names, (top + 4.0, bottom - 4.0));
    }
}

/// Moves what is in order of height apart, keeping the order, inside the bounds where they have room.
pub(super) fn spread_apart(places: &mut [f64], gap: f64, (top, bottom): (f64, f64)) {
    let mut least = top;
    for place in places.iter_mut() {
        *place = place.max(least);
        least = *place + gap;
    }
    let mut most = bottom;
    for place in places.iter_mut().rev() {
        *place = place.min(most);
        most = *place - gap;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_never_touch_and_keep_their_order() {
        let mut places = [100.0, 101.0, 101.5, 250.0, 286.0, 287.0];
        spread_apart(&mut places, 15.0, (30.0, 286.0));
        for pair in places.windows(2) {
            assert!(pair[1] - pair[0] >= 15.0 - 1e-9, "{places:?}");
        }
        assert!(places[0] >= 30.0 && places[5] <= 286.0, "{places:?}");
    }

    #[test]
    fn long_names_are_cut_and_say_so() {
        assert_eq!(shortened("2A", 14), "2A");
        assert_eq!(shortened("a-very-long-variant", 6), "a-ver…");
    }
}
