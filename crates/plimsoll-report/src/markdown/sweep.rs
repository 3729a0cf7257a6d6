//! A sweep for a pull request: the answer, a table of points, models and advice.

use plimsoll_core::sweep::Sweep;

use super::escape;
use crate::view::sweep as words;

/// The sweep under a heading of the third level.
pub fn sweep(sweep: &Sweep) -> String {
    let mut out = String::new();
    putln!(out, "### {}\n", escape(&words::headline(sweep)));
    if let Some(stopped) = words::stopped(sweep) {
        putln!(out, "> **Warning:** {}\n", escape(&stopped));
    }
    putln!(out, "{}\n", escape(&sweep.test));
    let names = sweep
        .dimensions
        .iter()
        .map(|dimension| dimension.name.as_str());
    let heads: Vec<String> = names.chain(words::COLUMNS).map(escape).collect();
    putln!(out, "| {} |", heads.join(" | "));
    putln!(out, "|{}", "---:|".repeat(heads.len()));
    for line in &sweep.lines {
        for (index, _, point) in words::along(sweep, line) {
            let values = sweep.dimensions.iter().zip(&point.values);
            let values = values.map(|(dimension, value)| {
                dimension.values.get(*value).cloned().unwrap_or_default()
            });
            let cells = words::cells(point.figures.as_ref(), words::efficiency(line, index));
            let cells: Vec<String> = values.chain(cells).map(|cell| escape(&cell)).collect();
            putln!(out, "| {} |", cells.join(" | "));
        }
    }
    out.push('\n');
    for line in &sweep.lines {
        let of = if line.name.is_empty() {
            String::new()
        } else {
            format!("{}: ", line.name)
        };
        for fit in &line.modelled.fits {
            let text = format!(
                "{of}{} {}; {}",
                fit.model,
                words::coefficients(fit),
                words::goodness(fit)
            );
            putln!(out, "- {}", escape(&text));
        }
        for (label, text) in words::notes(line) {
            putln!(out, "- {}", escape(&format!("{of}{label}: {text}")));
        }
    }
    for advice in words::advised(sweep) {
        putln!(
            out,
            "- **{}** {}",
            escape(&advice.action),
            escape(&advice.because)
        );
    }
    for (names, needs) in words::not_advised(sweep) {
        putln!(
            out,
            "- not advised: {}",
            escape(&format!("{names}: {needs}"))
        );
    }
    for line in words::excluded(sweep) {
        putln!(out, "- not used: {}", escape(&line));
    }
    for remark in &sweep.remarks {
        putln!(out, "- {}", escape(remark));
    }
    out
}
