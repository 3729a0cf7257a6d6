//! A sweep in words and figures, as every rendering shows it.

use plimsoll_core::Nanos;
use plimsoll_core::sweep::{
    Drift, Estimate, Figures, Fit, HeldOut, Knee, Line, Point, Run, Says, Sweep,
};

use plimsoll_core::verdict::Advice;

use crate::format::{self, ABSENT, NBSP};

/// The answer in one sentence.
pub fn headline(sweep: &Sweep) -> String {
    if let Some(drift) = sweep.drift.as_ref().filter(|drift| drift.is_exceeded) {
        return format!(
            "The target changed while it was swept: {}. How the points differ says nothing.",
            drift_words(drift)
        );
    }
    let Some((best, figures)) = sweep.best() else {
        return "No point has a valid run.".to_owned();
    };
    let carried = format::rate(figures.carried_per_s);
    let at = shortened(&sweep.name(best));
    if sweep.is_search {
        return format!("Most is carried at {at}: {carried} within the objective.");
    }
    let place = sweep.points.iter().position(|point| point == best);
    let line = sweep
        .lines
        .iter()
        .find(|line| place.is_some_and(|at| line.points.contains(&at)));
    match line.and_then(|line| Some((line, line.modelled.knee?))) {
        Some((line, knee)) => format!(
            "At most {} is carried{}, and from {} in flight on more of them only wait.",
            format::rate(knee.max_per_s.estimate),
            beside(line),
            format::number(knee.in_flight.estimate)
        ),
        None => format!("Most is carried at {at}: {carried}."),
    }
}

/// ` with workers=2`
fn beside(line: &Line) -> String {
    match line.name.as_str() {
        "" => String::new(),
        name => format!(" with {}", shortened(name)),
    }
}

/// A value may be as long as an address; a headline must not.
fn shortened(name: &str) -> String {
    const MOST: usize = 60;
    if name.chars().count() <= MOST {
        return name.to_owned();
    }
    name.chars().take(MOST).chain(['…']).collect()
}

/// `100/s at first and 80.0/s at the end, −20 %, where 5 % is chance`
pub(crate) fn drift_words(drift: &Drift) -> String {
    format!(
        "the first point carried {} at first and {} at the end, {}, and {} would be chance",
        format::rate(drift.first_per_s),
        format::rate(drift.last_per_s),
        signed(drift.change()),
        format::percent(drift.tolerance)
    )
}

/// `+2.1 %`
pub fn signed(ratio: f64) -> String {
    let shown = format!("{:+.1}{NBSP}%", 100.0 * ratio);
    shown.replace("-0.0", "+0.0").replace('-', "−")
}

/// One run as it ended.
pub fn run(run: &Run) -> String {
    match (&run.excluded, &run.figures) {
        (Some(reason), _) => format!("not used: {reason}"),
        (None, Some(figures)) => {
            let failed = match figures.failed_ratio {
                ratio if ratio > 0.0 => format!(", {} failed", format::percent(ratio)),
                _ => String::new(),
            };
            format!(
                "{} carried, p99 {}{failed}",
                format::rate(figures.carried_per_s),
                format::quantile(figures.p99)
            )
        }
        (None, None) => "nothing was measured".to_owned(),
    }
}

/// What a point says in each column of the table.
pub(crate) const COLUMNS: [&str; 8] = [
    "carried",
    "95 %",
    "p50",
    "p99",
    "in flight",
    "scaling",
    "Little",
    "failed",
];

/// One row of the table, without the values of the point; absent figures show a dash.
pub fn cells(figures: Option<&Figures>, efficiency: Option<Estimate>) -> [String; 8] {
    let Some(figures) = figures else {
        return std::array::from_fn(|_| ABSENT.to_owned());
    };
    let absent = || ABSENT.to_owned();
    [
        format::rate(figures.carried_per_s),
        figures.carried_interval.map_or_else(absent, range),
        format::quantile(figures.p50),
        format::quantile(figures.p99),
        format::number(figures.in_flight),
        efficiency.map_or_else(absent, |it| whole_percent(it.estimate)),
        figures
            .little
            .map_or_else(absent, |little| signed(little - 1.0)),
        format::percent(figures.failed_ratio),
    ]
}

/// `15.2 %`, also of what is nearly or more than all.
fn whole_percent(ratio: f64) -> String {
    format!("{}{NBSP}%", format::number(100.0 * ratio))
}

/// `404–421`
fn range((low, high): (f64, f64)) -> String {
    match (format::number(low), format::number(high)) {
        (low, high) if low == high => low,
        (low, high) => format!("{low}–{high}"),
    }
}

/// How much of concurrency's promise is kept, for the line that has this point.
pub fn efficiency(line: &Line, place: usize) -> Option<Estimate> {
    line.efficiency.get(place).copied().flatten()
}

/// The points of a line in their order, each with the text of its value along the line.
pub(crate) fn along<'s>(
    sweep: &'s Sweep,
    line: &'s Line,
) -> impl Iterator<Item = (usize, &'s str, &'s Point)> {
    let dimension = sweep.dimensions.get(line.along);
    line.points
        .iter()
        .enumerate()
        .filter_map(move |(index, place)| {
            let point = sweep.points.get(*place)?;
            let value = dimension?.values.get(*point.values.get(line.along)?)?;
            Some((index, value.as_str(), point))
        })
}

