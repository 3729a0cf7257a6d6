//! Plimsoll's command line: parses intent, wires the crates together, sets the exit code.

mod against_bases;
mod args;
mod commands;
mod config;
mod exit;
mod explained;
mod machine;
mod output;
mod page;
mod plan;
mod reach;
mod records;
mod reuse;
mod script;
mod selfcheck;
mod session;
mod verdicts;
mod watching;

use std::process::ExitCode;

use clap::error::ErrorKind;

use crate::exit::Exit;

fn main() -> ExitCode {
    let words: Vec<_> = std::env::args_os().collect();
    // The lab starts itself again as the guardian of its tiers, and as what becomes one of them.
    if let Some(code) = plimsoll_lab::guardian::of_words(&words) {
        return ExitCode::from(code);
    }
    let outcome = std::panic::catch_unwind(|| {
        if script::is_for_scripts(&words) {
            script::run(&words)
        } else {
            run().into()
        }
    });
    // The panic hook has printed what happened and where.
    outcome.unwrap_or(Exit::InternalPanic.into())
}

fn run() -> Exit {
    let command = match config::parse(std::env::args_os()) {
        Ok(config::Parsed::Command(command)) => command,
        Ok(config::Parsed::Explained(table)) => {
            output::data(&table);
            return Exit::Passed;
        }
        Err(error) => {
            // A closed pipe while printing help is nobody's failure.
            let _closed_pipe = error.print();
            let asked = matches!(
                error.kind(),
                ErrorKind::DisplayHelp | ErrorKind::DisplayVersion
            );
            return if asked { Exit::Passed } else { Exit::BadUsage };
        }
    };
    match commands::execute(*command) {
        Ok(exit) => exit,
        Err(error) => {
            output::error(&error);
            exit::of_error(&error)
        }
    }
}
