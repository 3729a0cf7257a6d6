//! autocannon: its JSON, and the tables that it prints.

use serde_json::Value;

use super::ImportError;
use super::figures::{Arrivals, Figures, MeanOf, Tool, count, number, percent_of, whole};
use super::text::{bytes, leading, time_ms};

const TOOL: &str = "autocannon";
/// It cuts times to whole milliseconds.
const STEP_MS: f64 = 1.0;

pub(super) fn is_json(value: &Value) -> bool {
    value["latency"].is_object() && value.get("requests").is_some() && value.get("2xx").is_some()
}

pub(super) fn json(value: &Value) -> Result<Figures, ImportError> {
    let seconds = number(value, &["duration"]);
    let missing = |field| ImportError::Missing { tool: TOOL, field };
    let mut figures = Figures {
        tool: Tool::Autocannon,
        seconds: Some(seconds.ok_or(missing("duration"))?),
        reported_per_s: number(value, &["requests", "average"]),
        bytes_received: number(value, &["throughput", "total"]),
        mean_step: STEP_MS,
        // With a number of requests it goes on to the end of the second, with nothing to do.
        has_pauses: true,
        ..Figures::default()
    };
    let answers = |class: &str| count(value, &[class]).unwrap_or(0);
    let good: u64 = ["1xx", "2xx", "3xx"].into_iter().map(answers).sum();
    let by_status = value["statusCodeStats"].as_object();
    for (status, counted) in by_status.into_iter().flatten() {
        let counted = count(counted, &["count"]).unwrap_or(0);
        match status.parse::<u16>() {
            Ok(202) => figures.accepted_count = counted,
            Ok(status) if status >= 400 => {
                figures.failures.by_status.insert(status, counted);
            }
            _ => {}
        }
    }
    // Older versions count classes alone.
    let bad = answers("4xx") + answers("5xx");
    figures.failures.other_answers = bad.saturating_sub(figures.failures.answered());
    let timeouts = answers("timeouts");
    figures.failures.no_answer("timeout", timeouts);
    let errors = answers("errors").saturating_sub(timeouts);
    figures.failures.no_answer("connection error", errors);
    let mismatches = answers("mismatches").min(good);
    figures.failures.other_answers += mismatches;
    figures.failures.add_up();
    figures.counted_successes = Some(good - mismatches);
    figures.attempts = Some(good + bad + timeouts + errors);
    load(&mut figures, value, good + bad);
    for (name, time) in value["latency"].as_object().into_iter().flatten() {
        if let Some(percent) = percent_of(name) {
            figures.all.set(percent, time.as_f64());
        }
    }
    figures.all.mean =
        number(value, &["latency", "mean"]).or(number(value, &["latency", "average"]));
    figures.all.min = number(value, &["latency", "min"]);
    figures.all.max = number(value, &["latency", "max"]);
    Ok(figures)
}

/// With a rate, times of requests that were never made are added to those of `answers`.
fn load(figures: &mut Figures, value: &Value, answers: u64) {
    let connections = number(value, &["connections"]);
    let pipelined = number(value, &["pipelining"]).unwrap_or(1.0);
    figures
        .settings
        .extend(connections.map(|n| ("connections", n.to_string())));
    let timed = count(value, &["latency", "totalCount"]);
    if timed.is_some_and(|timed| timed > answers) {
        figures.mean_of = MeanOf::Corrected;
        figures.arrivals = Arrivals::Open;
        return;
    }
    figures.in_flight = connections.map(|connections| connections * pipelined);
    // An older version does not say how many it timed, so it may have kept to a rate.
    if timed.is_some() {
        figures.arrivals = Arrivals::Closed;
        figures.sent = count(value, &["requests", "sent"]);
    }
}

pub(super) fn is_text(text: &str) -> bool {
    text.contains("Req/Bytes counts sampled")
        || (text.contains("│ Latency") && text.contains("│ Req/Sec"))
}

