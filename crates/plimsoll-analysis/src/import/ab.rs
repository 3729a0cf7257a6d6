//! ab, which writes text for people.

use super::ImportError;
use super::figures::{Arrivals, Figures, MeanOf, Tool};
use super::text::{after, counted, leading};

pub(super) fn is(text: &str) -> bool {
    text.contains("ApacheBench")
        || text.contains("Concurrency Level:") && text.contains("Complete requests:")
}

/// Every connection is closed-loop. A response of another length than the first counts as failed for ab, which a page that
/// changes is not; statuses are counted together.
pub(super) fn read(text: &str) -> Result<Figures, ImportError> {
    let mut figures = Figures {
        tool: Tool::Ab,
        arrivals: Arrivals::Closed,
        mean_of: MeanOf::Throughput,
        ..Figures::default()
    };
    let mut other_length = 0;
    for line in text.lines() {
        if let Some(rest) = after(line, "Concurrency Level:") {
            figures.in_flight = leading(rest);
        } else if let Some(rest) = after(line, "Time taken for tests:") {
            figures.seconds = leading(rest);
        } else if let Some(rest) = after(line, "Complete requests:") {
            figures.attempts = counted(rest);
        } else if let Some(rest) = after(line, "(") {
            for pair in rest.trim_end_matches(')').split(',') {
                let (kind, n) = pair.split_once(':').unwrap_or_default();
                let n = counted(n).unwrap_or(0);
                match kind.trim() {
                    "Length" => other_length = n,
                    kind => figures.failures.no_answer(kind.to_ascii_lowercase(), n),
                }
            }
        } else if let Some(rest) = after(line, "Write errors:") {
            figures
                .failures
                .no_answer("write", counted(rest).unwrap_or(0));
        } else if let Some(rest) = after(line, "Non-2xx responses:") {
            figures.failures.other_answers = counted(rest).unwrap_or(0);
        } else if let Some(rest) = after(line, "Total transferred:") {
            figures.bytes_received = leading(rest);
        } else if let Some(rest) = after(line, "Requests per second:") {
            figures.reported_per_s = leading(rest);
        } else if let Some(rest) = after(line, "Time per request:") {
            figures.all.mean = figures.all.mean.or(leading(rest));
        } else {
            percentile_or_extremes(&mut figures, line);
        }
    }
    figures
        .settings
        .extend(figures.in_flight.map(|n| ("connections", n.to_string())));
    if figures.attempts.is_none() || figures.seconds.is_none() {
        return Err(ImportError::Missing {
            tool: "ab",
            field: "Complete requests",
        });
    }
    figures.failures.add_up();
    let changed = other_length.saturating_sub(figures.failures.other_answers);
    if changed > 0 {
        figures.remarks.push(format!(
            "{changed} answers had another length than the first, which ab calls failed; a page that changes is not"
        ));
    }
    Ok(figures)
}

/// `  95%     12` or `Total:   1    3   1.8      2      12`.
fn percentile_or_extremes(figures: &mut Figures, line: &str) {
    if let Some(rest) = after(line, "Total:") {
        let numbers: Vec<f64> = rest.split_whitespace().filter_map(leading).collect();
        if let [min, _, _, _, max] = numbers.as_slice() {
            (figures.all.min, figures.all.max) = (Some(*min), Some(*max));
        }
        return;
    }
    let percent = line.split_once('%');
    if let Some((Ok(percent), time)) = percent.map(|(n, time)| (n.trim().parse(), time)) {
        figures.all.set(percent, leading(time));
    }
}
