//! `plimsoll report RECORD…`: one self-contained HTML file.

mod experiment;

use anyhow::{Context as _, Result};
use plimsoll_core::record::Record;
use plimsoll_report::variants;

use crate::args::ReportArgs;
use crate::exit::Exit;
use crate::{output, records, verdicts};

pub(crate) fn execute(args: &ReportArgs) -> Result<Exit> {
    let mut read: Vec<Record> = args
        .records
        .iter()
        .map(|path| records::read(path))
        .collect::<Result<_>>()?;
    for record in &mut read {
        if record.verdict.is_none() {
            record.verdict = Some(verdicts::of(record));
        }
    }
    let html = match experiment::of(&args.records, &read) {
        Some(experiment) => variants::html(&experiment, env!("CARGO_PKG_VERSION")),
        None => plimsoll_report::html::render(&read),
    };
    std::fs::write(&args.out, html)
        .with_context(|| format!("write report {}", args.out.display()))?;
    output::progress(&format!("report  {}", args.out.display()));
    Ok(Exit::Passed)
}
