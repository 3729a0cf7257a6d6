//! The table of variants for a terminal and for a pull request.

use super::Shown;
use crate::markdown::escape;

/// Between two columns.
const GAP: usize = 2;
/// Narrowest column of a variant; a terminal that has less room scrolls.
const NARROWEST: usize = 16;

/// The verdict, as wide as is read with ease.
const PARAGRAPH: usize = 100;

/// The verdict and the table for a terminal.
pub fn table(shown: &Shown<'_>, columns: usize) -> String {
    let rows = &shown.rows;
    let names: Vec<String> = shown.names().collect();
    let first = rows.iter().map(|row| width(&row.label)).max().unwrap_or(0);
    let count = names.len().max(1);
    let room = columns.saturating_sub(2 + first + count * GAP) / count;
    let each = |(index, head): (usize, &String)| {
        let cells = rows.iter().filter_map(|row| row.cells.get(index));
        let widest = cells
            .map(|cell| width(&cell.text))
            .fold(width(head), usize::max);
        widest.min(room.max(NARROWEST))
    };
    let widths: Vec<usize> = names.iter().enumerate().map(each).collect();
    let mut out = String::new();
    putln!(out, "\n  {}   {}\n", shown.title, shown.replication);
    let verdict = shown.answer.paragraph();
    for line in wrap(&verdict, columns.clamp(NARROWEST, PARAGRAPH) - 2) {
        putln!(out, "  {line}");
    }
    out.push('\n');
    line(
        &mut out,
        first,
        "",
        names.iter().map(String::as_str),
        &widths,
    );
    for row in rows {
        let cells = row.cells.iter().map(|cell| cell.text.as_str());
        line(&mut out, first, &row.label, cells, &widths);
    }
    out.push('\n');
    for remark in &shown.remarks {
        putln!(out, "  ! {remark}");
    }
    if let Some(report) = &shown.judged.experiment.report {
        putln!(out, "  report   {report}");
    }
    putln!(out, "  records  {}", shown.judged.experiment.folder);
    out
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
        .map(|(cell, width)| wrap(cell, *width))
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

/// The verdict and the table for a pull request.
pub fn markdown(shown: &Shown<'_>) -> String {
    let mut out = String::new();
    let (answer, rest) = (&shown.answer.headline, shown.answer.rest());
    putln!(
        out,
        "### {}\n\n{}\n",
        escape(&shown.title),
        shown.replication
    );
    putln!(out, "**{}** {}\n", escape(answer), escape(&rest));
    let names: Vec<String> = shown.names().map(|name| escape(&name)).collect();
    putln!(out, "| | {} |", names.join(" | "));
    putln!(out, "|---|{}", "---|".repeat(names.len()));
    for row in &shown.rows {
        let cells: Vec<String> = row.cells.iter().map(|cell| escape(&cell.text)).collect();
        putln!(out, "| {} | {} |", escape(&row.label), cells.join(" | "));
    }
    out.push('\n');
    for remark in &shown.remarks {
        putln!(out, "> **Warning:** {}\n", escape(remark));
    }
    out
}
