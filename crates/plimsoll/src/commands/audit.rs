//! `plimsoll audit FILE`: the validity gates again, from written figures alone, whoever wrote them.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context as _, Result, anyhow, bail};
use plimsoll_analysis::gates;
use plimsoll_analysis::import::{self, Declared, Figures, ImportError};
use plimsoll_core::verdict::{Gate, GateState};

use crate::args::{Args, AuditArgs, Format};
use crate::exit::Exit;
use crate::{output, records};

/// A file, or every file of a folder that is a record or a result.
pub(crate) fn execute(args: &Args) -> Result<Exit> {
    let path = args.path();
    if path.is_dir() {
        return of_folder(args, &path);
    }
    if let Some(flag) = declared(&args.audit).filter(|_| records::is_record(&path)) {
        bail!("{}: {}", path.display(), not_for_records(flag));
    }
    let (gates, title) = audited(args, &path)?;
    let text = match args.output.format {
        Format::Json => serde_json::to_string_pretty(&gates)? + "\n",
        Format::Text => page(&gates, "", &title),
        Format::Markdown => page(&gates, "- ", &title),
    };
    output::data(&text);
    Ok(exit_of(gates::passed(&gates)))
}

fn of_folder(args: &Args, folder: &Path) -> Result<Exit> {
    let (mut pages, mut documents, mut valid) = (String::new(), Vec::new(), true);
    for path in records::files(folder)? {
        let is_record = records::is_record(&path);
        if !is_record && !is_result(&path)? {
            continue;
        }
        // Other tools' results in the folder may have need of them.
        if let Some(flag) = declared(&args.audit).filter(|_| is_record) {
            output::progress(&format!("{}: {}", path.display(), not_for_records(flag)));
        }
        let (gates, title) = audited(args, &path)?;
        valid &= gates::passed(&gates);
        let shown = path.display();
        let (head, bullet) = match args.output.format {
            Format::Markdown => ("\n## ", "- "),
            _ => ("\n== ", ""),
        };
        let _infallible = write!(pages, "{head}{shown}\n\n{}", page(&gates, bullet, &title));
        documents.push(serde_json::json!({ "file": shown.to_string(), "gates": gates }));
    }
    if documents.is_empty() {
        bail!(
            "{} has neither a record nor another tool's result, nor has a folder in it",
            folder.display()
        );
    }
    output::data(&match args.output.format {
        Format::Json => serde_json::to_string_pretty(&documents)? + "\n",
        Format::Text | Format::Markdown => pages,
    });
    Ok(exit_of(valid))
}

/// Whether another tool wrote it; one that is cut off or wrong is told as if it had been named. Beside results lie pages and logs,
/// and files of the same tool that are no result: those are said.
fn is_result(path: &Path) -> Result<bool> {
    let shown = path.display();
    let bytes = std::fs::read(path).with_context(|| format!("open {shown}"))?;
    match import::read(&bytes) {
        Err(ImportError::Unknown) => Ok(false),
        Err(error @ ImportError::Refused { .. }) => {
            output::progress(&format!("{shown} is left out: {error}"));
            Ok(false)
        }
        Ok(_) | Err(_) => Ok(true),
    }
}

fn audited(args: &Args, path: &Path) -> Result<(Vec<Gate>, String)> {
    match &foreign(path)? {
        Some(figures) => of_result(&args.audit, figures),
        None => of_record(path),
    }
}

/// The first flag that was given of those that say what another tool's result does not.
fn declared(args: &AuditArgs) -> Option<&'static str> {
    let given = [
        ("--baseline", args.baseline.is_some()),
        ("--declared-databases", args.declared_databases.is_some()),
        ("--declared-in-flight", args.declared_in_flight.is_some()),
        ("--declared-change", !args.declared_changes.is_empty()),
    ];
    let mut given = given.into_iter().filter(|(_, is_given)| *is_given);
    given.next().map(|(flag, _)| flag)
}

