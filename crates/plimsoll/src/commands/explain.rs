//! `plimsoll explain RECORD`: what gave way first, from the recorded figures alone.

use std::path::Path;

use anyhow::{Context as _, Result};
use plimsoll_core::record::Record;
use plimsoll_core::verdict::{Cause, Verdict};
use serde_json::{Value, json};

use crate::args::{Args, Format};
use crate::exit::Exit;
use crate::{output, records};

pub(crate) fn execute(args: &Args) -> Result<Exit> {
    let paths = records::found(&[args.path()])?;
    let (mut exit, mut documents) = (Exit::Passed, Vec::new());
    for path in &paths {
        let (mut record, verdict) = explained(path)?;
        exit = worse(exit, exit_of(&verdict));
        let shown = path.display().to_string();
        if args.output.format == Format::Json {
            documents.push((shown, document(&verdict)));
            continue;
        }
        if paths.len() > 1 {
            output::data(&format!("\n== {shown}\n"));
        }
        record.verdict = Some(verdict);
        crate::summary::print(&record, &args.output, Some(shown), None);
    }
    if args.output.format == Format::Json {
        let all = match (documents.pop(), documents.is_empty()) {
            (Some((_, only)), true) => only,
            (last, _) => {
                let named =
                    |(record, document)| json!({ "record": record, "explanation": document });
                Value::Array(documents.into_iter().chain(last).map(named).collect())
            }
        };
        output::data(&(serde_json::to_string_pretty(&all)? + "\n"));
    }
    Ok(exit)
}

fn explained(path: &Path) -> Result<(Record, Verdict)> {
    let record = records::read(path)?;
    let verdict = record
        .verdict
        .clone()
        .context("a record that was read has a verdict")?;
    Ok((record, verdict))
}

fn document(verdict: &Verdict) -> Value {
    json!({
        "limit": verdict.limit,
        "next_limit": verdict.next_limit,
        "resources": verdict.resources,
        "advice": verdict.advice,
        "script_faults": verdict.script_faults,
    })
}

fn exit_of(verdict: &Verdict) -> Exit {
    let limit = verdict.limit.as_ref();
    let known = limit.is_some_and(|limit| limit.cause != Cause::Unknown);
    match (verdict.valid, known) {
        (false, _) => Exit::RunInvalid,
        (true, true) => Exit::Passed,
        (true, false) => Exit::Inconclusive,
    }
}

/// Of several records the one that carries least.
fn worse(one: Exit, other: Exit) -> Exit {
    let all = [one, other];
    let least = [Exit::RunInvalid, Exit::Inconclusive];
    let found = least.into_iter().find(|exit| all.contains(exit));
    found.unwrap_or(Exit::Passed)
}
