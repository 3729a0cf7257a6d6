//! Variants side by side on one page: what differs, the answer, every pair, the figures, the runs.

use maud::{Markup, html};
use plimsoll_core::comparison::{
    Comparison, Contrast, Design, Effect, Figure, NamedContrast, Run, Scale, Standing, Variant,
};
use plimsoll_core::experiment::Judged;

use super::parts::{self, chips, folded, note, status, table, table_under};
use super::{chart_pairs, chart_shares, experiment};
use crate::format::{self, quoted};
use crate::variants::Shown;
use crate::view::comparison as words;

/// The page of a comparison; `runs` are its records as far as they were kept, `version` is the program's that made it.
///
/// Every name is escaped, so that a hostile path or URL stays text.
pub fn comparison(comparison: &Comparison, runs: Option<&Judged<'_>>, version: &str) -> String {
    let headline = words::headline(comparison);
    let shown = runs.map(Shown::new);
    let body = html! {
        @for mismatch in &comparison.mismatches {
            p.note {
                @if mismatch.effect != Effect::Noted { b { "!" } " " }
                "differs: " (words::mismatch(mismatch)) " " span.s { "(" (mismatch.says) ")" }
            }
        }
        (parts::headline(&headline))
        @for contrast in comparison.primaries() {
            p.lede {
                (quoted(&contrast.variant)) " against " (quoted(&contrast.baseline)) ": " (contrast.because) "."
            }
        }
        (chips(facts(comparison)))
        @for line in words::excluded(comparison) { (note(format!("not used: {line}"))) }
        @for remark in &comparison.remarks { p.note { (remark) } }
        (chart_pairs::section(comparison))
        @if let Some(runs) = runs { (experiment::load_lines(runs)) }
        (side_by_side(comparison))
        @if let Some(shown) = &shown {
            (chart_shares::failures(shown.judged))
            (experiment::limits(shown))
            (chart_shares::cost(shown.judged))
        }
        (contrasts(comparison))
        (named(comparison))
        (list(comparison))
        (method(comparison))
    };
    super::page(&headline, &masthead(comparison), &body, version)
}

fn masthead(comparison: &Comparison) -> Markup {
    let runs = comparison.variants.iter().map(|variant| variant.runs.len());
    let variants = comparison.variants.len() as u64;
    html! {
        header {
            span { b { "plimsoll compare" } }
            span {
                (format::plural(variants, "variant", "variants")) ", "
                (format::plural(runs.sum::<usize>() as u64, "run", "runs")) " in all"
            }
        }
    }
}

fn facts(comparison: &Comparison) -> Vec<Markup> {
    let mut facts = Vec::new();
    if let Some(contrast) = comparison.primaries().next() {
        facts.push(html! { (words::effort(contrast, comparison.design)) });
    }
    if let Some(objective) = &comparison.objective {
        facts.push(html! { "objective " b { (objective) } });
    }
    if !comparison.load.is_empty() {
        facts.push(html! { (comparison.load) });
    }
    facts.push(match words::excluded_count(comparison) {
        0 => status("pass", "✓ all runs valid"),
        count => {
            let runs = format::plural(count, "run", "runs");
            status("fail", format!("✕ {runs} not used"))
        }
    });
    facts
}

/// A column per variant, with the change against the first.
fn side_by_side(comparison: &Comparison) -> Markup {
    let Some(first) = comparison.variants.first() else {
        return html! {};
    };
    let heads = html! {
        th.l {} @for variant in &comparison.variants { th { (variant.name) } }
    };
    let rows = html! {
        @for figure in figures(comparison) {
            tr {
                td.l { (figure.name()) }
                @for variant in &comparison.variants {
                    td { (cell(comparison, first, variant, figure)) }
                }
            }
        }
    };
    html! {
        section {
            h2 { "Side by side" }
            p.t {
                "Medians over the runs that were used, and the change against the first. A failure counts as infinitely late."
            }
            (table_under("", heads, rows))
        }
    }
}

fn figures(comparison: &Comparison) -> Vec<Figure> {
    let mut figures = Vec::new();
    for contrast in &comparison.contrasts {
        if !figures.contains(&contrast.figure) {
            figures.push(contrast.figure);
        }
    }
    figures
}

fn cell(comparison: &Comparison, first: &Variant, variant: &Variant, figure: Figure) -> Markup {
    let is_asked =
        |contrast: &&Contrast| contrast.figure == figure && contrast.baseline == first.name;
    let mut against = comparison.contrasts.iter().filter(is_asked);
    let is_first = variant.name == first.name;
    let found = against.find(|contrast| is_first || contrast.variant == variant.name);
    html! {
        @match found {
            Some(contrast) if is_first => { b { (words::value(figure, contrast.baseline_median)) } }
            Some(contrast) => {
                b { (words::value(figure, contrast.variant_median)) } " "
                span.s { (words::change(contrast.scale, contrast.estimate)) }
            }
            None => { (format::ABSENT) }
        }
    }
}

