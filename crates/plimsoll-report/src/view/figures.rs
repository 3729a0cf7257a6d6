//! The key figures: a name, a number, a unit and what bounds it.

use plimsoll_core::verdict::{Bounds, Collapse, Recovery, Verdict};

use super::{Kind, State, View};
use crate::format;

/// Which figure it is, for renderings that mark one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FigureKind {
    LoadLine,
    Other,
}

/// `412` `/s` with `404–421` below.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    pub kind: FigureKind,
    /// As in a report; the terminal has its own shorter column.
    pub name: &'static str,
    pub value: String,
    pub unit: &'static str,
    /// Bounds and what else belongs to the number; empty if nothing does.
    pub bounds: String,
    pub note: String,
}

impl Figure {
    fn new(name: &'static str, value: String, unit: &'static str) -> Self {
        Self {
            kind: FigureKind::Other,
            name,
            value,
            unit,
            bounds: String::new(),
            note: String::new(),
        }
    }

    fn absent(name: &'static str) -> Self {
        Self::new(name, "not probed".to_owned(), "")
    }

    fn bounds(mut self, bounds: &Bounds) -> Self {
        self.bounds = format::bounds(bounds);
        self
    }

    fn note(mut self, note: impl Into<String>) -> Self {
        self.note = note.into();
        self
    }

    /// Number and unit together, as in prose.
    pub fn text(&self) -> String {
        format!("{}{}", self.value, self.unit)
    }
}

/// The name of the first figure of a search.
const LOAD_LINE: &str = "load line (capacity)";

pub(super) fn all(view: &View) -> Vec<Figure> {
    match (view.kind, view.verdict()) {
        (Kind::Find, Some(_)) if view.state == State::Invalid => {
            let withheld = |name| Figure::new(name, "withheld".to_owned(), "");
            let mut figures = vec![Figure {
                kind: FigureKind::LoadLine,
                ..withheld(LOAD_LINE)
            }];
            figures.extend(["knee", "peak goodput", "collapse", "recovery"].map(withheld));
            figures
        }
        (Kind::Find, Some(verdict)) => vec![
            load_line(view, verdict),
            knee(view, verdict),
            peak(view, verdict),
            collapse(view, verdict),
            recovery(verdict),
        ],
        (_, Some(verdict)) => of_run(view, verdict),
        (_, None) => without_verdict(view),
    }
}

fn load_line(view: &View, verdict: &Verdict) -> Figure {
    let Some(capacity) = &verdict.found.capacity() else {
        let value = if view.state == State::Missed {
            "none held"
        } else {
            "not found"
        };
        return Figure {
            kind: FigureKind::LoadLine,
            ..Figure::new(LOAD_LINE, value.to_owned(), "")
        };
    };
    let held = verdict.found.soak_seconds.map_or_else(
        || "not confirmed by a soak".to_owned(),
        |seconds| format!("held for {}", format::seconds(seconds)),
    );
    let reached = verdict
        .found
        .reached_per_s
        .map_or_else(String::new, |rate| {
            format!("{} reached, ", format::rate(rate.estimate))
        });
    let unit = view.varied.unit();
    Figure {
        kind: FigureKind::LoadLine,
        ..Figure::new(LOAD_LINE, format::number(capacity.estimate), unit)
            .bounds(capacity)
            .note(reached + &held)
    }
}

fn knee(view: &View, verdict: &Verdict) -> Figure {
    let Some(knee) = &verdict.found.knee() else {
        return Figure::absent("knee");
    };
    let note = verdict.found.knee_in_flight.map_or_else(
        || "response time starts to climb".to_owned(),
        |n| {
            format!(
                "at {}{}in flight; then response time climbs",
                format::number(n),
                format::NBSP
            )
        },
    );
    Figure::new("knee", format::number(knee.estimate), view.varied.unit())
        .bounds(knee)
        .note(note)
}

fn peak(view: &View, verdict: &Verdict) -> Figure {
    let Some(peak) = &verdict.found.peak_goodput_per_s else {
        return Figure::absent("peak goodput");
    };
    let figure = Figure::new("peak goodput", format::number(peak.estimate), "/s").bounds(peak);
    let distance = |level: &&super::LevelView| (level.goodput_per_s - peak.estimate).abs();
    let points = view.load_line();
    let nearest = points
        .iter()
        .filter(|level| !level.is_void())
        .min_by(|a, b| distance(a).total_cmp(&distance(b)));
    match nearest {
        Some(level) if distance(level) <= 0.01 * peak.estimate => {
            figure.note(format!("at {} offered", view.varied.text(level.size)))
        }
        _ => figure.note("correct and within the objective"),
    }
}

