//! `plimsoll serve NAME`: the embedded tiers.

use anyhow::Result;
use plimsoll_lab::serve::{self, Args};

use crate::exit::Exit;

pub(crate) fn execute(args: Args) -> Result<Exit> {
    serve::run(args)?;
    Ok(Exit::Passed)
}
