//! The lower panel: response time against arrival rate, with a lane for what is never answered.

use plimsoll_core::objective::{Clause, percentile_name};
use plimsoll_core::tally::Quantile;
use plimsoll_core::{Nanos, Outcome, interval};

use super::{
    Anchor, CurvePoint, Hero, LANE, RESPONSE_BOTTOM, RESPONSE_TOP, Scale, Size, Svg, clauses,
    finite_ms, format, text_width, unbroken,
};

pub(super) fn panel(hero: &Hero, svg: &mut Svg) {
    let Some(y) = scale(hero) else { return };
    hero.rungs(svg, &y, 8, RESPONSE_BOTTOM);
    svg.line("rule", (hero.left, LANE + 12.0), (hero.right, LANE + 12.0));
    svg.text("b", (hero.left - 6.0, LANE + 4.0), Anchor::End, "never");
    if hero.size == Size::Wide {
        let x = hero.right + 10.0;
        svg.text("b", (x, LANE - 6.0), Anchor::Start, "response time");
        svg.text("m", (x, LANE + 9.0), Anchor::Start, "ms, log scale");
    } else {
        let name = format!(
            "response ms, log: thick {}, thin p50",
            percentile_name(hero.quantile)
        );
        svg.text("b halo", (0.0, LANE - 26.0), Anchor::Start, &name);
    }
    objective(hero, svg, &y);
    survivors(hero, svg, &y);
    percentile(hero, svg, &y, 0.5, ("p50", "d50"));
    whiskers(hero, svg, &y);
    percentile(hero, svg, &y, hero.quantile, ("p99", "d99"));
    names(hero, svg, &y);
}

/// From the fastest median to the slowest percentile or bound, with room for the labels.
fn scale(hero: &Hero) -> Option<Scale> {
    let of = |q: f64| {
        hero.points
            .iter()
            .filter_map(move |point| finite_ms(point.tally.response_quantile(q)))
    };
    let low = of(0.5).fold(f64::MAX, f64::min);
    let high = of(hero.quantile)
        .chain(of(0.5))
        .chain(answers(hero))
        .fold(0.0, f64::max);
    let bound = bounds_ms(hero)
        .into_iter()
        .map(|(bound, _)| bound)
        .fold(0.0, f64::max);
    (high > 0.0 && low < f64::MAX).then(|| {
        Scale::log(
            low * 0.7,
            high.max(bound) * 1.35,
            RESPONSE_BOTTOM,
            RESPONSE_TOP,
        )
    })
}

fn answers<'a>(hero: &'a Hero) -> impl Iterator<Item = f64> + 'a {
    hero.points
        .iter()
        .filter_map(|point| answers_ms(hero, point))
}

fn answers_ms(hero: &Hero, point: &CurvePoint) -> Option<f64> {
    point
        .tally
        .class(Outcome::Ok)
        .response
        .quantile(hero.quantile)
        .map(Nanos::as_millis_f64)
}

fn bounds_ms(hero: &Hero) -> Vec<(f64, String)> {
    clauses(hero.view)
        .iter()
        .filter_map(|clause| match clause {
            Clause::ResponseTime { bound_ns, .. } => {
                Some((bound_ns.as_millis_f64(), unbroken(&clause.to_string())))
            }
            Clause::Errors { .. } => None,
        })
        .collect()
}

fn objective(hero: &Hero, svg: &mut Svg, y: &Scale) {
    for (bound, text) in bounds_ms(hero) {
        let at = y.clamped(bound);
        svg.line("slo", (hero.left, at), (hero.right, at));
        match hero.size {
            Size::Wide => svg.text("f", (hero.right + 10.0, at + 4.0), Anchor::Start, &text),
            Size::Narrow => svg.text("f halo", (hero.left + 4.0, at - 5.0), Anchor::Start, &text),
        }
    }
}

/// A percentile over attempts; where it is never reached it leaves the scale for the lane above.
fn percentile(hero: &Hero, svg: &mut Svg, y: &Scale, q: f64, (line, dot): (&str, &str)) {
    let mut run: Vec<(f64, f64)> = Vec::new();
    let mut marks = Vec::new();
    for point in hero.valid() {
        let x = hero.x.at(point.size);
        match point.tally.response_quantile(q) {
            Some(Quantile::At(value)) => {
                run.push((x, y.clamped(value.as_millis_f64())));
                marks.push((x, Some(y.clamped(value.as_millis_f64()))));
            }
            Some(Quantile::Never) => {
                let first = marks.last().is_none_or(|(_, at)| at.is_some());
                if first {
                    run.push((x, LANE + 4.0));
                }
                marks.push((x, None));
            }
            None => {}
        }
    }
    // Only the first step into the lane is drawn: between two failures there is no value.
    svg.polyline(line, &run);
    let shift = if q > 0.5 { 0.0 } else { 9.0 };
    for (x, at) in marks {
        match at {
            Some(at) => svg.circle(dot, (x, at), if q > 0.5 { 4.0 } else { 3.2 }),
            None => svg.triangle(dot, (x + shift, LANE)),
        }
    }
    for point in hero.points.iter().filter(|point| point.void) {
        let x = hero.x.at(point.size);
        let at = finite_ms(point.tally.response_quantile(q)).map_or(LANE, |value| y.clamped(value));
        svg.circle("dvoid", (x, at), 4.0);
    }
}

