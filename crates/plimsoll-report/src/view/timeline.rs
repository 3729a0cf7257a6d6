//! Outcomes over time in equal bins, every attempt against the target counted once.

use plimsoll_core::record::Record;
use plimsoll_core::step::Phase;
use plimsoll_core::tally::{Quantile, Tally};
use plimsoll_core::verdict::LevelState;
use plimsoll_core::{Outcome, Window};

use super::LevelView;

/// What became of an attempt, as coloured: ok is divided into good and late.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Lane {
    Good,
    /// Ok, but later than a bound of the objective.
    Late,
    /// Any class but ok.
    Class(Outcome),
}

impl Lane {
    /// Good, late and every class but ok, in the order of stacking.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        let classes = Outcome::ALL
            .into_iter()
            .filter(|outcome| *outcome != Outcome::Ok);
        [Self::Good, Self::Late]
            .into_iter()
            .chain(classes.map(Self::Class))
    }

    pub(crate) fn count(self, tally: &Tally) -> u64 {
        match self {
            Self::Good => tally.good(),
            Self::Late => tally.ok().saturating_sub(tally.good()),
            Self::Class(outcome) => tally.class(outcome).count,
        }
    }

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Late => "late",
            Self::Class(outcome) => outcome.name(),
        }
    }
}

/// Some seconds of the run.
#[derive(Debug, Clone)]
pub(crate) struct Bin {
    pub(crate) start_seconds: f64,
    pub(crate) length_seconds: f64,
    pub(crate) tally: Tally,
    /// Attempts due, per second.
    pub(crate) due_per_s: f64,
    pub(crate) in_flight_mean: f64,
    /// Virtual users at work at its end, where a script plays.
    pub(crate) vus: Option<u32>,
}

impl Bin {
    pub(crate) fn per_s(&self, lane: Lane) -> f64 {
        if self.length_seconds > 0.0 {
            lane.count(&self.tally) as f64 / self.length_seconds
        } else {
            0.0
        }
    }

    /// Milliseconds, or `None` for never and for a bin without attempts.
    pub(crate) fn response_ms(&self, q: f64) -> Option<f64> {
        let value = self.tally.response_quantile(q).and_then(Quantile::finite);
        value.map(plimsoll_core::Nanos::as_millis_f64)
    }
}

/// A level or several of one purpose, as a stretch of time.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Span {
    pub(crate) start_seconds: f64,
    pub(crate) end_seconds: f64,
    pub(crate) label: String,
    pub(crate) phase: Phase,
    pub(crate) void: bool,
}

/// The run over time, without the generator's self-check.
#[derive(Debug, Clone)]
pub(crate) struct Timeline {
    /// Width of a bin in seconds.
    pub(crate) bin_seconds: f64,
    pub(crate) bins: Vec<Bin>,
    pub(crate) spans: Vec<Span>,
    /// All of it merged.
    pub(crate) total: Tally,
}

impl Timeline {
    /// At most `bins_max` bins; their width is a round number of seconds.
    pub(crate) fn new(record: &Record, levels: &[LevelView], bins_max: usize) -> Self {
        let windows: Vec<&Window> = shown_windows(record).collect();
        let start = windows
            .iter()
            .map(|window| window.start_ns)
            .min()
            .unwrap_or_default();
        let end = windows
            .iter()
            .map(|window| window.end_ns())
            .max()
            .unwrap_or_default();
        let bin_seconds = bin_width((end - start).as_secs_f64(), bins_max);
        let mut total = Tally::default();
        let mut bins: Vec<Bin> = Vec::new();
        for window in windows {
            let at = (window.start_ns - start).as_secs_f64();
            let index = (at / bin_seconds + 0.05) as usize;
            while bins.len() <= index {
                bins.push(empty_bin(bins.len() as f64 * bin_seconds));
            }
            let tally = everything(window);
            total.merge(&tally);
            add(&mut bins[index], window, &tally);
        }
        Self {
            bin_seconds,
            bins,
            spans: spans(record, levels, start.as_secs_f64()),
            total,
        }
    }

