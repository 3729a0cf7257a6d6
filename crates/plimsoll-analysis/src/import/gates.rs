//! The gates that another tool's figures allow, and what would be needed for the others.

use plimsoll_core::units::three_digits;
use plimsoll_core::verdict::{Gate, GateId, GateState};

use super::docdb::weighted;
use super::figures::{Figures, Tool};
use crate::gates::{deviation, gate, with_figures, with_note};

/// What the authors of a test say about it, to be held against its figures.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Declared {
    /// Databases, or other equal targets.
    pub parts: Option<u64>,
    pub in_flight: Option<f64>,
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

/// A share of failures above which the 95th percentile belongs to them.
const P95_ROOM: f64 = 0.05;
const TOLERANCE: f64 = 0.05;

/// Audits a result; `baseline` is another one of the same workload, if there is one.
pub fn audit(figures: &Figures, baseline: Option<&Figures>, declared: Declared) -> Audit {
    let goodput_per_s = figures.goodput_per_s();
    let before = baseline.and_then(Figures::goodput_per_s);
    let goodput_change = goodput_per_s
        .zip(before)
        .map(|(now, before)| now / before - 1.0);
    Audit {
        tool: figures.tool,
        goodput_per_s,
        goodput_change,
        headline: headline(figures, goodput_change),
        gates: vec![
            little(figures, declared),
            accounting(figures),
            work(figures, baseline),
            wire(figures, baseline, declared),
            failures(figures),
            percentiles(figures),
            merged(figures),
            not_written(),
        ],
    }
}

/// `goodput 2,672/s (+21.8 %); the reported 3,638/s count failures`
fn headline(figures: &Figures, change: Option<f64>) -> String {
    let whole = |per_s: f64| grouped(per_s.round() as u64);
    let Some(goodput) = figures.goodput_per_s() else {
        return String::new();
    };
    let mut line = format!("goodput {}/s", whole(goodput));
    if let Some(change) = change {
        line = format!("{line} ({:+.1} %)", change * 100.0);
    }
    let reported = figures.reported_per_s.or_else(|| figures.attempts_per_s());
    match reported.filter(|reported| deviation(goodput, *reported) >= TOLERANCE) {
        Some(reported) => format!("{line}; the reported {}/s count failures", whole(reported)),
        None => line,
    }
}