/// What lies along the lines.
pub(crate) fn axis(sweep: &Sweep) -> &str {
    let along = sweep.lines.first().map_or(0, |line| line.along);
    let dimension = sweep.dimensions.get(along);
    dimension.map_or("", |dimension| dimension.name.as_str())
}

/// The highest figure of all points.
pub fn highest(sweep: &Sweep) -> f64 {
    sweep
        .best()
        .map_or(0.0, |(_, figures)| figures.carried_per_s)
}

/// `Z + R₀ 20.1 ms, D 5.01 ms`
pub(crate) fn coefficients(fit: &Fit) -> String {
    let each = fit.coefficients.iter().map(|(symbol, value, unit)| {
        let value = match *unit {
            "s" => format::time(Nanos::from_secs_f64(*value)),
            unit => format!("{}{unit}", small(*value)),
        };
        format!("{}{NBSP}{value}", symbol.replace(' ', &NBSP.to_string()))
    });
    each.collect::<Vec<_>>().join(", ")
}

/// A coefficient may be far below what three digits show.
fn small(value: f64) -> String {
    let shown = format::number(value);
    if value != 0.0 && shown == "0" || shown.starts_with("0.00") {
        return format!("{value:.2e}");
    }
    shown
}

/// `AICc 31.2, ±1.3/s`
pub(crate) fn goodness(fit: &Fit) -> String {
    format!(
        "AICc{NBSP}{}, ±{}",
        format!("{:.1}", fit.aicc).replace('-', "−"),
        format::rate(fit.residual_per_s)
    )
}

/// `4.0 in flight (3.8–4.2), 200/s (199–201), 20.0 ms without load; by exact MVA`
pub fn knee(knee: &Knee) -> String {
    let with = |text: String, estimate: Estimate| match estimate.interval {
        Some(interval) => format!("{text} ({})", range(interval)),
        None => text,
    };
    let by = knee.model.map_or_else(
        || {
            "by the highest throughput and the response at the lowest load, without an interval"
                .to_owned()
        },
        |model| format!("by {model}, with 95 %"),
    );
    format!(
        "{}, {}, {} a round without load; {by}",
        with(
            format!("{} in flight", format::number(knee.in_flight.estimate)),
            knee.in_flight
        ),
        with(format::rate(knee.max_per_s.estimate), knee.max_per_s),
        format::time(Nanos::from_secs_f64(knee.base_seconds.estimate))
    )
}

/// `at 64: 199/s foretold by exact MVA, 201/s measured, −1.0 %`
pub(crate) fn held_out(held: &HeldOut) -> String {
    format!(
        "at {}: {} foretold by {} of the lower levels, {} measured, {}",
        format::number(held.concurrency),
        format::rate(held.predicted_per_s),
        held.model,
        format::rate(held.measured_per_s),
        signed(held.off())
    )
}

/// What each line says beside its figures: a label, and a sentence.
pub fn notes(line: &Line) -> Vec<(&'static str, String)> {
    let modelled = &line.modelled;
    let mut notes = Vec::new();
    notes.extend(modelled.knee.as_ref().map(|it| ("knee", knee(it))));
    notes.extend(modelled.no_knee.clone().map(|why| ("no knee", why)));
    notes.extend(modelled.no_fit.clone().map(|why| ("no model", why)));
    for fit in &modelled.fits {
        let refused = fit
            .refused
            .iter()
            .map(|refusal| format!("{}: {refusal}", fit.model));
        notes.extend(refused.map(|text| ("refused", text)));
    }
    notes.extend(
        modelled
            .held_out
            .iter()
            .map(|it| ("held out", held_out(it))),
    );
    notes.extend(modelled.no_held_out.clone().map(|why| ("held out", why)));
    notes
}

/// What is advised, each with its inputs.
pub(crate) fn advised(sweep: &Sweep) -> impl Iterator<Item = &Advice> {
    sweep
        .advice
        .iter()
        .filter_map(|counsel| match &counsel.says {
            Says::Advice(advice) => Some(advice),
            Says::Needs(_) => None,
        })
}

/// What is not advised: the names of the rules, and the measurement that would allow them.
pub(crate) fn not_advised(sweep: &Sweep) -> Vec<(String, &str)> {
    let mut found: Vec<(String, &str)> = Vec::new();
    for counsel in &sweep.advice {
        let Says::Needs(needs) = &counsel.says else {
            continue;
        };
        match found.iter_mut().find(|(_, known)| known == needs) {
            Some((names, _)) => put!(names, ", {}", counsel.rule.name()),
            None => found.push((counsel.rule.name().to_owned(), needs)),
        }
    }
    found
}

/// Points without a valid run, each with its reason.
pub fn excluded(sweep: &Sweep) -> Vec<String> {
    let excluded = sweep.points.iter().filter_map(|point| {
        let reason = point.excluded()?;
        Some(format!("{}: {reason}", sweep.name(point)))
    });
    excluded.collect()
}

/// That it is not whole.
pub fn stopped(sweep: &Sweep) -> Option<String> {
    let stopped = sweep.stopped.as_ref()?;
    Some(format!(
        "{} of {} runs were played: {}",
        stopped.played_count, stopped.planned_count, stopped.why
    ))
}
