//! Small drawings inside tables: how busy something is, and where it would be full.

use maud::{Markup, html};

use super::scale::Scale;
use super::svg::Svg;
use crate::view::TierRow;

const SHARE: f64 = 120.0;
const BAR: f64 = 220.0;
const PLOT: f64 = 150.0;

/// A share of something above its words, and whether that is all of it.
pub(super) fn share(busy: Option<(f64, bool)>) -> Markup {
    let Some((ratio, is_full)) = busy else {
        return html! {};
    };
    let mut svg = Svg::inline(SHARE, 10.0);
    let class = if is_full { "bfull" } else { "bar" };
    svg.rect("bback", 0.0, 0.0, SHARE, 10.0);
    svg.rect(class, 0.0, 0.0, ratio.clamp(0.0, 1.0) * SHARE, 10.0);
    html! { (svg.finish()) br; }
}

/// The axis on which all ceilings lie, and the highest rate measured.
pub(super) fn ceilings(full: &[f64], highest: f64) -> Scale {
    let low = full.iter().copied().fold(f64::MAX, f64::min);
    let high = full.iter().copied().fold(0.0, f64::max);
    Scale::log(
        low.min(highest.max(1.0)) * 0.7,
        high.max(highest) * 1.3,
        4.0,
        PLOT - 4.0,
    )
}

/// How busy a resource is: solid runs, hatched waits.
pub(super) fn busy(row: &TierRow) -> Markup {
    let mut svg = Svg::inline(BAR, 12.0);
    let run = row.run_ratio.clamp(0.0, 1.0) * BAR;
    let wait = (row.wait_ratio.max(0.0) * BAR).min(BAR - run);
    svg.rect("bback", 0.0, 0.0, BAR, 12.0);
    svg.rect(if row.first { "bfull" } else { "bar" }, 0.0, 0.0, run, 12.0);
    svg.rect("bwait", run, 0.0, wait, 12.0);
    svg.finish()
}

/// Where a resource would be full, against what was measured.
pub(super) fn ceiling(row: &TierRow, axis: Scale, highest: f64) -> Markup {
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
