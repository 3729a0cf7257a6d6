//! Locust: its tables of statistics, their history, and the JSON that it prints.

use serde_json::Value;

use super::ImportError;
use super::csv::Table;
use super::figures::{Arrivals, Clients, Figures, Times, Tool, count, either, number, whole};

const TOOL: &str = "Locust";
const REQUESTS: [&str; 2] = ["Request Count", "# requests"];
const FAILURES: [&str; 2] = ["Failure Count", "# failures"];
const PERCENTS: [f64; 5] = [50.0, 90.0, 95.0, 99.0, 99.9];
/// Users all start within the ramp-up; where fewer than this share of rows saw most of them, they kept changing.
const HELD_SHARE: f64 = 0.5;
/// The row of everything, today and in versions before 1.0.
const WHOLE: [&str; 2] = ["Aggregated", "Total"];

fn blank() -> Figures {
    Figures {
        tool: Tool::Locust,
        arrivals: Arrivals::Closed,
        // How long users wait between requests is in the script alone.
        has_pauses: true,
        ..Figures::default()
    }
}

pub(super) fn is_stats(text: &str) -> bool {
    let table = Table::read(text);
    table.find(&REQUESTS).is_some() && table.find(&FAILURES).is_some()
}

/// `_stats.csv`: a row for each request, and one of everything.
pub(super) fn stats(text: &str) -> Result<Figures, ImportError> {
    let table = Table::read(text);
    let name = table.need(TOOL, "Name")?;
    let whole_row = "Aggregated";
    let field = whole_row;
    let columns = table.columns.clone();
    let requests = table.find(&REQUESTS);
    let failures = table.find(&FAILURES);
    let mean = table.find(&["Average Response Time"]);
    let (min, max) = (
        table.find(&["Min Response Time"]),
        table.find(&["Max Response Time"]),
    );
    let rate = table.find(&["Requests/s"]);
    let row = table.into_iter().map(|(_, row)| row);
    let mut row = row.filter(|row| {
        row.get(name)
            .is_some_and(|name| WHOLE.contains(&name.as_str()))
    });
    let row = row
        .next()
        .ok_or(ImportError::Missing { tool: TOOL, field })?;
    let at = |column: Option<usize>| row.get(column?)?.parse::<f64>().ok();
    let mut figures = blank();
    figures.attempts = at(requests).and_then(whole);
    figures.failures.total = at(failures).and_then(whole);
    figures.reported_per_s = at(rate);
    let seconds = at(requests).zip(at(rate).filter(|rate| *rate > 0.0));
    figures.seconds = seconds.map(|(requests, rate)| requests / rate);
    (figures.all.mean, figures.all.min, figures.all.max) = (at(mean), at(min), at(max));
    for (index, column) in columns.iter().enumerate() {
        if let Some(Ok(percent)) = column.strip_suffix('%').map(str::parse) {
            figures.all.set(percent, at(Some(index)));
        }
    }
    see_failures(&mut figures);
    Ok(figures)
}

fn see_failures(figures: &mut Figures) {
    if figures.failures.total > Some(0) {
        let where_they_are = "their kinds are in the file that ends in _failures.csv";
        figures.remarks.push(where_they_are.to_owned());
    }
}

pub(super) fn is_history(text: &str) -> bool {
    let table = Table::read(text);
    table.find(&["User Count"]).is_some() && table.find(&["Total Request Count"]).is_some()
}

/// `_stats_history.csv`: the last row of everything has the totals; its percentiles are of the last seconds alone.
pub(super) fn history(text: &str) -> Result<Figures, ImportError> {
    let table = Table::read(text);
    let (stamp, name) = (table.need(TOOL, "Timestamp")?, table.need(TOOL, "Name")?);
    let users = table.need(TOOL, "User Count")?;
    let requests = table.need(TOOL, "Total Request Count")?;
    let failures = table.need(TOOL, "Total Failure Count")?;
    let mean = table.find(&["Total Average Response Time"]);
    let (min, max) = (
        table.find(&["Total Min Response Time"]),
        table.find(&["Total Max Response Time"]),
    );
    let median = table.find(&["Total Median Response Time"]);
    let mut figures = blank();
    let (mut seen, mut span) = (Vec::new(), None);
    for (_, row) in table {
        if row
            .get(name)
            .is_none_or(|name| !WHOLE.contains(&name.as_str()))
        {
            continue;
        }
        let at = |column: Option<usize>| row.get(column?)?.parse::<f64>().ok();
        seen.extend(at(Some(users)).filter(|users| *users > 0.0));
        if let Some(now) = at(Some(stamp)) {
            span = Some((span.map_or(now, |(first, _)| first), now));
        }
        figures.attempts = at(Some(requests)).and_then(whole);
        figures.failures.total = at(Some(failures)).and_then(whole);
        (figures.all.mean, figures.all.min, figures.all.max) = (at(mean), at(min), at(max));
        figures.all.set(50.0, at(median));
    }
    let field = "Aggregated";
    figures
        .attempts
        .ok_or(ImportError::Missing { tool: TOOL, field })?;
    figures.seconds = span.map(|(first, last): (f64, f64)| last - first);
    figures.reported_per_s = figures.attempts_per_s();
    see_users(&mut figures, &seen);
    see_failures(&mut figures);
    Ok(figures)
}

