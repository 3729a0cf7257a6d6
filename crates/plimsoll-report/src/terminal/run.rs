//! The block of a plain run, and of any record without a verdict.

use plimsoll_core::Outcome;
use plimsoll_core::step::StepLoad;
use plimsoll_core::verdict::{Judgement, Times, Verdict};

use super::distribution;
use super::table::Columns;
use crate::format;
use crate::ink::{Ink, Page, Role};
use crate::view::left_out;
use crate::view::{LevelView, View, unbroken};

pub(super) fn block(page: &mut Page, view: &View, quiet: bool) {
    let Some(level) = view.deciding_level() else {
        return;
    };
    if let Some(verdict) = view.verdict() {
        objectives(page, verdict, view.concludes());
        rates(page, verdict, level);
    } else {
        rates_without_verdict(page, level);
    }
    outcomes(page, level);
    if let Some(status) = level.status_words() {
        page.row("status", &Ink::plain(status));
    }
    for further in level.further_requests() {
        page.row("", &Ink::new(Role::Dim, further));
    }
    if quiet {
        return;
    }
    page.blank();
    percentiles(page, view, level);
    let rows = distribution::rows(&level.tally);
    if !rows.is_empty() {
        page.blank();
        page.line(&Ink::new(Role::Dim, "response time of all attempts"));
        for ink in &rows {
            page.line(ink);
        }
    }
    page.blank();
    in_flight_and_health(page, view, level);
}

fn objectives(page: &mut Page, verdict: &Verdict, concludes: bool) {
    for (index, objective) in verdict.objectives.iter().enumerate() {
        let (role, sign, word) = match objective.judgement {
            _ if !concludes => (Role::Dim, "–", "not judged"),
            Judgement::Pass => (Role::Good, "✓", "passed"),
            Judgement::Fail => (Role::Fail, "✕", "missed"),
            Judgement::Inconclusive => (Role::Warn, "?", "not decided"),
            Judgement::Invalid | Judgement::None => (Role::Dim, "–", "not judged"),
        };
        let ink = Ink::new(role, format!("{sign}{}{word} ", format::NBSP)).and(
            Role::Plain,
            format!(
                "{}, measured {}",
                unbroken(&objective.clause),
                unbroken(&objective.measured)
            ),
        );
        page.row(if index == 0 { "objective" } else { "" }, &ink);
        if let Some(left_out) = left_out(objective) {
            page.row("", &Ink::new(Role::Dim, left_out));
        }
    }
}

fn rates(page: &mut Page, verdict: &Verdict, level: &LevelView) {
    let within = if verdict.objectives.is_empty() {
        "correct answers"
    } else {
        "correct and within the objective"
    };
    let goodput = Ink::new(Role::Bold, format::rate(verdict.goodput_per_s));
    page.row("goodput", &goodput.and(Role::Dim, format!("  {within}")));
    let answered = format!(
        "  {} in {}; {}",
        format::plural(verdict.attempts_count, "attempt", "attempts"),
        format::seconds(verdict.duration_seconds),
        level.load_words()
    );
    let throughput = Ink::plain(format::rate(verdict.throughput_per_s));
    page.row("throughput", &throughput.and(Role::Dim, answered));
    if verdict.bytes_received > 0 {
        let per_attempt = verdict.bytes_received / verdict.attempts_count.max(1);
        let ink = Ink::plain(format::bytes(verdict.bytes_received));
        page.row(
            "received",
            &ink.and(
                Role::Dim,
                format!("  {} per attempt", format::bytes(per_attempt)),
            ),
        );
    }
}

fn rates_without_verdict(page: &mut Page, level: &LevelView) {
    let last = format!("  last level: {}", level.load_words());
    page.row(
        "goodput",
        &Ink::new(Role::Bold, format::rate(level.goodput_per_s)).and(Role::Dim, last),
    );
    let answered = format!(
        "  {} in {}, {} offered",
        format::plural(level.tally.attempts(), "attempt", "attempts"),
        format::duration(level.judged),
        format::rate(level.offered_per_s)
    );
    page.row(
        "throughput",
        &Ink::plain(format::rate(level.throughput_per_s)).and(Role::Dim, answered),
    );
}

