//! Bars beside each other: which share of attempts failed and how, and what a good answer costs each tier.

use maud::{Markup, html};
use plimsoll_core::Outcome;
use plimsoll_core::comparison::Scale;
use plimsoll_core::experiment::{Judged, VariantMeaning};

use super::paint;
use super::parts::{both, legend};
use super::scale::{Scale as Axis, room_above};
use super::svg::{Anchor, Size, Svg};
use crate::format::shortened;
use crate::format::{self, quoted};
use crate::variants::rows;
use crate::view::Lane;
use crate::view::comparison::change as change_words;

const ROW: f64 = 34.0;
const TOP: f64 = 26.0;
/// Below this a class is drawn this wide all the same: one reset must not vanish.
const LEAST: f64 = 2.5;
/// Fills of tiers, told apart by lightness and pattern: colours belong to outcomes and variants.
const TIERS: [&str; 4] = [
    "fill:var(--ink2)",
    "fill:var(--rule)",
    "fill:url(#p-wait)",
    "fill:url(#p-void)",
];

/// One bar: its parts from the left, and what stands behind it.
struct Bar {
    name: String,
    /// Fill and size.
    parts: Vec<(String, f64)>,
    text: String,
}

/// How a chart is called and read.
struct Words<'t> {
    id: &'t str,
    title: &'t str,
    axis: &'t str,
    show: fn(f64) -> String,
}

pub(super) fn failures(judged: &Judged<'_>) -> Markup {
    let failures = &judged.meaning.failures;
    if failures.is_empty() {
        return html! { section { h2 { "No attempt of any variant failed" } } };
    }
    let bars: Vec<Bar> = judged
        .variants()
        .map(|(variant, meaning)| failures_of(variant.name, meaning))
        .collect();
    let words = Words {
        id: "fails",
        title: "Failed attempts by class",
        axis: "share of attempts that failed",
        show: format::percent,
    };
    let absent: Vec<String> = Outcome::ALL
        .into_iter()
        .filter(|outcome| outcome.is_failure() && !failures.contains(outcome))
        .map(|outcome| outcome.name().to_owned())
        .collect();
    html! {
        section {
            h2 { "What failed, and how" }
            p.t { "Failed attempts as a share of all attempts of a variant; medians over its runs." }
            figure {
                (both(|size| chart(&bars, size, &words)))
                figcaption { "No attempt was " (format::list(&absent).replace(" and ", " or ")) "." }
            }
        }
    }
}

fn failures_of(name: &str, meaning: &VariantMeaning) -> Bar {
    let mut shares: Vec<(Outcome, f64)> = meaning
        .classes
        .iter()
        .filter_map(|(class, spread)| Some((*class, spread.median?)))
        .filter(|(_, share)| *share > 0.0)
        .collect();
    shares.sort_by(|one, other| other.1.total_cmp(&one.1));
    let parts = shares
        .iter()
        .map(|(class, share)| (paint::stacked(Lane::Class(*class)), *share));
    let named: Vec<String> = shares
        .iter()
        .map(|(class, share)| format!("{} {}", class.name(), format::percent(*share)))
        .collect();
    let total = meaning.failed_ratio.median.map(format::percent);
    Bar {
        name: name.to_owned(),
        parts: parts.collect(),
        text: match (total, shares.as_slice()) {
            (None, _) => "no run".to_owned(),
            (_, []) => "none".to_owned(),
            (Some(total), [(class, _)]) => format!("{total} {}", class.name()),
            (Some(total), _) => format!("{total}: {}", named.join(", ")),
        },
    }
}

pub(super) fn cost(judged: &Judged<'_>) -> Markup {
    let names = rows::tier_names(judged.meaning.variants.iter());
    let costs = || {
        judged
            .meaning
            .variants
            .iter()
            .filter_map(|m| m.tiers.cost_seconds)
    };
    let (Some(least), Some(most)) = (costs().reduce(f64::min), costs().reduce(f64::max)) else {
        return html! {};
    };
    let per_thousand = |cost: f64| format::seconds(cost * 1e3);
    let bars: Vec<Bar> = judged
        .variants()
        .map(|(variant, meaning)| cost_of(judged, variant.name, meaning, &names))
        .collect();
    let words = Words {
        id: "cost",
        title: "CPU per 1,000 good answers by tier",
        axis: "CPU seconds per 1,000 good answers",
        show: format::number,
    };
    let tiers = names.iter().enumerate();
    html! {
        section {
            h2 {
                "A thousand good answers cost " (per_thousand(least)) " to " (per_thousand(most)) " of CPU"
            }
            p.t {
                "Processor seconds of all tiers per 1,000 good answers, while the load was on. Work for attempts that failed is in it."
            }
            (legend(tiers.map(|(index, tier)| (fill(index).to_owned(), tier))))
            figure { (both(|size| chart(&bars, size, &words))) }
        }
    }
}

