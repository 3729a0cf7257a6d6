//! Plimsoll's command line: parses intent, wires the crates together, sets the exit code.

mod args;
mod commands;
mod exit;
mod flags;
mod form;
mod from_args;
mod machine;
mod measure;
mod output;
mod page;
mod prepared;
mod reach;
mod recipe;
mod records;
mod request;
mod reuse;
mod script;
mod secrets;
mod selfcheck;
mod session;
mod side_by_side;
mod summary;
mod vary;
mod verdicts;
mod watching;

use std::ffi::OsString;
use std::process::ExitCode;

use crate::exit::Exit;
use crate::flags::Stop;

/// Everything leaves through here, with a row of `exit::Exit`; but a signal that nobody waits for: `exit::on_signals`.
fn main() -> ExitCode {
    exit::guarded(|| run(std::env::args_os().collect())).into()
}

fn run(line: Vec<OsString>) -> Exit {
    // The lab starts itself again as the guardian of its tiers, and as what becomes one of them.
    if let Some(code) = plimsoll_lab::guardian::of_words(&line) {
        return Exit::from_guardian(code);
    }
    let stop = match flags::parse(line) {
        Ok((verb, args)) => {
            return commands::execute(verb, args).unwrap_or_else(|error| {
                output::error(&error);
                exit::of_error(&error)
            });
        }
        Err(stop) => stop,
    };
    match stop {
        Stop::Text(text) => {
            output::data(&text);
            return Exit::Passed;
        }
        Stop::Nothing(text) => output::progress(text.trim_end()),
        Stop::Usage(error) => output::error(&error),
    }
    Exit::BadUsage
}