fn whiskers(hero: &Hero, svg: &mut Svg, y: &Scale) {
    for point in hero.valid().filter(|point| point.trials == 1) {
        let Some((low, high)) = interval::of_quantile(&point.first.tally, hero.quantile) else {
            continue;
        };
        let Some(low) = finite_ms(Some(low)) else {
            continue;
        };
        if point.tally.response_quantile(hero.quantile) == Some(Quantile::Never) {
            continue;
        }
        let x = hero.x.at(point.size);
        let to = finite_ms(Some(high)).map_or(LANE + 12.0, |high| y.clamped(high));
        svg.line("w99", (x, y.clamped(low)), (x, to));
    }
}

/// What the answered attempts alone would claim, where the honest percentile is never.
fn survivors(hero: &Hero, svg: &mut Svg, y: &Scale) {
    let points: Vec<&CurvePoint> = hero.valid().collect();
    let never =
        |point: &CurvePoint| point.tally.response_quantile(hero.quantile) == Some(Quantile::Never);
    let Some(first) = points.iter().position(|point| never(point)) else {
        return;
    };
    let run: Vec<(f64, f64)> = points[first.saturating_sub(1)..]
        .iter()
        .filter_map(|point| {
            let value = if never(point) {
                answers_ms(hero, point)
            } else {
                finite_ms(point.tally.response_quantile(hero.quantile))
            };
            Some((hero.x.at(point.size), y.clamped(value?)))
        })
        .collect();
    svg.polyline("ans", &run);
    for at in run.iter().skip(usize::from(first > 0)) {
        svg.circle("dans", *at, 3.0);
    }
    if let (Some(last), Size::Wide) = (run.last(), hero.size) {
        let near = bounds_ms(hero)
            .iter()
            .any(|(bound, _)| (y.clamped(*bound) - last.1).abs() < 15.0);
        let at = if near {
            last.1.max(y.clamped(bounds_ms(hero)[0].0)) + 18.0
        } else {
            last.1 + 4.0
        };
        let text = format!("{}, answers only", percentile_name(hero.quantile));
        svg.text("m", (hero.right + 10.0, at), Anchor::Start, &text);
    }
}

/// The lines' names beside their first point, and the failed share in the lane.
fn names(hero: &Hero, svg: &mut Svg, y: &Scale) {
    let high = format!("{} of attempts", percentile_name(hero.quantile));
    if hero.size == Size::Wide {
        name(hero, svg, y, hero.quantile, ("b halo", &high));
        name(hero, svg, y, 0.5, ("halo", "p50 of attempts"));
    }
    let mut free_from = hero.left;
    for point in hero.valid() {
        if point.tally.response_quantile(hero.quantile) != Some(Quantile::Never) {
            continue;
        }
        let failed = point.tally.failed_ratio().unwrap_or_default();
        let text = format!("{} failed", format::percent(failed));
        let (half, x) = (text_width(&text) / 2.0, hero.x.at(point.size));
        let middle = x.min(hero.size.width() - half - 2.0);
        if middle - half > free_from {
            svg.text("halo", (middle, LANE - 9.0), Anchor::Middle, &text);
            free_from = middle + half + 6.0;
        }
    }
}

/// Above the start of the line, clear of where it rises.
fn name(hero: &Hero, svg: &mut Svg, y: &Scale, q: f64, (class, text): (&str, &str)) {
    let line: Vec<(f64, f64)> = hero
        .valid()
        .map_while(|point| {
            let value = finite_ms(point.tally.response_quantile(q))?;
            Some((hero.x.at(point.size), y.clamped(value)))
        })
        .collect();
    let Some(first) = line.first() else { return };
    let end = first.0 + 6.0 + text_width(text);
    let highest = line
        .windows(2)
        .filter(|pair| pair[0].0 < end)
        .map(|pair| {
            let share = ((end - pair[0].0) / (pair[1].0 - pair[0].0)).min(1.0);
            pair[0].1 + (pair[1].1 - pair[0].1) * share
        })
        .fold(first.1, f64::min);
    // Below the line where the objective is in the way above it.
    let crossed = |at: f64| {
        bounds_ms(hero)
            .iter()
            .any(|(bound, _)| (y.clamped(*bound) - at + 4.0).abs() < 9.0)
    };
    let at = if crossed(highest - 8.0) {
        first.1 + 19.0
    } else {
        highest - 8.0
    };
    svg.text(class, (first.0 + 6.0, at), Anchor::Start, text);
}
