//! Every ratio with its interval, every pair as a dot, and the band in which nothing counts.

use maud::{Markup, html};
use plimsoll_core::comparison::{Comparison, Contrast, Scale, Standing};

use super::parts::both;
use super::scale::Scale as Axis;
use super::svg::{Anchor, Size, Svg};
use crate::format;
use crate::format::shortened;
use crate::view::comparison as words;

const ROW: f64 = 40.0;
const TOP: f64 = 34.0;
/// Beyond this a ratio is drawn at the edge: one wild pair must not flatten the others.
const RATIO_MAX: f64 = 20.0;

pub(super) fn section(comparison: &Comparison) -> Markup {
    let rows: Vec<&Contrast> = comparison
        .contrasts
        .iter()
        .filter(|contrast| contrast.scale == Scale::Ratio && drawable(contrast.estimate))
        .collect();
    if rows.is_empty() {
        return html! {};
    }
    let headline = words::headline(comparison);
    html! {
        section {
            h2 { "How much each figure changed" }
            p.t {
                "Ratio to the baseline with its 95 % interval; small dots are the pairs. In the band the ratio is within the margin."
            }
            figure {
                (both(|size| chart(&rows, size, &headline)))
                figcaption {
                    "Logarithmic scale, symmetric about 1. Filled: better or worse; square: equivalent; open: inconclusive. To the right more of the figure, which is worse for times. A ratio beyond 20 is drawn at the edge."
                }
            }
        }
    }
}

fn drawable(ratio: f64) -> bool {
    ratio.is_finite() && ratio > 0.0
}

fn chart(rows: &[&Contrast], size: Size, desc: &str) -> Markup {
    let height = TOP + ROW * rows.len() as f64 + 34.0;
    let (left, right) = size.pick((250.0, 850.0), (8.0, 350.0));
    let bottom = height - 34.0;
    let reach = reach(rows);
    let axis = Axis::log(1.0 / reach, reach, left, right);
    let mut svg = Svg::new(size, height, "pairs", "Ratio to the baseline", desc);
    let margin = rows.first().map_or(0.0, |row| row.margin);
    let (from, to) = (
        axis.clamped(1.0 / (1.0 + margin)),
        axis.clamped(1.0 + margin),
    );
    svg.rect("band", from, TOP - 8.0, to - from, bottom - TOP + 8.0);
    for tick in ticks(reach) {
        svg.line("grid", (axis.at(tick), TOP - 8.0), (axis.at(tick), bottom));
        let text = format!("{}×", format::number(tick));
        svg.text("m", (axis.at(tick), bottom + 18.0), Anchor::Middle, &text);
    }
    svg.line("cap", (axis.at(1.0), TOP - 8.0), (axis.at(1.0), bottom));
    for (index, row) in rows.iter().enumerate() {
        let y = TOP + ROW * (index as f64 + 0.5);
        draw(&mut svg, row, &axis, size, y);
    }
    svg.finish()
}

/// How far the axis goes to either side of 1.
fn reach(rows: &[&Contrast]) -> f64 {
    let drawn = rows.iter().flat_map(|row| {
        let bounds = row.interval.into_iter().flat_map(|at| [at.lower, at.upper]);
        bounds
            .chain(row.pairs.iter().copied())
            .chain([row.estimate])
    });
    let away = drawn
        .filter(|ratio| drawable(*ratio))
        .map(|ratio| ratio.max(1.0 / ratio));
    let margin = rows.iter().map(|row| 1.0 + row.margin).fold(1.0, f64::max);
    away.fold(margin, f64::max).min(RATIO_MAX) * 1.03
}

/// Round ratios on both sides of 1, as many as fit.
fn ticks(reach: f64) -> Vec<f64> {
    let steps: &[f64] = match reach {
        r if r < 1.06 => &[1.02, 1.05],
        r if r < 1.25 => &[1.05, 1.1, 1.2],
        r if r < 1.8 => &[1.2, 1.5],
        r if r < 4.0 => &[1.5, 2.0, 3.0],
        _ => &[2.0, 5.0, 10.0, 20.0],
    };
    let near = steps.iter().copied().filter(|step| *step <= reach);
    let mut ticks: Vec<f64> = near.flat_map(|step| [1.0 / step, step]).collect();
    ticks.push(1.0);
    ticks
}

fn draw(svg: &mut Svg, row: &Contrast, axis: &Axis, size: Size, y: f64) {
    let name = format!("{}: {} to {}", row.figure, row.variant, row.baseline);
    let says = format!("{} {}", words::sign(row.standing), row.standing.word());
    match size {
        Size::Wide => {
            svg.text("", (0.0, y + 4.0), Anchor::Start, &shortened(&name, 36));
            let change = words::change(row.scale, row.estimate);
            svg.text("b", (930.0, y + 4.0), Anchor::End, &change);
            svg.text("", (950.0, y + 4.0), Anchor::Start, &says);
        }
        Size::Narrow => {
            svg.text("", (8.0, y - 10.0), Anchor::Start, &shortened(&name, 30));
            svg.text("", (350.0, y - 10.0), Anchor::End, &says);
        }
    }
    let y = size.pick(y, y + 6.0);
    for (index, pair) in row
        .pairs
        .iter()
        .enumerate()
        .filter(|(_, pair)| drawable(**pair))
    {
        // Pairs of one ratio lie beside each other.
        let lane = (index % 3) as f64 * 3.0 - 9.0;
        svg.circle("d50", (axis.clamped(*pair), y + lane - 2.0), 2.4);
    }
    let (bar, point) = match row.standing {
        Standing::Better => ("wpass", "dpass"),
        Standing::Worse => ("wfail", "bfull"),
        Standing::Equivalent | Standing::Inconclusive => ("w99", "open"),
    };
    if let Some(interval) = row.interval {
        svg.line(
            bar,
            (axis.clamped(interval.lower), y),
            (axis.clamped(interval.upper), y),
        );
    }
    let x = axis.clamped(row.estimate);
    if row.standing == Standing::Equivalent {
        svg.rect("bar", x - 4.5, y - 4.5, 9.0, 9.0);
    } else {
        svg.circle(point, (x, y), 5.0);
    }
    let text = format!(
        "{name}\n{} ({}), {}",
        words::change(row.scale, row.estimate),
        words::range(row.scale, row.interval),
        row.because
    );
    svg.hit(0.0, y - ROW / 2.0, size.width(), ROW, &text);
}
