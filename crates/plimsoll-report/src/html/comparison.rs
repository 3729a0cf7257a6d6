//! Variants side by side on one page: what differs, the answer, every pair, the figures, the runs.

use plimsoll_core::comparison::{Comparison, Contrast, Design, Effect, Figure, Standing, Variant};

use super::{
    chart_pairs, chart_panels, chart_shares, chart_variants, close, escape, experiment, open,
};
use crate::format;
use crate::variants::{Experiment, LoadLines};
use crate::view::comparison as words;

/// The page of a comparison; `runs` are its records as far as they were kept, `version` is the program's that made it.
///
/// Every name is escaped, so that a hostile path or URL stays text.
pub fn comparison(comparison: &Comparison, runs: Option<&Experiment<'_>>, version: &str) -> String {
    let mut out = String::new();
    let headline = words::headline(comparison);
    open(&mut out, &headline);
    masthead(&mut out, comparison);
    out.push_str("<main>");
    mismatches(&mut out, comparison);
    put!(out, "<h1>{}</h1>", escape(&headline));
    for contrast in comparison.primaries() {
        put!(
            out,
            "<p class=\"lede\">{} against {}: {}.</p>",
            escape(&contrast.variant),
            escape(&contrast.baseline),
            escape(&contrast.because)
        );
    }
    chips(&mut out, comparison);
    for line in words::excluded(comparison) {
        put!(
            out,
            "<p class=\"note\"><b>!</b> not used: {}</p>",
            escape(&line)
        );
    }
    for remark in &comparison.remarks {
        put!(out, "<p class=\"note\">{}</p>", escape(remark));
    }
    chart_pairs::section(&mut out, comparison);
    if let Some(runs) = runs {
        load_lines(&mut out, runs);
    }
    side_by_side(&mut out, comparison);
    if let Some(runs) = runs {
        chart_shares::failures(&mut out, runs);
        experiment::limits(&mut out, runs);
        chart_shares::cost(&mut out, runs);
    }
    contrasts(&mut out, comparison);
    list(&mut out, comparison);
    method(&mut out, comparison);
    close(&mut out, &escape(version));
    out
}

/// What every variant did under its load, second by second or level by level.
fn load_lines(out: &mut String, runs: &Experiment<'_>) {
    if let Some(lines) = LoadLines::of(runs).filter(LoadLines::is_drawable) {
        chart_variants::section(out, runs, &lines);
        chart_panels::section(out, runs, &lines);
    }
}

fn masthead(out: &mut String, comparison: &Comparison) {
    let runs: usize = comparison
        .variants
        .iter()
        .map(|variant| variant.runs.len())
        .sum();
    put!(
        out,
        "<header><span><b>plimsoll compare</b></span><span>{}, {}</span></header>",
        escape(&format::plural(
            comparison.variants.len() as u64,
            "variant",
            "variants"
        )),
        escape(&format!(
            "{} in all",
            format::plural(runs as u64, "run", "runs")
        ))
    );
}

/// Before any figure.
fn mismatches(out: &mut String, comparison: &Comparison) {
    for mismatch in &comparison.mismatches {
        let mark = match mismatch.effect {
            Effect::Noted => "",
            _ => "<b>!</b> ",
        };
        put!(
            out,
            "<p class=\"note\">{mark}differs: {} <span class=\"s\">({})</span></p>",
            escape(&words::mismatch(mismatch)),
            escape(&mismatch.says)
        );
    }
}

fn chips(out: &mut String, comparison: &Comparison) {
    out.push_str("<ul class=\"chips\">");
    if let Some(contrast) = comparison.primaries().next() {
        put!(
            out,
            "<li>{}</li>",
            escape(&words::effort(contrast, comparison.design))
        );
    }
    if let Some(objective) = &comparison.objective {
        put!(out, "<li>objective <b>{}</b></li>", escape(objective));
    }
    if !comparison.load.is_empty() {
        put!(out, "<li>{}</li>", escape(&comparison.load));
    }
    let excluded = words::excluded_count(comparison);
    let (class, text) = match excluded {
        0 => ("pass", "✓ all runs valid".to_owned()),
        count => (
            "fail",
            format!("✕ {} not used", format::plural(count, "run", "runs")),
        ),
    };
    put!(
        out,
        "<li><span class=\"{class}\">{}</span></li></ul>",
        escape(&text)
    );
}

