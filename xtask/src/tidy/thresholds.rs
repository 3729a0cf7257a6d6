//! The report words what analysis decided: it holds no figure of a record against a number of its own.

use super::Finding;
use super::source::Source;
use super::tree::File;

const REPORT: &str = "crates/plimsoll-report/src/";
/// Files that draw or write numbers: what they hold against numbers are pixels, ticks and digits. The list may only shrink.
const DRAWING: [&str; 14] = [
    "format.rs",
    "html/bars.rs",
    "html/chart_hero.rs",
    "html/chart_hero/response.rs",
    "html/chart_outcomes.rs",
    "html/chart_pairs.rs",
    "html/chart_panels.rs",
    "html/chart_response.rs",
    "html/chart_shares.rs",
    "html/chart_spectrum.rs",
    "html/chart_variants.rs",
    "html/decided.rs",
    "k6/value.rs",
    "view/comparison.rs",
];
/// Whole numbers below this count things: the first, the only one, a pair. From here on they weigh.
const COUNTS_BELOW: u64 = 5;

const DECIDE: &str = "decide it in plimsoll-analysis (or in core, beside the figure), and give the report the answer";
const SHRINK: &str = "take the file off the list in xtask/src/tidy/thresholds.rs";

pub(crate) fn check(file: &File, source: &Source) -> Vec<Finding> {
    let Some(name) = file.path.strip_prefix(REPORT) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for (index, line) in source.lines.iter().enumerate() {
        if source.in_test[index] {
            continue;
        }
        if let Some(number) = threshold(line) {
            let problem = format!("the report has a threshold of its own: {number}");
            found.push(Finding::at_line(&file.path, index, problem, DECIDE));
        }
    }
    match (DRAWING.contains(&name), found.is_empty()) {
        (false, _) => found,
        (true, false) => Vec::new(),
        (true, true) => {
            let problem = "may have thresholds and has none";
            vec![Finding::at(&file.path, problem, SHRINK)]
        }
    }
}

/// A constant that is no whole number, or a number that something is compared with.
fn threshold(line: &str) -> Option<&str> {
    let declared = line.split_once("const ").map(|(_, rest)| rest);
    if let Some((name, _)) = declared.and_then(|rest| rest.split_once(": f64")) {
        return Some(name);
    }
    for sign in [" < ", " > ", " <= ", " >= "] {
        for (at, _) in line.match_indices(sign) {
            let before = line.get(..at).unwrap_or_default();
            let after = line.get(at + sign.len()..).unwrap_or_default();
            let sides = [
                before.rsplit(is_border).next(),
                after.split(is_border).next(),
            ];
            if let Some(number) = sides.into_iter().flatten().find(|text| weighs(text)) {
                return Some(number);
            }
        }
    }
    None
}

fn is_border(letter: char) -> bool {
    !(letter.is_alphanumeric() || matches!(letter, '.' | '_'))
}

/// A literal that stands for a size: zero is none.
fn weighs(text: &str) -> bool {
    if !text.starts_with(|c: char| c.is_ascii_digit()) {
        return false;
    }
    let digits = text.replace('_', "");
    match digits.parse::<u64>() {
        Ok(whole) => whole >= COUNTS_BELOW,
        Err(_) => digits.parse::<f64>().is_ok_and(|size| size != 0.0),
    }
}
