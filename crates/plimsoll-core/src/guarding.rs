//! What a measured load line says to a guard that will stand before the same service: how many requests in flight carry it.

use thiserror::Error;

use crate::record::Record;
use crate::verdict::Verdict;

/// Where a guard's limit begins.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GuardStart {
    /// Requests in flight, at least one.
    pub limit: f64,
    pub from: StartFrom,
    /// Answers per second that were held, by the lower bound.
    pub load_line_per_s: f64,
}

/// What the number in flight was taken from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartFrom {
    /// Where response time begins to climb.
    Knee,
    /// Little's law at the load line: throughput × service time.
    LoadLine,
}

impl StartFrom {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Knee => "knee",
            Self::LoadLine => "load_line",
        }
    }
}

/// Why a record says nothing to a guard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum NoStart {
    #[error("the run came to no verdict; let a search end: plimsoll find URL --slo 'p99<250ms'")]
    NoVerdict,
    #[error(
        "the run is not valid, so its figures carry nothing; `plimsoll explain` says why, measure again"
    )]
    Invalid,
    #[error("it has no load line; search for one: plimsoll find URL --slo 'p99<250ms,errors<0.1%'")]
    NoLoadLine,
}

/// The start that a record carries: the larger of the number in flight at its knee and at its load line, because a limit
/// below either would refuse what was shown to be carried.
///
/// At the load line it is Little's law, N = X · S: 400 answers a second of 30 ms each are 12 in flight.
pub fn guard_start(record: &Record) -> Result<GuardStart, NoStart> {
    of_verdict(record.verdict.as_ref().ok_or(NoStart::NoVerdict)?)
}

fn of_verdict(verdict: &Verdict) -> Result<GuardStart, NoStart> {
    if !verdict.valid {
        return Err(NoStart::Invalid);
    }
    let found = &verdict.found;
    let line = found.capacity_per_s.or(found.reached_per_s);
    let line = line.filter(|_| !found.is_hopeless() && !found.is_refuted());
    let line = line.map(|line| line.lower.unwrap_or(line.estimate));
    let line = line.filter(|line| *line > 0.0).ok_or(NoStart::NoLoadLine)?;
    let seconds = verdict
        .service_time_ns
        .mean
        .map_or(0.0, crate::Nanos::as_secs_f64);
    let at_line = verdict.throughput_per_s * seconds;
    let at_knee = found.knee_in_flight.unwrap_or_default();
    let (limit, from) = if at_knee > at_line {
        (at_knee, StartFrom::Knee)
    } else {
        (at_line, StartFrom::LoadLine)
    };
    if !limit.is_finite() {
        return Err(NoStart::NoLoadLine);
    }
    Ok(GuardStart {
        limit: limit.round().clamp(1.0, 20_000.0),
        from,
        load_line_per_s: line,
    })
}

/// The command that starts a guard there: `record` as the reader can open it.
pub fn guard_line(record: &Record, name: &str) -> Option<String> {
    guard_start(record).ok()?;
    let upstream = upstream(record).unwrap_or_else(|| "URL".to_owned());
    // A record may come from anybody: what it says must stay one word.
    let (name, upstream) = (quoted(name), quoted(&upstream));
    Some(format!(
        "plimsoll guard --from {name} --upstream {upstream}"
    ))
}

/// The service that was measured: scheme, host and port of the one URL; none of a script.
pub fn upstream(record: &Record) -> Option<String> {
    let url = &record.header.test.url()?.request.url;
    let (scheme, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let bare = authority.rsplit('@').next()?;
    Some(format!("{scheme}://{bare}"))
}

/// As a shell reads it as one word.
fn quoted(word: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./=:,+@%".contains(&byte);
    if !word.is_empty() && word.bytes().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_of_a_shell_stays_one() {
        assert_eq!(quoted("a/run.plimsoll.jsonl"), "a/run.plimsoll.jsonl");
        assert_eq!(quoted("my run.jsonl"), "'my run.jsonl'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
    }
}
