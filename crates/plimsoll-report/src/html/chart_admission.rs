//! A limiter over the run: what was let in and refused above, the limit as it moved and who waited below.

use maud::{Markup, html};
use plimsoll_core::Outcome;
use plimsoll_core::experiment::Judged;

use super::paint;
use super::parts::{both, legend};
use super::scale::{Scale, room_above};
use super::svg::{Anchor, Size, Svg};
use crate::format;
use crate::view::{Admission, Lane, Moment, Rates, admissions};

/// In units of the drawing, from above.
const TOP: i32 = 22;
/// Of the upper panel, and where the lower one begins and ends.
const MIDDLE: i32 = 172;
const LOWER: i32 = 212;
const BOTTOM: i32 = 322;
/// Fewer readings draw nothing that a sentence would not say.
const READINGS_LEAST: usize = 3;

type Figure = fn(&Moment) -> f64;

/// Of every limiter in a record.
pub(super) fn section(record: &plimsoll_core::record::Record, id: &str) -> Markup {
    html! {
        @for (index, admission) in drawable(record).iter().enumerate() {
            section {
                h2 { "The limit as it moved: " (admission.tier) }
                (drawing(admission, &format!("{id}g{index}")))
            }
        }
    }
}

/// Of an experiment: the first run of each variant that has a limiter.
pub(super) fn of_variants(judged: &Judged<'_>) -> Markup {
    let variants = judged.experiment.variants.iter();
    let drawn: Vec<(&str, &str, Vec<Admission>)> = variants
        .filter_map(|variant| {
            let run = variant.runs.iter().find(|run| run.is_valid())?;
            Some((variant.name, variant.about, drawable(run.record)))
        })
        .filter(|(_, _, admissions)| !admissions.is_empty())
        .collect();
    html! {
        @if !drawn.is_empty() {
            section {
                h2 { "The limit as it moved" }
                p.t { "The first run of each variant that has a limiter, as that said of itself." }
                @for (place, (name, about, admissions)) in drawn.iter().enumerate() {
                    @for (index, admission) in admissions.iter().enumerate() {
                        h3 { (name) ": " (admission.tier) }
                        @if !about.is_empty() { p.s { (about) } }
                        (drawing(admission, &format!("v{place}g{index}")))
                    }
                }
            }
        }
    }
}

fn drawable(record: &plimsoll_core::record::Record) -> Vec<Admission> {
    let mut all = admissions(record);
    all.retain(|admission| admission.points.len() >= READINGS_LEAST);
    all
}

fn refused() -> Lane {
    Lane::Class(Outcome::Shed)
}

fn drawing(admission: &Admission, id: &str) -> Markup {
    let (lowest, highest) = admission.range();
    html! {
        p.t {
            "It let in " (format::rate(admission.mean(|rates| rates.admitted))) " in the mean and refused "
            (format::rate(admission.mean(|rates| rates.refused))) "; the limit moved between "
            (format::number(lowest)) " and " (format::number(highest)) ", and "
            (format::number(admission.most(|point| point.waiting))) " waited at most."
        }
        (legend([
            (paint::solid(Lane::Good), "served"),
            (paint::stacked(refused()), "refused"),
        ]))
        figure {
            (both(|size| chart(admission, size, id)))
            figcaption {
                "Above: per second. Below: the limit (thick), requests in flight (thin), requests that waited (dashed)."
            }
        }
    }
}

fn chart(admission: &Admission, size: Size, id: &str) -> Markup {
    let (left, right) = size.pick((58.0, 910.0), (46.0, 350.0));
    let x = Scale::linear(admission.end_seconds(), left, right);
    let desc = format!(
        "The limit ends at {}.",
        format::number(admission.points.last().map_or(0.0, |point| point.limit))
    );
    let mut svg = Svg::new(
        size,
        f64::from(BOTTOM) + 30.0,
        id,
        "The limit as it moved",
        &desc,
    );
    rates(&mut svg, admission, size, &x, (left, right));
    counts(&mut svg, admission, size, &x, (left, right));
    time_axis(&mut svg, admission.end_seconds(), size, &x);
    if size == Size::Wide {
        hits(&mut svg, admission, &x);
    }
    svg.finish()
}

