//! hey and wrk, which write text for people.

use super::ImportError;
use super::figures::{Figures, Tool, whole};

/// wrk: answers with an error status are counted together, failures on sockets by kind; its times
/// are those of answers. Every connection is closed-loop.
pub(super) fn wrk(text: &str) -> Result<Figures, ImportError> {
    let mut figures = Figures {
        tool: Tool::Wrk,
        counts_failures: true,
        ..Figures::default()
    };
    let mut answers = None;
    for line in text.lines().map(str::trim) {
        if let Some((_, rest)) = line.split_once(" threads and ") {
            figures.in_flight = leading(rest);
        } else if let Some(rest) = line.strip_prefix("Latency ") {
            wrk_times(&mut figures, rest);
        } else if let Some((requests, rest)) = line.split_once(" requests in ") {
            answers = counted(requests);
            let mut parts = rest.split(',');
            figures.seconds = parts.next().and_then(time_ms).map(|ms| ms / 1e3);
            let read = parts
                .next()
                .and_then(|read| read.trim().strip_suffix(" read"));
            figures.bytes_received = read.and_then(bytes);
        } else if let Some(rest) = line.strip_prefix("Socket errors:") {
            for pair in rest.split(',') {
                let mut words = pair.split_whitespace();
                let kind = words.next().unwrap_or_default().to_owned();
                let n = words.next().and_then(counted).unwrap_or(0);
                if n > 0 {
                    figures.failures.unanswered.insert(kind, n);
                }
            }
        } else if let Some(rest) = line.strip_prefix("Non-2xx or 3xx responses:") {
            figures.failures.other_answers = counted(rest).unwrap_or(0);
        } else if let Some(rest) = line.strip_prefix("Requests/sec:") {
            figures.reported_per_s = rest.trim().parse().ok();
        } else if let Some((percent, time)) = line.split_once('%')
            && let Ok(percent) = percent.parse::<f64>()
        {
            figures.all.set(percent, time_ms(time));
        }
    }
    let answers = answers.ok_or(ImportError::Missing {
        tool: "wrk",
        field: "requests in",
    })?;
    // A timeout is a late answer that wrk goes on waiting for; the others end a connection.
    let unanswered: u64 = figures
        .failures
        .unanswered
        .iter()
        .filter(|(kind, _)| *kind != "timeout")
        .map(|(_, n)| n)
        .sum();
    let late = figures
        .failures
        .unanswered
        .get("timeout")
        .copied()
        .unwrap_or(0);
    figures.attempts = Some(answers + unanswered);
    figures.counted_successes = answers.checked_sub(figures.failures.other_answers + late);
    figures.failures.total = Some(figures.failures.other_answers + unanswered + late);
    Ok(figures)
}

/// `635.91us  0.89ms  12.92ms  93.69%`: mean, deviation, largest.
fn wrk_times(figures: &mut Figures, rest: &str) {
    let mut words = rest.split_whitespace();
    let mean = words.next().and_then(time_ms);
    if mean.is_some() && figures.all.mean.is_none() {
        figures.all.mean = mean;
        figures.all.max = words.nth(1).and_then(time_ms);
    }
}

/// hey: seconds; statuses and errors apart; times of answers.
pub(super) fn hey(text: &str) -> Result<Figures, ImportError> {
    let mut figures = Figures {
        tool: Tool::Hey,
        counts_failures: true,
        ..Figures::default()
    };
    let (mut attempts, mut section) = (0, "");
    let seconds = |rest: &str| leading(rest).map(|seconds| seconds * 1e3);
    for line in text.lines().map(str::trim) {
        if let Some(title) = line.strip_suffix(':').filter(|title| !title.contains('\t')) {
            section = title;
        } else if let Some(rest) = line.strip_prefix("Total:") {
            figures.seconds = leading(rest);
        } else if let Some(rest) = line.strip_prefix("Slowest:") {
            figures.all.max = seconds(rest);
        } else if let Some(rest) = line.strip_prefix("Fastest:") {
            figures.all.min = seconds(rest);
        } else if let Some(rest) = line.strip_prefix("Average:") {
            figures.all.mean = seconds(rest);
        } else if let Some(rest) = line.strip_prefix("Requests/sec:") {
            figures.reported_per_s = leading(rest);
        } else if let Some(rest) = line.strip_prefix("Total data:") {
            figures.bytes_received = leading(rest);
        } else if let Some((percent, time)) = line.split_once("% in ") {
            if let Ok(percent) = percent.trim_end_matches('%').parse::<f64>() {
                figures.all.set(percent, seconds(time));
            }
        } else if let Some((code, rest)) = line.strip_prefix('[').and_then(|l| l.split_once(']')) {
            attempts += hey_count(&mut figures, section, code, rest);
        }
    }
    if attempts == 0 {
        return Err(ImportError::Missing {
            tool: "hey",
            field: "Status code distribution",
        });
    }
    figures.attempts = Some(attempts);
    let unanswered: u64 = figures.failures.unanswered.values().sum();
    figures.failures.total = Some(figures.failures.answered() + unanswered);
    Ok(figures)
}

/// `[200] 1000 responses` or `[12] connection refused`.
fn hey_count(figures: &mut Figures, section: &str, code: &str, rest: &str) -> u64 {
    if section.starts_with("Status") {
        let n = leading(rest).and_then(whole).unwrap_or(0);
        match code.parse::<u16>() {
            Ok(status) if status < 400 => *figures.counted_successes.get_or_insert(0) += n,
            Ok(status) => {
                figures.failures.by_status.insert(status, n);
            }
            Err(_) => figures.failures.other_answers += n,
        }
        return n;
    }
    if section.starts_with("Error") {
        let n = counted(code).unwrap_or(0);
        *figures
            .failures
            .unanswered
            .entry(rest.trim().to_owned())
            .or_default() += n;
        return n;
    }
    0
}

/// The number at the start of a text.
fn leading(text: &str) -> Option<f64> {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.'));
    text.get(..end.unwrap_or(text.len()))?.parse().ok()
}

fn counted(text: &str) -> Option<u64> {
    text.trim().parse().ok().and_then(whole)
}

fn with_unit(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    let text = text.trim();
    let split = text.find(|c: char| c.is_ascii_alphabetic())?;
    let (number, unit) = text.split_at(split);
    let scale = units.iter().find(|(name, _)| *name == unit)?.1;
    Some(number.parse::<f64>().ok()? * scale)
}

/// `635.91us`, `1.20ms`, `30.00s`, `1.10m` in milliseconds.
fn time_ms(text: &str) -> Option<f64> {
    let units = [
        ("us", 1e-3),
        ("ms", 1.0),
        ("s", 1e3),
        ("m", 6e4),
        ("h", 3.6e6),
    ];
    with_unit(text, &units)
}

/// `17.76GB`; powers of 1,024, as wrk counts.
fn bytes(text: &str) -> Option<f64> {
    let units = [
        ("B", 1.0),
        ("KB", 1024.0),
        ("MB", 1_048_576.0),
        ("GB", 1_073_741_824.0),
        ("TB", 1_099_511_627_776.0),
    ];
    with_unit(text, &units)
}
