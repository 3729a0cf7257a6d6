//! A limiter in a line of the summary: how its limit moved, and what it let in and refused.

use crate::format;
use crate::ink::{Ink, Page, Role};
use crate::live::spark;
use crate::view::{View, admissions};

/// Columns of the picture.
const COLUMNS: usize = 24;

pub(super) fn block(page: &mut Page, view: &View) {
    for admission in admissions(view.record) {
        let (lowest, highest) = admission.range();
        let last = admission.points.last().map_or(0.0, |point| point.limit);
        let limits: Vec<f64> = admission.points.iter().map(|point| point.limit).collect();
        let words = format!(
            "  of {}: {} to {}, at the end {}; let in {}, refused {}, at most {} waited",
            format::clean(&admission.tier),
            format::number(lowest),
            format::number(highest),
            format::number(last),
            format::rate(admission.mean(|rates| rates.admitted)),
            format::rate(admission.mean(|rates| rates.refused)),
            format::number(admission.most(|point| point.waiting)),
        );
        let drawn = spark::line(&thinned(&limits), COLUMNS);
        page.row("limit", &Ink::plain(drawn).and(Role::Dim, words));
    }
}

/// Means of as many equal stretches as there are columns.
fn thinned(values: &[f64]) -> Vec<Option<f64>> {
    let columns = COLUMNS.min(values.len());
    let stretch = |column: usize| {
        let (from, to) = (
            column * values.len() / columns,
            (column + 1) * values.len() / columns,
        );
        let part = values.get(from..to).unwrap_or_default();
        Some(part.iter().sum::<f64>() / part.len().max(1) as f64)
    };
    (0..columns).map(stretch).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_run_is_drawn_whole() {
        let values: Vec<f64> = (0..1000).map(f64::from).collect();
        let thin = thinned(&values);
        assert_eq!(thin.len(), COLUMNS);
        assert!(thin.first().unwrap().unwrap() < 40.0);
        assert!(thin.last().unwrap().unwrap() > 960.0);
        assert_eq!(thinned(&[2.0]), [Some(2.0)]);
        assert_eq!(thinned(&[]), []);
    }
}
