//! The page's table of metrics.

use super::*;

/// The table of `docs/guard.md`.
fn markdown() -> String {
    let row = |metric: &Metric| {
        let label = metric.label.map(|label| format!("`{label}`"));
        let upstream = match metric.of {
            Of::Guard(_) => None,
            Of::Upstream(_) => Some("`upstream`".to_owned()),
        };
        let labels: Vec<String> = upstream.into_iter().chain(label).collect();
        let (name, kind) = (metric.name, metric.kind);
        let labels = labels.join(", ");
        format!(
            "| `{PREFIX}{name}` | {kind} | {labels} | {} |\n",
            metric.help
        )
    };
    let rows: String = METRICS.iter().map(row).collect();
    format!("\n| metric | kind | labels | what it counts |\n|---|---|---|---|\n{rows}\n")
}

/// `UPDATE_DOCS=1 cargo test -p plimsoll-guard` writes the page's tables anew.
#[test]
fn the_page_has_every_metric_of_the_table() {
    crate::settings::page("metrics", &markdown());
}

#[test]
fn no_metric_stands_twice_and_counters_end_as_counters_do() {
    for (index, metric) in METRICS.iter().enumerate() {
        let others = METRICS.iter().skip(index + 1);
        assert!(others.clone().all(|other| other.name != metric.name));
        assert_eq!(
            metric.name.ends_with("_total"),
            metric.kind == COUNTER,
            "{}",
            metric.name
        );
    }
}
