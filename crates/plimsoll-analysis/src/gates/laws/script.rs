//! What a script counted, against itself and against the windows of its level.

use plimsoll_core::Tally;
use plimsoll_core::metrics::Sink;
use plimsoll_core::record::{Record, ScriptCounts};

/// A double holds the sums of a metric to this share.
const ROUNDING: f64 = 1e-9;
/// A level is counted from its start, and its first window begins a moment later.
const ELAPSED_MOST: f64 = 1.05;
const ELAPSED_SLACK_SECONDS: f64 = 1.5;

pub(super) fn broken(record: &Record) -> Option<String> {
    let mut finals = record.scripts.iter().filter(|script| script.is_final);
    finals.find_map(|script| {
        let why = by_name(record, script)
            .or_else(|| itself(script))
            .or_else(|| checks(script))
            .or_else(|| elapsed(record, script))?;
        Some(format!(
            "what the script counted in level {}: {why}",
            script.level
        ))
    })
}

/// Requests by name are requests of the level.
fn by_name(record: &Record, script: &ScriptCounts) -> Option<String> {
    let left = script.left_out.iter().map(|left| &left.names_tally);
    let rows = script.names.iter().map(|row| &row.tally).chain(left);
    let by_name: u64 = rows.map(Tally::attempts).sum();
    let all = record.judged_tally(script.level).attempts();
    let requests = script
        .metric("http_reqs")
        .map(|metric| metric.sink.samples());
    let requests = requests.filter(|requests| *requests < by_name);
    if by_name > all {
        return Some(format!(
            "{by_name} requests by name, and {all} in its windows"
        ));
    }
    requests.map(|requests| format!("{by_name} requests by name, and {requests} in all"))
}

/// Iterations, virtual users and thresholds follow from the metrics.
fn itself(script: &ScriptCounts) -> Option<String> {
    let again = script.again();
    if again.iterations != script.iterations {
        return Some("its iterations are not those of its metrics".to_owned());
    }
    if again.vus != script.vus {
        return Some("its virtual users are not those of its metrics".to_owned());
    }
    let both = script.thresholds.iter().zip(&again.thresholds);
    let mut others = both.filter(|(said, follows)| {
        let off = (said.value - follows.value).abs();
        said.ok != follows.ok || off > ROUNDING * follows.value.abs()
    });
    let (said, follows) = others.next()?;
    Some(format!(
        "threshold {} of {} observed {}, and its metric says {}",
        said.source, said.key, said.value, follows.value
    ))
}

/// Each check is counted by itself, and all of them in one metric.
fn checks(script: &ScriptCounts) -> Option<String> {
    let Sink::Rate(rate) = &script.metric("checks")?.sink else {
        return None;
    };
    let (held, failed) = script.check_totals();
    (held != rate.passes || failed != rate.fails()).then(|| {
        format!(
            "{held} checks held and {failed} failed, and the metric has {} and {}",
            rate.passes,
            rate.fails()
        )
    })
}

fn elapsed(record: &Record, script: &ScriptCounts) -> Option<String> {
    let windows = record.judged_windows(script.level);
    let seconds: f64 = windows.map(|window| window.length_ns.as_secs_f64()).sum();
    let said = script.elapsed_ns.as_secs_f64();
    let (least, most) = (seconds.min(said), seconds.max(said));
    (most > least * ELAPSED_MOST + ELAPSED_SLACK_SECONDS)
        .then(|| format!("{said:.1} s, and its windows are {seconds:.1} s"))
}
