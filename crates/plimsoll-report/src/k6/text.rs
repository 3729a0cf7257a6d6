//! The summary at the end of a scripted test, laid out as users of k6 know it.

use plimsoll_core::metrics::{BUILT_IN, BuiltIn, Check, Contains, Sink};
use plimsoll_core::threshold::Judgement;

use super::groups::Group;
use super::value::{figure, percent, plain};
use super::{Results, Row};
use crate::format::clean;
use crate::ink::{Role, paint};

/// How much the summary shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Detail {
    /// Of HTTP only the whole duration, what failed, and how many.
    #[default]
    Compact,
    /// Every metric, and the checks of each group.
    Full,
}

/// The summary: thresholds, checks, and metrics by section.
pub fn text(results: &Results<'_>, detail: Detail, colour: bool) -> String {
    let mut page = Page {
        out: String::new(),
        colour,
    };
    page.thresholds(results);
    let rows: Vec<Row<'_>> = results.rows();
    let shown: Vec<Row<'_>> = rows
        .iter()
        .copied()
        .filter(|row| is_shown(results, row, detail))
        .collect();
    page.heading("TOTAL RESULTS");
    page.checks(results, rows.iter().any(|row| row.key == "checks"));
    page.metrics(results, &shown);
    if detail == Detail::Full {
        for group in &Group::root(results.store).groups {
            page.group(group, results, 0);
        }
    }
    page.out
}

/// Parts of the timing that the compact summary leaves out, unless a threshold is about them.
fn is_shown(results: &Results<'_>, row: &Row<'_>, detail: Detail) -> bool {
    let name = row.metric.name.as_str();
    if name == "checks" && !row.is_submetric {
        return false;
    }
    let is_part =
        name.starts_with("http_req_") && !matches!(name, "http_req_duration" | "http_req_failed");
    let is_detail = is_part || name == "group_duration";
    detail == Detail::Full || !is_detail || results.judgements_of(row).next().is_some()
}

/// Sections in their order.
const SECTIONS: [&str; 6] = [
    "CUSTOM",
    "HTTP",
    "WEBSOCKET",
    "GRPC",
    "EXECUTION",
    "NETWORK",
];

fn section(name: &str) -> &'static str {
    let is_built_in = BUILT_IN.iter().any(|spec| spec.name == name);
    match name.split('_').next() {
        _ if !is_built_in => "CUSTOM",
        Some("http") => "HTTP",
        Some("ws") => "WEBSOCKET",
        Some("grpc") => "GRPC",
        Some("data") => "NETWORK",
        _ => "EXECUTION",
    }
}

/// Figures of one row: a trend's belong under each other, and so do all others'.
enum Cells {
    Trend(Vec<String>),
    Other(Vec<String>),
}

impl Cells {
    fn new(results: &Results<'_>, contains: Contains, sink: &Sink) -> Self {
        let shown = |value: f64| figure(value, contains, results.unit);
        match sink {
            Sink::Counter(counter) => {
                let per_s = shown(counter.per_s(results.elapsed));
                Self::Other(vec![shown(counter.sum()), format!("{per_s}/s")])
            }
            Sink::Gauge(gauge) => Self::Other(vec![
                shown(gauge.value()),
                format!("min={}", shown(gauge.min())),
                format!("max={}", shown(gauge.max())),
            ]),
            Sink::Rate(rate) => Self::Other(vec![
                percent(rate.ratio()),
                format!("{} out of {}", rate.passes, rate.total),
            ]),
            Sink::Trend(_) => {
                let cell = |(name, value): (String, f64)| match &*name {
                    "count" => format!("count={}", plain(value)),
                    _ => format!("{name}={}", shown(value)),
                };
                Self::Trend(results.figures(sink).into_iter().map(cell).collect())
            }
        }
    }

    const fn list(&self) -> &Vec<String> {
        match self {
            Self::Trend(cells) | Self::Other(cells) => cells,
        }
    }
}

/// The figures of one metric.
pub(super) fn cells(results: &Results<'_>, contains: Contains, sink: &Sink) -> Vec<String> {
    Cells::new(results, contains, sink).list().clone()
}

