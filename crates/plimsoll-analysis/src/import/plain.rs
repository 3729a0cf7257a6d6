//! wrk, wrk2, hey and oha, which write text for people.

use super::ImportError;
use super::figures::{Arrivals, Figures, MeanOf, Tool};
use super::json::CUT_OFF;
use super::text::{bytes, counted, leading, time_ms};

pub(super) fn is_wrk(text: &str) -> bool {
    text.contains("Thread Stats")
}

/// wrk2 looks for its sampling interval first, and says that its latencies are recorded ones.
pub(super) fn is_wrk2(text: &str) -> bool {
    let marks = ["Thread calibration:", "(HdrHistogram - Recorded Latency)"];
    is_wrk(text) && marks.iter().any(|mark| text.contains(mark))
}

/// Every connection is closed-loop. It adds times of requests that a wait kept it from sending.
pub(super) fn wrk(text: &str) -> Result<Figures, ImportError> {
    let figures = read_wrk(text)?;
    Ok(Figures {
        arrivals: Arrivals::Closed,
        mean_of: MeanOf::Corrected,
        ..figures
    })
}

/// Requests are due at a rate, and timed from when they were due; the rate is on the command line alone.
pub(super) fn wrk2(text: &str) -> Result<Figures, ImportError> {
    let mut figures = read_wrk(text)?;
    without_timeouts(&mut figures);
    let mut words = text
        .lines()
        .take_while(|line| !line.contains("Running "))
        .flat_map(str::split_whitespace);
    let mut rate = None;
    while let Some(word) = words.next() {
        let joined = word.strip_prefix("-R").or(word.strip_prefix("--rate="));
        match joined {
            Some("") => rate = words.next().and_then(metric),
            Some(number) => rate = metric(number),
            None if word == "--rate" => rate = words.next().and_then(metric),
            None => {}
        }
    }
    Ok(Figures {
        tool: Tool::Wrk2,
        arrivals: Arrivals::Open,
        offered_per_s: rate,
        in_flight: None,
        ..figures
    })
}

/// `10`, `2.5k`, `1M`: what the option takes.
fn metric(text: &str) -> Option<f64> {
    let times = match text.trim_end().chars().last()? {
        'k' | 'K' => 1e3,
        'm' | 'M' => 1e6,
        'g' | 'G' => 1e9,
        _ => 1.0,
    };
    leading(text).map(|number| number * times)
}

/// wrk2 looks at every connection again and again, and counts it each time that its last request is older than the timeout,
/// also while none is due on it (issue 56 of its repository). Those are no requests.
fn without_timeouts(figures: &mut Figures) {
    let Some(count) = figures.failures.unanswered.remove("timeout") else {
        return;
    };
    if count == 0 {
        return;
    }
    figures.failures.total = figures
        .failures
        .total
        .map(|total| total.saturating_sub(count));
    let answered = figures.attempts.zip(figures.failures.total);
    figures.counted_successes = answered.and_then(|(all, failed)| all.checked_sub(failed));
    figures.remarks.push(format!(
        "{count} timeouts are left out: wrk2 counts connections again and again, idle ones too, and not requests"
    ));
}

