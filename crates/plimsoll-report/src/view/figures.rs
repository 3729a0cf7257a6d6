//! The key figures: a name, a number, a unit and what bounds it.

use plimsoll_core::tally::Quantile;
use plimsoll_core::units::is_alike;
use plimsoll_core::verdict::{Bounds, Collapse, Recovery, Verdict};

use super::{Conclusion, Kind, View};
use crate::format;

/// Which figure it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FigureKind {
    LoadLine,
    Knee,
    Peak,
    Collapse,
    Recovery,
    Goodput,
    Throughput,
    P50,
    P99,
    Failed,
}

impl FigureKind {
    /// As in a report.
    pub const fn name(self) -> &'static str {
        match self {
            Self::LoadLine => "load line (capacity)",
            Self::Knee => "knee",
            Self::Peak => "peak goodput",
            Self::Collapse => "collapse",
            Self::Recovery => "recovery",
            Self::Goodput => "goodput",
            Self::Throughput => "throughput",
            Self::P50 => "response time p50",
            Self::P99 => "response time p99",
            Self::Failed => "failed",
        }
    }

    /// In the narrow column of a terminal.
    pub(crate) const fn short_name(self) -> &'static str {
        match self {
            Self::LoadLine => "load line",
            Self::Peak => "peak",
            _ => self.name(),
        }
    }
}

/// `412` `/s` with `404–421` below.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    pub kind: FigureKind,
    pub value: String,
    pub unit: &'static str,
    /// Bounds and what else belongs to the number; empty if nothing does.
    pub bounds: String,
    pub note: String,
}

impl Figure {
    fn new(kind: FigureKind, value: String, unit: &'static str) -> Self {
        Self {
            kind,
            value,
            unit,
            bounds: String::new(),
            note: String::new(),
        }
    }

