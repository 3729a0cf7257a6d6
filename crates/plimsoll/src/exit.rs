//! The one table of exit codes.

use std::process::ExitCode;

use plimsoll_net::TargetError;
use thiserror::Error;

/// How a command ended, for scripts. Codes from 97 on are k6's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    Passed,
    /// A gate failed: the numbers carry no verdict.
    RunInvalid,
    /// A variant is worse than the one it was compared with.
    Worse,
    Inconclusive,
    NotConverged,
    Unreachable,
    ObjectiveMissed,
    BadUsage,
    Interrupted,
    InternalPanic,
}

impl Exit {
    pub(crate) const TABLE: [(Self, u8, &'static str); 10] = [
        (Self::Passed, 0, "passed, or nothing was asked"),
        (
            Self::RunInvalid,
            3,
            "run invalid: a gate failed, so there is no verdict",
        ),
        (Self::Worse, 4, "worse than what it was compared with"),
        (
            Self::Inconclusive,
            5,
            "inconclusive: too little was seen to say pass or fail",
        ),
        (Self::NotConverged, 6, "the search did not converge"),
        (Self::Unreachable, 7, "target unreachable"),
        (Self::ObjectiveMissed, 99, "objective missed"),
        (
            Self::BadUsage,
            104,
            "bad usage, plan, option, file or output",
        ),
        (
            Self::Interrupted,
            105,
            "interrupted; the record up to then is valid",
        ),
        (Self::InternalPanic, 109, "internal fault of plimsoll"),
    ];

    pub(crate) fn code(self) -> u8 {
        let row = Self::TABLE.iter().find(|(exit, _, _)| *exit == self);
        row.map_or(109, |(_, code, _)| *code)
    }

    /// The table as shown at the end of `--help`.
    pub(crate) fn help() -> String {
        let rows = Self::TABLE
            .iter()
            .map(|(_, code, text)| format!("  {code:>3}  {text}\n"));
        format!("Exit codes:\n{}", rows.collect::<String>())
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// An error that knows its exit code; everything else that fails is bad usage or environment.
#[derive(Debug, Error)]
#[error("{message}")]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    pub(crate) message: String,
}

impl Failure {
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self {
            exit,
            message: message.into(),
        }
    }
}

pub(crate) fn of_error(error: &anyhow::Error) -> Exit {
    if let Some(failure) = error.downcast_ref::<Failure>() {
        return failure.exit;
    }
    let unresolved = |cause: &(dyn std::error::Error + 'static)| {
        matches!(cause.downcast_ref(), Some(TargetError::Dns { .. }))
    };
    if error.chain().any(unresolved) {
        Exit::Unreachable
    } else {
        Exit::BadUsage
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique_and_never_rusts_own() {
        let mut codes: Vec<u8> = Exit::TABLE.iter().map(|row| row.1).collect();
        codes.dedup();
        assert_eq!(codes.len(), Exit::TABLE.len());
        assert!(!codes.contains(&101));
    }

    #[test]
    fn the_page_says_what_the_table_says() {
        let page = include_str!("../../../docs/exit-codes.md");
        let rows = page.lines().filter(|line| line.starts_with("| "));
        let said: Vec<Vec<&str>> = rows
            .map(|row| row.split('|').map(str::trim).skip(1).take(2).collect())
            .skip(1)
            .collect();
        let meant = Exit::TABLE.map(|(_, code, text)| vec![code.to_string(), text.to_owned()]);
        assert_eq!(said, meant, "docs/exit-codes.md and Exit::TABLE differ");
    }
}
