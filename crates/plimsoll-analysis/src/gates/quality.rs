//! Gates 5 to 8: is the quoted level steady, ours clean, its failures named, its figures fit to quote?

use plimsoll_core::health::{self, Condition, Loop};
use plimsoll_core::judge::{DRIFT_RATIO, GROWTH_RATIO, Growth};
use plimsoll_core::step::{Phase, StepLoad};
use plimsoll_core::tally::Quantile;
use plimsoll_core::units::three_digits;
use plimsoll_core::verdict::{Gate, GateId, GateState};
use plimsoll_core::{Nanos, Objectives, Outcome};

use crate::facts::level::users_vary;
use crate::{neighbours, steal};

use super::change::{Change, Side};
use super::{Case, gate, levels_of, with_figures, with_note};

/// Slowdown of the repeated first level that voids the order of levels (B.3).
const DRIFT_VOIDS: f64 = 0.25;
/// What of it must be no chance.
const DRIFT_SURE: f64 = 0.1;
/// Fewer tell no mean: of ten exponential times its standard deviation is a third.
const DRIFT_ATTEMPTS: u64 = 100;

/// Gate 5: Steady state: in-flight does not grow, and the first level repeated gives the first answer.
pub(super) fn steady(case: Case<'_>) -> Gate {
    let users_vary = users_vary(case.windows());
    if case.is_ramp() || users_vary {
        let what = if users_vary {
            "number of users"
        } else {
            "rate"
        };
        let result = gate(
            GateId::Steady,
            GateState::NotApplicable,
            "trend of in-flight",
        );
        return with_note(result, format!("the {what} changes on purpose"));
    }
    if let Some(drift) = drift(case) {
        return drift;
    }
    let compared = "growth of in-flight against arrivals";
    let in_flight: Vec<f64> = case.windows().map(|w| w.in_flight_mean).collect();
    let arrivals: u64 = case.windows().map(|window| window.due_count).sum();
    let Some(growth) = Growth::over_windows(&in_flight, arrivals) else {
        let result = gate(GateId::Steady, GateState::Unknown, compared);
        return with_note(result, "fewer than 4 s: run longer to see a trend");
    };
    let open = matches!(case.load(), Some(StepLoad::Open { .. }));
    let state = if open && growth.exceeds() {
        GateState::Warning
    } else {
        GateState::Pass
    };
    let result = gate(GateId::Steady, state, compared);
    let result = with_figures(
        result,
        three_digits(growth.count.max(0.0)),
        growth.arrivals.to_string(),
        &format!("{} %", GROWTH_RATIO * 100.0),
    );
    if state == GateState::Pass {
        return result;
    }
    with_note(
        result,
        "more arrives than is answered: the percentiles depend on how long the run is; lower the rate, or use find",
    )
}

/// The mean service time of the first level against its repetition at the end of a search.
fn drift(case: Case<'_>) -> Option<Gate> {
    // After it the closed loop of the beginning may be repeated, too: its throughput was judged by the search.
    let repeated = levels_of(case.record, Phase::Repeat).next()?;
    let load = case.record.level(repeated)?.step.load;
    let first = case
        .record
        .levels
        .iter()
        .find(|start| start.step.load == load && start.step.level != repeated)?
        .step
        .level;
    let mean = |level| {
        let attempts = case.record.judged_tally(level).decided();
        let windows = case.record.judged_windows(level);
        let side = Side::of_windows(windows, |tally| {
            tally.served_service().mean().map(Nanos::as_millis_f64)
        });
        side.filter(|_| attempts >= DRIFT_ATTEMPTS)
    };
    let (before, after) = (mean(first)?, mean(repeated)?);
    let change = Change::between(before, after);
    let off = change.share.abs();
    // A tenth of a millisecond is the scheduler's, whatever share of the mean it is.
    let is_small = off < DRIFT_RATIO || (after.value - before.value).abs() < 0.1;
    let state = if is_small || !change.is_seen() {
        GateState::Pass
    // What a slower target carried a faster one carries too: that is only worth a warning.
    } else if change.share >= DRIFT_VOIDS && change.surely_exceeds(DRIFT_SURE) == Some(true) {
        GateState::Fail
    } else {
        GateState::Warning
    };
    let compared = "mean service time of the first level and of its repetition at the end";
    let result = gate(GateId::Steady, state, compared);
    let figures = [before, after].map(|side| format!("{} ms", three_digits(side.value)));
    let [before, after] = figures;
    let result = with_figures(result, before, after, "5 %, void from 25 % slower");
    Some(match state {
        GateState::Pass => result,
        _ => with_note(
            result,
            "the target changed during the search (warm-up, cache, data growth, a neighbour): run it again, warm",
        ),
    })
}

