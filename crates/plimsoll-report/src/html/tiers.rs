//! What gives way first, what then, what to change, and every resource along the path.

use plimsoll_core::verdict::{Cause, Limit, Verdict};

use super::escape;
use super::scale::Scale;
use super::svg::Svg;
use crate::format;
use crate::view::{TierRow, View, cause_words, confidence_sentence, sentence, unbroken};

const BAR: f64 = 220.0;
const PLOT: f64 = 150.0;

pub(super) fn section(out: &mut String, view: &View) {
    let Some(verdict) = view.verdict() else {
        return;
    };
    if verdict.limit.is_none() && verdict.resources.is_empty() && verdict.advice.is_empty() {
        return;
    }
    out.push_str("<section>");
    match &verdict.limit {
        Some(limit) => first(out, limit),
        None => out.push_str(
            "<h2>What gives way first is unknown</h2><p class=\"t\">The record names no limit.</p>",
        ),
    }
    if !verdict.resources.is_empty() {
        resources(out, view, verdict);
    }
    if let Some(next) = &verdict.next_limit {
        let highest = highest_measured(view);
        let beyond = if highest > 0.0 && next.full_at_per_s > highest {
            format!(
                " That is {} times beyond the highest rate measured, so it is a prediction, not a measurement.",
                format::number(next.full_at_per_s / highest)
            )
        } else {
            String::new()
        };
        put!(
            out,
            "<h3 style=\"margin-top:20px\">Then: {} of {}, at about {} <span class=\"s\">predicted</span></h3><p class=\"t\">By the utilisation law, from what it uses per request now.{}</p>",
            escape(&next.resource),
            escape(&next.tier),
            escape(&format::rate(next.full_at_per_s)),
            escape(&beyond)
        );
    }
    advice(out, verdict);
    out.push_str("</section>");
}

fn first(out: &mut String, limit: &Limit) {
    let known = !matches!(limit.cause, Cause::Unknown | Cause::NotReached);
    let heading = match limit.cause {
        Cause::Unknown => "What gives way first is unknown".to_owned(),
        Cause::NotReached => "Nothing gave way: the limit was not reached".to_owned(),
        cause => {
            let place = limit.process.as_deref().or(limit.tier.as_deref());
            let at = limit
                .ceiling_per_s
                .map_or(String::new(), |c| format!(", at {}", format::rate(c)));
            let place = place.map_or(String::new(), |place| format!(": {place}"));
            format!("What gives way first is {}{place}{at}", cause_words(cause))
        }
    };
    put!(out, "<h2>{}</h2>", escape(&heading));
    if known {
        put!(
            out,
            "<p class=\"t\">Confidence: <b>{}</b>.{}</p>",
            escape(&confidence_sentence(limit)),
            escape(
                &limit
                    .tier
                    .as_deref()
                    .map_or(String::new(), |tier| format!(" Tier: {tier}."))
            )
        );
    }
    let chips = |out: &mut String, lead: &str, texts: &[String]| {
        if texts.is_empty() {
            return;
        }
        out.push_str("<ul class=\"chips\">");
        for text in texts {
            put!(out, "<li>{lead}{}</li>", escape(&unbroken(text)));
        }
        out.push_str("</ul>");
    };
    let evidence: Vec<String> = limit
        .evidence
        .iter()
        .map(|evidence| evidence.text.clone())
        .collect();
    chips(out, "", &evidence);
    chips(out, "ruled out: ", &limit.ruled_out);
}

fn highest_measured(view: &View) -> f64 {
    view.load_line()
        .iter()
        .map(|level| level.offered_per_s)
        .fold(0.0, f64::max)
}

