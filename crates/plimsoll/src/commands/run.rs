//! `plimsoll run URL`: preflight, one level, drain, verdict.

use std::sync::atomic::Ordering;

use anyhow::Result;
use plimsoll_core::verdict::{Judgement, Verdict};

use crate::args::Args;
use crate::exit::Exit;
use crate::measure::{Setting, measure};
use crate::reuse::Reused;
use crate::session::interrupt_flag;
use crate::{from_args, reach};

pub(crate) fn execute(args: &Args) -> Result<Exit> {
    let recipe = from_args::run(args)?;
    let mut prepared = recipe.prepare(args.seed())?;
    reach::check(&mut prepared, true, !args.request.no_preflight)?;
    let interrupt = interrupt_flag()?;
    let setting = Setting {
        output: &args.output,
        watches: &args.watch,
        outs: &[],
        reused: &Reused::default(),
        may_load_remote: true,
        interrupt: &interrupt,
    };
    let measured = measure(&prepared, &setting)?;
    let verdict = measured.verdict();
    let exit = if interrupt.load(Ordering::Relaxed) {
        Exit::Interrupted
    } else {
        exit_of(&verdict)
    };
    measured.session.conclude(verdict, &args.output)?;
    Ok(exit)
}

fn exit_of(verdict: &Verdict) -> Exit {
    match verdict.verdict {
        Judgement::Pass | Judgement::None => Exit::Passed,
        Judgement::Fail => Exit::ObjectiveMissed,
        Judgement::Inconclusive => Exit::Inconclusive,
        Judgement::Invalid => Exit::RunInvalid,
    }
}