fn see_users(figures: &mut Figures, seen: &[f64]) {
    let high = seen.iter().copied().reduce(f64::max);
    let low = seen.iter().copied().reduce(f64::min);
    let (Some(low), Some(high)) = (low, high) else {
        return;
    };
    figures.in_flight = Some(high);
    figures.settings.push(("users", high.to_string()));
    let held = seen.iter().filter(|users| **users >= 0.9 * high).count();
    if (held as f64) < HELD_SHARE * seen.len() as f64 {
        figures.clients = Clients::Changing { low, high };
    }
}

pub(super) fn is_list_of_failures(text: &str) -> bool {
    let table = Table::read(text);
    let has = |name| table.find(&[name]).is_some();
    has("Occurrences") && has("Error") || has("Traceback") && has("Message")
}

pub(super) fn no_statistics() -> ImportError {
    ImportError::Refused {
        tool: TOOL,
        problem:
            "this is the list of what failed, without what succeeded; give the file that ends in \
                  _stats.csv"
                .to_owned(),
    }
}

pub(super) fn is_json(value: &Value) -> bool {
    let first = value.as_array().and_then(|list| list.first());
    first.is_some_and(|entry| {
        entry.get("num_requests").is_some() && entry["response_times"].is_object()
    })
}

/// `--json`: for every request a histogram of its times, so they can be merged.
pub(super) fn json(value: &Value) -> Result<Figures, ImportError> {
    let mut figures = blank();
    let mut merged: Vec<(f64, u64)> = Vec::new();
    let (mut attempts, mut failed, mut sum) = (0, 0, 0.0);
    let (mut first, mut last) = (f64::INFINITY, f64::NEG_INFINITY);
    for entry in value.as_array().into_iter().flatten() {
        attempts += count(entry, &["num_requests"]).unwrap_or(0);
        failed += count(entry, &["num_failures"]).unwrap_or(0);
        sum += number(entry, &["total_response_time"]).unwrap_or(0.0);
        first = first.min(number(entry, &["start_time"]).unwrap_or(first));
        last = last.max(number(entry, &["last_request_timestamp"]).unwrap_or(last));
        let buckets = entry["response_times"].as_object().into_iter().flatten();
        merged
            .extend(buckets.filter_map(|(millis, n)| Some((millis.parse().ok()?, count(n, &[])?))));
        let (min, max) = (
            number(entry, &["min_response_time"]),
            number(entry, &["max_response_time"]),
        );
        figures.all.min = either(figures.all.min, min, f64::min);
        figures.all.max = either(figures.all.max, max, f64::max);
    }
    if attempts == 0 {
        let field = "num_requests";
        return Err(ImportError::Missing { tool: TOOL, field });
    }
    figures.attempts = Some(attempts);
    figures.failures.total = Some(failed);
    figures.seconds = (last > first).then_some(last - first);
    figures.reported_per_s = figures.attempts_per_s();
    figures.all.mean = Some(sum / attempts as f64);
    set_percentiles(&mut figures.all, merged);
    see_failures(&mut figures);
    Ok(figures)
}

fn set_percentiles(times: &mut Times, mut buckets: Vec<(f64, u64)>) {
    buckets.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    let all: u64 = buckets.iter().map(|(_, n)| n).sum();
    for percent in PERCENTS {
        let rank = percent / 100.0 * all as f64;
        let mut below = 0;
        let reached = buckets.iter().find(|(_, n)| {
            below += n;
            below as f64 >= rank
        });
        times.set(percent, reached.map(|(millis, _)| *millis));
    }
}
