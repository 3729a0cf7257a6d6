//! What surrounds one test: where its record goes, what is watched, what may stop it.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::Result;
use plimsoll_observe::Watch;
use plimsoll_report::k6;

use crate::args::OutputArgs;
use crate::reuse::Reused;

pub(crate) struct Setting<'a> {
    pub(crate) output: &'a OutputArgs,
    pub(crate) watches: &'a [Watch],
    /// Where the samples of a script go, too: `json=FILE` and so on.
    pub(crate) outs: &'a [k6::Output],
    /// What a search need not measure again.
    pub(crate) reused: &'a Reused,
    /// A search may load another host without asking.
    pub(crate) may_load_remote: bool,
    pub(crate) interrupt: &'a Arc<AtomicBool>,
    /// Called when all is ready and the load begins.
    pub(crate) on_load: &'a dyn Fn() -> Result<()>,
}
