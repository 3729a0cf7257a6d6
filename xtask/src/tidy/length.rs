//! Functions fit on a page and files in a head.

use super::Finding;
use super::source::Source;
use super::tree::File;

/// Most functions stay below this; how many do not is printed, not refused.
pub(crate) const FUNCTION_LINES_AIM: usize = 40;
/// In code that people enjoy reading, one to four functions in a hundred are longer than this.
const FUNCTION_LINES_MAX: usize = 70;
const FILE_LINES_MAX: usize = 500;
const TEST_FILE_LINES_MAX: usize = 800;

const SPLIT_FUNCTION: &str = "split it where its comments already do, or move a loop's body out";
const SPLIT_FILE: &str = "move one noun with its functions into a file of its own beside this one";

pub(crate) fn check(file: &File, source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    for function in source.functions() {
        let lines = source.code_lines(function.first_line, function.last_line);
        if lines > FUNCTION_LINES_MAX {
            let problem = format!(
                "function {} has {lines} lines of code; the limit is {FUNCTION_LINES_MAX}",
                function.name
            );
            findings.push(Finding::at_line(
                &file.path,
                function.first_line,
                problem,
                SPLIT_FUNCTION,
            ));
        }
    }
    let (lines, limit) = if file.is_test() {
        (source.lines.len(), TEST_FILE_LINES_MAX)
    } else {
        (source.lines_outside_tests(), FILE_LINES_MAX)
    };
    if lines > limit {
        let problem = format!("{lines} lines; the limit is {limit}");
        findings.push(Finding::at(&file.path, problem, SPLIT_FILE));
    }
    findings
}

pub(crate) fn functions_over_aim(source: &Source) -> usize {
    let lines = source.functions().into_iter();
    lines
        .filter(|function| {
            source.code_lines(function.first_line, function.last_line) > FUNCTION_LINES_AIM
        })
        .count()
}
