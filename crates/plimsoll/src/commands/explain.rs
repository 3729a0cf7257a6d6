//! `plimsoll explain RECORD`: what gave way first, from the recorded figures alone.

use anyhow::Result;
use plimsoll_core::verdict::Cause;

use crate::args::{Format, OutputArgs, RecordArgs};
use crate::exit::Exit;
use crate::{explained, output, records, verdicts};

pub(crate) fn execute(args: &RecordArgs) -> Result<Exit> {
    let mut record = records::read(&args.record)?;
    let mut verdict = verdicts::of(&record);
    explained::add(&record, &mut verdict);
    let valid = verdict.valid;
    let known = verdict
        .limit
        .as_ref()
        .is_some_and(|limit| limit.cause != Cause::Unknown);
    if args.format == Format::Json {
        let document = serde_json::json!({
            "limit": verdict.limit,
            "next_limit": verdict.next_limit,
            "resources": verdict.resources,
            "advice": verdict.advice,
        });
        output::data(&(serde_json::to_string_pretty(&document)? + "\n"));
    } else {
        record.verdict = Some(verdict);
        let output = OutputArgs {
            out: None,
            no_record: true,
            hlog: None,
            note: String::new(),
            format: args.format,
            lab: None,
            quiet: false,
        };
        crate::summary::print(
            &record,
            &output,
            Some(args.record.display().to_string()),
            None,
        );
    }
    Ok(match (valid, known) {
        (false, _) => Exit::RunInvalid,
        (true, true) => Exit::Passed,
        (true, false) => Exit::Inconclusive,
    })
}
