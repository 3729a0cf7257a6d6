//! What the load was: how many requests at once, on how many targets, and what made the next one due.

use plimsoll_core::units::three_digits;
use plimsoll_core::verdict::{Gate, GateId, GateState};

use super::{Declared, TOLERANCE, agrees, state};
use crate::gates::{gate, with_figures, with_note};
use crate::import::figures::{Arrivals, Clients, Figures, MeanOf, Tool};

/// Gate 1: throughput times mean time is the number in flight.
pub(super) fn little(figures: &Figures, declared: &Declared) -> Gate {
    let compared = "mean in flight, pauses included, with the configured number";
    let line = |state| gate(GateId::Little, state, compared);
    let Some(product) = figures.mean_in_flight() else {
        return with_note(line(GateState::Unknown), "needs throughput and a mean time");
    };
    if figures.mean_of == MeanOf::Throughput {
        let note = "the tool computes its mean time from the number of connections, so the two agree whatever \
                    happened";
        return with_note(line(GateState::NotApplicable), note);
    }
    if figures.arrivals == Arrivals::Open && declared.in_flight.is_none() {
        let note = match figures.mean_of {
            MeanOf::Requests => format!(
                "{} in flight on average; at an arrival rate the target decides how many there are",
                three_digits(product)
            ),
            _ => "at an arrival rate the target decides how many are in flight".to_owned(),
        };
        return with_note(line(GateState::NotApplicable), note);
    }
    let Some(said) = declared.in_flight.or(figures.in_flight) else {
        let note = format!(
            "{} in flight on average; the file does not say how many were configured",
            three_digits(product)
        );
        return with_note(line(GateState::Unknown), note);
    };
    let (state, note) = weighed(figures, declared, product, said);
    let line = with_figures(
        line(state),
        three_digits(product),
        three_digits(said),
        "5 %",
    );
    with_note(line, note)
}

/// What `product` in flight means where `said` were configured.
fn weighed(figures: &Figures, declared: &Declared, product: f64, said: f64) -> (GateState, String) {
    let unknown = |note: &str| (GateState::Unknown, note.to_owned());
    if agrees(product, said) && !figures.is_ramp() {
        return (GateState::Pass, String::new());
    }
    if let (Some(said), Some(configured)) = (declared.in_flight, figures.in_flight) {
        let note = format!(
            "{} in flight, not {}: {} were configured",
            three_digits(product),
            three_digits(said),
            three_digits(configured)
        );
        return (state(agrees(product, said)), note);
    }
    if figures.is_ramp() {
        return unknown(
            "the number of clients changed during the test, so its mean is not in the file",
        );
    }
    if figures.mean_of == MeanOf::Corrected {
        return unknown(
            "the tool adds times of requests that a wait kept it from sending, so the mean is not that of the \
             requests that were made; the exact one would decide",
        );
    }
    let steps = figures.attempts_per_s().unwrap_or(0.0) * figures.mean_step / 1e3;
    if product < said && said < (product + steps) * (1.0 + TOLERANCE) {
        return unknown("the tool cuts times to whole milliseconds, which is too coarse to tell");
    }
    if figures.has_pauses && product < said {
        return unknown(match figures.tool {
            Tool::K6 => {
                "iterations that were cut off at the end, and the time of setup and teardown, are not in it; a longer \
                 test would decide"
            }
            _ => {
                "clients may do something else between requests, and for how long is not in the file"
            }
        });
    }
    if figures.has_pauses {
        let note = "more in flight than clients: requests of one client ran side by side, or were counted twice";
        return (GateState::Warning, note.to_owned());
    }
    let note = if product < said {
        "clients waited between requests, or most were never at work"
    } else {
        "more in flight than there were clients: the times or the counts are wrong"
    };
    (GateState::Fail, note.to_owned())
}

/// Gate 4: as many requests at once, and as many targets, as the test claims.
pub(super) fn wire(figures: &Figures, other: Option<&Figures>, declared: &Declared) -> Gate {
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

/// Gate 6: whether the generator waits for the target before it sends.
pub(super) fn arrivals(figures: &Figures) -> Gate {
    let line = |state| Gate {
        name: "Arrivals".to_owned(),
        ..gate(
            GateId::Generator,
            state,
            "what made the next request due: the clock, or the answer to the one before",
        )
    };
    match figures.arrivals {
        Arrivals::NotSaid => with_note(
            line(GateState::Unknown),
            "the file does not say whether requests kept to a rate or waited for answers",
        ),
        Arrivals::Closed => with_note(line(GateState::Warning), closed(figures)),
        Arrivals::Open => open(figures, line),
    }
}

fn closed(figures: &Figures) -> String {
    let unless = match (figures.tool, figures.clients) {
        (Tool::K6, Clients::Changing { .. }) => {
            " (unless an arrival rate drove the VUs, which the file does not name)"
        }
        _ => "",
    };
    let corrected = if figures.mean_of == MeanOf::Corrected {
        " The tool corrects its times for that, by a guess of when requests were due."
    } else {
        ""
    };
    format!(
        "closed loop{unless}: clients wait for an answer before they send again, so while the target stands still \
         nothing is sent, and the percentiles leave out what users would have waited.{corrected} Keep to an arrival \
         rate, and time from when each request was due: plimsoll run -q RATE"
    )
}

fn open(figures: &Figures, line: impl Fn(GateState) -> Gate) -> Gate {
    // vegeta's rate is what it sent.
    let offered = figures
        .offered_per_s
        .filter(|_| figures.tool != Tool::Vegeta);
    let done = match figures.tool {
        Tool::K6 => figures.rounds.map(|(per_s, _)| per_s),
        _ => figures.attempts_per_s(),
    };
    let timed = match figures.tool {
        Tool::K6 => "; k6 times a request from when it was sent, not from when it was due",
        _ => "",
    };
    let Some((done, offered)) = done.zip(offered) else {
        return with_note(line(GateState::Pass), format!("by the clock{timed}"));
    };
    let kept = done >= offered * (1.0 - TOLERANCE);
    let state = if kept {
        GateState::Pass
    } else {
        GateState::Warning
    };
    let line = with_figures(
        line(state),
        three_digits(done),
        three_digits(offered),
        "5 %",
    );
    let note = if kept {
        format!("by the clock{timed}")
    } else {
        format!(
            "the rate was not reached: what was due and not sent is in no percentile{timed}. Allow more clients, or \
             offer less"
        )
    };
    with_note(line, note)
}