fn cost_of(judged: &Judged<'_>, name: &str, meaning: &VariantMeaning, names: &[String]) -> Bar {
    let part = |(index, name): (usize, &String)| {
        let tier = meaning.tiers.each.iter().find(|tier| tier.tier == *name)?;
        Some((fill(index).to_owned(), tier.cost_seconds? * 1e3))
    };
    let change = meaning.base.and_then(|base| {
        let before = judged.meaning.variants.get(base)?.tiers.cost_seconds?;
        let change = meaning.tiers.cost_seconds? / before;
        let change = change
            .is_finite()
            .then(|| change_words(Scale::Ratio, change))?;
        Some(format!(", {change} on {}", quoted(judged.name(base))))
    });
    let cost = meaning
        .tiers
        .cost_seconds
        .map(|cost| format::seconds(cost * 1e3));
    Bar {
        name: name.to_owned(),
        parts: names.iter().enumerate().filter_map(part).collect(),
        text: cost.map_or("not every tier was seen".to_owned(), |cost| {
            cost + &change.unwrap_or_default()
        }),
    }
}

fn fill(index: usize) -> &'static str {
    TIERS.get(index % TIERS.len()).copied().unwrap_or(TIERS[0])
}

fn chart(bars: &[Bar], size: Size, words: &Words<'_>) -> Markup {
    let bottom = TOP + ROW * size.pick(1.0, 1.5) * bars.len() as f64;
    let (left, right) = size.pick((150.0, 700.0), (8.0, 350.0));
    let sum = |bar: &Bar| bar.parts.iter().map(|(_, size)| size).sum::<f64>();
    let most = bars.iter().map(sum).fold(0.0, f64::max);
    let x = Axis::linear(room_above(most), left, right);
    let texts: Vec<String> = bars
        .iter()
        .map(|bar| format!("{} {}", bar.name, bar.text))
        .collect();
    let desc = format!("{}: {}.", words.title, texts.join("; "));
    let mut svg = Svg::new(size, bottom + 44.0, words.id, words.title, &desc);
    for tick in x.ticks(size.pick(6, 4)) {
        svg.line("grid", (x.at(tick), TOP - 6.0), (x.at(tick), bottom));
        let at = (x.at(tick), bottom + 17.0);
        svg.text("m", at, Anchor::Middle, &(words.show)(tick));
    }
    let row = ROW * size.pick(1.0, 1.5);
    for (index, bar) in bars.iter().enumerate() {
        let y = TOP + row * index as f64 + size.pick(6.0, 22.0);
        draw_bar(&mut svg, bar, &x, y, size);
    }
    svg.line("axis", (left, TOP - 6.0), (left, bottom));
    let middle = f64::midpoint(left, right);
    svg.text("m", (middle, bottom + 35.0), Anchor::Middle, words.axis);
    svg.finish()
}

fn draw_bar(svg: &mut Svg, bar: &Bar, x: &Axis, y: f64, size: Size) {
    let mut from = x.at(0.0);
    let zero = from;
    for (fill, value) in &bar.parts {
        let width = (x.at(*value) - zero).max(LEAST);
        svg.bars(fill, &[(from, y, width, 20.0)]);
        from += width;
    }
    match size {
        Size::Wide => {
            let name = shortened(&bar.name, 18);
            svg.text("b", (zero - 10.0, y + 14.0), Anchor::End, &name);
            let text = shortened(&bar.text, ((1080.0 - from) / 7.4) as usize);
            svg.text("", (from + 10.0, y + 14.0), Anchor::Start, &text);
        }
        Size::Narrow => {
            let text = format!("{}: {}", bar.name, bar.text);
            svg.text(
                "halo",
                (zero, y - 5.0),
                Anchor::Start,
                &shortened(&text, 46),
            );
        }
    }
}