fn grouped(value: u64) -> String {
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

const fn state(holds: bool) -> GateState {
    if holds {
        GateState::Pass
    } else {
        GateState::Fail
    }
}

/// Gate 1: throughput times mean time is the number in flight.
fn little(figures: &Figures, declared: Declared) -> Gate {
    let compared = "mean in flight, pauses included, with the configured number";
    let line = |state| gate(GateId::Little, state, compared);
    let Some(product) = figures.mean_in_flight() else {
        return with_note(line(GateState::Unknown), "needs throughput and a mean time");
    };
    let Some(said) = declared.in_flight.or(figures.in_flight) else {
        let note = format!(
            "{} in flight on average; the file does not say how many were configured",
            three_digits(product)
        );
        return with_note(line(GateState::Unknown), note);
    };
    let numbers = |line: Gate| with_figures(line, three_digits(product), three_digits(said), "5 %");
    if figures.is_ramp && declared.in_flight.is_none() {
        let note = "the number of VUs changed during the test, so its mean is not in the file";
        return with_note(numbers(line(GateState::Unknown)), note);
    }
    let holds = deviation(product, said) < TOLERANCE;
    let note = match (holds, declared.in_flight, figures.in_flight) {
        (false, Some(said), Some(configured)) => format!(
            "{} in flight, not {}: {} were configured",
            three_digits(product),
            three_digits(said),
            three_digits(configured)
        ),
        (false, None, _) if product < said => {
            "clients waited between requests, or most were never at work".to_owned()
        }
        _ => String::new(),
    };
    with_note(numbers(line(state(holds))), note)
}

/// Gate 2: every attempt succeeded or failed.
fn accounting(figures: &Figures) -> Gate {
    let line = |state| {
        gate(
            GateId::Accounting,
            state,
            "attempts with successes and failures",
        )
    };
    if !figures.counts_failures {
        let note = "the file has no failures at all: what failed is counted as done";
        return with_note(line(GateState::Fail), note);
    }
    let counted = figures.counted_successes.zip(figures.failures.total);
    let counted = counted.map(|(successes, failures)| successes + failures);
    let Some((attempts, counted)) = figures.attempts.zip(counted) else {
        return with_note(
            line(GateState::Unknown),
            "needs successes and failures, counted apart",
        );
    };
    let line = line(state(attempts == counted));
    with_figures(line, grouped(attempts), grouped(counted), "0")
}

/// Gate 3: a success takes as many bytes as before, and a write as many as it must.
fn work(figures: &Figures, baseline: Option<&Figures>) -> Gate {
    if let Some((grown, least)) = figures.log_bytes.filter(|(_, least)| *least > 0.0) {
        let line = gate(
            GateId::Work,
            state(grown >= least * (1.0 - TOLERANCE)),
            "bytes that the log grew with those of the writes that were counted",
        );
        let line = with_figures(line, grouped(grown as u64), grouped(least as u64), "5 %");
        let note = format!(
            "only {} of the bytes were written: most of the counted writes failed or never happened",
            percent(grown / least)
        );
        return if line.state == GateState::Fail {
            with_note(line, note)
        } else {
            line
        };
    }
    let compared = "bytes received per success with the baseline";
    let line = |state| gate(GateId::Work, state, compared);
    let before = baseline.and_then(Figures::bytes_per_success);
    match figures.bytes_per_success().zip(before) {
        Some((now, before)) => {
            let holds = deviation(now, before) < TOLERANCE;
            let line = with_figures(
                line(state(holds)),
                three_digits(now),
                three_digits(before),
                "5 %",
            );
            if holds && figures.failures.total > Some(0) {
                return with_note(
                    line,
                    "successes account for all bytes: failures brought none",
                );
            }
            line
        }
        None => with_note(
            line(GateState::Unknown),
            "needs bytes, failures and a baseline",
        ),
    }
}

/// Gate 4: as many requests at once, and as many targets, as the test claims.
fn wire(figures: &Figures, other: Option<&Figures>, declared: Declared) -> Gate {
    let compared = "targets and requests at once with what was declared";
    let mut notes = Vec::new();
    let mut gate_state = GateState::Unknown;
    let parts = figures.parts.len() as u64;
    if let Some(said) = declared.parts.filter(|_| parts > 0) {
        gate_state = state(said == parts);
        if said != parts {
            let names: Vec<&str> = figures
                .parts
                .iter()
                .map(|part| part.name.as_str())
                .collect();
            notes.push(format!(
                "{parts} databases, not {said}: {}",
                names.join(", ")
            ));
        }
    }
    let configured = figures.in_flight.unwrap_or(0.0);
    let line = gate(GateId::Wire, gate_state, compared);
    let Some(each) = figures.on_wire_per_part.filter(|_| parts > 0) else {
        let note = "the tool does not say how many requests were on the wire; watch the target";
        notes.push(note.to_owned());
        return with_note(line, notes.join("; "));
    };
    let most = (each * parts) as f64;
    notes.push(format!(
        "at most {each} request per database on the wire: the tool sends through one client that is \
         locked until the reply"
    ));
    notes.extend(other.and_then(|other| same_load(figures, other)));
    let line = Gate {
        state: if most < configured {
            GateState::Fail
        } else {
            line.state
        },
        ..line
    };
    let line = with_figures(line, three_digits(most), three_digits(configured), "none");
    with_note(line, notes.join("; "))
}

/// More workers that only wait longer were not more load.
fn same_load(figures: &Figures, other: &Figures) -> Option<String> {
    let (workers, others) = (figures.workers_per_part?, other.workers_per_part?);
    if figures.parts.len() != other.parts.len() || workers == others {
        return None;
    }
    let rate = figures.attempts_per_s()? / other.attempts_per_s()?;
    let time = figures.all.mean? / other.all.mean?;
    Some(format!(
        "with {} times the workers the rate is {} times and the mean time {} times as large: the \
         workers queued inside the generator",
        three_digits(workers as f64 / others as f64),
        three_digits(rate),
        three_digits(time)
    ))
}

/// Gate 7: every failure has a kind; and what the kinds rule out.
fn failures(figures: &Figures) -> Gate {
    let line = |state| {
        gate(
            GateId::Failures,
            state,
            "failures against those with a kind",
        )
    };
    if !figures.counts_failures {
        let note = "the tool writes down no failure; count the target's own errors";
        return with_note(line(GateState::Unknown), note);
    }
    let Some(total) = figures.failures.total else {
        return with_note(line(GateState::Unknown), "the file does not count failures");
    };
    let answered = figures.failures.answered();
    let unanswered: u64 = figures.failures.unanswered.values().sum();
    let with_kind = answered + unanswered;
    let state = match with_kind {
        all if all >= total => GateState::Pass,
        0 => GateState::Unknown,
        _ => GateState::Fail,
    };
    let line = with_figures(line(state), grouped(total), grouped(with_kind), "0");
    if total == 0 {
        return line;
    }
    if with_kind == 0 {
        let note = "no failure has a kind; keep --out json, or count statuses";
        return with_note(line, note);
    }
    let silent = figures.failures.without_answer().unwrap_or(unanswered);
    let mut notes = vec![format!(
        "{} of {} failures without any HTTP response",
        grouped(silent),
        grouped(total)
    )];
    let statuses = figures.failures.by_status.iter();
    notes.extend(statuses.map(|(status, n)| format!("{} HTTP {status}", grouped(*n))));
    let kinds = figures.failures.unanswered.iter();
    notes.extend(kinds.map(|(kind, n)| format!("{} {kind}", grouped(*n))));
    let mut note = notes.join(", ");
    if silent > 10 * answered {
        note += "; a cause behind the application, such as pool exhaustion, is unsupported: it \
                 would answer with an error. Look at connections: proxy slots, listen backlog, \
                 ports";
    }
    with_note(line, note)
}

/// Gate 8: whose percentile is quoted, and whether it can stand for the test.
fn percentiles(figures: &Figures) -> Gate {
    let line = |state| Gate {
        name: "Percentiles".to_owned(),
        ..gate(
            GateId::Percentiles,
            state,
            "p95 of all with that of successes",
        )
    };
    let Some(all) = figures.all.percentile(95.0) else {
        return with_note(line(GateState::Unknown), "the file has no p95");
    };
    let mut notes = Vec::new();
    let mut gate_state = GateState::Pass;
    if let Some(mean) = figures.all.mean.filter(|mean| *mean > all) {
        gate_state = GateState::Fail;
        notes.push(format!(
            "the mean, {} ms, is above p95: a few very long ones are hidden",
            three_digits(mean)
        ));
    }
    let successes = figures.successes.percentile(95.0);
    let failed = figures.failure_ratio().unwrap_or(0.0);
    if failed > 0.0 {
        let of_successes = successes
            .map(|millis| format!("; that of successful ones is {} ms", one_decimal(millis)));
        notes.push(format!(
            "the quoted p95 of {} ms is that of all requests{}",
            one_decimal(all),
            of_successes.unwrap_or_default()
        ));
    }
    if failed > P95_ROOM {
        gate_state = GateState::Fail;
        notes.push(format!(
            "over attempts, where a failure is infinitely late, p95 is never: {} failed",
            percent(failed)
        ));
    }
    if figures.is_ramp {
        if gate_state == GateState::Pass {
            gate_state = GateState::Warning;
        }
        notes.push("the load changed during the test, so no percentile is of one load".to_owned());
    }
    let right = successes.map_or_else(|| "not in the file".to_owned(), one_decimal);
    let line = with_figures(line(gate_state), one_decimal(all), right, "none");
    with_note(line, notes.join("; "))
}

fn one_decimal(value: f64) -> String {
    format!("{value:.1}")
}

/// Gate 9: percentiles of several targets were merged and not averaged.
fn merged(figures: &Figures) -> Gate {
    let compared = "p95 of everything with the mean of its parts' p95";
    let line = |state| gate(GateId::Merged, state, compared);
    let whole = figures.global.percentile(95.0);
    let mean = weighted(&figures.parts, |times| times.percentile(95.0));
    match whole.zip(mean).filter(|_| figures.parts.len() > 1) {
        Some((whole, mean)) => {
            // Parts that differ never agree so closely by chance.
            let is_averaged = deviation(whole, mean) < 2e-3;
            let line = with_figures(
                line(state(!is_averaged)),
                format!("{whole:.3}"),
                format!("{mean:.3}"),
                "0.2 %",
            );
            if is_averaged {
                return with_note(line, "the percentiles of the parts were averaged");
            }
            line
        }
        None => with_note(line(GateState::NotApplicable), "one population"),
    }
}

fn not_written() -> Gate {
    let compared = "steady state, generator, limits on the path, stored writes, repeats";
    let note = "no other tool writes these down; measure with plimsoll run, or repeat and watch";
    with_note(
        Gate {
            name: "Everything else".to_owned(),
            ..gate(GateId::OneChange, GateState::Unknown, compared)
        },
        note,
    )
}
