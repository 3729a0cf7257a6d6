//! YCSB, in Java and in Go: figures of each operation, never of all together.

use std::collections::BTreeMap;

use super::ImportError;
use super::figures::{Arrivals, Figures, Times, Tool, either};
use super::text::{counted, leading};

const TOOL: &str = "YCSB";
/// How an operation ends that was done; older versions have numbers.
const GOOD: [&str; 3] = ["OK", "BATCHED_OK", "0"];

pub(super) fn is_java(text: &str) -> bool {
    text.contains("[OVERALL], RunTime(ms)") || text.contains("[OVERALL], Throughput(ops/sec)")
}

pub(super) fn is_go(text: &str) -> bool {
    text.lines()
        .any(|line| line.contains(" - Takes(s):") && line.contains("OPS:"))
}

/// One operation.
#[derive(Debug, Default)]
struct Operation {
    count: Option<u64>,
    refused: u64,
    times: Times,
}

pub(super) fn java(text: &str) -> Result<Figures, ImportError> {
    let mut operations: BTreeMap<&str, Operation> = BTreeMap::new();
    let mut figures = Figures::default();
    for line in text.lines().map(str::trim) {
        command(&mut figures, line);
        let row = line
            .strip_prefix('[')
            .and_then(|rest| rest.split_once("],"));
        let Some((name, (what, value))) =
            row.and_then(|(name, rest)| Some((name, rest.split_once(',')?)))
        else {
            continue;
        };
        let (what, value) = (what.trim(), value.trim());
        if name == "OVERALL" {
            match what {
                "RunTime(ms)" => figures.seconds = leading(value).map(|millis| millis / 1e3),
                "Throughput(ops/sec)" => figures.reported_per_s = leading(value),
                _ => {}
            }
        } else if !name.starts_with("TOTAL_GC") {
            of_row(operations.entry(name).or_default(), what, value);
        }
    }
    finished(figures, &operations)
}

/// `AverageLatency(us)`, `95thPercentileLatency(us)`, `Return=ERROR`.
fn of_row(operation: &mut Operation, what: &str, value: &str) {
    let millis = leading(value).map(|micros| micros / 1e3);
    match what {
        "Operations" => operation.count = counted(value),
        "AverageLatency(us)" => operation.times.mean = millis,
        "MinLatency(us)" => operation.times.min = millis,
        "MaxLatency(us)" => operation.times.max = millis,
        _ => {
            let percentile = what.strip_suffix("PercentileLatency(us)");
            let ended = what.strip_prefix("Return=");
            if let Some(percent) = percentile.and_then(leading) {
                operation.times.set(percent, millis);
            } else if ended.is_some_and(|ended| !GOOD.contains(&ended)) {
                operation.refused += counted(value).unwrap_or(0);
            }
        }
    }
}

pub(super) fn go(text: &str) -> Result<Figures, ImportError> {
    let mut operations: BTreeMap<&str, Operation> = BTreeMap::new();
    let mut figures = Figures::default();
    for line in text.lines().map(str::trim) {
        command(&mut figures, line);
        let Some((name, rest)) = line.split_once(" - Takes(s):") else {
            continue;
        };
        let (takes, rest) = rest.split_once(',').unwrap_or((rest, ""));
        // A line that is printed on the way is followed by later ones.
        figures.seconds = either(leading(takes), figures.seconds, f64::max);
        let mut operation = Operation::default();
        for pair in rest.split(',') {
            let (what, value) = pair.split_once(':').unwrap_or_default();
            let millis = leading(value).map(|micros| micros / 1e3);
            match what.trim() {
                "Count" => operation.count = counted(value),
                "Avg(us)" => operation.times.mean = millis,
                "Min(us)" => operation.times.min = millis,
                "Max(us)" => operation.times.max = millis,
                what => {
                    let percent = what.strip_suffix("th(us)").and_then(leading);
                    if let Some(percent) = percent {
                        operation.times.set(percent, millis);
                    }
                }
            }
        }
        operations.insert(name.trim(), operation);
    }
    finished(figures, &operations)
}

