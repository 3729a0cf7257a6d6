//! What can be wrong with options, each with its place and its fix, and what is only warned about.

use std::fmt;

use thiserror::Error;

/// Options that no test can be made from; the exit code is 104.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum OptionError {
    #[error("{place}: {found} is not {expected}")]
    Value {
        place: String,
        found: String,
        expected: String,
    },
    #[error("{place}: unknown field `{field}`{hint}")]
    UnknownField {
        place: String,
        field: String,
        hint: String,
    },
    #[error("{place}: unknown option `{option}`{hint}")]
    UnknownOption {
        place: String,
        option: String,
        hint: String,
    },
    #[error(
        "{place}: `{field}` belongs to a scenario and would be ignored here; \
         write scenarios: {{ main: {{ {field}: … }} }}, or leave --strict out to ignore it"
    )]
    ScenarioField { place: String, field: String },
    #[error("{place}: `{field}` is missing; {fix}")]
    Missing {
        place: String,
        field: String,
        fix: String,
    },
    #[error("{place}: {problem}; {fix}")]
    Rule {
        place: String,
        problem: String,
        fix: String,
    },
}

/// Something that is probably not meant, but does not stop the test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Warning {
    /// An option that nobody knows, with the nearest known name.
    UnknownOption {
        place: String,
        option: String,
        hint: String,
    },
    /// A scenario's field at the top level.
    ScenarioField { place: String, field: String },
    /// Known, and without any effect here.
    NoEffect {
        place: String,
        option: String,
        why: &'static str,
    },
    /// A load that asks for nothing.
    Empty { place: String },
    /// What else said the load was replaced.
    Replaced {
        by: String,
        what: String,
        origin: &'static str,
    },
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownOption {
                place,
                option,
                hint,
            } => write!(f, "{place}: unknown option `{option}` is ignored{hint}"),
            Self::ScenarioField { place, field } => write!(
                f,
                "{place}: `{field}` is ignored here, as k6 does; it belongs to a scenario: scenarios: {{ main: {{ {field}: … }} }}"
            ),
            Self::NoEffect { place, option, why } => {
                write!(f, "{place}: `{option}` has no effect: {why}")
            }
            Self::Empty { place } => {
                write!(f, "{place} is empty: one VU makes one iteration")
            }
            Self::Replaced { by, what, origin } => {
                write!(f, "{by} replaces {what} of the {origin}")
            }
        }
    }
}
