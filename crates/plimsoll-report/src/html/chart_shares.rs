//! Bars beside each other: which share of attempts failed and how, and what a good answer costs each tier.

use plimsoll_core::Outcome;

use super::chart_variants::shortened;
use super::scale::{Scale, room_above};
use super::svg::{Anchor, Size, Svg};
use super::{escape, paint};
use crate::format;
use crate::variants::{Experiment, Variant, failed_ratio, rows, share};
use crate::view::Lane;

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

pub(super) fn failures(out: &mut String, experiment: &Experiment<'_>) {
    let classes = experiment.failures();
    if classes.is_empty() {
        out.push_str("<section><h2>No attempt of any variant failed</h2></section>");
        return;
    }
    out.push_str("<section><h2>What failed, and how</h2><p class=\"t\">Failed attempts as a share of all attempts of a variant; medians over its runs.</p><figure>");
    let bars: Vec<Bar> = experiment
        .variants
        .iter()
        .map(|variant| failures_of(variant, &classes))
        .collect();
    let words = Words {
        id: "fails",
        title: "Failed attempts by class",
        axis: "share of attempts that failed",
        show: format::percent,
    };
    draw(out, &bars, &words);
    let names: Vec<String> = Outcome::ALL
        .into_iter()
        .filter(|outcome| outcome.is_failure() && !classes.contains(outcome))
        .map(|outcome| outcome.name().to_owned())
        .collect();
    put!(
        out,
        "<figcaption>No attempt was {}.</figcaption></figure></section>",
        escape(&format::list(&names).replace(" and ", " or "))
    );
}

fn failures_of(variant: &Variant<'_>, classes: &[Outcome]) -> Bar {
    let mut shares: Vec<(Outcome, f64)> = classes
        .iter()
        .filter_map(|class| Some((*class, variant.median(|f| share(f, *class))?)))
        .filter(|(_, share)| *share > 0.0)
        .collect();
    shares.sort_by(|one, other| other.1.total_cmp(&one.1));
    let said: Vec<String> = shares
        .iter()
        .map(|(class, share)| format!("{} {}", class.name(), format::percent(*share)))
        .collect();
    let parts = shares
        .iter()
        .map(|(class, share)| {
            let fill = paint::stacked(Lane::Class(*class));
            (fill, *share)
        })
        .collect();
    let total = variant.median(failed_ratio);
    Bar {
        name: variant.name.to_owned(),
        parts,
        text: match total {
            None => "no run".to_owned(),
            Some(0.0) => "none".to_owned(),
            Some(total) if said.len() == 1 => {
                let class = shares.first().map_or("", |(class, _)| class.name());
                format!("{} {class}", format::percent(total))
            }
            Some(total) => format!("{}: {}", format::percent(total), said.join(", ")),
        },
    }
}

pub(super) fn cost(out: &mut String, experiment: &Experiment<'_>) {
    let names = rows::tier_names(experiment);
    let costs = experiment.variants.iter().filter_map(Variant::cost_seconds);
    let costs: Vec<f64> = costs.collect();
    let (Some(least), Some(most)) = (
        costs.iter().copied().reduce(f64::min),
        costs.iter().copied().reduce(f64::max),
    ) else {
        return;
    };
    let per_thousand = |cost: f64| format::seconds(cost * 1e3);
    put!(
        out,
        "<section><h2>{}</h2><p class=\"t\">Processor seconds of all tiers per 1,000 good answers, while the load was on. Work for attempts that failed is in it.</p><ul class=\"lg\">",
        escape(&format!(
            "A thousand good answers cost {} to {} of CPU",
            per_thousand(least),
            per_thousand(most)
        ))
    );
    for (index, tier) in names.iter().enumerate() {
        let mut svg = Svg::inline(22.0, 11.0);
        svg.bars(fill(index), &[(0.5, 0.5, 21.0, 10.0)]);
        put!(out, "<li>{}{}</li>", svg.finish(), escape(tier));
    }
    out.push_str("</ul><figure>");
    let bars: Vec<Bar> = experiment
        .variants
        .iter()
        .map(|variant| cost_of(experiment, variant, &names))
        .collect();
    let words = Words {
        id: "cost",
        title: "CPU per 1,000 good answers by tier",
        axis: "CPU seconds per 1,000 good answers",
        show: format::number,
    };
    draw(out, &bars, &words);
    out.push_str("</figure></section>");
}

fn cost_of(experiment: &Experiment<'_>, variant: &Variant<'_>, names: &[String]) -> Bar {
    let tiers = variant.tiers();
    let part = |(index, name): (usize, &String)| {
        let tier = tiers.iter().find(|tier| tier.tier == *name)?;
        Some((fill(index).to_owned(), tier.cost_seconds? * 1e3))
    };
    let cost = variant.cost_seconds();
    let base = experiment.base_of(variant).and_then(Variant::cost_seconds);
    let change = cost
        .zip(base)
        .filter(|(_, base)| *base > 0.0)
        .map(|(cost, base)| {
            let scale = plimsoll_core::comparison::Scale::Ratio;
            let change = crate::view::comparison::change(scale, cost / base);
            format!(", {change} on {}", variant.base.unwrap_or_default())
        });
    Bar {
        name: variant.name.to_owned(),
        parts: names.iter().enumerate().filter_map(part).collect(),
        text: cost.map_or("not every tier was seen".to_owned(), |cost| {
            format!(
                "{}{}",
                format::seconds(cost * 1e3),
                change.unwrap_or_default()
            )
        }),
    }
}

fn fill(index: usize) -> &'static str {
    TIERS.get(index % TIERS.len()).copied().unwrap_or(TIERS[0])
}

fn draw(out: &mut String, bars: &[Bar], words: &Words<'_>) {
    for size in Size::BOTH {
        out.push_str(&chart(bars, size, words));
    }
}

fn chart(bars: &[Bar], size: Size, words: &Words<'_>) -> String {
    let bottom = TOP + ROW * size.pick(1.0, 1.5) * bars.len() as f64;
    let (left, right) = size.pick((150.0, 700.0), (8.0, 350.0));
    let sum = |bar: &Bar| bar.parts.iter().map(|(_, size)| size).sum::<f64>();
    let most = bars.iter().map(sum).fold(0.0, f64::max);
    let x = Scale::linear(room_above(most), left, right);
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

fn draw_bar(svg: &mut Svg, bar: &Bar, x: &Scale, y: f64, size: Size) {
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
