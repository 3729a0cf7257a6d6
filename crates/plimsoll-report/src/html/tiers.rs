//! What gives way first, what then, what to change, and every resource along the path.

use maud::{Markup, html};
use plimsoll_core::verdict::{Cause, Limit, NextLimit, Verdict, within_reach};

use super::bars;
use super::parts::{self, chips, status, table_under};
use crate::format;
use crate::view::{Conclusion, LevelView, TierRow, View, confidence_sentence, sentence, unbroken};

pub(super) fn section(view: &View) -> Markup {
    let Some(verdict) = view.verdict() else {
        return html! {};
    };
    if verdict.limit.is_none() && verdict.resources.is_empty() && verdict.advice.is_empty() {
        return html! {};
    }
    html! {
        section {
            @match verdict.limit.as_ref().filter(|_| view.concludes()) {
                Some(limit) => { (first(limit)) }
                None if view.conclusion == Conclusion::Interrupted => {
                    h2 { "How full each resource was" }
                }
                None => {
                    h2 { "What gives way first is unknown" }
                    p.t { "The record names no limit." }
                }
            }
            @if !verdict.resources.is_empty() { (resources(view, verdict)) }
            @if let Some(next) = verdict.next_limit.as_ref().filter(|_| view.concludes()) { (then(view, next)) }
            @if !verdict.advice.is_empty() && view.concludes() {
                h3 style="margin-top:20px" { "Advice" }
                ol.adv {
                    @for advice in &verdict.advice {
                        li {
                            b { (sentence(&unbroken(&advice.action))) }
                            span { (sentence(&unbroken(&advice.because))) }
                        }
                    }
                }
            }
        }
    }
}

fn first(limit: &Limit) -> Markup {
    let heading = match limit.cause {
        Cause::Unknown => "What gives way first is unknown".to_owned(),
        Cause::NotReached => "Nothing gave way: the limit was not reached".to_owned(),
        cause => {
            let place = limit.process.as_deref().or(limit.tier.as_deref());
            let at = limit
                .ceiling_per_s
                .map_or(String::new(), |c| format!(", at {}", format::rate(c)));
            let place = place.map_or(String::new(), |place| format!(": {place}"));
            format!("What gives way first is {}{place}{at}", cause.noun())
        }
    };
    let evidence = limit.evidence.iter().map(|line| unbroken(&line.text));
    let ruled_out = limit
        .ruled_out
        .iter()
        .map(|text| format!("ruled out: {}", unbroken(text)));
    html! {
        (parts::heading(&heading))
        @if limit.cause.is_known() {
            p.t {
                "Confidence: " b { (confidence_sentence(limit)) } "."
                @if let Some(tier) = &limit.tier { " Tier: " (tier) "." }
            }
        }
        @if !limit.evidence.is_empty() { (chips(evidence)) }
        @if !limit.ruled_out.is_empty() { (chips(ruled_out)) }
    }
}

fn then(view: &View, next: &NextLimit) -> Markup {
    let highest = highest_measured(view);
    let beyond = (highest > 0.0 && next.full_at_per_s > highest).then(|| {
        format!(
            " That is {} times beyond the highest rate measured, so it is a prediction, not a measurement.",
            format::number(next.full_at_per_s / highest)
        )
    });
    let rate = format::rate(next.full_at_per_s);
    html! {
        h3 style="margin-top:20px" {
            "Then: " (parts::shortened(&format!("{} of {}", next.resource, next.tier)))
            ", at about " (rate) " " span.s { "predicted" }
        }
        p.t {
            "By the utilisation law, from what it uses per request now."
            (beyond.unwrap_or_default())
        }
    }
}

/// Of the levels that were judged; users who wait offer nothing by themselves, and their answers count.
fn highest_measured(view: &View) -> f64 {
    let of = |rate: fn(&LevelView) -> f64| {
        let points = view.load_line();
        points.into_iter().map(rate).fold(0.0, f64::max)
    };
    let offered = of(|level| level.offered_per_s);
    let levels = || view.levels.iter().filter(|level| !level.is_void());
    if offered > 0.0 {
        offered
    } else {
        levels()
            .map(|level| level.throughput_per_s)
            .fold(0.0, f64::max)
    }
}

/// Far beyond what was measured a figure would say more than anybody knows.
fn full_at(row: &TierRow, highest: f64) -> String {
    match row.full_at_per_s.map(|rate| within_reach(rate, highest)) {
        None => format::ABSENT.to_owned(),
        Some(Ok(rate)) => format::rate(rate),
        Some(Err(most)) => format!("over {}", format::rate(most)),
    }
}

fn resources(view: &View, verdict: &Verdict) -> Markup {
    let rows = TierRow::all(verdict);
    let highest = highest_measured(view);
    let full: Vec<f64> = rows.iter().filter_map(|row| row.full_at_per_s).collect();
    let axis = bars::ceilings(&full, highest);
    let plotted = !full.is_empty();
    let heads = html! {
        th.l { "tier" } th.l { "resource" } th.l { "busy: solid runs, hatched waits" } th {}
        th { "per request" }
        @if plotted { th.pl {} th { "full at" } }
        th {}
    };
    let is_new = |index: usize, row: &TierRow| {
        let before = index.checked_sub(1).and_then(|before| rows.get(before));
        before.is_none_or(|before| before.tier != row.tier)
    };
    let body = html! {
        @for (index, row) in rows.iter().enumerate() {
            tr {
                td.l { @if is_new(index, row) { b { (row.tier) } } }
                (used(row))
                @if plotted {
                    td.pl { (bars::ceiling(row, axis, highest)) }
                    td { (full_at(row, highest)) }
                }
                td.l {
                    @if row.first && row.lowest { (status("fail", "✕ full first")) }
                    @else if row.first { (status("fail", "✕ gives way first")) }
                    @else if row.next { b { "→ next" } }
                }
            }
        }
    };
    html! {
        (table_under("", heads, body))
        p.s style="margin-top:6px" {
            "Busy counts run and wait: what waits for a core is as full as what runs."
            @if plotted {
                " Full at is the rate at which the resource reaches " (format::percent(1.0))
                ", by the utilisation law; open circles are predicted"
                @if highest > 0.0 {
                    ", the line is dotted beyond " (format::rate(highest)) ", the highest rate measured"
                }
                "."
            }
        }
    }
}

fn used(row: &TierRow) -> Markup {
    let demand = row.demand_seconds.map(format::seconds);
    html! {
        td.l { (row.resource) }
        td.l { (bars::busy(row)) }
        td { (format::percent(row.busy_ratio())) }
        td { (demand.unwrap_or(format::ABSENT.to_owned())) }
    }
}
