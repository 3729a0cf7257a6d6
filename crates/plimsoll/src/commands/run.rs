//! `plimsoll run URL`: preflight, one level, drain, verdict.

use std::sync::atomic::Ordering;

use anyhow::Result;
use plimsoll_core::verdict::{Judgement, Verdict};

use crate::args::Args;
use crate::exit::Exit;
use crate::from_args;
use crate::measure::{Setting, measure};
use crate::output;
use crate::reach::{self, Leave};
use crate::reuse::Reused;
use crate::session::interrupt_flag;

pub(crate) fn execute(args: &Args) -> Result<Exit> {
    let recipe = from_args::run(args)?;
    let mut prepared = recipe.prepare(args.seed())?;
    let leave = Leave {
        may_load_remote: true,
        ..Leave::of(args)
    };
    for path in [&prepared.csv, &args.output.hlog].into_iter().flatten() {
        output::writable(path)?;
    }
    reach::check(&mut prepared, leave)?;
    let interrupt = interrupt_flag()?;
    let setting = Setting {
        output: &args.output,
        watches: &args.watch,
        outs: &[],
        reused: &Reused::default(),
        may_load_remote: true,
        interrupt: &interrupt,
        on_load: &|| Ok(()),
    };
    let measured = measure(&prepared, &setting)?;
    let verdict = measured.verdict();
    let exit = if interrupt.load(Ordering::Relaxed) {
        Exit::Interrupted
    } else {
        exit_of(&verdict)
    };
    measured.session.conclude(verdict, &args.output);
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