/// The widest cell of each column.
fn widths<'a>(rows: impl Iterator<Item = &'a Vec<String>>) -> Vec<usize> {
    let mut widths = Vec::new();
    for cells in rows {
        widths.resize(widths.len().max(cells.len()), 0);
        for (width, cell) in widths.iter_mut().zip(cells) {
            *width = (*width).max(cell.chars().count());
        }
    }
    widths
}

fn aligned(cells: &[String], widths: &[usize]) -> String {
    let mut line = String::new();
    for (cell, width) in cells.iter().zip(widths) {
        put!(line, "{cell:<width$} ");
    }
    line.trim_end().to_owned()
}

/// `name` and dots up to a common column.
fn dotted(name: &str, width: usize) -> String {
    let dots = width.saturating_sub(name.chars().count()) + 3;
    format!("{name}{}:", ".".repeat(dots))
}

struct Page {
    out: String,
    colour: bool,
}

impl Page {
    fn heading(&mut self, title: &str) {
        self.out.push_str("  ");
        paint(
            &mut self.out,
            self.colour,
            Role::Bold,
            &format!("█ {}", clean(title)),
        );
        self.out.push_str("\n\n");
    }

    fn mark(&mut self, ok: bool) {
        let (role, mark) = if ok {
            (Role::Good, "✓")
        } else {
            (Role::Fail, "✗")
        };
        paint(&mut self.out, self.colour, role, mark);
    }

    fn thresholds(&mut self, results: &Results<'_>) {
        if results.judgements.is_empty() {
            return;
        }
        self.heading("THRESHOLDS");
        let mut last = None;
        for judgement in results.judgements {
            let (name, condition) = match judgement.key.split_once('{') {
                Some((name, _)) => (name, judgement.key.get(name.len()..).unwrap_or_default()),
                None => (judgement.key.as_str(), ""),
            };
            // A submetric stands below its metric when that has thresholds, too.
            let is_inner =
                !condition.is_empty() && results.judgements.iter().any(|other| other.key == name);
            let indent = if is_inner { "      " } else { "    " };
            if last != Some(&judgement.key) {
                if last.is_some() {
                    self.out.push('\n');
                }
                let title = if is_inner { condition } else { &judgement.key };
                putln!(self.out, "{indent}{}", clean(title));
            }
            self.out.push_str(indent);
            self.mark(judgement.ok);
            let shown = judged_figure(results, judgement);
            putln!(self.out, " '{}' {shown}", clean(&judgement.source));
            last = Some(&judgement.key);
        }
        self.out.push_str("\n\n");
    }

    fn checks(&mut self, results: &Results<'_>, is_shown: bool) {
        let Sink::Rate(rate) = results.store.built_in(BuiltIn::Checks) else {
            return;
        };
        if !is_shown {
            return;
        }
        self.check_totals(results, rate.passes, rate.total, "    ");
        for check in results.store.checks() {
            self.check(check, "    ");
        }
        if !results.store.checks().is_empty() {
            self.out.push('\n');
        }
    }

    fn check_totals(&mut self, results: &Results<'_>, passes: u64, total: u64, indent: &str) {
        let seconds = results.elapsed.as_secs_f64();
        let per_s = if seconds > 0.0 {
            total as f64 / seconds
        } else {
            0.0
        };
        let share = |part: u64| {
            if total == 0 {
                0.0
            } else {
                part as f64 / total as f64
            }
        };
        let fails = total - passes;
        let rows = [
            (
                "checks_total",
                vec![total.to_string(), format!("{}/s", plain(per_s))],
            ),
            (
                "checks_succeeded",
                vec![percent(share(passes)), format!("{passes} out of {total}")],
            ),
            (
                "checks_failed",
                vec![percent(share(fails)), format!("{fails} out of {total}")],
            ),
        ];
        let widths = widths(rows.iter().map(|(_, cells)| cells));
        for (name, cells) in &rows {
            let name = dotted(name, "checks_succeeded".len());
            putln!(self.out, "{indent}{name} {}", aligned(cells, &widths));
        }
        self.out.push('\n');
    }

