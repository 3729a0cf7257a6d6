//! Gatling: its log of a simulation in the text format, and the statistics of its report.

use serde_json::Value;

use super::ImportError;
use super::figures::{Figures, Times, Tool, whole};
use super::samples::Samples;

const TOOL: &str = "Gatling";
/// The percentiles of a report, unless it was configured otherwise.
const PERCENTS: [f64; 4] = [50.0, 75.0, 95.0, 99.0];
/// Time stamps in milliseconds are larger than numbers of users.
const STAMP_MIN: f64 = 1e11;

fn blank() -> Figures {
    Figures {
        tool: Tool::Gatling,
        // Pauses are in the scenario alone.
        has_pauses: true,
        ..Figures::default()
    }
}

pub(super) fn is_log(text: &str) -> bool {
    let mut lines = text.lines().take(50);
    lines.any(|line| {
        let mut fields = line.split('\t');
        let is_first = |fields: &mut std::str::Split<'_, char>| fields.next() == Some("RUN");
        is_first(&mut fields) && fields.count() >= 3 || request(line).is_some()
    })
}

/// The versions differ in what stands in front, so a request is read from its state backwards: two time stamps or four.
fn request(line: &str) -> Option<(f64, f64, bool, &str)> {
    let fields: Vec<&str> = line.split('\t').map(str::trim).collect();
    if !fields.iter().take(3).any(|field| *field == "REQUEST") {
        return None;
    }
    let state = fields
        .iter()
        .rposition(|field| *field == "OK" || *field == "KO")?;
    let stamp = |field: &&str| field.parse::<f64>().ok().filter(|at| *at >= STAMP_MIN);
    let stamps: Vec<f64> = fields.get(..state)?.iter().rev().map_while(stamp).collect();
    let (last, first) = (
        *stamps.first()?,
        *stamps.last().filter(|_| stamps.len() >= 2)?,
    );
    let message = fields.get(state + 1).copied().unwrap_or_default();
    Some((first, last.max(first), fields[state] == "OK", message))
}

pub(super) fn log(text: &str) -> Result<Figures, ImportError> {
    let mut figures = blank();
    let mut samples = Samples::default();
    let (mut attempts, mut good) = (0, 0);
    for (first, last, is_ok, message) in text.lines().filter_map(request) {
        attempts += 1;
        samples.add(last - first, is_ok);
        samples.at(first / 1e3);
        samples.at(last / 1e3);
        if is_ok {
            good += 1;
        } else {
            count_failure(&mut figures, message);
        }
    }
    if attempts == 0 {
        let field = "REQUEST";
        return Err(ImportError::Missing { tool: TOOL, field });
    }
    figures.attempts = Some(attempts);
    figures.counted_successes = Some(good);
    figures.failures.add_up();
    samples.fill(&mut figures);
    Ok(figures)
}

/// `status.find.is(200), but actually found 503`, another check that failed, or what was thrown.
fn count_failure(figures: &mut Figures, message: &str) {
    let found = message
        .rsplit_once("found ")
        .filter(|_| message.contains("status"));
    let status = found.and_then(|(_, rest)| rest.trim().parse::<u16>().ok());
    let is_check = [".find", ".is(", ".exists", ".in("];
    match status {
        Some(status) if status >= 400 => figures.answer(status, 1),
        _ if is_check.iter().any(|part| message.contains(part)) => {
            figures.failures.other_answers += 1;
        }
        _ => {
            let kind = message.split([':', '/']).next().unwrap_or_default().trim();
            let kind = if kind.is_empty() { "no message" } else { kind };
            figures.failures.no_answer(kind, 1);
        }
    }
}

/// The binary log of version 3.10 on: a zero, the length of the version, and the version.
pub(super) fn is_binary_log(bytes: &[u8]) -> bool {
    matches!(bytes, [0, 0, 0, 0, length @ 3..=40, b'0'..=b'9', b'.', ..] if *length > 0)
}

pub(super) fn binary() -> ImportError {
    ImportError::Refused {
        tool: TOOL,
        problem:
            "from version 3.10 on simulation.log is binary and no other program reads it; give \
                  js/global_stats.json or js/stats.json of the report"
                .to_owned(),
    }
}

pub(super) fn is_stats(value: &Value) -> bool {
    let own = value.get("stats").unwrap_or(value);
    own["numberOfRequests"].is_object() && own.get("percentiles1").is_some()
}

/// `js/stats.js` is a script around the same object.
pub(super) fn is_script(text: &str) -> bool {
    text.starts_with("var stats") && text.contains("\"numberOfRequests\"")
}

pub(super) fn script(text: &str) -> Result<Figures, ImportError> {
    let field = "stats";
    let missing = ImportError::Missing { tool: TOOL, field };
    // The object after the first `stats:`; what follows it is no JSON.
    let (_, rest) = text.split_once("stats: {").ok_or(missing.clone())?;
    let object = format!("{{{rest}");
    let mut values = serde_json::Deserializer::from_str(&object).into_iter::<Value>();
    match values.next() {
        Some(Ok(value)) => stats(&value),
        _ => Err(missing),
    }
}

/// `stats.json` and `global_stats.json`; numbers may be text, and `-` where there are none.
pub(super) fn stats(value: &Value) -> Result<Figures, ImportError> {
    let own = value.get("stats").unwrap_or(value);
    let at = |name: &str, of: &str| {
        let value = &own[name][of];
        value.as_f64().or_else(|| value.as_str()?.parse().ok())
    };
    let mut figures = blank();
    let field = "numberOfRequests";
    let attempts = at(field, "total").and_then(whole);
    figures.attempts = Some(attempts.ok_or(ImportError::Missing { tool: TOOL, field })?);
    figures.counted_successes = at(field, "ok").and_then(whole);
    figures.failures.total = at(field, "ko").and_then(whole);
    figures.reported_per_s = at("meanNumberOfRequestsPerSecond", "total");
    let rate = figures.reported_per_s.filter(|rate| *rate > 0.0);
    figures.seconds = attempts
        .zip(rate)
        .map(|(attempts, rate)| attempts as f64 / rate);
    // Versions before 2 had the 95th and the 99th alone.
    let listed = if own.get("percentiles3").is_some() {
        &PERCENTS[..]
    } else {
        &PERCENTS[2..]
    };
    let times = |of: &str| {
        let mut times = Times {
            mean: at("meanResponseTime", of),
            min: at("minResponseTime", of),
            max: at("maxResponseTime", of),
            ..Times::default()
        };
        for (index, percent) in listed.iter().enumerate() {
            times.set(*percent, at(&format!("percentiles{}", index + 1), of));
        }
        times
    };
    (figures.all, figures.successes) = (times("total"), times("ok"));
    if figures.failures.total > Some(0) {
        let where_they_are = "their kinds are in simulation.log and on the report's page";
        figures.remarks.push(where_they_are.to_owned());
    }
    Ok(figures)
}
