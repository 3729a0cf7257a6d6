//! The validity gates (DESIGN section 6): no verdict without them.
//!
//! Each gate says what it compared, both numbers and the tolerance. A failed gate withholds the
//! verdict; an unknown one says which measurement would decide.

mod change;
mod done;
mod flow;
mod laws;
mod limits;
mod quality;
mod stores;

pub(crate) use flow::residence_and_in_flight;
pub(crate) use limits::{most_open, room};

use plimsoll_core::Tally;
use plimsoll_core::record::{Observation, Record, Seen};
use plimsoll_core::step::{Phase, StepLoad};
use plimsoll_core::verdict::{Gate, GateId, GateState};
use plimsoll_core::window::Window;

/// What every gate looks at: the record, and the level whose figures the verdict quotes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Case<'a> {
    pub(crate) record: &'a Record,
    pub(crate) level: u32,
}

/// Evaluates every gate over the record; `level` is the one whose figures the verdict quotes.
pub fn evaluate(record: &Record, level: u32) -> Vec<Gate> {
    let case = Case { record, level };
    let mut gates = vec![
        flow::little(case),
        flow::accounting(case),
        flow::work(case),
        flow::wire(case),
        quality::steady(case),
        quality::generator(case),
        quality::failures_by_kind(case),
        quality::mean_and_ramps(case),
        limits::path(case),
        limits::one_change(case),
    ];
    // Where nothing is taken in and nobody looked at what is stored they would say nothing.
    gates.extend(done::accepted(case));
    gates.extend(done::stored(case));
    gates.sort_by_key(|gate| gate.id);
    gates
}

/// Whether gate 10 has something to say of slots or accept queues, at whatever level it may be asked.
pub(crate) fn slots_are_near(record: &Record) -> bool {
    let levels = record.levels.iter().map(|start| start.step.level);
    let mut cases = levels.map(|level| Case { record, level });
    cases.any(limits::slots_are_near)
}

/// No gate failed.
pub fn passed(gates: &[Gate]) -> bool {
    gates.iter().all(|gate| gate.state != GateState::Fail)
}

impl<'a> Case<'a> {
    pub(crate) fn windows(self) -> impl Iterator<Item = &'a Window> {
        self.record.judged_windows(self.level)
    }

    pub(crate) fn tally(self) -> Tally {
        self.record.judged_tally(self.level)
    }

    pub(crate) fn load(self) -> Option<StepLoad> {
        self.record.level(self.level).map(|start| start.step.load)
    }

    /// Seconds that the windows of the level cover.
    pub(crate) fn seconds(self) -> f64 {
        self.windows()
            .map(|window| window.length_ns.as_secs_f64())
            .sum()
    }

    /// The tier that the load goes to: the sampler puts it first, whatever it is called. A script may talk to many,
    /// unless the lab said which.
    pub(crate) fn target(self) -> &'a str {
        let processes = |o: &&Observation| matches!(o.seen, Seen::Process(_) | Seen::Listener(_));
        let mut observed = self.record.observations.iter().filter(processes);
        let header = &self.record.header;
        let is_one = !header.test.is_script() || header.lab.is_some();
        observed
            .next()
            .filter(|_| is_one)
            .map_or("target", |o| o.tier.as_str())
    }

    /// The level was played at a rate that changes on purpose.
    pub(crate) fn is_ramp(self) -> bool {
        matches!(self.load(), Some(StepLoad::Open { profile, .. }) if profile.constant_rate().is_none())
    }
}

/// Levels of a phase, in order.
pub(crate) fn levels_of(record: &Record, phase: Phase) -> impl Iterator<Item = u32> {
    record
        .levels
        .iter()
        .filter(move |start| start.step.phase == phase)
        .map(|start| start.step.level)
}

/// Builder of one gate line.
pub(crate) fn gate(id: GateId, state: GateState, compared: &str) -> Gate {
    Gate {
        id,
        name: id.name().to_owned(),
        state,
        compared: compared.to_owned(),
        left: None,
        right: None,
        tolerance: None,
        note: String::new(),
    }
}

/// The two numbers and the tolerance of a gate.
pub(crate) fn with_figures(
    gate: Gate,
    left: impl Into<String>,
    right: impl Into<String>,
    tolerance: &str,
) -> Gate {
    Gate {
        left: Some(left.into()),
        right: Some(right.into()),
        tolerance: Some(tolerance.to_owned()),
        ..gate
    }
}

pub(crate) fn with_note(gate: Gate, note: impl Into<String>) -> Gate {
    Gate {
        note: note.into(),
        ..gate
    }
}

/// |left ÷ right − 1|; two zeros agree.
pub(crate) fn deviation(left: f64, right: f64) -> f64 {
    if right == 0.0 {
        if left == 0.0 { 0.0 } else { f64::INFINITY }
    } else {
        (left / right - 1.0).abs()
    }
}

#[cfg(test)]
pub(crate) mod tests;