fn collapse(view: &View, verdict: &Verdict) -> Figure {
    match &verdict.found.collapse() {
        None => Figure::absent("collapse"),
        Some(Collapse::At(bounds)) => Figure::new(
            "collapse",
            format::number(bounds.estimate),
            view.varied.unit(),
        )
        .bounds(bounds)
        .note("goodput falls more than 10 % below its peak".replace(" %", "\u{a0}%")),
        Some(
            Collapse::NoneUpTo {
                rate_per_s: most,
                goodput_ratio,
            }
            | Collapse::NoneUpToVus {
                vus: most,
                goodput_ratio,
            },
        ) => Figure::new("collapse", "none".to_owned(), "").note(format!(
            "up to {}; goodput stays at {} of the peak",
            view.varied.text(*most),
            format::percent(*goodput_ratio)
        )),
    }
}

fn recovery(verdict: &Verdict) -> Figure {
    let Some(recovery) = &verdict.found.recovery_seconds else {
        return Figure::absent("recovery");
    };
    let Recovery {
        base_rate_per_s,
        pulse_rate_per_s,
        pulse_seconds,
        watched_seconds,
        ..
    } = *recovery;
    let pulse = format!(
        "after {} at {}, {} times the {} before",
        format::seconds(pulse_seconds),
        format::rate(pulse_rate_per_s),
        format::number(pulse_rate_per_s / base_rate_per_s),
        format::rate(base_rate_per_s)
    );
    match recovery.seconds {
        Some(seconds) => Figure::new("recovery", format::number(seconds), " s").note(pulse),
        None => Figure::new("recovery", "none".to_owned(), "").note(format!(
            "within {}, {pulse}",
            format::seconds(watched_seconds)
        )),
    }
}

fn of_run(view: &View, verdict: &Verdict) -> Vec<Figure> {
    let bound = view.objective().is_some();
    let good = if bound {
        "correct and within the objective"
    } else {
        "correct answers"
    };
    let failed: u64 = verdict
        .outcomes
        .iter()
        .filter(|(o, _)| o.is_failure())
        .map(|(_, n)| n)
        .sum();
    let ratio = failed as f64 / verdict.attempts_count.max(1) as f64;
    vec![
        Figure::new("goodput", format::number(verdict.goodput_per_s), "/s").note(good),
        Figure::new("throughput", format::number(verdict.throughput_per_s), "/s").note(format!(
            "{} attempts",
            format::count(verdict.attempts_count)
        )),
        Figure::new(
            "response time p50",
            format::quantile(verdict.response_time_ns.p50),
            "",
        )
        .note(format!(
            "service {}",
            format::quantile(verdict.service_time_ns.p50)
        )),
        Figure::new(
            "response time p99",
            format::quantile(verdict.response_time_ns.p99),
            "",
        )
        .note(format!(
            "service {}",
            format::quantile(verdict.service_time_ns.p99)
        )),
        Figure::new("failed", format::percent(ratio), "").note(format!(
            "{} of {}",
            format::count(failed),
            format::count(verdict.attempts_count)
        )),
    ]
}

/// What a record without a verdict shows all the same, of its last level.
fn without_verdict(view: &View) -> Vec<Figure> {
    let Some(level) = view.deciding_level() else {
        return Vec::new();
    };
    let at = format!("last level, {}", level.name());
    vec![
        Figure::new("goodput", format::number(level.goodput_per_s), "/s").note(at),
        Figure::new("throughput", format::number(level.throughput_per_s), "/s").note(format!(
            "{} attempts",
            format::count(level.tally.attempts())
        )),
        Figure::new(
            "response time p50",
            format::quantile(level.tally.response_quantile(0.5)),
            "",
        )
        .note(format!(
            "service {}",
            format::quantile(level.tally.service_quantile(0.5))
        )),
        Figure::new(
            "response time p99",
            format::quantile(level.tally.response_quantile(0.99)),
            "",
        )
        .note(format!(
            "service {}",
            format::quantile(level.tally.service_quantile(0.99))
        )),
        Figure::new(
            "failed",
            level
                .failed_ratio()
                .map_or_else(|| format::ABSENT.to_owned(), format::percent),
            "",
        )
        .note(format!(
            "{} of {}",
            format::count(level.tally.failures()),
            format::count(level.tally.attempts())
        )),
    ]
}
