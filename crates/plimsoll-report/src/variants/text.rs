//! The table of variants for a terminal and for a pull request.

use plimsoll_core::experiment::Judged;

use super::rows::{self, Row};
use super::{Answer, words};
use crate::format;

/// Between two columns.
const GAP: usize = 2;
/// Narrowest column of a variant; a terminal that has less room scrolls.
const NARROWEST: usize = 16;

pub(super) fn table(judged: &Judged<'_>, columns: usize) -> String {
    let experiment = &judged.experiment;
    let rows = rows::all(judged);
    let first = rows.iter().map(|row| width(&name(row))).max().unwrap_or(0);
    let count = experiment.variants.len().max(1);
    let room = columns.saturating_sub(2 + first + count * GAP) / count;
    let each = |index: usize| {
        let head = experiment.variants.get(index).map_or(0, |v| width(v.name));
        let cells = rows
            .iter()
            .map(|row| row.cells.get(index).map_or(0, |cell| width(&cell.text)));
        cells.fold(head, usize::max).min(room.max(NARROWEST))
    };
    let widths: Vec<usize> = (0..count).map(each).collect();
    let mut out = String::new();
    putln!(
        out,
        "\n  {}   {}\n",
        format::clean(experiment.title),
        words::replication(judged.meaning.replication)
    );
    paragraph(&mut out, &Answer::new(judged), columns);
    let names = experiment.variants.iter().map(|v| v.name);
    line(&mut out, first, "", names, &widths);
    for row in &rows {
        let cells = row.cells.iter().map(|cell| cell.text.as_str());
        line(&mut out, first, &name(row), cells, &widths);
    }
    out.push('\n');
    for remark in words::remarks(judged) {
        putln!(out, "  ! {}", format::clean(&remark));
    }
    if let Some(report) = &experiment.report {
        putln!(out, "  report   {report}");
    }
    putln!(out, "  records  {}", experiment.folder);
    out
}

/// A part of the row above is indented.
fn name(row: &Row) -> String {
    let indent = if row.kind.is_part() { "  " } else { "" };
    format!("{indent}{}", row.kind.name())
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
fn line<'c>(
    out: &mut String,
    first: usize,
    name: &str,
    cells: impl Iterator<Item = &'c str>,
    widths: &[usize],
) {
    let wrapped: Vec<Vec<String>> = cells
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

pub(super) fn markdown(judged: &Judged<'_>) -> String {
    let mut out = String::new();
    let escape = crate::markdown::escape;
    putln!(
        out,
        "### {}\n\n{}\n",
        escape(judged.experiment.title),
        words::replication(judged.meaning.replication)
    );
    let answer = Answer::new(judged);
    putln!(
        out,
        "**{}** {}\n",
        escape(&answer.headline),
        escape(&answer.rest())
    );
    let variants = judged.experiment.variants.iter();
    let names: Vec<String> = variants.map(|v| escape(v.name)).collect();
    putln!(out, "| | {} |", names.join(" | "));
    putln!(out, "|---|{}", "---|".repeat(names.len()));
    for row in rows::all(judged) {
        let cells: Vec<String> = row.cells.iter().map(|cell| escape(&cell.text)).collect();
        putln!(out, "| {} | {} |", escape(&name(&row)), cells.join(" | "));
    }
    out.push('\n');
    for remark in words::remarks(judged) {
        putln!(out, "> **Warning:** {}\n", escape(&remark));
    }
    out
}