/// Served, and refused on top of it.
fn rates(svg: &mut Svg, admission: &Admission, size: Size, x: &Scale, (left, right): (f64, f64)) {
    let rated: Vec<(f64, Rates)> = admission
        .points
        .iter()
        .filter_map(|point| Some((x.at(point.at_seconds), point.rates?)))
        .collect();
    let highest = rated
        .iter()
        .map(|(_, rates)| rates.served + rates.refused)
        .fold(0.0, f64::max);
    let y = Scale::linear(room_above(highest), f64::from(MIDDLE), f64::from(TOP));
    svg.rungs(&y, 4, (left, right), format::number);
    let line = |figure: fn(&Rates) -> f64| -> Vec<(f64, f64)> {
        let place = |(at, rates): &(f64, Rates)| (*at, y.at(figure(rates)));
        rated.iter().map(place).collect()
    };
    let served = line(|rates| rates.served);
    let all = line(|rates| rates.served + rates.refused);
    let floor: Vec<(f64, f64)> = rated.iter().map(|(at, _)| (*at, y.at(0.0))).collect();
    let between = |upper: &[(f64, f64)], lower: &[(f64, f64)]| -> Vec<(f64, f64)> {
        upper.iter().chain(lower.iter().rev()).copied().collect()
    };
    svg.area(&paint::stacked(refused()), &between(&all, &served));
    svg.polygon("tint", &between(&served, &floor));
    svg.polyline("good", &served);
    svg.line(
        "axis",
        (left, f64::from(MIDDLE)),
        (right, f64::from(MIDDLE)),
    );
    if size == Size::Wide {
        let at = (right + 10.0, f64::from(TOP) + 12.0);
        svg.text("b", at, Anchor::Start, "requests per second");
    }
}

/// The limit, what is in flight below it, and the queue.
fn counts(svg: &mut Svg, admission: &Admission, size: Size, x: &Scale, (left, right): (f64, f64)) {
    let highest = admission.most(|point| point.limit.max(point.in_flight).max(point.waiting));
    let y = Scale::linear(room_above(highest), f64::from(BOTTOM), f64::from(LOWER));
    svg.rungs(&y, 4, (left, right), format::number);
    let figures: [(&str, Figure); 3] = [
        ("svc", |point| point.waiting),
        ("p50", |point| point.in_flight),
        ("p99", |point| point.limit),
    ];
    for (class, figure) in figures {
        let place = |point: &Moment| (x.at(point.at_seconds), y.at(figure(point)));
        let line: Vec<(f64, f64)> = admission.points.iter().map(place).collect();
        svg.polyline(class, &line);
    }
    svg.line(
        "axis",
        (left, f64::from(BOTTOM)),
        (right, f64::from(BOTTOM)),
    );
    if size == Size::Wide {
        let at = (right + 10.0, f64::from(LOWER) + 12.0);
        svg.text("b", at, Anchor::Start, "limit and requests");
    }
}

fn time_axis(svg: &mut Svg, end: f64, size: Size, x: &Scale) {
    let (unit, scale) = format::time_unit(end);
    for tick in Scale::linear(end / scale, 0.0, 1.0).ticks(size.pick(10, 5)) {
        let text = format!("{}{}{unit}", format::number(tick), format::NBSP);
        svg.text(
            "m",
            (x.at(tick * scale), f64::from(BOTTOM) + 16.0),
            Anchor::Middle,
            &text,
        );
    }
}

fn hits(svg: &mut Svg, admission: &Admission, x: &Scale) {
    for point in &admission.points {
        let from = x.at((point.at_seconds - point.length_seconds).max(0.0));
        let mut text = format!("{} s", format::number(point.at_seconds));
        if let Some(rates) = point.rates {
            put!(
                text,
                "\nserved {}\nadmitted {}\nrefused {}",
                format::rate(rates.served),
                format::rate(rates.admitted),
                format::rate(rates.refused)
            );
        }
        put!(
            text,
            "\nlimit {}\nin flight {}\nwaiting {}",
            format::number(point.limit),
            format::number(point.in_flight),
            format::number(point.waiting)
        );
        svg.hit(
            from,
            f64::from(TOP),
            x.at(point.at_seconds) - from,
            f64::from(BOTTOM) - f64::from(TOP),
            &text,
        );
    }
}