    fn absent(kind: FigureKind) -> Self {
        Self::new(kind, "not probed".to_owned(), "")
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

pub(super) fn all(view: &View) -> Vec<Figure> {
    match (view.kind, view.verdict()) {
        (Kind::Find, _) if view.conclusion == Conclusion::Interrupted => without_verdict(view),
        (Kind::Find, Some(_)) if view.conclusion == Conclusion::Invalid => [
            FigureKind::LoadLine,
            FigureKind::Knee,
            FigureKind::Peak,
            FigureKind::Collapse,
            FigureKind::Recovery,
        ]
        .map(|kind| Figure::new(kind, "withheld".to_owned(), ""))
        .into(),
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
    let found = &verdict.found;
    let Some(capacity) = &found.capacity().filter(|_| !found.is_refuted()) else {
        let value = if view.conclusion == Conclusion::Missed {
            "none held"
        } else {
            "not found"
        };
        return Figure::new(FigureKind::LoadLine, value.to_owned(), "");
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
    Figure::new(
        FigureKind::LoadLine,
        format::number(capacity.estimate),
        unit,
    )
    .bounds(capacity)
    .note(reached + &held)
}

fn knee(view: &View, verdict: &Verdict) -> Figure {
    let Some(knee) = &verdict.found.knee() else {
        return Figure::absent(FigureKind::Knee);
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
    Figure::new(
        FigureKind::Knee,
        format::number(knee.estimate),
        view.varied.unit(),
    )
    .bounds(knee)
    .note(note)
}

fn peak(view: &View, verdict: &Verdict) -> Figure {
    let Some(peak) = &verdict.found.peak_goodput_per_s else {
        return Figure::absent(FigureKind::Peak);
    };
    let figure = Figure::new(FigureKind::Peak, format::number(peak.estimate), "/s").bounds(peak);
    let distance = |level: &&super::LevelView| (level.goodput_per_s - peak.estimate).abs();
    let points = view.load_line();
    let nearest = points
        .iter()
        .filter(|level| !level.is_void())
        .min_by(|a, b| distance(a).total_cmp(&distance(b)));
    match nearest {
        Some(level) if is_alike(level.goodput_per_s, peak.estimate) => {
            figure.note(format!("at {} offered", view.varied.text(level.size)))
        }
        _ => figure.note("correct and within the objective"),
    }
}

fn collapse(view: &View, verdict: &Verdict) -> Figure {
    match &verdict.found.collapse() {
        None => Figure::absent(FigureKind::Collapse),
        Some(Collapse::At(bounds)) => Figure::new(
            FigureKind::Collapse,
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
        ) => Figure::new(FigureKind::Collapse, "none".to_owned(), "").note(format!(
            "up to {}; goodput stays at {} of the peak",
            view.varied.text(*most),
            format::percent(*goodput_ratio)
        )),
    }
}

fn recovery(verdict: &Verdict) -> Figure {
    let Some(recovery) = &verdict.found.recovery_seconds else {
        return Figure::absent(FigureKind::Recovery);
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
        Some(seconds) => {
            Figure::new(FigureKind::Recovery, format::number(seconds), " s").note(pulse)
        }
        None => Figure::new(FigureKind::Recovery, "none".to_owned(), "").note(format!(
            "within {}, {pulse}",
            format::seconds(watched_seconds)
        )),
    }
}

/// What a load came to.
struct Totals {
    goodput_per_s: f64,
    throughput_per_s: f64,
    /// Response time, service time.
    p50: [Option<Quantile>; 2],
    p99: [Option<Quantile>; 2],
    attempts_count: u64,
    failed_count: u64,
    failed_ratio: Option<f64>,
}

impl Totals {
    fn figures(&self, note: impl Into<String>) -> Vec<Figure> {
        let rate = |kind, per_s| Figure::new(kind, format::number(per_s), "/s");
        let time = |kind, [response, service]: [Option<Quantile>; 2]| {
            let note = format!("service {}", format::quantile(service));
            Figure::new(kind, format::quantile(response), "").note(note)
        };
        let attempts = format::count(self.attempts_count);
        let failed = self
            .failed_ratio
            .map_or(format::ABSENT.to_owned(), format::percent);
        let of_attempts = format!("{} of {attempts}", format::count(self.failed_count));
        vec![
            rate(FigureKind::Goodput, self.goodput_per_s).note(note),
            rate(FigureKind::Throughput, self.throughput_per_s)
                .note(format!("{attempts} attempts")),
            time(FigureKind::P50, self.p50),
            time(FigureKind::P99, self.p99),
            Figure::new(FigureKind::Failed, failed, "").note(of_attempts),
        ]
    }
}

fn of_run(view: &View, verdict: &Verdict) -> Vec<Figure> {
    let good = if view.objective().is_some() {
        "correct and within the objective"
    } else {
        "correct answers"
    };
    let (response, service) = (&verdict.response_time_ns, &verdict.service_time_ns);
    let outcomes = verdict.outcomes.iter();
    let failures = outcomes.filter(|(outcome, _)| outcome.is_failure());
    let totals = Totals {
        goodput_per_s: verdict.goodput_per_s,
        throughput_per_s: verdict.throughput_per_s,
        p50: [response.p50, service.p50],
        p99: [response.p99, service.p99],
        attempts_count: verdict.attempts_count,
        failed_count: failures.map(|(_, count)| count).sum(),
        failed_ratio: Some(verdict.failed_ratio()),
    };
    totals.figures(good)
}

/// What a record without a verdict shows all the same, of its last level.
fn without_verdict(view: &View) -> Vec<Figure> {
    let Some(level) = view.deciding_level() else {
        return Vec::new();
    };
    let tally = &level.tally;
    let times = |q| [tally.response_quantile(q), tally.service_quantile(q)];
    let totals = Totals {
        goodput_per_s: level.goodput_per_s,
        throughput_per_s: level.throughput_per_s,
        p50: times(0.5),
        p99: times(0.99),
        attempts_count: tally.attempts(),
        failed_count: tally.failures(),
        failed_ratio: level.failed_ratio(),
    };
    totals.figures(format!("last level, {}", level.name()))
}
