//! One file per command.

mod audit;
pub(crate) mod compare;
mod docdb;
mod doctor;
mod explain;
mod find;
pub(crate) mod lab;
mod report;
pub(crate) mod run;
mod serve;

use anyhow::Result;

use crate::args::Command;
use crate::exit::{self, Exit};
use crate::{flags, output, script};

pub(crate) fn execute(command: Command) -> Result<Exit> {
    if !matches!(command, Command::Serve(_)) {
        // A service ends by itself when it is asked to.
        exit::on_signals()?;
    }
    match command {
        Command::Run(args) => run::execute(&args),
        Command::Script(args) => script::execute(&args),
        Command::Explain(args) => explain::execute(&args),
        Command::Find(args) => find::execute(&args),
        Command::Audit(args) => audit::execute(&args),
        Command::Compare(args) => compare::execute(&args),
        Command::Report(args) => report::execute(&args),
        Command::Doctor(args) => doctor::execute(&args),
        Command::Serve(args) => serve::execute(*args),
        Command::Lab(args) => lab::execute(&args),
        Command::Docdb(args) => docdb::execute(&args),
        Command::Completions(shell) => Ok(print(&flags::completions(shell))),
        Command::Man => Ok(print(&flags::man())),
        Command::Explained(table) => Ok(print(&table)),
    }
}

fn print(text: &str) -> Exit {
    output::data(text);
    Exit::Passed
}