/// Answers with an error status are counted together, failures on sockets by kind; times are those of answers.
fn read_wrk(text: &str) -> Result<Figures, ImportError> {
    let mut figures = Figures {
        tool: Tool::Wrk,
        ..Figures::default()
    };
    // Older versions of wrk2 show the 99th percentile where others show the largest.
    let third_is_max = !text
        .lines()
        .any(|line| line.contains("Thread Stats") && line.contains("99%"));
    let (mut answers, mut is_again) = (None, false);
    for line in text.lines().map(str::trim) {
        // The same again, measured from when requests were sent.
        is_again |= line.contains("Uncorrected Latency");
        if let Some((_, rest)) = line.split_once(" threads and ") {
            figures.in_flight = leading(rest);
            figures
                .settings
                .extend(leading(rest).map(|n| ("connections", n.to_string())));
        } else if let Some(rest) = line.strip_prefix("Latency ") {
            wrk_times(&mut figures, rest, third_is_max);
        } else if let Some((requests, rest)) = line.split_once(" requests in ") {
            answers = counted(requests);
            let mut parts = rest.split(',');
            figures.seconds = parts.next().and_then(time_ms).map(|ms| ms / 1e3);
            figures.bytes_received = parts.next().and_then(bytes);
        } else if let Some(rest) = line.strip_prefix("Socket errors:") {
            for pair in rest.split(',') {
                let mut words = pair.split_whitespace();
                let kind = words.next().unwrap_or_default();
                let n = words.next().and_then(counted).unwrap_or(0);
                figures.failures.no_answer(kind, n);
            }
        } else if let Some(rest) = line.strip_prefix("Non-2xx or 3xx responses:") {
            figures.failures.other_answers = counted(rest).unwrap_or(0);
        } else if let Some(rest) = line.strip_prefix("Requests/sec:") {
            figures.reported_per_s = rest.trim().parse().ok();
        } else if let Some((percent, time)) = line.split_once('%')
            && let Ok(percent) = percent.parse::<f64>()
            && !is_again
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
fn wrk_times(figures: &mut Figures, rest: &str, third_is_max: bool) {
    let mut words = rest.split_whitespace();
    let mean = words.next().and_then(time_ms);
    if mean.is_some() && figures.all.mean.is_none() {
        figures.all.mean = mean;
        let third = words.nth(1).and_then(time_ms);
        if third_is_max {
            figures.all.max = third;
        } else {
            figures.all.set(99.0, third);
        }
    }
}

pub(super) fn is_hey(text: &str) -> bool {
    text.contains("Summary:") && text.contains("Requests/sec:")
}

pub(super) fn is_oha(text: &str) -> bool {
    is_hey(text) && text.contains("Success rate:")
}

pub(super) fn hey(text: &str) -> Result<Figures, ImportError> {
    read_hey(text, Tool::Hey)
}

/// As hey prints it, with other units.
pub(super) fn oha(text: &str) -> Result<Figures, ImportError> {
    read_hey(text, Tool::Oha)
}

/// Statuses and errors apart; times of answers.
fn read_hey(text: &str, tool: Tool) -> Result<Figures, ImportError> {
    let mut figures = Figures {
        tool,
        ..Figures::default()
    };
    let (mut attempts, mut section) = (0, "");
    for line in text.lines().map(str::trim) {
        if let Some(title) = line.strip_suffix(':').filter(|title| !title.contains('\t')) {
            section = title;
        } else if let Some(rest) = line.strip_prefix("Total:") {
            figures.seconds = time_ms(rest).map(|millis| millis / 1e3);
        } else if let Some(rest) = line.strip_prefix("Slowest:") {
            figures.all.max = time_ms(rest);
        } else if let Some(rest) = line.strip_prefix("Fastest:") {
            figures.all.min = time_ms(rest);
        } else if let Some(rest) = line.strip_prefix("Average:") {
            figures.all.mean = time_ms(rest);
        } else if let Some(rest) = line.strip_prefix("Requests/sec:") {
            figures.reported_per_s = leading(rest);
        } else if let Some(rest) = line.strip_prefix("Total data:") {
            figures.bytes_received = bytes(rest);
        } else if let Some((percent, time)) = line.split_once("% in ") {
            if let Ok(percent) = percent.trim_end_matches('%').parse::<f64>() {
                figures.all.set(percent, time_ms(time));
            }
        } else if let Some((code, rest)) = line.strip_prefix('[').and_then(|l| l.split_once(']')) {
            attempts += answers_or_errors(&mut figures, section, code, rest);
        }
    }
    if attempts == 0 && figures.unfinished == 0 {
        return Err(ImportError::Missing {
            tool: tool.name(),
            field: "Status code distribution",
        });
    }
    figures.attempts = Some(attempts);
    figures.failures.add_up();
    if tool == Tool::Hey {
        with_all_answers(&mut figures, attempts);
    }
    Ok(figures)
}

/// Answers whose status and time hey keeps. Those beyond are counted in its rate, and in its sum of times, which it then divides by
/// those that it kept.
const HEY_KEEPS: u64 = 1_000_000;

fn with_all_answers(figures: &mut Figures, listed: u64) {
    let all = figures.reported_per_s.zip(figures.seconds);
    let all = all.map_or(0, |(per_s, seconds)| (per_s * seconds).round() as u64);
    if listed < HEY_KEEPS || all <= listed + listed / 1000 {
        return;
    }
    figures.attempts = Some(all);
    figures.failures.total = None;
    figures.all.mean = None;
    figures.remarks.push(format!(
        "hey lists the status of {listed} of {all} attempts and divides by these: how many failed and the average are not known"
    ));
}

/// `[200] 1000 responses` or `[12] connection refused`.
fn answers_or_errors(figures: &mut Figures, section: &str, code: &str, rest: &str) -> u64 {
    if section.starts_with("Status") {
        let n = counted(rest).unwrap_or(0);
        match code.parse::<u16>() {
            Ok(status) => figures.answer(status, n),
            Err(_) => figures.failures.other_answers += n,
        }
        return n;
    }
    if !section.starts_with("Error") {
        return 0;
    }
    let n = counted(code).unwrap_or(0);
    if rest.trim() == CUT_OFF {
        figures.unfinished += n;
        return 0;
    }
    figures.failures.no_answer(rest.trim(), n);
    n
}