/// A column per variant, with the change against the first.
fn side_by_side(out: &mut String, comparison: &Comparison) {
    let Some(first) = comparison.variants.first() else {
        return;
    };
    out.push_str("<section><h2>Side by side</h2><p class=\"t\">Medians over the runs that were used, and the change against the first. A failure counts as infinitely late.</p><div class=\"scroll\"><table><thead><tr><th class=\"l\"></th>");
    for variant in &comparison.variants {
        put!(out, "<th>{}</th>", escape(&variant.name));
    }
    out.push_str("</tr></thead><tbody>");
    for figure in figures(comparison) {
        put!(out, "<tr><td class=\"l\">{}</td>", escape(&figure.name()));
        for variant in &comparison.variants {
            put!(out, "<td>{}</td>", cell(comparison, first, variant, figure));
        }
        out.push_str("</tr>");
    }
    out.push_str("</tbody></table></div></section>");
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

fn cell(comparison: &Comparison, first: &Variant, variant: &Variant, figure: Figure) -> String {
    let of = |contrast: &&Contrast| contrast.figure == figure && contrast.baseline == first.name;
    let mut against = comparison.contrasts.iter().filter(of);
    if variant.name == first.name {
        let value = against.next().map(|contrast| contrast.baseline_median);
        return value.map_or(format::ABSENT.to_owned(), |value| {
            format!("<b>{}</b>", escape(&words::value(figure, value)))
        });
    }
    let found = against.find(|contrast| contrast.variant == variant.name);
    found.map_or(format::ABSENT.to_owned(), |contrast| {
        format!(
            "<b>{}</b> <span class=\"s\">{}</span>",
            escape(&words::value(figure, contrast.variant_median)),
            escape(&words::change(contrast.scale, contrast.estimate))
        )
    })
}

fn contrasts(out: &mut String, comparison: &Comparison) {
    out.push_str("<section><h2>Every comparison, with its interval</h2><div class=\"scroll\"><table class=\"d\"><thead><tr><th class=\"l\">figure</th><th class=\"l\">of</th><th class=\"l\">against</th><th>change</th><th>95 % interval</th><th>p</th><th>shows from</th><th class=\"l\">verdict</th></tr></thead><tbody>");
    for contrast in &comparison.contrasts {
        let detectable = contrast
            .detectable
            .map_or(format::ABSENT.to_owned(), |least| {
                let value = match contrast.scale {
                    plimsoll_core::comparison::Scale::Ratio => 1.0 + least,
                    plimsoll_core::comparison::Scale::Difference => least,
                };
                words::change(contrast.scale, value).replace('+', "±")
            });
        let class = class(contrast.standing);
        put!(
            out,
            "<tr><td class=\"l\">{}</td><td class=\"l\">{}</td><td class=\"l\">{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td class=\"l\"><span class=\"{class}\">{} {}</span></td></tr><tr class=\"why\"><td class=\"l s\" colspan=\"8\">{}</td></tr>",
            escape(&contrast.figure.name()),
            escape(&contrast.variant),
            escape(&contrast.baseline),
            escape(&words::change(contrast.scale, contrast.estimate)),
            escape(&words::range(contrast.scale, contrast.interval)),
            escape(&words::chance(contrast.p_adjusted)),
            escape(&detectable),
            words::sign(contrast.standing),
            contrast.standing.word(),
            escape(&contrast.because)
        );
    }
    out.push_str("</tbody></table></div></section>");
}

const fn class(standing: Standing) -> &'static str {
    match standing {
        Standing::Better => "pass",
        Standing::Worse => "fail",
        Standing::Equivalent => "off",
        Standing::Inconclusive => "warn",
    }
}

fn list(out: &mut String, comparison: &Comparison) {
    let figures = figures(comparison);
    out.push_str("<section><h2>The runs</h2><div class=\"scroll\"><table class=\"d\"><thead><tr><th class=\"l\">variant</th><th class=\"l\">record</th><th class=\"l\">started</th>");
    for figure in &figures {
        put!(out, "<th>{}</th>", escape(&figure.name()));
    }
    out.push_str("</tr></thead><tbody>");
    for variant in &comparison.variants {
        for run in &variant.runs {
            let void = if run.excluded.is_some() {
                " class=\"void\""
            } else {
                ""
            };
            put!(
                out,
                "<tr{void}><td class=\"l\">{}</td><td class=\"l\">{}</td><td class=\"l\">{}</td>",
                escape(&variant.name),
                escape(&run.name),
                escape(&format::date(&run.started_at))
            );
            for figure in &figures {
                let value = run.figures.get(figure);
                let text = value.map_or(format::ABSENT.to_owned(), |at| words::value(*figure, *at));
                put!(out, "<td>{}</td>", escape(&text));
            }
            out.push_str("</tr>");
        }
    }
    out.push_str("</tbody></table></div></section>");
}

fn method(out: &mut String, comparison: &Comparison) {
    let tied = match comparison.design {
        Design::Paired => {
            "Runs played beside each other are pairs; the signs of their differences are permuted."
        }
        Design::Unpaired => "The runs are not paired; the labels of all of them are permuted.",
    };
    put!(
        out,
        "<section><h2>How it was compared</h2><details><summary>Test, interval and words</summary><p>The run is the unit, not the request. {tied} The test is on ranks and exact unless a row says otherwise; the change is the Hodges–Lehmann estimate, with the interval that belongs to the test. Comparisons of the primary figure are corrected among themselves by Holm’s rule, those of all other figures among themselves.</p><dl class=\"facts\"><dt>better, worse</dt><dd>the corrected p is at most 5 %</dd><dt>equivalent</dt><dd>the 90 % interval lies within the margin: two one-sided tests at 5 %</dd><dt>inconclusive</dt><dd>neither: the change may be there, and is too small for so many runs</dd><dt>shows from</dt><dd>the smallest change that so many runs, with the spread seen, find in four of five cases</dd></dl></details></section>"
    );
}
