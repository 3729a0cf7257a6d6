//! The table of variants for a terminal and for a pull request.

use super::Shown;
use crate::markdown::escape;

/// Between two columns.
const GAP: usize = 2;
/// Narrowest column of a variant; those that do not fit beside each other come below.
const NARROWEST: usize = 16;

/// The verdict, as wide as is read with ease.
const PARAGRAPH: usize = 100;

/// The verdict and the table for a terminal.
pub fn table(shown: &Shown<'_>, columns: usize) -> String {
    let mut out = String::new();
    putln!(out, "\n  {}   {}\n", shown.title, shown.replication);
    let prose = columns.clamp(NARROWEST, PARAGRAPH) - 2;
    for line in wrap(&shown.answer.paragraph(), prose) {
        putln!(out, "  {line}");
    }
    out.push('\n');
    variants(&mut out, shown, columns);
    let marked = |mark, texts: &'_ [String]| -> Vec<(char, String)> {
        texts.iter().map(|text| (mark, text.clone())).collect()
    };
    let remarks = marked('!', &shown.remarks).into_iter();
    for (mark, text) in remarks.chain(marked('·', &shown.notes)) {
        for (index, line) in wrap(&text, prose.saturating_sub(2)).iter().enumerate() {
            putln!(out, "  {} {line}", if index == 0 { mark } else { ' ' });
        }
    }
    if let Some(report) = &shown.judged.experiment.report {
        putln!(out, "  report   {report}");
    }
    putln!(out, "  records  {}", shown.judged.experiment.folder);
    out
}

/// The variants side by side, as many as fit; the others below.
fn variants(out: &mut String, shown: &Shown<'_>, columns: usize) {
    let rows = &shown.rows;
    let names: Vec<String> = shown.names().collect();
    let first = rows.iter().map(|row| width(&row.label)).max().unwrap_or(0);
    let all = columns.saturating_sub(2 + first);
    let count = (all / (NARROWEST + GAP)).clamp(1, names.len().max(1));
    let room = (all / count).saturating_sub(GAP);
    for (part, names) in names.chunks(count).enumerate() {
        let cells = |index: usize| {
            let index = part * count + index;
            rows.iter()
                .map(move |row| row.cells.get(index).map_or("", |cell| cell.text.as_str()))
        };
        let each = |(index, head): (usize, &String)| {
            let widest = cells(index).map(width).fold(width(head), usize::max);
            widest.min(room.max(NARROWEST))
        };
        let widths: Vec<usize> = names.iter().enumerate().map(each).collect();
        line(out, first, "", names.iter().map(String::as_str), &widths);
        for row in rows {
            let cells = row.cells.iter().skip(part * count).take(names.len());
            let cells = cells.map(|cell| cell.text.as_str());
            line(out, first, &row.label, cells, &widths);
        }
        out.push('\n');
    }
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
    let verdict = format!("**{}** {}", escape(answer), escape(&rest));
    putln!(out, "{}\n", verdict.trim_end());
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
    for note in &shown.notes {
        putln!(out, "> {}\n", escape(note));
    }
    out
}