fn contrasts(comparison: &Comparison) -> Markup {
    let heads = [
        "<figure",
        "<of",
        "<against",
        "change",
        "95 % interval",
        "p",
        "shows from",
        "<verdict",
    ];
    let rows = html! { @for contrast in &comparison.contrasts { (contrast_row(contrast)) } };
    html! {
        section { h2 { "Every comparison, with its interval" } (table("d", &heads, rows)) }
    }
}

/// What scripts count by name; what differs first.
fn named(comparison: &Comparison) -> Markup {
    let rows = words::named(comparison);
    if rows.is_empty() && comparison.metrics.is_empty() {
        return html! {};
    }
    let heads = [
        "<name", "<figure", "<of", "value", "<against", "value", "change", "<verdict",
    ];
    let row = |named: &NamedContrast| {
        let contrast = &named.contrast;
        html! {
            tr {
                td.l.x { (named.kind.word()) " " code { (named.name) } }
                td.l { (contrast.figure.name()) }
                td.l { (contrast.variant) }
                td { (words::value(contrast.figure, contrast.variant_median)) }
                td.l { (contrast.baseline) }
                td { (words::value(contrast.figure, contrast.baseline_median)) }
                td { (words::change(contrast.scale, contrast.estimate)) }
                td.l { (words::sign(contrast.standing)) " " (contrast.standing.word()) }
            }
        }
    };
    html! {
        section {
            h2 { "By the names that the scripts give" }
            p.t { "Corrected together, so that among many rows a difference must be plain. They do not decide the answer above." }
            @if !rows.is_empty() { (table("d", &heads, html! { @for named in &rows { (row(named)) } })) }
            @if !comparison.metrics.is_empty() {
                h3 { "Metrics of the scripts" }
                (parts::facts(comparison.metrics.iter().map(|row| (row.metric.as_str(), words::medians(row)))))
            }
        }
    }
}

fn contrast_row(contrast: &Contrast) -> Markup {
    let detectable = contrast.detectable.map(|least| {
        let value = match contrast.scale {
            Scale::Ratio => 1.0 + least,
            Scale::Difference => least,
        };
        words::change(contrast.scale, value).replace('+', "±")
    });
    let verdict = html! { (words::sign(contrast.standing)) " " (contrast.standing.word()) };
    html! {
        tr {
            td.l { (contrast.figure.name()) }
            td.l { (contrast.variant) }
            td.l { (contrast.baseline) }
            td { (words::change(contrast.scale, contrast.estimate)) }
            td { (words::range(contrast.scale, contrast.interval)) }
            td { (words::chance(contrast.p_adjusted)) }
            td { (detectable.unwrap_or(format::ABSENT.to_owned())) }
            td.l { (status(class(contrast.standing), verdict)) }
        }
        tr.why { td.l.s colspan="8" { (contrast.because) } }
    }
}

const fn class(standing: Standing) -> &'static str {
    match standing {
        Standing::Better => "pass",
        Standing::Worse => "fail",
        Standing::Equivalent => "off",
        Standing::Inconclusive => "warn",
    }
}

fn list(comparison: &Comparison) -> Markup {
    let figures = figures(comparison);
    let heads = html! {
        th.l { "variant" } th.l { "record" } th.l { "started" }
        @for figure in &figures { th { (figure.name()) } }
    };
    let value = |run: &Run, figure: Figure| {
        let value = run.figures.get(&figure);
        value.map_or(format::ABSENT.to_owned(), |at| words::value(figure, *at))
    };
    let rows = html! {
        @for variant in &comparison.variants {
            @for run in &variant.runs {
                tr class=[run.excluded.as_ref().map(|_| "void")] {
                    td.l { (variant.name) }
                    td.l { (run.name) }
                    td.l { (format::date(&run.started_at)) }
                    @for figure in &figures { td { (value(run, *figure)) } }
                }
            }
        }
    };
    html! { section { h2 { "The runs" } (table_under("d", heads, rows)) } }
}

const WORDS: [(&str, &str); 4] = [
    ("better, worse", "the corrected p is at most 5 %"),
    (
        "equivalent",
        "the 90 % interval lies within the margin: two one-sided tests at 5 %",
    ),
    (
        "inconclusive",
        "neither: the change may be there, and is too small for so many runs",
    ),
    (
        "shows from",
        "the smallest change that so many runs, with the spread seen, find in four of five cases",
    ),
];

fn method(comparison: &Comparison) -> Markup {
    let tied = match comparison.design {
        Design::Paired => {
            "Runs played beside each other are pairs; the signs of their differences are permuted."
        }
        Design::Unpaired => "The runs are not paired; the labels of all of them are permuted.",
    };
    let how = html! {
        p {
            "The run is the unit, not the request. " (tied)
            " The test is on ranks and exact unless a row says otherwise; the change is the Hodges–Lehmann estimate, with the interval that belongs to the test. Comparisons of the primary figure are corrected among themselves by Holm’s rule, those of the guarded figures (failures, goodput, p50 and the objective’s percentile) and of all others likewise."
        }
        (parts::facts(WORDS))
    };
    html! { section { h2 { "How it was compared" } (folded("Test, interval and words", how)) } }
}
