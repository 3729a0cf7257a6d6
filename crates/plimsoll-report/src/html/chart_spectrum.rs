//! Both clocks over the percentiles of the level that the key figures describe.

use maud::{Markup, html};
use plimsoll_core::objective::Clause;
use plimsoll_core::tally::Quantile;

use super::parts::both;
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

pub(super) fn section(view: &View, id: &str) -> Markup {
    let level = view.deciding_level();
    let spectrum = level.and_then(|level| Spectrum::new(&level.tally));
    let (Some(level), Some(spectrum)) = (level, spectrum) else {
        return html! {};
    };
    let tally = &level.tally;
    let (heading, words) = match tally.client_wait() {
        Some(wait) => (
            "In the tail, the client itself was a queue",
            format!(
                "At the p99, waiting inside the generator adds {} to what the target takes.",
                format::percent(wait)
            ),
        ),
        None => (
            "The two clocks agree",
            "What the target takes is what the caller waits: the generator adds next to nothing."
                .to_owned(),
        ),
    };
    let title = format!("Response and service time at {}", level.name());
    let desc = described(level);
    let id = format!("{id}s");
    html! {
        section {
            h2 { (heading) }
            p.t {
                (words) " Verdicts use the response time over all attempts; a failure counts as infinitely late."
            }
            figure {
                (both(|size| chart(view, level, &spectrum, size, (&id, &title, &desc))))
                figcaption {
                    (title) ", " (format::count(tally.attempts()))
                    " attempts. Each step to the right is ten times rarer; time is linear from zero."
                }
            }
        }
    }
}

fn described(level: &LevelView) -> String {
    let tally = &level.tally;
    let response = |q| format::quantile(tally.response_quantile(q));
    let service = |q| format::quantile(tally.service_quantile(q));
    format!(
        "Response time: p50 {}, p99 {}. Service time: p50 {}, p99 {}. {} of attempts failed.",
        response(0.5),
        response(0.99),
        service(0.5),
        service(0.99),
        format::percent(level.failed_ratio().unwrap_or(0.0))
    )
}

fn chart(
    view: &View,
    level: &LevelView,
    spectrum: &Spectrum,
    size: Size,
    (id, title, desc): (&str, &str, &str),
) -> Markup {
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
        .test
        .objectives()
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
    svg.rungs(y, 6, (left, right), format::number);
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
