//! One file per command.

mod audit;
pub(crate) mod compare;
mod docdb;
mod doctor;
mod explain;
mod find;
mod guard;
pub(crate) mod lab;
mod report;
pub(crate) mod run;
mod serve;
mod sweep;

use anyhow::Result;

use crate::args::Args;
use crate::exit::{self, Exit};
use crate::flags::Verb;
use crate::form::Form;
use crate::{flags, output, script};

pub(crate) fn execute(verb: Verb, args: Args) -> Result<Exit> {
    if !matches!(verb, Verb::Serve | Verb::Guard) {
        // A service ends by itself when it is asked to.
        exit::on_signals()?;
    }
    if args.output.no_color {
        output::be_plain();
    }
    let reads_script = matches!(verb, Verb::Run | Verb::Inspect) && args.form == Some(Form::Script);
    if let Some(table) = &args.explained
        && !reads_script
    {
        return Ok(print(table));
    }
    match verb {
        Verb::Run | Verb::Inspect if reads_script => script::execute(&args, verb),
        Verb::Run | Verb::Inspect => run::execute(&args),
        Verb::Explain => explain::execute(&args),
        Verb::Find => find::execute(&args),
        Verb::Audit => audit::execute(&args),
        Verb::Compare => compare::execute(&args),
        Verb::Sweep => sweep::execute(&args),
        Verb::Report => report::execute(&args),
        Verb::Doctor => doctor::execute(args.output.format),
        Verb::Serve => serve::execute(args),
        Verb::Lab => lab::execute(&args.lab),
        Verb::Guard => guard::execute(&args.guard),
        Verb::Docdb => docdb::execute(args.docdb),
        Verb::Completions => Ok(print(&flags::completions(&args.word()?)?)),
        Verb::Man => Ok(print(&flags::man())),
    }
}

fn print(text: &str) -> Exit {
    output::data(text);
    Exit::Passed
}
