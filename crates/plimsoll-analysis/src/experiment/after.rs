//! What the load of a variant left behind: taken in, waiting, stored, lost. Absent where no run looked.

use plimsoll_core::Nanos;
use plimsoll_core::experiment::{AfterLoad, Spread, Variant};
use plimsoll_core::record::{After, Record};

use super::spread::spread;

/// None where it was not looked at, or means nothing.
type Figure = fn(&Record, &After) -> Option<f64>;

pub(super) fn of_variant(variant: &Variant<'_>) -> AfterLoad {
    let over_runs = |figure: Figure| -> Spread {
        let records = variant.runs.iter().map(|run| run.record);
        spread(records.filter_map(|record| figure(record, record.after.as_ref()?)))
    };
    AfterLoad {
        accepted_per_s: over_runs(accepted_per_s),
        stored_per_s: over_runs(|record, after| per_second(record, after.stored_at_end_count?)),
        backlog_count: over_runs(|_, after| after.backlog_count.map(|count| count as f64)),
        drained_seconds: over_runs(|_, after| after.drained_ns.map(Nanos::as_secs_f64)),
        left_count: over_runs(left),
        lost_count: over_runs(lost),
    }
}

fn accepted_per_s(record: &Record, _: &After) -> Option<f64> {
    let (_, accepted) = record.acknowledged();
    (accepted > 0).then(|| per_second(record, accepted))?
}

/// Said only where something stayed.
fn left(_: &Record, after: &After) -> Option<f64> {
    let left = after.backlog_left_count.filter(|count| *count > 0);
    left.map(|count| count as f64)
}

fn lost(record: &Record, after: &After) -> Option<f64> {
    let (ok, accepted) = record.acknowledged();
    after.lost_count(ok + accepted).map(|count| count as f64)
}

fn per_second(record: &Record, count: u64) -> Option<f64> {
    let seconds = record.verdict.as_ref()?.duration_seconds;
    (seconds > 0.0).then(|| count as f64 / seconds)
}
