//! Why a script cannot run, with the place and the fix.

use std::fmt;

use plimsoll_core::ending::Cause;
use thiserror::Error;

/// Where in which file; lines and columns count from 1, and 0 means unknown.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Position {
    pub file: Box<str>,
    pub line: u32,
    pub(crate) column: u32,
}

impl fmt::Display for Position {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.file)?;
        if self.line > 0 {
            write!(out, ":{}", self.line)?;
        }
        if self.column > 0 {
            write!(out, ":{}", self.column)?;
        }
        Ok(())
    }
}

/// A script that cannot be loaded or started.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ScriptError {
    #[error("{path}: cannot read the script: {why}")]
    NotFound { path: Box<str>, why: Box<str> },
    #[error("{place}: {message}")]
    Syntax { place: Position, message: Box<str> },
    /// An import that leads nowhere; `message` ends with the fix.
    #[error("{place}: {message}")]
    Import { place: Position, message: Box<str> },
    /// The init code threw.
    #[error("{place}: {message}")]
    Exception {
        place: Position,
        message: Box<str>,
        stack: Box<str>,
    },
    #[error("{file} exports no function {name:?} (it exports: {known}); add `export {fix}`")]
    MissingFunction {
        file: Box<str>,
        name: Box<str>,
        known: Box<str>,
        fix: Box<str>,
    },
    /// `exec.test.abort` in the init code.
    #[error("the script aborted the test in its init code: {0}")]
    Aborted(Box<str>),
    /// The init code uses what is not there yet.
    #[error("{0}")]
    Missing(Box<str>),
    /// The init code ran into the budget, the stop flag or the memory limit.
    #[error("{0}")]
    Limit(Box<str>),
    /// The JavaScript engine could not be set up.
    #[error("cannot set up the JavaScript engine: {0}")]
    Engine(Box<str>),
}

impl ScriptError {
    /// What it means for the test, which decides the exit code.
    pub const fn cause(&self) -> Cause {
        match self {
            Self::NotFound { .. } => Cause::Missing,
            Self::MissingFunction { .. } => Cause::InvalidOptions,
            Self::Aborted(_) => Cause::Aborted,
            Self::Missing(_) => Cause::Unsupported,
            _ => Cause::InitException,
        }
    }
}
