//! `plimsoll explain RECORD`: what gave way first, from the recorded figures alone.

use anyhow::Result;
use plimsoll_core::verdict::Cause;

use crate::args::{Args, Format};
use crate::exit::Exit;
use crate::{output, records, verdicts};

pub(crate) fn execute(args: &Args) -> Result<Exit> {
    let mut record = records::read(&args.path())?;
    let mut verdict = verdicts::of(&record);
    verdicts::add_explanation(&record, &mut verdict);
    let valid = verdict.valid;
    let known = verdict
        .limit
        .as_ref()
        .is_some_and(|limit| limit.cause != Cause::Unknown);
    if args.output.format == Format::Json {
        let document = serde_json::json!({
            "limit": verdict.limit,
            "next_limit": verdict.next_limit,
            "resources": verdict.resources,
            "advice": verdict.advice,
            "script_faults": verdict.script_faults,
        });
        output::data(&(serde_json::to_string_pretty(&document)? + "\n"));
    } else {
        record.verdict = Some(verdict);
        let shown = args.path().display().to_string();
        crate::summary::print(&record, &args.output, Some(shown), None);
    }
    Ok(match (valid, known) {
        (false, _) => Exit::RunInvalid,
        (true, true) => Exit::Passed,
        (true, false) => Exit::Inconclusive,
    })
}
