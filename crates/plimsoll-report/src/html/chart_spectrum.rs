//! Both clocks over the percentiles of the level that the key figures describe.

use plimsoll_core::objective::Clause;
use plimsoll_core::tally::Quantile;

use super::escape;
use super::scale::{Scale, room_above};
use super::svg::{Anchor, Size, Svg, text_width};
use crate::format;
use crate::view::{LevelView, Spectrum, View, unbroken};

const TOP: f64 = 22.0;
const BOTTOM: f64 = 286.0;
const HEIGHT: f64 = 330.0;
/// Percentiles named on the axis, as (decades of rarity, name).
const NAMED: [(f64, &str); 7] = [
    (0.0, "0"),
    (std::f64::consts::LOG10_2, "p50"),
    (1.0, "p90"),
    (2.0, "p99"),
    (3.0, "p99.9"),
    (4.0, "p99.99"),
    (5.0, "p99.999"),
];

pub(super) fn section(out: &mut String, view: &View, id: &str) {
    let Some(level) = view.deciding_level() else {
        return;
    };
    let Some(spectrum) = Spectrum::of(&level.tally) else {
        return;
    };
    let tally = &level.tally;
    let gap = gap(level);
    let (heading, words) = match gap {
        Some(gap) if gap >= 0.05 => (
            "In the tail, the client itself was a queue",
            format!(
                "At the p99, waiting inside the generator adds {} to what the target takes.",
                format::percent(gap)
            ),
        ),
        _ => (
            "The two clocks agree",
            "What the target takes is what the caller waits: the generator adds next to nothing."
                .to_owned(),
        ),
    };
    put!(
        out,
        "<section><h2>{heading}</h2><p class=\"t\">{} Verdicts use the response time over all attempts; a failure counts as infinitely late.</p><figure>",
        escape(&words)
    );
    let title = format!("Response and service time at {}", level.name());
    let of = |q| {
        (
            format::quantile(tally.response_quantile(q)),
            format::quantile(tally.service_quantile(q)),
        )
    };
    let (p50, p99) = (of(0.5), of(0.99));
    let desc = format!(
        "Response time: p50 {}, p99 {}. Service time: p50 {}, p99 {}. {} of attempts failed.",
        p50.0,
        p99.0,
        p50.1,
        p99.1,
        format::percent(level.failed_ratio().unwrap_or(0.0))
    );
    for size in Size::BOTH {
        out.push_str(&chart(
            view,
            level,
            &spectrum,
            size,
            (&format!("{id}s"), &title, &desc),
        ));
    }
    put!(
        out,
        "<figcaption>{}, {} attempts. Each step to the right is ten times rarer; time is linear from zero.</figcaption></figure></section>",
        escape(&title),
        format::count(tally.attempts())
    );
}

/// How much longer the p99 of the response is than that of the service.
fn gap(level: &LevelView) -> Option<f64> {
    let finite = |value: Option<Quantile>| value.and_then(Quantile::finite);
    let response = finite(level.tally.response_quantile(0.99))?.as_secs_f64();
    let service = finite(level.tally.service_quantile(0.99))?.as_secs_f64();
    (service > 0.0).then(|| response / service - 1.0)
}

fn chart(
    view: &View,
    level: &LevelView,
    spectrum: &Spectrum,
    size: Size,
    (id, title, desc): (&str, &str, &str),
) -> String {
    let (left, right) = size.pick((58.0, 910.0), (46.0, 350.0));
    let bounds = bounds_ms(view);
    let longest = bounds
        .iter()
        .map(|(bound, _)| *bound)
        .filter(|bound| *bound < 3.0 * spectrum.longest_ms())
        .fold(spectrum.longest_ms(), f64::max);
    let x = Scale::linear(spectrum.end, left, right);
    let y = Scale::linear(room_above(longest), BOTTOM, TOP);
    let mut svg = Svg::new(size, HEIGHT, id, title, desc);
    axes(&mut svg, spectrum, &x, &y, (left, right));
    failed(&mut svg, level, spectrum, &x, right);
    lines(&mut svg, spectrum, &x, &y);
    for (bound, text) in bounds.iter().filter(|(bound, _)| *bound <= y.to()) {
        svg.line("slo", (left, y.at(*bound)), (right, y.at(*bound)));
        match size {
            Size::Wide => svg.text("f", (right + 10.0, y.at(*bound) + 4.0), Anchor::Start, text),
            // Left, unless the line already is up there.
            Size::Narrow
                if spectrum
                    .points
                    .iter()
                    .any(|p| p.decades < 1.0 && p.response_ms > bound * 0.8) =>
            {
                svg.text(
                    "f halo",
                    (right - 4.0, y.at(*bound) - 6.0),
                    Anchor::End,
                    text,
                );
            }
            Size::Narrow => {
                svg.text(
                    "f halo",
                    (left + 4.0, y.at(*bound) - 6.0),
                    Anchor::Start,
                    text,
                );
            }
        }
    }
    labels(&mut svg, level, spectrum, (&x, &y), size);
    if size == Size::Wide {
        hits(&mut svg, spectrum, &x);
    }
    svg.finish()
}

fn bounds_ms(view: &View) -> Vec<(f64, String)> {
    let clauses = view
        .record
        .header
        .plan
        .objectives
        .as_ref()
        .map_or(&[][..], |o| o.clauses());
    let mut bounds = Vec::new();
    for clause in clauses {
        if let Clause::ResponseTime { bound_ns, .. } = clause {
            bounds.push((bound_ns.as_millis_f64(), unbroken(&clause.to_string())));
        }
    }
    bounds
}

