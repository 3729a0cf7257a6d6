//! The upper panel: goodput against arrival rate, its peak and where it collapses.

use super::{
    Anchor, Collapse, CurvePoint, GOODPUT_BOTTOM, GOODPUT_TOP, Hero, Scale, Size, Svg, format,
    room_above, text_width,
};
use crate::view::View;

pub(super) fn panel(hero: &Hero, svg: &mut Svg) {
    let top = |point: &CurvePoint| {
        point
            .goodput_interval
            .map_or(point.goodput_per_s, |(_, high)| high)
    };
    let highest = hero.points.iter().map(top).fold(0.0, f64::max);
    let y = Scale::linear(room_above(highest), GOODPUT_BOTTOM, GOODPUT_TOP + 4.0);
    hero.rungs(svg, &y, 7, GOODPUT_BOTTOM);
    caption(hero, svg);
    peak(hero, svg, &y);
    all_good(hero, svg, &y);
    curve(hero, svg, &y);
    collapse(hero, svg, &y);
}

/// The panel's name stands inside, at the lower right, where no goodput is.
fn caption(hero: &Hero, svg: &mut Svg) {
    let words = caption_words(hero.view);
    match hero.size {
        Size::Wide => svg.text(
            "b",
            (hero.right + 10.0, GOODPUT_TOP + 12.0),
            Anchor::Start,
            "goodput per second",
        ),
        Size::Narrow => svg.text(
            "b halo",
            (hero.left + 4.0, GOODPUT_TOP + 14.0),
            Anchor::Start,
            "goodput per second",
        ),
    }
    if hero.size == Size::Wide {
        svg.text(
            "m",
            (hero.right + 10.0, GOODPUT_TOP + 28.0),
            Anchor::Start,
            &words,
        );
    }
}

fn caption_words(view: &View) -> String {
    let bound = view
        .record
        .header
        .test
        .objectives()
        .and_then(plimsoll_core::Objectives::longest_bound);
    bound.map_or("correct".to_owned(), |bound| {
        format!("correct within {}", format::bound(bound))
    })
}

fn peak(hero: &Hero, svg: &mut Svg, y: &Scale) {
    let Some(peak) = hero.found().and_then(|found| found.peak_goodput_per_s) else {
        return;
    };
    if let (Some(lower), Some(upper)) = (peak.lower, peak.upper) {
        let (from, to) = (y.clamped(upper), y.clamped(lower));
        svg.rect(
            "band",
            hero.left,
            from,
            hero.right - hero.left,
            (to - from).max(1.0),
        );
    }
    let at = y.clamped(peak.estimate);
    let text = format!("peak {}", format::rate(peak.estimate));
    if hero.size == Size::Wide {
        let at = at.max(GOODPUT_TOP + 50.0);
        svg.text("b", (hero.right + 10.0, at), Anchor::Start, &text);
        svg.text(
            "m",
            (hero.right + 10.0, at + 15.0),
            Anchor::Start,
            &format::bounds(&peak),
        );
    } else {
        svg.text("halo", (hero.right, at + 18.0), Anchor::End, &text);
    }
}

/// Where every request offered would be good.
fn all_good(hero: &Hero, svg: &mut Svg, y: &Scale) {
    let end = y.to().min(hero.x.to());
    svg.line(
        "all",
        (hero.x.at(0.0), y.at(0.0)),
        (hero.x.at(end), y.at(end)),
    );
}

fn curve(hero: &Hero, svg: &mut Svg, y: &Scale) {
    let at = |point: &CurvePoint| (hero.x.at(point.size), y.at(point.goodput_per_s));
    let valid: Vec<&CurvePoint> = hero.valid().collect();
    for pair in valid.windows(2) {
        let (Some(a), Some(b)) = (pair[0].goodput_interval, pair[1].goodput_interval) else {
            continue;
        };
        let (from, to) = (at(pair[0]).0, at(pair[1]).0);
        let high = [(from, y.clamped(a.1)), (to, y.clamped(b.1))];
        let low = [(to, y.clamped(b.0)), (from, y.clamped(a.0))];
        svg.polygon("tint", &[high, low].concat());
    }
    let line: Vec<(f64, f64)> = hero.valid().map(at).collect();
    svg.polyline("good", &line);
    for point in &hero.points {
        svg.circle(if point.void { "dvoid" } else { "dgood" }, at(point), 4.0);
    }
    if let Some(void) = hero.points.iter().find(|point| point.void) {
        let (x, y) = at(void);
        let text = "void";
        let x = x.min(hero.right - text_width(text));
        svg.text("m halo", (x, y + 20.0), Anchor::Middle, text);
    }
}

/// The stretch in which goodput falls away, or the words that it does not.
fn collapse(hero: &Hero, svg: &mut Svg, y: &Scale) {
    match hero
        .found()
        .and_then(plimsoll_core::verdict::SearchResult::collapse)
    {
        Some(Collapse::At(bounds)) => {
            let from = hero.x.clamped(bounds.lower.unwrap_or(bounds.estimate));
            let to = hero.x.clamped(bounds.upper.unwrap_or(bounds.estimate));
            svg.rect(
                "void",
                from,
                GOODPUT_BOTTOM - 10.0,
                (to - from).max(2.0),
                10.0,
            );
            let text = format!(
                "collapse between {}{}",
                format::bounds(&bounds),
                hero.view.varied.unit()
            );
            let half = text_width(&text) / 2.0;
            let middle = f64::midpoint(from, to)
                .clamp(hero.left + half, (hero.right - half).max(hero.left + half));
            svg.text(
                "halo",
                (middle, GOODPUT_BOTTOM - 16.0),
                Anchor::Middle,
                &text,
            );
        }
        Some(
            Collapse::NoneUpTo {
                rate_per_s: most,
                goodput_ratio,
            }
            | Collapse::NoneUpToVus {
                vus: most,
                goodput_ratio,
            },
        ) => {
            let text = format!(
                "no collapse up to {}: {} of the peak",
                hero.view.varied.text(most),
                format::percent(goodput_ratio)
            );
            let last = hero
                .valid()
                .last()
                .map_or(y.at(0.0), |point| y.at(point.goodput_per_s));
            // On a phone the curve's rise leaves no room but at the foot.
            let at = hero.size.pick(
                (last + 44.0).min(GOODPUT_BOTTOM - 8.0),
                GOODPUT_BOTTOM - 8.0,
            );
            svg.text("halo", (hero.right, at), Anchor::End, &text);
        }
        None => {}
    }
}