/// What the command line or a listed property says of threads and of the rate.
fn command(figures: &mut Figures, line: &str) {
    let line = line.replace('"', "");
    let threads = ["-threads ", "threadcount=", "threadcount "];
    let target = ["-target ", "target="];
    let of = |names: &[&str]| {
        let mut rest = names.iter().filter_map(|name| line.split_once(name));
        leading(rest.next()?.1)
    };
    if let Some(threads) = of(&threads).filter(|_| figures.in_flight.is_none()) {
        figures.in_flight = Some(threads);
        figures.settings.push(("threads", threads.to_string()));
    }
    if let Some(rate) = of(&target).filter(|rate| *rate > 0.0 && figures.offered_per_s.is_none()) {
        figures.offered_per_s = Some(rate);
        figures.settings.push(("target", rate.to_string()));
    }
}

fn finished(
    figures: Figures,
    operations: &BTreeMap<&str, Operation>,
) -> Result<Figures, ImportError> {
    let is_failed = |name: &str| name.ends_with("-FAILED") || name.ends_with("_ERROR");
    // The same operations, timed from when they were due.
    let is_intended = |name: &str| name.starts_with("Intended-") || name.starts_with("INTENDED");
    // A read and an update that count by themselves, too: the three are one operation.
    let is_both = |name: &str| name == "READ-MODIFY-WRITE" || name == "READ_MODIFY_WRITE";
    let is_apart =
        |name: &str| is_intended(name) || is_both(name) || name == "CLEANUP" || name == "TOTAL";
    let whole = operations.get("TOTAL").map(|total| total.times.clone());
    let mut figures = Figures {
        tool: Tool::Ycsb,
        // Threads that keep to a target wait before they send, and are timed from when they send.
        arrivals: Arrivals::Closed,
        // What a thread does between two operations is not in their times.
        has_pauses: true,
        ..figures
    };
    if operations.keys().any(|name| is_intended(name)) {
        figures.remarks.push(
            "response times from when operations were due are in the file, under Intended"
                .to_owned(),
        );
    }
    let (mut attempts, mut failed, mut sum) = (0, 0, Some(0.0));
    let mut kinds = Vec::new();
    for (name, operation) in operations.iter().filter(|(name, _)| !is_apart(name)) {
        let count = operation.count.unwrap_or(0);
        if is_failed(name) {
            failed += count;
            attempts += count;
            continue;
        }
        // Newer versions have them once more, under a name of their own, and not among the operations.
        let is_named = operations.contains_key(format!("{name}-FAILED").as_str());
        let refused = if is_named { 0 } else { operation.refused };
        failed += refused;
        attempts += count.max(refused);
        sum = sum
            .zip(operation.times.mean)
            .map(|(sum, mean)| sum + mean * count as f64);
        kinds.push(operation);
    }
    let both = operations.iter().filter(|(name, _)| is_both(name));
    let both: u64 = both.filter_map(|(_, operation)| operation.count).sum();
    attempts -= both.min(attempts);
    let field = "Operations";
    if attempts == 0 || figures.seconds.is_none() {
        return Err(ImportError::Missing { tool: TOOL, field });
    }
    figures.attempts = Some(attempts);
    figures.failures.total = Some(failed);
    figures
        .failures
        .no_answer("refused by the database or its driver", failed);
    match (whole, kinds.as_slice()) {
        (Some(whole), _) => figures.all = whole,
        (None, [one]) => figures.all = one.times.clone(),
        (None, many) => {
            figures.percentiles_per = Some("operation");
            figures.all.max = many.iter().filter_map(|one| one.times.max).reduce(f64::max);
        }
    }
    let done: u64 = kinds.iter().filter_map(|one| one.count).sum();
    let done = done.saturating_sub(both);
    figures.all.mean = figures
        .all
        .mean
        .or(sum.filter(|_| done > 0).map(|sum| sum / done as f64));
    figures.reported_per_s = figures.reported_per_s.or(figures.attempts_per_s());
    Ok(figures)
}