/// Every class that occurred, by kind; late answers are ok but not good.
fn outcomes(page: &mut Page, level: &LevelView) {
    let attempts = level.tally.attempts().max(1) as f64;
    let mut label = "outcomes";
    for (outcome, class) in level.tally.occurred() {
        let role = match outcome {
            Outcome::Ok => Role::Good,
            Outcome::Accepted | Outcome::Shed => Role::Warn,
            _ => Role::Fail,
        };
        let share = format::percent(class.count as f64 / attempts);
        let late = level.late();
        let late = if outcome == Outcome::Ok && late > 0 {
            format!(
                "  of these {} later than the objective",
                format::count(late)
            )
        } else {
            String::new()
        };
        let cell = |text: String, width: usize| format!("{text:>width$}").replace(' ', "\u{a0}");
        let name = format!("{:<16}", outcome.name()).replace(' ', "\u{a0}");
        let numbers = cell(format::count(class.count), 12) + &cell(share, 11);
        page.row(
            label,
            &Ink::new(role, name)
                .and(Role::Plain, numbers)
                .and(Role::Dim, late),
        );
        label = "";
    }
}

const HEADS: [&str; 7] = ["mean", "p50", "p90", "p95", "p99", "p99.9", "max"];
/// On a page that has no room for all: those between the middle and the tail.
const DROPPED_FIRST: [usize; 4] = [2, 3, 0, 5];
/// Column of the figures behind the name of the clock.
const CLOCK: usize = 11;

/// Both clocks side by side; the difference is the queue inside the client.
fn percentiles(page: &mut Page, view: &View, level: &LevelView) {
    let (response, service) = match view.verdict() {
        Some(verdict) => (
            verdict.response_time_ns.clone(),
            verdict.service_time_ns.clone(),
        ),
        None => clocks(level),
    };
    let heads = HEADS.map(str::to_owned);
    let (response, service) = (cells(&response), cells(&service));
    let room = page.room().saturating_sub(CLOCK);
    let rows = [&heads[..], &response, &service];
    let columns = Columns::fit(&rows, &[10; HEADS.len()], room, &DROPPED_FIRST);
    for (name, cells, role) in [
        ("", &heads, Role::Dim),
        ("response", &response, Role::Plain),
        ("service", &service, Role::Dim),
    ] {
        let cells = columns.right(cells);
        page.line(&Ink::new(Role::Dim, format!("{name:<CLOCK$}")).and(role, cells));
    }
}

fn cells(times: &Times) -> [String; 7] {
    [
        format::maybe_time(times.mean),
        format::quantile(times.p50),
        format::quantile(times.p90),
        format::quantile(times.p95),
        format::quantile(times.p99),
        format::quantile(times.p99_9),
        format::maybe_time(times.max),
    ]
}

fn clocks(level: &LevelView) -> (Times, Times) {
    let tally = &level.tally;
    let ok = tally.class(Outcome::Ok);
    let of = |q: &dyn Fn(f64) -> Option<plimsoll_core::tally::Quantile>,
              histogram: &plimsoll_core::Histogram| Times {
        mean: histogram.mean(),
        p50: q(0.5),
        p90: q(0.9),
        p95: q(0.95),
        p99: q(0.99),
        p99_9: q(0.999),
        max: histogram.max(),
    };
    (
        of(&|q| tally.response_quantile(q), &ok.response),
        of(&|q| tally.service_quantile(q), &ok.service),
    )
}

fn in_flight_and_health(page: &mut Page, view: &View, level: &LevelView) {
    let mean = view
        .verdict()
        .map_or(level.in_flight_mean, |verdict| verdict.in_flight_mean);
    let most = format!(
        "  mean; at most {}, {} on the wire",
        format::count(level.in_flight_max),
        format::count(level.wire_max)
    );
    page.row(
        "in flight",
        &Ink::plain(format::number(mean)).and(Role::Dim, most),
    );
    let lag = match (level.load, level.lag_p99) {
        (_, None) => "no lag measured".to_owned(),
        // By definition: there is no time at which it should have been sent.
        (StepLoad::Closed { .. }, _) => "each attempt is due when the last one ends".to_owned(),
        (StepLoad::Open { .. }, Some(lag)) => {
            format!(
                "99 % of attempts sent within {} of their time",
                format::time(lag)
            )
        }
    };
    let ours = level.dropped_ours;
    let dropped = match (ours, level.dropped_target) {
        (0, 0) => "nothing dropped".to_owned(),
        (0, target) => format!(
            "{} dropped while every connection waited for the target",
            format::count(target)
        ),
        (ours, 0) => format!("{} dropped by the generator", format::count(ours)),
        (ours, target) => format!(
            "{} dropped by the generator, {} while every connection waited for the target",
            format::count(ours),
            format::count(target)
        ),
    };
    let role = if ours > 0 { Role::Warn } else { Role::Plain };
    page.row(
        "generator",
        &Ink::plain(format!("{lag}; ")).and(role, dropped),
    );
}