    fn check(&mut self, check: &Check, indent: &str) {
        self.out.push_str(indent);
        self.mark(check.fails == 0);
        putln!(self.out, " {}", clean(&check.name));
        if check.fails > 0 {
            let share = 100 * check.passes / (check.passes + check.fails);
            putln!(
                self.out,
                "{indent}  ↳  {share}% — ✓ {} / ✗ {}",
                check.passes,
                check.fails
            );
        }
    }

    fn metrics(&mut self, results: &Results<'_>, rows: &[Row<'_>]) {
        let label = |row: &Row<'_>| {
            if row.is_submetric {
                format!(
                    "  {{ {} }}",
                    clean(row.condition().trim_matches(['{', '}']))
                )
            } else {
                row.key.to_owned()
            }
        };
        let mut shown: Vec<(&Row<'_>, String, Cells)> = rows
            .iter()
            .map(|row| {
                (
                    row,
                    label(row),
                    Cells::new(results, row.metric.contains, row.sink),
                )
            })
            .collect();
        shown.sort_by_key(|(row, ..)| (row.metric.name.as_str(), row.is_submetric, row.key));
        let name_width = shown
            .iter()
            .map(|(_, label, _)| label.chars().count())
            .max();
        let of_trends = |cells: &&Cells| matches!(cells, Cells::Trend(_));
        let cells = || shown.iter().map(|(.., cells)| cells);
        let trend_widths = widths(cells().filter(of_trends).map(Cells::list));
        let other_widths = widths(cells().filter(|c| !of_trends(c)).map(Cells::list));
        for section_name in SECTIONS {
            let inside = |row: &Row<'_>| section(&row.metric.name) == section_name;
            let mut inside = shown.iter().filter(|(row, ..)| inside(row)).peekable();
            if inside.peek().is_none() {
                continue;
            }
            putln!(self.out, "    {section_name}");
            for (_, label, cells) in inside {
                let widths = match cells {
                    Cells::Trend(_) => &trend_widths,
                    Cells::Other(_) => &other_widths,
                };
                let name = dotted(label, name_width.unwrap_or(0));
                putln!(self.out, "    {name} {}", aligned(cells.list(), widths));
            }
            self.out.push('\n');
        }
    }

    fn group(&mut self, group: &Group<'_>, results: &Results<'_>, depth: usize) {
        let indent = "  ".repeat(depth + 2);
        self.out.push('\n');
        if depth == 0 {
            self.heading(&format!("GROUP: {}", group.name));
        } else {
            let above = "  ".repeat(depth + 1);
            putln!(self.out, "{above}↳ GROUP: {}\n", clean(group.name));
        }
        if !group.checks.is_empty() {
            let passes = group.checks.iter().map(|check| check.passes).sum();
            let fails: u64 = group.checks.iter().map(|check| check.fails).sum();
            self.check_totals(results, passes, passes + fails, &indent);
            for check in &group.checks {
                self.check(check, &indent);
            }
        }
        for inner in &group.groups {
            self.group(inner, results, depth + 1);
        }
    }
}

/// `p(95)=46.81ms`, `rate=50.00%`, `rate=8.08/s`.
pub(super) fn judged_figure(results: &Results<'_>, judgement: &Judgement) -> String {
    let name = judgement.source.split(['<', '>', '=', '!']).next();
    let name = name.unwrap_or_default().trim();
    let metric = judgement.key.split('{').next().unwrap_or_default().trim();
    let Some(id) = results.store.find(metric) else {
        return format!("{name}={}", plain(judgement.value));
    };
    let (metric, sink) = results.store.metric(id);
    let shown = match sink {
        Sink::Rate(_) => percent(judgement.value),
        Sink::Counter(_) if name == "rate" => format!(
            "{}/s",
            figure(judgement.value, metric.contains, results.unit)
        ),
        _ => figure(judgement.value, metric.contains, results.unit),
    };
    format!("{name}={shown}")
}
