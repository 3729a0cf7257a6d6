//! `NoSQLBench`: the summary that it prints, and its CSV file of one timer.

use std::collections::BTreeMap;

use super::ImportError;
use super::csv::Table;
use super::figures::{Figures, Times, Tool, whole};
use super::text::{after, leading, time_ms};

const TOOL: &str = "NoSQLBench";
/// Timers of a cycle: with the wait for its turn, which is there with a rate alone, and without.
const RESPONSE: [&str; 2] = ["cycles.responsetime", "cycles_responsetime"];
const SERVICE: [&str; 2] = ["cycles.servicetime", "cycles_servicetime"];

pub(super) fn is_summary(text: &str) -> bool {
    SERVICE.iter().any(|name| text.contains(name)) && text.contains("mean rate =")
}

#[derive(Debug, Default)]
struct Timer {
    count: Option<f64>,
    rate: Option<f64>,
    times: Times,
}

/// Under each name its figures, one a line.
pub(super) fn summary(text: &str) -> Result<Figures, ImportError> {
    let mut timers: BTreeMap<String, Timer> = BTreeMap::new();
    let mut name = String::new();
    for line in text.lines() {
        let pair = line.split_once(" = ").or_else(|| line.split_once(" <= "));
        let is_name = !line.starts_with([' ', '\t', '-']) && !line.trim().is_empty();
        if is_name {
            line.trim().clone_into(&mut name);
        } else if let Some((what, value)) = pair {
            of_line(timers.entry(name.clone()).or_default(), what.trim(), value);
        }
    }
    let field = "cycles_servicetime";
    let missing = ImportError::Missing { tool: TOOL, field };
    let of_cycles = |name: &str| SERVICE.iter().any(|service| name.contains(service));
    let mut activities: Vec<(&String, &Timer)> = timers
        .iter()
        .filter(|(name, timer)| of_cycles(name) && timer.count > Some(0.0))
        .collect();
    // Schema and ramp-up come before what was meant to be measured, which is the longest.
    activities.sort_by(|(_, one), (_, other)| seconds(one).total_cmp(&seconds(other)));
    let (name, service) = activities.last().ok_or(missing)?;
    let beside = |to: &[&str]| {
        let pairs = SERVICE.iter().zip(to);
        let mut names = pairs.map(|(from, to)| name.replace(from, to));
        names
            .find_map(|name| timers.get(&name))
            .filter(|timer| timer.count > Some(0.0))
    };
    let response = beside(&RESPONSE);
    let mut figures = figures(service, response);
    if activities.len() > 1 {
        figures.scope = format!("of the longest of {} activities, {name}", activities.len());
    }
    let tried = beside(&["result", "result"]).or(Some(service));
    let done = beside(&["result-success", "result_success"]);
    if let Some((tried, done)) = tried
        .and_then(|timer| timer.count)
        .zip(done.and_then(|timer| timer.count))
    {
        let failed = whole((tried - done).max(0.0)).unwrap_or(0);
        figures.attempts = whole(tried);
        figures.counted_successes = whole(done);
        figures.failures.total = Some(failed);
        figures.failures.no_answer("ended in an error", failed);
    }
    Ok(figures)
}

fn seconds(timer: &Timer) -> f64 {
    let rate = timer.rate.filter(|rate| *rate > 0.0);
    timer
        .count
        .zip(rate)
        .map_or(0.0, |(count, rate)| count / rate)
}

fn of_line(timer: &mut Timer, what: &str, value: &str) {
    match what {
        "count" => timer.count = leading(value),
        "mean rate" => timer.rate = leading(value),
        "min" => timer.times.min = long_unit_ms(value),
        "max" => timer.times.max = long_unit_ms(value),
        "mean" => timer.times.mean = long_unit_ms(value),
        "median" => timer.times.set(50.0, long_unit_ms(value)),
        _ => {
            if let Some(percent) = after(what, "")
                .and_then(|what| what.strip_suffix('%'))
                .and_then(leading)
            {
                timer.times.set(percent, long_unit_ms(value));
            }
        }
    }
}

/// `5710.93 microseconds`.
fn long_unit_ms(value: &str) -> Option<f64> {
    let (number, unit) = value.trim().split_once(' ')?;
    let scale = match unit.trim() {
        "nanoseconds" => 1e-6,
        "microseconds" => 1e-3,
        "milliseconds" => 1.0,
        "seconds" => 1e3,
        _ => return time_ms(value),
    };
    Some(leading(number)? * scale)
}

fn figures(service: &Timer, response: Option<&Timer>) -> Figures {
    let mut figures = Figures {
        tool: Tool::NoSqlBench,
        attempts: service.count.and_then(whole),
        reported_per_s: service.rate,
        seconds: Some(seconds(service)).filter(|seconds| *seconds > 0.0),
        // Threads are not in the file, nor is a rate that they may have kept to.
        has_pauses: true,
        all: response.unwrap_or(service).times.clone(),
        ..Figures::default()
    };
    if response.is_some() {
        figures.arrivals = super::figures::Arrivals::Open;
    }
    figures
}

pub(super) fn is_csv(text: &str) -> bool {
    let table = Table::read(text);
    ["count", "mean_rate", "duration_unit", "p95"]
        .iter()
        .all(|name| table.find(&[name]).is_some())
}

/// A row of one timer every few seconds; the last has the totals.
pub(super) fn csv(text: &str) -> Result<Figures, ImportError> {
    let table = Table::read(text);
    let columns = table.columns.clone();
    let (count, rate) = (table.need(TOOL, "count")?, table.need(TOOL, "mean_rate")?);
    let unit = table.need(TOOL, "duration_unit")?;
    let last = table.into_iter().last().map(|(_, row)| row);
    let field = "count";
    let row = last.ok_or(ImportError::Missing { tool: TOOL, field })?;
    let text = |at: usize| row.get(at).map_or("", String::as_str);
    let at = |index: usize| text(index).parse::<f64>().ok();
    let mut timer = Timer {
        count: at(count),
        rate: at(rate),
        ..Timer::default()
    };
    timer
        .count
        .ok_or(ImportError::Missing { tool: TOOL, field })?;
    for (index, column) in columns.iter().enumerate() {
        let millis = at(index)
            .and_then(|value| long_unit_ms(&format!("{value} {}", text(unit).to_lowercase())));
        match column.as_str() {
            "min" => timer.times.min = millis,
            "max" => timer.times.max = millis,
            "mean" => timer.times.mean = millis,
            "p999" => timer.times.set(99.9, millis),
            _ => {
                if let Some(Ok(percent)) = column.strip_prefix('p').map(str::parse) {
                    timer.times.set(percent, millis);
                }
            }
        }
    }
    Ok(figures(&timer, None))
}