fn resources(out: &mut String, view: &View, verdict: &Verdict) {
    let rows = TierRow::all(verdict);
    let highest = highest_measured(view);
    let full: Vec<f64> = rows.iter().filter_map(|row| row.full_at_per_s).collect();
    let (low, high) = full
        .iter()
        .fold((f64::MAX, 0.0), |(low, high): (f64, f64), full| {
            (low.min(*full), high.max(*full))
        });
    let axis = Scale::log(
        low.min(highest.max(1.0)) * 0.7,
        high.max(highest) * 1.3,
        4.0,
        PLOT - 4.0,
    );
    let plotted = !full.is_empty();
    out.push_str("<div class=\"scroll\"><table><thead><tr><th class=\"l\">tier</th><th class=\"l\">resource</th><th class=\"l\">busy: solid runs, hatched waits</th><th></th><th>per request</th>");
    if plotted {
        out.push_str("<th class=\"pl\"></th><th>full at</th>");
    }
    out.push_str("<th></th></tr></thead><tbody>");
    let mut tier = "";
    for row in &rows {
        let shown = if row.tier == tier {
            String::new()
        } else {
            format!("<b>{}</b>", escape(row.tier))
        };
        tier = row.tier;
        put!(
            out,
            "<tr><td class=\"l\">{shown}</td><td class=\"l\">{}</td><td class=\"l\">{}</td><td>{}</td><td>{}</td>",
            escape(row.resource),
            bar(row),
            escape(&format::percent(row.busy_ratio())),
            row.demand_seconds
                .map_or(format::ABSENT.to_owned(), |demand| escape(
                    &format::seconds(demand)
                ))
        );
        if plotted {
            let full = row
                .full_at_per_s
                .map_or(format::ABSENT.to_owned(), format::rate);
            put!(
                out,
                "<td class=\"pl\">{}</td><td>{}</td>",
                ceiling(row, axis, highest),
                escape(&full)
            );
        }
        let mark = match (row.first, row.next) {
            (true, _) => "<span class=\"fail\">✕ full first</span>",
            (_, true) => "<b>→ next</b>",
            _ => "",
        };
        put!(out, "<td class=\"l\">{mark}</td></tr>");
    }
    out.push_str("</tbody></table></div><p class=\"s\" style=\"margin-top:6px\">Busy counts run and wait: what waits for a core is as full as what runs.");
    if plotted {
        put!(
            out,
            " Full at is the rate at which the resource reaches {}, by the utilisation law; open circles are predicted, the line is dotted beyond {}, the highest rate measured.",
            escape(&format::percent(1.0)),
            escape(&format::rate(highest))
        );
    }
    out.push_str("</p>");
}

fn bar(row: &TierRow) -> String {
    let mut svg = Svg::inline(BAR, 12.0);
    let run = row.run_ratio.clamp(0.0, 1.0) * BAR;
    let wait = (row.wait_ratio.max(0.0) * BAR).min(BAR - run);
    svg.rect("bback", 0.0, 0.0, BAR, 12.0);
    svg.rect(if row.first { "bfull" } else { "bar" }, 0.0, 0.0, run, 12.0);
    svg.rect("bwait", run, 0.0, wait, 12.0);
    svg.finish()
}

fn ceiling(row: &TierRow, axis: Scale, highest: f64) -> String {
    let mut svg = Svg::inline(PLOT, 14.0);
    let split = axis.clamped(highest);
    svg.line("axis", (4.0, 7.0), (split, 7.0));
    svg.line("all", (split, 7.0), (PLOT - 4.0, 7.0));
    if let Some(full) = row.full_at_per_s {
        let class = match (row.first, full <= highest) {
            (true, true) => "bfull",
            (false, true) => "d99",
            _ => "open",
        };
        svg.circle(class, (axis.clamped(full), 7.0), 4.5);
    }
    svg.finish()
}

fn advice(out: &mut String, verdict: &Verdict) {
    if verdict.advice.is_empty() {
        return;
    }
    out.push_str("<h3 style=\"margin-top:20px\">Advice</h3><ol class=\"adv\">");
    for advice in &verdict.advice {
        put!(
            out,
            "<li><b>{}</b><span>{}</span></li>",
            escape(&sentence(&unbroken(&advice.action))),
            escape(&sentence(&unbroken(&advice.because)))
        );
    }
    out.push_str("</ol>");
}
