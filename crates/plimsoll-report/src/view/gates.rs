//! How many gates passed, in the words that chips, headings and prose share.

use plimsoll_core::verdict::{Gate, GateState};

use crate::format;

/// Gates by result.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GateTally {
    pub passed: u64,
    pub warnings: u64,
    pub failed: u64,
    pub unknown: u64,
    pub not_applicable: u64,
}

impl GateTally {
    pub fn new(gates: &[Gate]) -> Self {
        let mut tally = Self::default();
        for gate in gates {
            let counter = match gate.state {
                GateState::Pass => &mut tally.passed,
                GateState::Warning => &mut tally.warnings,
                GateState::Fail => &mut tally.failed,
                GateState::Unknown => &mut tally.unknown,
                GateState::NotApplicable => &mut tally.not_applicable,
            };
            *counter += 1;
        }
        tally
    }

    /// `9 gates passed, 1 warning, 2 do not apply`; what is zero is left out.
    pub fn words(&self) -> String {
        let space = format::NBSP;
        let parts: Vec<String> = [
            (self.failed, "failed", "failed"),
            (self.passed, "passed", "passed"),
            (self.warnings, "warning", "warnings"),
            (self.unknown, "unknown", "unknown"),
            (self.not_applicable, "does not apply", "do not apply"),
        ]
        .into_iter()
        .filter(|(n, ..)| *n > 0)
        .map(|(n, one, many)| {
            format!(
                "{}{space}{}",
                format::count(n),
                if n == 1 { one } else { many }
            )
        })
        .collect();
        if parts.is_empty() {
            "none evaluated".to_owned()
        } else {
            parts.join(", ")
        }
    }
}

pub(crate) const fn state_word(state: GateState) -> &'static str {
    match state {
        GateState::Pass => "pass",
        GateState::Warning => "warning",
        GateState::Fail => "fail",
        GateState::Unknown => "unknown",
        GateState::NotApplicable => "n/a",
    }
}

pub(crate) const fn state_sign(state: GateState) -> &'static str {
    match state {
        GateState::Pass => "✓",
        GateState::Warning => "!",
        GateState::Fail => "✕",
        GateState::Unknown => "?",
        GateState::NotApplicable => "–",
    }
}
