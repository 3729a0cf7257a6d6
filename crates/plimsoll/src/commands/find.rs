//! `plimsoll find URL --slo …` and `plimsoll find SCRIPT --slo …`: preflight, search, drain, verdict.

use std::sync::atomic::Ordering;

use anyhow::{Context as _, Result};
use plimsoll_core::record::Record;
use plimsoll_core::verdict::{Judgement, Verdict};

use crate::args::Args;
use crate::exit::Exit;
use crate::measure::{Setting, measure};
use crate::reach::{self, Leave};
use crate::reuse::{self, Reused};
use crate::session::interrupt_flag;
use crate::{from_args, records};

pub(crate) fn execute(args: &Args) -> Result<Exit> {
    let mut prepared = from_args::find(args)?.prepare(args.seed())?;
    let reused = reused(args)?;
    let leave = Leave::of(args);
    reach::check(&mut prepared, leave)?;
    let interrupt = interrupt_flag()?;
    let setting = Setting {
        output: &args.output,
        watches: &args.watch,
        outs: &[],
        reused: &reused,
        may_load_remote: args.yes,
        interrupt: &interrupt,
        on_load: &|| Ok(()),
    };
    let measured = measure(&prepared, &setting)?;
    let verdict = measured.verdict();
    let exit = if interrupt.load(Ordering::Relaxed) {
        Exit::Interrupted
    } else {
        exit_of(&verdict, &measured.session.record)
    };
    measured.session.conclude(verdict, &args.output);
    Ok(exit)
}

fn reused(args: &Args) -> Result<Reused> {
    match args.reuse.as_deref() {
        None => Ok(Reused::default()),
        Some(path) => reuse::of_record(&records::read(path)?)
            .with_context(|| format!("--reuse {}", path.display())),
    }
}

fn exit_of(verdict: &Verdict, record: &Record) -> Exit {
    let answered = record
        .windows
        .iter()
        .any(|window| window.total().answers() > 0);
    match verdict.verdict {
        _ if !answered => Exit::Unreachable,
        Judgement::Pass | Judgement::None => Exit::Passed,
        Judgement::Fail => Exit::ObjectiveMissed,
        Judgement::Inconclusive => Exit::NotConverged,
        Judgement::Invalid => Exit::RunInvalid,
    }
}