fn not_for_records(flag: &str) -> String {
    format!("{flag} is for other tools' results; a record is held against what it says itself")
}

const fn exit_of(valid: bool) -> Exit {
    if valid {
        Exit::Passed
    } else {
        Exit::RunInvalid
    }
}

fn of_record(path: &Path) -> Result<(Vec<Gate>, String)> {
    let record = records::read(path).map_err(|error| {
        if records::is_record(path) {
            return error;
        }
        anyhow!("{error:#}; {}", ImportError::Unknown)
    })?;
    let verdict = record
        .verdict
        .context("a record that was read has a verdict")?;
    let level = verdict.level;
    Ok((verdict.gates, format!("gates over level {level}")))
}

fn of_result(args: &AuditArgs, figures: &Figures) -> Result<(Vec<Gate>, String)> {
    let baseline = match &args.baseline {
        None => None,
        Some(path) => {
            let shown = path.display();
            let found = foreign(path)?;
            Some(found.with_context(|| format!("{shown} is a record, not another tool's result"))?)
        }
    };
    let declared = Declared {
        parts: args.declared_databases,
        in_flight: args.declared_in_flight.map(|count| count as f64),
        changes: args.declared_changes.clone(),
    };
    let audit = import::audit(figures, baseline.as_ref(), &declared);
    let scope = match figures.scope.as_str() {
        "" => String::new(),
        scope => format!(", {scope}"),
    };
    let title = format!(
        "gates that a result of {} allows{scope}",
        figures.tool.name()
    );
    let title = match audit.headline.as_str() {
        "" => title,
        headline => format!("{headline}\n\n{title}"),
    };
    Ok((audit.gates, title))
}

/// Another tool's result; `None` for what nobody else wrote.
pub(super) fn foreign(path: &Path) -> Result<Option<Figures>> {
    let shown = path.display();
    let bytes = std::fs::read(path).with_context(|| format!("open {shown}"))?;
    let first = bytes
        .split(|byte| *byte == b'\n')
        .next()
        .unwrap_or_default();
    if String::from_utf8_lossy(first).contains(records::RECORD_SCHEMA) {
        return Ok(None);
    }
    match import::read(&bytes) {
        Ok(figures) => Ok(Some(figures)),
        // The reader of records says what is wrong with it.
        Err(ImportError::Unknown) => Ok(None),
        Err(error) => Err(error).with_context(|| format!("read {shown}")),
    }
}

fn page(gates: &[Gate], bullet: &str, title: &str) -> String {
    let mut text = format!("{title}\n\n");
    for gate in gates {
        let (mark, word) = mark(gate.state);
        let mut line = format!(
            "{bullet}{mark} {:>2}  {:<7}  {}: {}",
            gate.id.number(),
            word,
            gate.name,
            gate.compared
        );
        if let (Some(left), Some(tolerance)) = (&gate.left, &gate.tolerance) {
            let right = gate
                .right
                .as_deref()
                .map(|right| format!(" against {right}"));
            let _infallible = write!(
                line,
                " — {left}{} (tolerance {tolerance})",
                right.unwrap_or_default()
            );
        }
        let _infallible = writeln!(text, "{line}");
        if !gate.note.is_empty() {
            let _infallible = writeln!(text, "      {}", gate.note);
        }
    }
    let failed = gates
        .iter()
        .filter(|gate| gate.state == GateState::Fail)
        .count();
    let _infallible = match failed {
        0 => writeln!(text, "\nvalid: no gate failed"),
        _ => writeln!(text, "\nno verdict: {failed} failed"),
    };
    text
}

fn mark(state: GateState) -> (char, &'static str) {
    match state {
        GateState::Pass => ('✓', "pass"),
        GateState::Warning => ('!', "warning"),
        GateState::Fail => ('✕', "fail"),
        GateState::Unknown => ('?', "unknown"),
        GateState::NotApplicable => ('–', "n/a"),
    }
}
