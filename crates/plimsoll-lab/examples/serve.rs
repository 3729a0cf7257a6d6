//! Runs `serve NAME` without the rest of the binary, for the tests of this crate.

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use plimsoll_lab::serve;

#[derive(Debug, Parser)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Serve(serve::Args),
}

#[expect(clippy::print_stderr, reason = "an example reports to its terminal")]
fn main() -> ExitCode {
    let Command::Serve(args) = Cli::parse().command;
    match serve::run(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(if error.is_usage() { 104 } else { 1 })
        }
    }
}
