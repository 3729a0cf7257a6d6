//! The table of variants for a terminal and for a pull request.

use super::{Answer, Experiment, LoadLines, rows};
use crate::format;

/// Between two columns.
const GAP: usize = 2;
/// Narrowest column of a variant; a terminal that has less room scrolls.
const NARROWEST: usize = 16;

pub(super) fn table(experiment: &Experiment<'_>, columns: usize) -> String {
    let lines = LoadLines::of(experiment);
    let answer = Answer::of(experiment, lines.as_ref());
    let rows = rows::all(experiment, lines.as_ref());
    let first = rows.iter().map(|row| width(&row.name)).max().unwrap_or(0);
    let count = experiment.variants.len().max(1);
    let room = columns.saturating_sub(2 + first + count * GAP) / count;
    let each = |index: usize| {
        let head = experiment.variants.get(index).map_or(0, |v| width(v.name));
        let cells = rows
            .iter()
            .map(|row| row.cells.get(index).map_or(0, |cell| width(cell)));
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
    paragraph(&mut out, &answer, columns);
    let names: Vec<String> = experiment
        .variants
        .iter()
        .map(|v| v.name.to_owned())
        .collect();
    line(&mut out, first, "", &names, &widths);
    for row in &rows {
        line(&mut out, first, &row.name, &row.cells, &widths);
    }
    out.push('\n');
    for remark in experiment.remarks() {
        putln!(out, "  ! {}", format::clean(&remark));
    }
    if let Some(report) = &experiment.report {
        putln!(out, "  report   {report}");
    }
    putln!(out, "  records  {}", experiment.folder);
    out
}

/// The verdict, as wide as is read with ease.
fn paragraph(out: &mut String, answer: &Answer, columns: usize) {
    /// A longer line loses the eye on its way back.
    const WIDEST: usize = 100;
    let text = format::clean(&answer.paragraph());
    for line in wrap(&text, columns.clamp(NARROWEST, WIDEST) - 2) {
        putln!(out, "  {line}");
    }
    out.push('\n');
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
    let lines = LoadLines::of(experiment);
    let answer = Answer::of(experiment, lines.as_ref());
    putln!(
        out,
        "**{}** {}\n",
        escape(&answer.headline),
        escape(&answer.rest())
    );
    let names: Vec<String> = experiment.variants.iter().map(|v| escape(v.name)).collect();
    putln!(out, "| | {} |", names.join(" | "));
    putln!(out, "|---|{}", "---|".repeat(names.len()));
    for row in rows::all(experiment, lines.as_ref()) {
        let cells: Vec<String> = row.cells.iter().map(|cell| escape(cell)).collect();
        putln!(out, "| {} | {} |", escape(&row.name), cells.join(" | "));
    }
    out.push('\n');
    for remark in experiment.remarks() {
        putln!(out, "> **Warning:** {}\n", escape(&remark));
    }
    out
}
