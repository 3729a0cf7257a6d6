//! The Prometheus text form of the counts, from one table of metrics.

use std::fmt::Write;

use super::meter::{Buckets, SIZE_BOUNDS, Snapshot, TIME_BOUNDS};

/// A metric's name, kind and help: what `/metrics` says and the documentation lists.
#[derive(Debug, Clone, Copy)]
pub struct MetricSpec {
    pub name: &'static str,
    pub kind: &'static str,
    pub help: &'static str,
}

macro_rules! specs {
    ($($constant:ident $name:literal $kind:literal $help:literal;)*) => {
        $(const $constant: MetricSpec = MetricSpec { name: $name, kind: $kind, help: $help };)*
        /// Every metric, in the order of the text.
        pub const SPECS: &[MetricSpec] = &[$($constant,)*];
    };
}

specs! {
    INFO "docdb_info" "gauge" "Always 1; its labels say how writes are acknowledged and who is served next.";
    CONNECTIONS "docdb_connections" "gauge" "Open connections.";
    SECONDS "docdb_command_duration_seconds" "histogram" "Arrival of a command to release of its reply, per database; result is ok or error.";
    REFUSED "docdb_commands_refused_total" "counter" "Commands refused because their database's queue was full.";
    DEPTH "docdb_queue_depth" "gauge" "Commands that wait for their turn.";
    WAIT "docdb_queue_wait_seconds" "histogram" "Arrival of a command to the begin of its execution.";
    FSYNC "docdb_fsync_duration_seconds" "histogram" "Time for the disk to acknowledge a batch.";
    COMMIT "docdb_commit_duration_seconds" "histogram" "Whole commits of a batch with writes.";
    BATCH "docdb_batch_commands" "histogram" "Commands answered per commit.";
    JOURNAL "docdb_journal_bytes_total" "counter" "Bytes appended to the journals.";
    WRITES "docdb_writes_total" "counter" "Keys put and deleted, index entries included.";
    HELD "docdb_memory_held_bytes" "gauge" "What queries and clients hold of --memory.";
    SPILLED "docdb_spilled_bytes_total" "counter" "Bytes that sorts and groups beyond their share wrote to the disk.";
    FAILED "docdb_failed_commits_total" "counter" "Batches that could not be made durable; every command in them was answered with an error.";
}

/// What the metrics know beside the counts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Surroundings<'a> {
    pub durability: &'a str,
    pub scheduler: &'a str,
    pub connections: usize,
    /// Bytes that queries and clients hold.
    pub(crate) held: usize,
    /// Bytes that sorts and groups wrote to the disk.
    pub(crate) spilled: u64,
}

/// The whole text.
pub(crate) fn write(all: &Snapshot, surroundings: Surroundings<'_>) -> String {
    let mut out = String::new();
    header(&mut out, INFO);
    let Surroundings {
        durability,
        scheduler,
        connections,
        held,
        spilled,
    } = surroundings;
    line(
        &mut out,
        INFO.name,
        &format!("durability=\"{durability}\",scheduler=\"{scheduler}\""),
        1,
    );
    for (spec, count) in [(CONNECTIONS, connections), (HELD, held)] {
        header(&mut out, spec);
        line(&mut out, spec.name, "", count as u64);
    }
    databases(&mut out, all);
    let times = [
        (WAIT, &all.waits),
        (FSYNC, &all.fsyncs),
        (COMMIT, &all.commits),
    ];
    for (spec, buckets) in times {
        header(&mut out, spec);
        histogram(&mut out, spec.name, "", buckets, &TIME_BOUNDS, 1e9);
    }
    header(&mut out, BATCH);
    histogram(&mut out, BATCH.name, "", &all.batches, &SIZE_BOUNDS, 1.0);
    let counts = [
        (JOURNAL, all.journal_bytes),
        (WRITES, all.writes),
        (SPILLED, spilled),
        (FAILED, all.failed_commits),
    ];
    for (spec, count) in counts {
        header(&mut out, spec);
        line(&mut out, spec.name, "", count);
    }
    out
}

fn databases(out: &mut String, all: &Snapshot) {
    header(out, SECONDS);
    for (name, counts) in &all.databases {
        let name = escaped(name);
        for (result, times) in [("ok", &counts.succeeded), ("error", &counts.failed)] {
            let labels = format!("database=\"{name}\",result=\"{result}\"");
            histogram(out, SECONDS.name, &labels, times, &TIME_BOUNDS, 1e9);
        }
    }
    header(out, REFUSED);
    for (name, counts) in &all.databases {
        line(
            out,
            REFUSED.name,
            &format!("database=\"{}\"", escaped(name)),
            counts.refused,
        );
    }
    header(out, DEPTH);
    for (name, counts) in &all.databases {
        line(
            out,
            DEPTH.name,
            &format!("database=\"{}\"", escaped(name)),
            counts.depth,
        );
    }
}

fn header(out: &mut String, spec: MetricSpec) {
    let MetricSpec { name, kind, help } = spec;
    let _infallible = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

fn line(out: &mut String, name: &str, labels: &str, value: u64) {
    let _infallible = if labels.is_empty() {
        writeln!(out, "{name} {value}")
    } else {
        writeln!(out, "{name}{{{labels}}} {value}")
    };
}

fn histogram<const N: usize>(
    out: &mut String,
    name: &str,
    labels: &str,
    buckets: &Buckets<N>,
    bounds: &[u64; N],
    unit: f64,
) {
    let comma = if labels.is_empty() { "" } else { "," };
    let mut sum = 0;
    for (bound, count) in bounds.iter().zip(&buckets.counts) {
        sum += count;
        let bound = *bound as f64 / unit;
        line(
            out,
            &format!("{name}_bucket"),
            &format!("{labels}{comma}le=\"{bound}\""),
            sum,
        );
    }
    let total = buckets.count();
    line(
        out,
        &format!("{name}_bucket"),
        &format!("{labels}{comma}le=\"+Inf\""),
        total,
    );
    let braces = if labels.is_empty() {
        String::new()
    } else {
        format!("{{{labels}}}")
    };
    let _infallible = writeln!(out, "{name}_sum{braces} {}", buckets.sum as f64 / unit);
    line(out, &format!("{name}_count"), labels, total);
}

/// A label value as the text format wants it.
fn escaped(value: &str) -> String {
    value
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use plimsoll_base::Nanos;

    use super::*;
    use crate::metrics::Meter;

    #[test]
    fn every_metric_of_the_table_is_in_the_text_with_cumulative_buckets() {
        let meter = Meter::default();
        meter.answered("a\"b", Nanos(15_000), false);
        meter.answered("a\"b", Nanos(150_000), false);
        meter.refused("a\"b");
        let surroundings = Surroundings {
            durability: "always",
            scheduler: "sharded",
            connections: 3,
            held: 4,
            spilled: 5,
        };
        let text = write(&meter.snapshot(), surroundings);
        for spec in SPECS {
            assert!(
                text.contains(&format!("# TYPE {} {}", spec.name, spec.kind)),
                "{}",
                spec.name
            );
        }
        for part in [
            "docdb_command_duration_seconds_bucket{database=\"a\\\"b\",result=\"ok\",le=\"0.00002\"} 1",
            "docdb_command_duration_seconds_bucket{database=\"a\\\"b\",result=\"ok\",le=\"+Inf\"} 2",
            "docdb_command_duration_seconds_sum{database=\"a\\\"b\",result=\"ok\"} 0.000165",
            "docdb_commands_refused_total{database=\"a\\\"b\"} 1",
            "docdb_connections 3",
        ] {
            assert!(text.contains(part), "{part} in\n{text}");
        }
    }
}
