//! A sweep on one page: the answer, curves, heat map, every point, models, advice, the runs.

use maud::{Markup, html};
use plimsoll_core::sweep::{Line, Point, Sweep};

use super::chart_sweep;
use super::parts::{self, chips, note, status, table, table_under};
use crate::format;
use crate::view::sweep as words;

/// The page of a sweep; `version` is the program's that made it.
///
/// Every name is escaped, so that a hostile path or URL stays text.
pub fn sweep(sweep: &Sweep, version: &str) -> String {
    let headline = words::headline(sweep);
    let body = html! {
        (parts::headline(&headline))
        @if let Some(stopped) = words::stopped(sweep) { (note(stopped)) }
        p.lede { (sweep.test) }
        (chips(facts(sweep)))
        @for line in words::excluded(sweep) { (note(format!("not used: {line}"))) }
        @for remark in &sweep.remarks { p.note { (remark) } }
        (chart_sweep::section(sweep))
        (heat_map(sweep))
        (points(sweep))
        (models(sweep))
        (advice(sweep))
        (runs(sweep))
        (method())
    };
    let masthead = html! {
        header {
            span { b { "plimsoll sweep" } }
            span { (format::plural(sweep.points.len() as u64, "point", "points")) }
        }
    };
    super::page(&headline, &masthead, &body, version)
}

fn facts(sweep: &Sweep) -> Vec<Markup> {
    let mut facts: Vec<Markup> = sweep
        .dimensions
        .iter()
        .map(|dimension| html! { (dimension.name) " " b { (dimension.values.join(" ")) } })
        .collect();
    if let Some(drift) = &sweep.drift {
        let class = if drift.is_exceeded { "fail" } else { "pass" };
        let text = format!(
            "{} the first point again: {}",
            sign(drift.is_exceeded),
            words::signed(drift.change())
        );
        facts.push(status(class, text));
    }
    facts.push(match words::excluded(sweep).len() as u64 {
        0 => status("pass", "✓ all points valid"),
        count => status(
            "fail",
            format!("✕ {} not used", format::plural(count, "point", "points")),
        ),
    });
    facts
}

const fn sign(is_bad: bool) -> &'static str {
    if is_bad { "✕" } else { "✓" }
}

/// All lines of a matrix under each other, darker where more is carried.
fn heat_map(sweep: &Sweep) -> Markup {
    let Some(first) = sweep.lines.first().filter(|_| sweep.lines.len() > 1) else {
        return html! {};
    };
    let highest = words::highest(sweep);
    let heads = html! {
        th.l { (words::axis(sweep)) }
        @for (_, value, _) in words::along(sweep, first) { th { (value) } }
    };
    let rows = html! {
        @for line in &sweep.lines {
            tr {
                td.l { (line.name) }
                @for (_, _, point) in words::along(sweep, line) { (heat(point, highest)) }
            }
        }
    };
    html! {
        section {
            h2 { "Heat map" }
            p.t { "Per second; the darker, the nearer to the most that any point carries." }
            (table_under("", heads, rows))
        }
    }
}

fn heat(point: &Point, highest: f64) -> Markup {
    let Some(figures) = &point.figures else {
        return html! { td.z { "not used" } };
    };
    let share = (100.0 * figures.carried_per_s / highest)
        .round()
        .clamp(0.0, 100.0);
    // Half of the colour at most, so that the figure stays readable.
    let style = format!(
        "background:color-mix(in srgb,var(--good) {:.0}%,transparent)",
        share / 2.0
    );
    html! { td style=(style) { (format::number(figures.carried_per_s)) } }
}

fn points(sweep: &Sweep) -> Markup {
    let heads = html! {
        @for dimension in &sweep.dimensions { th.l { (dimension.name) } }
        @for column in words::COLUMNS { th { (column) } }
    };
    let row = |line: &Line, index: usize, point: &Point| {
        let cells = words::cells(point.figures.as_ref(), words::efficiency(line, index));
        html! {
            tr class=[point.figures.is_none().then_some("void")] {
                @for (dimension, value) in sweep.dimensions.iter().zip(&point.values) {
                    td.l { (dimension.values.get(*value).map_or("", String::as_str)) }
                }
                @for cell in cells { td { (cell) } }
            }
        }
    };
    let rows = html! {
        @for line in &sweep.lines {
            @for (index, _, point) in words::along(sweep, line) { (row(line, index, point)) }
        }
    };
    html! {
        section {
            h2 { "Every point" }
            p.t {
                "Scaling: what one unit of concurrency carries, against that at the lowest. Little: X·R over the measured number in flight, which agree where counting is complete."
            }
            (table_under("d", heads, rows))
        }
    }
}

fn models(sweep: &Sweep) -> Markup {
    html! {
        section {
            h2 { "Models" }
            p.t { "By AICc, the lowest first: a difference of ten decides, one of two is something." }
            @for line in &sweep.lines {
                @if !line.name.is_empty() { h3 { (line.name) } }
                @if !line.modelled.fits.is_empty() { (fits(line)) }
                (parts::facts(words::notes(line)))
            }
        }
    }
}

fn fits(line: &Line) -> Markup {
    let rows = html! {
        @for fit in &line.modelled.fits {
            tr {
                td.l { (fit.model) }
                td.l.x { (words::coefficients(fit)) }
                td { (words::goodness(fit)) }
                td.l.x { (fit.model.about()) }
            }
        }
    };
    table(
        "d",
        &["<model", "<coefficients", "fit", "<takes the system for"],
        rows,
    )
}

fn advice(sweep: &Sweep) -> Markup {
    html! {
        section {
            h2 { "Advice" }
            ul.adv {
                @for advice in words::advised(sweep) {
                    li { b { (advice.action) } span { (advice.because) } }
                }
                @for (names, needs) in words::not_advised(sweep) {
                    li { span { "not advised: " (names) } span { (needs) } }
                }
            }
        }
    }
}

fn runs(sweep: &Sweep) -> Markup {
    let rows = html! {
        @for point in &sweep.points {
            @for run in &point.runs {
                tr class=[run.excluded.as_ref().map(|_| "void")] {
                    td.l { (sweep.name(point)) }
                    td.l.x { (run.record) }
                    td.l.x { (words::run(run)) }
                }
            }
        }
    };
    html! {
        section { h2 { "The runs" } (table("d", &["<point", "<record", "<what it carried"], rows)) }
    }
}

const WORDS: [(&str, &str); 4] = [
    (
        "hinge",
        "N ÷ (Z + R₀) up to Xmax: the bounds that hold for every system",
    ),
    (
        "exact MVA",
        "one queue with demand D behind a delay, every concurrency worked out from the one below",
    ),
    (
        "Amdahl",
        "γN ÷ (1 + α(N − 1)): α of the work is one after the other",
    ),
    (
        "USL",
        "γN ÷ (1 + α(N − 1) + βN(N − 1)): and β of it grows with everybody who takes part",
    ),
];

fn method() -> Markup {
    let how = html! {
        p {
            "Every repetition plays all points in an order of its own that is drawn, so that whatever else happens meets them alike; the first run is played again at the very end, and what it differs by is the drift. The models are fitted to every valid run by least squares; intervals of the knee come from dealing the residuals out anew a thousand times. A peak beyond 1.25 × the largest concurrency, a fall that fewer than two levels show, and residuals that keep one sign are not claimed."
        }
        (parts::facts(WORDS))
    };
    html! { section { h2 { "How it was swept" } (parts::folded("Order, models and words", how)) } }
}