/// What is printed is rounded, and does not tell whether it kept to a rate.
pub(super) fn text(text: &str) -> Result<Figures, ImportError> {
    let mut figures = Figures {
        tool: Tool::Autocannon,
        has_pauses: true,
        mean_step: STEP_MS,
        ..Figures::default()
    };
    let mut printed = Printed::default();
    for line in text.lines().map(str::trim) {
        if line.starts_with('│') {
            printed.row(&mut figures, line);
        } else {
            printed.sentence(&mut figures, line);
        }
    }
    let field = "requests in";
    let seconds = figures.seconds;
    seconds.ok_or(ImportError::Missing { tool: TOOL, field })?;
    // Without the line of answers all were good, and then the average is closer than the rounded sum.
    let counted = figures.reported_per_s.zip(printed.samples);
    let counted = counted.map(|(average, samples)| average * samples);
    let good = printed.good.or(counted).or(printed.sent).unwrap_or(0.0);
    let counted = |number: f64| whole(number).unwrap_or(0);
    figures.failures.other_answers = counted(printed.bad);
    figures
        .failures
        .no_answer("error or timeout", counted(printed.errors));
    figures.failures.add_up();
    figures.attempts = whole(good + printed.bad + printed.errors);
    Ok(figures)
}

#[derive(Debug, Default)]
struct Printed {
    heads: Vec<String>,
    samples: Option<f64>,
    sent: Option<f64>,
    good: Option<f64>,
    bad: f64,
    errors: f64,
}

impl Printed {
    fn row(&mut self, figures: &mut Figures, line: &str) {
        let cells: Vec<&str> = line.split('│').map(str::trim).collect();
        match cells.as_slice() {
            [_, "Stat", heads @ ..] => {
                self.heads = heads.iter().map(|head| (*head).to_owned()).collect();
            }
            [_, "Latency", times @ ..] => latency(figures, &self.heads, times),
            [_, "Req/Sec", rates @ ..] => {
                let average = self.heads.iter().position(|head| head == "Avg");
                figures.reported_per_s = average.and_then(|at| leading(rates.get(at)?));
            }
            [_, percent, time, _] => {
                if let Ok(percent) = percent.parse() {
                    figures.all.set(percent, leading(time));
                }
            }
            _ => {}
        }
    }

    fn sentence(&mut self, figures: &mut Figures, line: &str) {
        if let Some(samples) = line.strip_prefix("# of samples:") {
            self.samples = leading(samples);
            return;
        }
        let mut words = line.split([' ', ',']).filter(|word| !word.is_empty());
        match (words.next().and_then(rounded), words.next()) {
            (Some(n), Some("connections")) => figures.in_flight = Some(n),
            (Some(n), Some("2xx")) => {
                self.good = Some(n);
                self.bad = words.nth(1).and_then(rounded).unwrap_or(0.0);
            }
            (Some(n), Some("errors")) => self.errors = n,
            (Some(n), Some("requests")) => {
                self.sent = Some(n);
                let rest = line.split_once(" in ").map_or("", |(_, rest)| rest);
                let (time, read) = rest.split_once(',').unwrap_or((rest, ""));
                figures.seconds = time_ms(time).map(|millis| millis / 1e3);
                figures.bytes_received = bytes(read);
            }
            _ => {}
        }
    }
}

/// A row of times under the heads of its columns.
fn latency(figures: &mut Figures, heads: &[String], cells: &[&str]) {
    for (head, cell) in heads.iter().zip(cells) {
        let time = time_ms(cell);
        match head.strip_suffix('%').map(str::parse) {
            Some(Ok(percent)) => figures.all.set(percent, time),
            _ if *head == "Avg" => figures.all.mean = time,
            _ if *head == "Max" => figures.all.max = time,
            _ => {}
        }
    }
}

/// `35k`, `1.2M`, `300`.
fn rounded(word: &str) -> Option<f64> {
    let (number, scale) = match word.strip_suffix('k') {
        Some(number) => (number, 1e3),
        None => word
            .strip_suffix('M')
            .map_or((word, 1.0), |number| (number, 1e6)),
    };
    Some(number.replace(',', "").parse::<f64>().ok()? * scale)
}
