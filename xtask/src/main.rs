//! What the Makefile needs and cargo cannot: `tidy` checks the house rules, `test` runs the test programs in two lanes.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "this is a command-line tool"
)]

mod programs;
mod tidy;

use std::path::Path;
use std::process::ExitCode;

use anyhow::Context as _;

const USAGE: &str = "usage: cargo run -p xtask -- tidy | test";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let passed = match words[..] {
        ["tidy"] => run_tidy(),
        ["test"] => programs::run(),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match passed {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("xtask could not run: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// Prints every finding and says whether there was none.
fn run_tidy() -> anyhow::Result<bool> {
    let report = tidy::check(workspace_root()?)?;
    for finding in &report.findings {
        eprintln!("{finding}");
    }
    println!(
        "tidy: {} files read, {} findings, {} functions longer than {} lines (aim: few)",
        report.files_read,
        report.findings.len(),
        report.long_functions,
        tidy::FUNCTION_LINES_AIM,
    );
    Ok(report.findings.is_empty())
}

fn workspace_root() -> anyhow::Result<&'static Path> {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .context("find the folder above xtask")
}
