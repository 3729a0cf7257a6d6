//! The arguments of stages that take an object of options.

use bson::{Bson, Document};

use crate::error::{Code, Result};
use crate::expression::field_path;
use crate::value::Number;
use crate::value::display;

/// A stage's options, known to be of expected names.
pub(super) struct StageOptions<'a> {
    stage: &'static str,
    document: &'a Document,
}

impl<'a> StageOptions<'a> {
    pub(super) fn parse(stage: &'static str, argument: &'a Bson, names: &[&str]) -> Result<Self> {
        let Bson::Document(document) = argument else {
            return Err(Code::FailedToParse.error(format!(
                "the {stage} stage specification must be an object, but found {}",
                display::type_name(argument)
            )));
        };
        match document.keys().find(|key| !names.contains(&key.as_str())) {
            Some(other) => {
                Err(Code::FailedToParse.error(format!("unknown argument to {stage}: {other}")))
            }
            None => Ok(Self { stage, document }),
        }
    }

    pub(super) fn get(&self, name: &str) -> Option<&'a Bson> {
        self.document.get(name)
    }

    pub(super) fn text(&self, name: &str) -> Result<Option<String>> {
        match self.document.get(name) {
            None => Ok(None),
            Some(Bson::String(text)) => Ok(Some(text.clone())),
            Some(other) => Err(Code::FailedToParse.error(format!(
                "{} argument '{}' must be a string, found {}",
                self.stage,
                display::element(name, other),
                display::type_name(other)
            ))),
        }
    }
}

/// A whole number that is not negative.
pub(super) fn count_argument(stage: &str, argument: &Bson, code: Code) -> Result<u64> {
    let refuse = |expected: &str| {
        code.error(format!(
            "invalid argument to {stage} stage: Expected {expected} in: {}",
            display::element(stage, argument)
        ))
    };
    let number = Number::from_bson(argument).ok_or_else(|| refuse("a number"))?;
    let whole = number.to_i64_exact().ok_or_else(|| refuse("an integer"))?;
    u64::try_from(whole).map_err(|_| refuse("a non-negative number"))
}

/// The stages of a pipeline within a stage.
pub(super) fn documents(stages: &[Bson]) -> Result<Vec<Document>> {
    stages
        .iter()
        .map(|stage| match stage {
            Bson::Document(stage) => Ok(stage.clone()),
            _ => {
                Err(Code::TypeMismatch
                    .error("Each element of the 'pipeline' array must be an object"))
            }
        })
        .collect()
}

/// A path that a stage takes with its `$`, as `$unwind` does; `code` where it has none.
pub(super) fn dollar_path(text: &str, code: Code, message: String) -> Result<Vec<String>> {
    match text.strip_prefix('$') {
        Some(path) => field_path(path),
        None => Err(code.error(message)),
    }
}
