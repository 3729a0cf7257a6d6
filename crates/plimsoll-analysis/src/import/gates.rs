//! The gates that another tool's figures allow, and what would be needed for the others.

mod change;
mod failures;
mod load;
mod times;

use plimsoll_core::units::three_digits;
use plimsoll_core::verdict::{Gate, GateId, GateState};

use super::figures::{Figures, Tool};
use crate::gates::{deviation, gate, with_note};

/// What the authors of a test say about it, to be held against its figures.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Declared {
    /// Databases, or other equal targets.
    pub parts: Option<u64>,
    pub in_flight: Option<f64>,
    /// What was changed between the baseline and this.
    pub changes: Vec<String>,
}

/// What an imported result comes to.
#[derive(Debug, Clone, PartialEq)]
pub struct Audit {
    pub tool: Tool,
    /// Successful attempts per second.
    pub goodput_per_s: Option<f64>,
    /// Against the baseline, as a ratio: 0.218 is a fifth more.
    pub(crate) goodput_change: Option<f64>,
    /// What the figures say once failures are taken out; empty where they do not carry it.
    pub headline: String,
    pub gates: Vec<Gate>,
}

/// What agrees to this share agrees.
const TOLERANCE: f64 = 0.05;

/// Audits a result; `baseline` is another one of the same workload, if there is one.
pub fn audit(figures: &Figures, baseline: Option<&Figures>, declared: &Declared) -> Audit {
    let goodput_per_s = figures.goodput_per_s();
    let before = baseline
        .and_then(Figures::goodput_per_s)
        .filter(|before| *before > 0.0);
    let goodput_change = goodput_per_s
        .zip(before)
        .map(|(now, before)| now / before - 1.0);
    let mut gates = vec![
        load::little(figures, declared),
        failures::accounting(figures),
        change::work(figures, baseline),
        load::wire(figures, baseline, declared),
        load::arrivals(figures),
        failures::by_kind(figures),
        times::percentiles(figures),
        times::merged(figures),
    ];
    // Where nothing points at them they would say nothing.
    gates.extend(times::slowest(figures));
    gates.extend(failures::accepted(figures));
    gates.push(change::one_change(figures, baseline, declared));
    gates.push(not_written());
    Audit {
        tool: figures.tool,
        goodput_per_s,
        goodput_change,
        headline: headline(figures, goodput_change),
        gates,
    }
}

/// `goodput 2,672/s (+21.8 %); the reported 3,638/s count failures`
fn headline(figures: &Figures, change: Option<f64>) -> String {
    let whole = |per_s: f64| {
        if per_s < 10.0 {
            three_digits(per_s)
        } else {
            grouped(per_s.round() as u64)
        }
    };
    let Some(goodput) = figures.goodput_per_s() else {
        return String::new();
    };
    let mut line = format!("goodput {}/s", whole(goodput));
    if let Some(change) = change {
        line = format!("{line} ({:+.1} %)", change * 100.0);
    }
    if figures.accepts.is_some() && figures.accepted_count == 0 {
        line = format!("{line} if what was taken in was also done");
    }
    let reported = figures.reported_per_s.or_else(|| figures.attempts_per_s());
    let is_more = |reported: &f64| *reported > goodput * (1.0 + TOLERANCE);
    let failed = figures.failures.total > Some(0);
    match reported
        .filter(is_more)
        .filter(|_| failed || figures.accepted_count > 0)
    {
        Some(reported) if failed => {
            format!("{line}; the reported {}/s count failures", whole(reported))
        }
        Some(reported) => {
            format!(
                "{line}; the reported {}/s count what was only taken in",
                whole(reported)
            )
        }
        None => line,
    }
}

pub(crate) fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn percent(ratio: f64) -> String {
    format!("{} %", (ratio * 1e4).round() / 100.0)
}

/// `492.8 ms`, `36.0 s`.
fn time(millis: f64) -> String {
    if millis < 1e3 {
        format!("{millis:.1} ms")
    } else {
        format!("{:.1} s", millis / 1e3)
    }
}

const fn state(holds: bool) -> GateState {
    if holds {
        GateState::Pass
    } else {
        GateState::Fail
    }
}

fn not_written() -> Gate {
    let compared = "steady state, the generator's own lateness, limits on the path, stored writes";
    let note = "the file has none of these; measure with plimsoll run, which writes them down";
    with_note(
        Gate {
            name: "Everything else".to_owned(),
            ..gate(GateId::Steady, GateState::Unknown, compared)
        },
        note,
    )
}

/// Within the tolerance of gates that compare two figures.
fn agrees(left: f64, right: f64) -> bool {
    deviation(left, right) < TOLERANCE
}