    pub(crate) fn end_seconds(&self) -> f64 {
        self.bins
            .last()
            .map_or(0.0, |bin| bin.start_seconds + self.bin_seconds)
    }

    /// Lanes with at least one attempt, in the order of stacking.
    pub(crate) fn lanes(&self) -> Vec<Lane> {
        Lane::all()
            .filter(|lane| lane.count(&self.total) > 0)
            .collect()
    }

    pub(crate) fn highest_per_s(&self) -> f64 {
        let sum = |bin: &Bin| Lane::all().map(|lane| bin.per_s(lane)).sum::<f64>();
        self.bins.iter().map(sum).fold(0.0, f64::max)
    }
}

fn shown_windows(record: &Record) -> impl Iterator<Item = &Window> {
    record.windows.iter().filter(|window| {
        let start = record.level(window.level);
        start.is_none_or(|start| start.step.phase != Phase::SelfCheck)
    })
}

/// A window's own attempts and the late ends it carries.
fn everything(window: &Window) -> Tally {
    let mut tally = window.total();
    for carried in &window.carried {
        tally.merge(&carried.tally);
    }
    tally
}

fn empty_bin(start_seconds: f64) -> Bin {
    Bin {
        start_seconds,
        length_seconds: 0.0,
        tally: Tally::default(),
        due_per_s: 0.0,
        in_flight_mean: 0.0,
        vus: None,
    }
}

fn add(bin: &mut Bin, window: &Window, tally: &Tally) {
    let length = window.length_ns.as_secs_f64();
    let whole = bin.length_seconds + length;
    if whole > 0.0 {
        let of = |before: f64, now: f64| (before * bin.length_seconds + now) / whole;
        bin.due_per_s = of(bin.due_per_s, window.due_count as f64);
        bin.in_flight_mean = of(bin.in_flight_mean, window.in_flight_mean * length);
    }
    bin.length_seconds = whole;
    bin.vus = window.vus.or(bin.vus);
    bin.tally.merge(tally);
}

fn bin_width(seconds: f64, bins_max: usize) -> f64 {
    const WIDTHS: [f64; 12] = [
        1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0,
    ];
    let least = seconds / bins_max.max(1) as f64;
    WIDTHS
        .into_iter()
        .find(|width| *width >= least)
        .unwrap_or(least)
}

fn spans(record: &Record, levels: &[LevelView], offset: f64) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    for level in levels {
        let windows = record.windows_of(level.level);
        let Some(end) = windows.map(Window::end_ns).max() else {
            continue;
        };
        let start_seconds = (level.start.as_secs_f64() - offset).max(0.0);
        let end_seconds = end.as_secs_f64() - offset;
        let label = span_label(level);
        match spans.last_mut() {
            // The anchor doubles through many short levels, the probe has three legs: one stretch each.
            Some(last) if joins(last, level, &label) => last.end_seconds = end_seconds,
            _ => spans.push(Span {
                start_seconds,
                end_seconds,
                label,
                phase: level.phase,
                void: level.state == LevelState::Void,
            }),
        }
    }
    spans
}

fn joins(last: &Span, level: &LevelView, label: &str) -> bool {
    last.label == label && last.void == (level.state == LevelState::Void)
}

fn span_label(level: &LevelView) -> String {
    let constant = level.is_point();
    let rate = crate::format::number(level.size);
    match level.phase {
        Phase::WarmUp => "warm-up".to_owned(),
        Phase::Anchor => "anchor".to_owned(),
        Phase::RecoveryBefore | Phase::RecoveryPulse | Phase::RecoveryAfter => {
            "recovery".to_owned()
        }
        Phase::Settle => "settle".to_owned(),
        Phase::Soak => format!("{rate} soak"),
        _ if constant => rate,
        Phase::Run => String::new(),
        _ => level.name(),
    }
}
