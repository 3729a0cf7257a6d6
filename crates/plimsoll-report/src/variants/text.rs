//! The table of variants for a terminal and for a pull request.

use super::Experiment;
use crate::format;

/// Between two columns.
const GAP: usize = 2;
/// Narrowest column of a variant; a terminal that has less room scrolls.
const NARROWEST: usize = 16;

pub(super) fn table(experiment: &Experiment<'_>, columns: usize) -> String {
    let rows = experiment.rows();
    let first = rows.iter().map(|(name, _)| width(name)).max().unwrap_or(0);
    let count = experiment.variants.len().max(1);
    let room = columns.saturating_sub(2 + first + count * GAP) / count;
    let each = |index: usize| {
        let head = experiment.variants.get(index).map_or(0, |v| width(v.name));
        let cells = rows
            .iter()
            .map(|(_, cells)| cells.get(index).map_or(0, |cell| width(cell)));
        cells.fold(head, usize::max).min(room.max(NARROWEST))
    };
    let widths: Vec<usize> = (0..count).map(each).collect();
    let mut out = String::new();
    putln!(
        out,
        "\n  {}   {}\n",
        format::clean(experiment.title),
        experiment.replication()
    );
    let names: Vec<String> = experiment
        .variants
        .iter()
        .map(|v| v.name.to_owned())
        .collect();
    line(&mut out, first, "", &names, &widths);
    for (name, cells) in &rows {
        line(&mut out, first, name, cells, &widths);
    }
    out.push('\n');
    for remark in experiment.remarks() {
        putln!(out, "  ! {}", format::clean(&remark));
    }
    putln!(out, "  records  {}", experiment.folder);
    out
}

/// One row; a cell that is too long goes on in the next line.
fn line(out: &mut String, first: usize, name: &str, cells: &[String], widths: &[usize]) {
    let wrapped: Vec<Vec<String>> = cells
        .iter()
        .zip(widths)
        .map(|(cell, width)| wrap(&format::clean(cell), *width))
        .collect();
    let lines = wrapped.iter().map(Vec::len).max().unwrap_or(0).max(1);
    for index in 0..lines {
        let mut text = format!("  {}", padded(if index == 0 { name } else { "" }, first));
        for (cell, width) in wrapped.iter().zip(widths) {
            text.push_str(&" ".repeat(GAP));
            text.push_str(&padded(cell.get(index).map_or("", String::as_str), *width));
        }
        putln!(out, "{}", text.trim_end());
    }
}

fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let last = lines.len() - 1;
        let line = &mut lines[last];
        if !line.is_empty() && self::width(line) + 1 + self::width(word) > width {
            lines.push(word.to_owned());
        } else {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines
}

fn padded(text: &str, to: usize) -> String {
    format!("{text}{}", " ".repeat(to.saturating_sub(width(text))))
}

fn width(text: &str) -> usize {
    text.chars().count()
}

pub(super) fn markdown(experiment: &Experiment<'_>) -> String {
    let mut out = String::new();
    let escape = crate::markdown::escape;
    putln!(
        out,
        "### {}\n\n{}\n",
        escape(experiment.title),
        experiment.replication()
    );
    let names: Vec<String> = experiment.variants.iter().map(|v| escape(v.name)).collect();
    putln!(out, "| | {} |", names.join(" | "));
    putln!(out, "|---|{}", "---|".repeat(names.len()));
    for (name, cells) in experiment.rows() {
        let cells: Vec<String> = cells.iter().map(|cell| escape(cell)).collect();
        putln!(out, "| {} | {} |", escape(&name), cells.join(" | "));
    }
    out.push('\n');
    for remark in experiment.remarks() {
        putln!(out, "> **Warning:** {}\n", escape(&remark));
    }
    out
}