fn axes(svg: &mut Svg, spectrum: &Spectrum, x: &Scale, y: &Scale, (left, right): (f64, f64)) {
    for tick in y.ticks(6) {
        svg.line("grid", (left, y.at(tick)), (right, y.at(tick)));
        svg.text(
            "m",
            (left - 6.0, y.at(tick) + 4.0),
            Anchor::End,
            &format::number(tick),
        );
    }
    svg.text("b", (left, TOP - 10.0), Anchor::Start, "ms");
    for (decades, name) in NAMED
        .iter()
        .filter(|(decades, _)| *decades <= spectrum.end + 1e-9)
    {
        let at = x.at(*decades);
        svg.line("grid", (at, TOP), (at, BOTTOM));
        let anchor = if *decades >= spectrum.end {
            Anchor::End
        } else {
            Anchor::Middle
        };
        svg.text("m", (at, BOTTOM + 17.0), anchor, name);
    }
    svg.line("axis", (left, BOTTOM), (right, BOTTOM));
    svg.text(
        "m",
        (f64::midpoint(left, right), HEIGHT - 6.0),
        Anchor::Middle,
        "percentile of all attempts",
    );
}

/// From where on there is no answer.
fn failed(svg: &mut Svg, level: &LevelView, spectrum: &Spectrum, x: &Scale, right: f64) {
    let Some(from) = spectrum.failed_from else {
        return;
    };
    let at = x.at(from);
    svg.rect("failed", at, TOP, right - at, BOTTOM - TOP);
    svg.line("axis", (at, TOP), (at, BOTTOM));
    let text = format!(
        "failed: {}",
        format::percent(level.failed_ratio().unwrap_or(0.0))
    );
    if right - at > text_width(&text) + 8.0 {
        svg.text(
            "b halo",
            (right - 6.0, f64::midpoint(TOP, BOTTOM)),
            Anchor::End,
            &text,
        );
    } else {
        svg.text(
            "b halo",
            (at - 6.0, f64::midpoint(TOP, BOTTOM)),
            Anchor::End,
            &text,
        );
    }
}

fn lines(svg: &mut Svg, spectrum: &Spectrum, x: &Scale, y: &Scale) {
    let response: Vec<(f64, f64)> = spectrum
        .points
        .iter()
        .map(|p| (x.at(p.decades), y.at(p.response_ms)))
        .collect();
    let service: Vec<(f64, f64)> = spectrum
        .points
        .iter()
        .filter_map(|p| Some((x.at(p.decades), y.at(p.service_ms?))))
        .collect();
    let mut gap = response.clone();
    gap.extend(service.iter().rev());
    svg.polygon("gap", &gap);
    svg.polyline("p99", &response);
    svg.polyline("svc", &service);
}

/// Values at p50, p99 and p99.9, and the names of the two lines.
fn labels(
    svg: &mut Svg,
    level: &LevelView,
    spectrum: &Spectrum,
    (x, y): (&Scale, &Scale),
    size: Size,
) {
    for (decades, q) in [
        (std::f64::consts::LOG10_2, 0.5),
        (1.0, 0.9),
        (2.0, 0.99),
        (3.0, 0.999),
    ] {
        let Some(value) = level.tally.response_quantile(q).and_then(Quantile::finite) else {
            continue;
        };
        if decades > spectrum.end + 1e-9 {
            continue;
        }
        let at = (x.at(decades), y.at(value.as_millis_f64()));
        svg.circle("d99", at, 4.0);
        let text = format::time(value);
        if at.0 - 7.0 - text_width(&text) > x.at(0.0) {
            svg.text("b halo", (at.0 - 7.0, at.1 - 8.0), Anchor::End, &text);
        } else {
            svg.text("b halo", (at.0 + 7.0, at.1 + 15.0), Anchor::Start, &text);
        }
    }
    let right = x.at(spectrum.end);
    if size == Size::Wide {
        svg.text(
            "b",
            (right + 10.0, BOTTOM - 22.0),
            Anchor::Start,
            "response time",
        );
        svg.text(
            "",
            (right + 10.0, BOTTOM - 5.0),
            Anchor::Start,
            "service time, dashed",
        );
    } else {
        svg.text(
            "b halo",
            (right - 6.0, BOTTOM - 26.0),
            Anchor::End,
            "response time",
        );
        svg.text(
            "halo",
            (right - 6.0, BOTTOM - 10.0),
            Anchor::End,
            "service time, dashed",
        );
    }
}

fn hits(svg: &mut Svg, spectrum: &Spectrum, x: &Scale) {
    for pair in spectrum.points.windows(2).step_by(3) {
        let [from, to] = pair else { continue };
        let p = 100.0 * (1.0 - 10f64.powf(-from.decades));
        let width = (x.at(to.decades) - x.at(from.decades)) * 3.0;
        let service = from.service_ms.map_or(format::ABSENT.to_owned(), |ms| {
            format!("{} ms", format::number(ms))
        });
        let text = format!(
            "p{p:.*}\nresponse {} ms\nservice {service}",
            if p < 99.0 { 0 } else { 2 },
            format::number(from.response_ms)
        );
        svg.hit(x.at(from.decades), TOP, width, BOTTOM - TOP, &text);
    }
}
