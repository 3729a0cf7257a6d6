//! `plimsoll serve NAME`: the embedded tiers.

use anyhow::{Result, bail};
use plimsoll_lab::serve;

use crate::args::Args;
use crate::exit::Exit;

pub(crate) fn execute(args: Args) -> Result<Exit> {
    let words = args.words.iter().map(|word| word.to_string_lossy());
    let name: Vec<String> = words.map(Into::into).collect();
    if name.is_empty() && !args.serve.list {
        bail!("serve needs the NAME of a service; plimsoll serve --list shows them");
    }
    serve::run(serve::Args { name, ..args.serve })?;
    Ok(Exit::Passed)
}