/// Gate 6: The generator was on time at the quoted level, or its lateness turned nothing; where the load was not the one
/// that was asked for there is no verdict.
pub(super) fn generator(case: Case<'_>) -> Gate {
    let model = match case.load() {
        Some(StepLoad::Closed { .. }) => Loop::Closed,
        _ => Loop::Open,
    };
    let objectives = case.record.header.test.objectives();
    let bound = objectives.and_then(Objectives::tightest_bound);
    let assessment = health::assess(model, bound, case.windows());
    let state = match assessment.condition {
        Condition::Clean => GateState::Pass,
        Condition::GeneratorBound | Condition::Late => GateState::Warning,
        Condition::Breached => GateState::Fail,
        Condition::Unknown => GateState::Unknown,
    };
    let result = gate(
        GateId::Generator,
        state,
        "the generator's own figures against their bounds",
    );
    let Some(worst) = assessment.worst() else {
        return with_note(result, "no window was recorded");
    };
    let result = Gate {
        compared: format!(
            "worst of the generator's own figures: {}",
            worst.figure.name()
        ),
        ..with_figures(
            result,
            worst.figure.shown(worst.measured),
            "0",
            &worst.figure.shown(worst.tolerance),
        )
    };
    let result = Gate {
        right: None,
        ..result
    };
    let who = taken(case).map_or_else(String::new, |text| format!("; {text}"));
    match assessment.condition {
        Condition::GeneratorBound => with_note(
            result,
            "the generator is the limit: one of its threads ran full, so the target may carry more; use more --workers or another host",
        ),
        Condition::Late => with_note(
            result,
            format!(
                "{worst}{who}: response times include our lateness, so the target is not slower than shown, and what was met is met (plimsoll doctor says what would help)"
            ),
        ),
        Condition::Breached => with_note(
            result,
            format!(
                "{worst}{who}: the load was not what was asked for; use fewer connections or an idle host (plimsoll doctor says what this one can do)"
            ),
        ),
        Condition::Clean | Condition::Unknown => result,
    }
}

/// What others took while the quoted level was judged.
fn taken(case: Case<'_>) -> Option<String> {
    let from = case.windows().next()?.start_ns;
    let last = case.windows().last()?;
    let to = last.start_ns + last.length_ns;
    let each = [
        steal::worst(case.record, from, to),
        neighbours::between(case.record, from, to),
    ];
    let said: Vec<String> = each.into_iter().flatten().collect();
    (!said.is_empty()).then(|| said.join(", "))
}

/// Gate 7: Every failure has a kind, and the survivors' percentiles are not the result.
pub(super) fn failures_by_kind(case: Case<'_>) -> Gate {
    let tally = case.tally();
    let kinds: Vec<String> = tally
        .occurred()
        .filter(|(outcome, _)| outcome.is_failure())
        .map(|(outcome, class)| format!("{} {}", class.count, outcome.name()))
        .collect();
    let failures = tally.failures();
    let counted: u64 = Outcome::ALL
        .into_iter()
        .filter(|outcome| outcome.is_failure())
        .map(|outcome| tally.class(outcome).response.count())
        .sum();
    let state = if counted == failures {
        GateState::Pass
    } else {
        GateState::Fail
    };
    let result = gate(
        GateId::Failures,
        state,
        "failures against those with a kind and a time",
    );
    let result = with_figures(result, failures.to_string(), counted.to_string(), "0");
    if kinds.is_empty() {
        return result;
    }
    let never = tally.response_quantile(0.99) == Some(Quantile::Never);
    let tail = if never {
        "; so many failed that the p99 over attempts is never"
    } else {
        ""
    };
    with_note(result, format!("{}{tail}", kinds.join(", ")))
}

/// Gate 8: The mean below the p95, and no percentile of a ramp quoted as steady.
pub(super) fn mean_and_ramps(case: Case<'_>) -> Gate {
    let compared = "mean response time of ok answers against the p95 over attempts";
    let tally = case.tally();
    if case.is_ramp() {
        let judged = case.record.header.test.objectives().is_some();
        let state = if judged {
            GateState::Fail
        } else {
            GateState::Warning
        };
        let result = gate(GateId::Percentiles, state, "percentiles of a ramp");
        return with_note(
            result,
            "the percentiles mix all rates of the ramp, so they hold for none of them; to test an objective use -q at one rate, or find",
        );
    }
    if users_vary(case.windows()) {
        let result = gate(
            GateId::Percentiles,
            GateState::Warning,
            "percentiles of a ramp",
        );
        return with_note(
            result,
            "the percentiles mix all numbers of users of the ramp, so they hold for none of them; the load line tells them apart",
        );
    }
    let (Some(mean), Some(p95)) = (tally.answers_only().mean(), tally.response_quantile(0.95))
    else {
        return with_note(
            gate(GateId::Percentiles, GateState::Unknown, compared),
            "nothing succeeded",
        );
    };
    let (state, right) = match p95 {
        Quantile::Never => (GateState::Pass, "never".to_owned()),
        Quantile::At(p95) if mean <= p95 => (GateState::Pass, p95.to_string()),
        Quantile::At(p95) => (GateState::Warning, p95.to_string()),
    };
    let result = with_figures(
        gate(GateId::Percentiles, state, compared),
        mean.to_string(),
        right,
        "below",
    );
    match state {
        GateState::Warning => with_note(
            result,
            "a few attempts waited very long, and percentiles up to p99 do not show it: look at p99.9 and the maximum",
        ),
        _ => result,
    }
}
