//! The sentences of a comparison: why a verdict is what it is, and what more it would take.

use plimsoll_core::comparison::{Contrast, Design, Interval, Scale, Standing, Variant};
use plimsoll_core::units::three_digits;

use super::family::{Family, least};
use super::shares::change;
use super::{ALPHA, Question, shares};

pub(super) fn because(contrast: &Contrast, design: Design, family: Family) -> String {
    match contrast.standing {
        Standing::Equivalent => {
            let range = contrast
                .interval_90
                .map_or(String::new(), |at| range(contrast.scale, &at));
            let shows = contrast.detectable.filter(|least| *least > 0.0);
            let shows = shows.map_or(String::new(), |least| {
                let least = change(contrast.scale, least);
                format!("; a change of ±{least} would have shown in four of five cases")
            });
            format!(
                "the 90 % interval {range} lies within the margin of ±{}{shows}",
                change(contrast.scale, contrast.margin)
            )
        }
        Standing::Better | Standing::Worse => {
            let rhythm = contrast.rhythm_runs.map_or(String::new(), |runs| {
                format!(
                    "; something beside the variants comes back every {} runs, and was taken out",
                    three_digits(runs)
                )
            });
            corrected_p(contrast, design, family) + &rhythm
        }
        Standing::Inconclusive => undecided(contrast, design, family),
    }
}

/// `p = 0.015, corrected for the guarded figures`
fn corrected_p(contrast: &Contrast, design: Design, family: Family) -> String {
    let over = match family.count {
        1 => String::new(),
        count => format!(" after Holm over {count} comparisons"),
    };
    let guards = if family.is_shared(least(contrast, design)) {
        ", corrected for the guarded figures"
    } else {
        ""
    };
    format!("p = {:.3}{over}{guards}", contrast.p_adjusted)
}

fn undecided(contrast: &Contrast, design: Design, family: Family) -> String {
    if let Some(needed) = contrast.runs_needed {
        return too_few(contrast, design, family, needed);
    }
    if let Some(few) = shares::few(contrast) {
        return few;
    }
    let Some(detectable) = contrast.detectable else {
        return "the runs differ too much among themselves to say how small a change shows"
            .to_owned();
    };
    // Alone it would be certain, and its interval says so.
    let seen = if contrast.p <= ALPHA && contrast.p_adjusted > ALPHA {
        let p = corrected_p(contrast, design, family);
        format!("{p}, is more than 5 %: so few runs")
    } else {
        "so few runs show no difference: they".to_owned()
    };
    let text = format!(
        "{seen} would show a change of ±{} in four of five cases, and a smaller one less often",
        change(contrast.scale, detectable)
    );
    let Some(runs) = contrast.runs_for_margin else {
        return text;
    };
    let margin = change(contrast.scale, contrast.margin);
    let what = match design {
        Design::Paired => "pairs",
        Design::Unpaired => "runs of each",
    };
    format!("{text}; ±{margin} would take about {runs} {what}")
}

/// `3 + 3 runs cannot be significant: the smallest p they can give is 0.1; it takes 4 + 4`
fn too_few(contrast: &Contrast, design: Design, family: Family, needed: u32) -> String {
    let (a, b) = (
        contrast.baseline_count as u32,
        contrast.variant_count as u32,
    );
    let (have, want) = match design {
        Design::Paired if a == 1 => ("1 pair".to_owned(), format!("{needed} pairs")),
        Design::Paired => (format!("{a} pairs"), format!("{needed}")),
        Design::Unpaired => (format!("{a} + {b} runs"), format!("{needed} + {needed}")),
    };
    let among = match family.count {
        1 => String::new(),
        count => format!(" among {count} comparisons"),
    };
    let least = least(contrast, design);
    let corrected = family.count > 1 || family.is_shared(least);
    format!(
        "{have} cannot be significant at {} %{among}: the smallest p {} give is {:.3}; it takes {want}",
        ALPHA * 100.0,
        if corrected {
            "that they can, corrected,"
        } else {
            "they can"
        },
        family.smallest(least),
    )
}

fn range(scale: Scale, interval: &Interval) -> String {
    match scale {
        Scale::Ratio => format!("{:.3}–{:.3}", interval.lower, interval.upper),
        Scale::Difference => format!(
            "{:+.3} to {:+.3} points",
            interval.lower * 100.0,
            interval.upper * 100.0
        ),
    }
}

/// What the reader must know of the set as a whole.
pub(super) fn remarks(
    variants: &[Variant],
    contrasts: &[Contrast],
    asked: &Question,
    remarks: &mut Vec<String>,
) {
    for variant in variants {
        let excluded = variant
            .runs
            .iter()
            .filter(|run| run.excluded.is_some())
            .count();
        if excluded > 0 {
            let all = variant.runs.len();
            let pairs = match asked.design {
                Design::Paired => ", each with its partners",
                Design::Unpaired => "",
            };
            remarks.push(format!(
                "{excluded} of {all} runs of ‘{}’ are not used{pairs}",
                variant.name
            ));
        }
    }
    shares::remarks(contrasts, remarks);
    if asked.is_calibration {
        remarks.extend(contrasts.first().map(calibration));
    }
}

/// What the same target against itself says about the place where it was measured.
fn calibration(contrast: &Contrast) -> String {
    let figure = contrast.figure;
    match (contrast.standing, contrast.detectable) {
        (Standing::Better | Standing::Worse, _) => format!(
            "the same target differs from itself in {figure}: the order of the runs, or something beside the target, changes the result here (by chance that happens once in twenty)"
        ),
        (_, Some(detectable)) => format!(
            "this environment shows changes in {figure} of ±{} or more with as many runs{}",
            change(contrast.scale, detectable),
            if detectable > contrast.margin {
                format!(
                    ": more than the margin of ±{}, so a gate at the margin would often see nothing",
                    change(contrast.scale, contrast.margin)
                )
            } else {
                String::new()
            }
        ),
        (_, None) => format!("too few runs to say how small a change in {figure} shows here"),
    }
}
