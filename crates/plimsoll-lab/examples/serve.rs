//! Runs `serve NAME` without the rest of the binary, for the tests of this crate.

use std::fmt::Display;
use std::process::ExitCode;
use std::str::FromStr;

use plimsoll_lab::serve::{self, Args};

#[expect(clippy::print_stderr, reason = "an example reports to its terminal")]
fn main() -> ExitCode {
    let (problem, is_usage) = match args(std::env::args().skip(2)).map(serve::run) {
        Ok(Ok(())) => return ExitCode::SUCCESS,
        Ok(Err(error)) => (error.to_string(), error.is_usage()),
        Err(problem) => (problem, true),
    };
    eprintln!("error: {problem}");
    ExitCode::from(if is_usage { 104 } else { 1 })
}

/// What stands behind `serve`, as the binary reads it from its table.
fn args(mut words: impl Iterator<Item = String>) -> Result<Args, String> {
    let mut args = Args::default();
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or(format!("{word} needs a value"));
        match &*word {
            "--list" => args.list = true,
            "--markdown" => args.markdown = true,
            "--healthy" => args.healthy = true,
            "--seed" => args.seed = read(&value()?)?,
            "--set" => args.set.push(read(&value()?)?),
            "--port" => args.port = read(&value()?)?,
            "--host" => args.host = read(&value()?)?,
            "--cores" => args.cores = Some(read(&value()?)?),
            "--upstream" => args.upstream.push(read(&value()?)?),
            "--log" => args.log = Some(value()?.into()),
            "--dir" => args.dir = Some(value()?.into()),
            "--process-name" => args.process_name = Some(value()?),
            "--parent" => args.parent = Some(read(&value()?)?),
            flag if flag.starts_with('-') => return Err(format!("there is no flag {flag}")),
            _ => args.name.push(word),
        }
    }
    Ok(args)
}

fn read<T: FromStr<Err: Display>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error| format!("{text}: {error}"))
}
