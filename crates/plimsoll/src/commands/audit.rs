//! `plimsoll audit RECORD`: the validity gates again, from the recorded figures alone.

use std::fmt::Write as _;

use anyhow::Result;
use plimsoll_analysis::gates;
use plimsoll_core::verdict::{Gate, GateState};

use crate::args::{Format, RecordArgs};
use crate::exit::Exit;
use crate::{output, records, verdicts};

pub(crate) fn execute(args: &RecordArgs) -> Result<Exit> {
    let record = records::read(&args.record)?;
    let level = verdicts::of(&record).level;
    let gates = gates::evaluate(&record, level);
    let text = match args.format {
        Format::Json => serde_json::to_string_pretty(&gates)? + "\n",
        Format::Text => page(&gates, "", level),
        Format::Markdown => page(&gates, "- ", level),
    };
    output::data(&text);
    Ok(if gates::passed(&gates) {
        Exit::Passed
    } else {
        Exit::RunInvalid
    })
}

fn page(gates: &[Gate], bullet: &str, level: u32) -> String {
    let mut text = format!("gates over level {level}\n\n");
    for gate in gates {
        let (mark, word) = mark(gate.state);
        let mut line = format!(
            "{bullet}{mark} {:>2}  {:<7}  {}: {}",
            gate.number, word, gate.name, gate.compared
        );
        if let (Some(left), Some(tolerance)) = (&gate.left, &gate.tolerance) {
            let right = gate
                .right
                .as_deref()
                .map(|right| format!(" against {right}"));
            let _infallible = write!(
                line,
                " — {left}{} (tolerance {tolerance})",
                right.unwrap_or_default()
            );
        }
        let _infallible = writeln!(text, "{line}");
        if !gate.note.is_empty() {
            let _infallible = writeln!(text, "      {}", gate.note);
        }
    }
    let failed = gates
        .iter()
        .filter(|gate| gate.state == GateState::Fail)
        .count();
    let _infallible = match failed {
        0 => writeln!(text, "\nvalid: no gate failed"),
        _ => writeln!(text, "\nno verdict: {failed} failed"),
    };
    text
}

fn mark(state: GateState) -> (char, &'static str) {
    match state {
        GateState::Pass => ('✓', "pass"),
        GateState::Warning => ('!', "warning"),
        GateState::Fail => ('✕', "fail"),
        GateState::Unknown => ('?', "unknown"),
        GateState::NotApplicable => ('–', "n/a"),
    }
}
