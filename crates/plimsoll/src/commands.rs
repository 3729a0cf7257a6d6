//! One file per command.

mod run;

use anyhow::Result;

use crate::args::Command;
use crate::exit::Exit;

pub(crate) fn execute(command: Command) -> Result<Exit> {
    match command {
        Command::Run(args) => run::execute(&args),
    }
}
