//! Stages that make one document of one document: these a pipeline update may use too.

use bson::raw::{RawDocument, RawDocumentBuf};
use bson::{Bson, Document};

use super::documents::{check, encode};
use crate::error::{Code, CommandError, Result};
use crate::expression::{Expression, Variables};
use crate::query::Projection;
use crate::value::decode;
use crate::value::display;

/// `$project`, `$addFields` or `$set`, `$unset`, `$replaceRoot` or `$replaceWith`.
#[derive(Debug, Clone)]
pub(crate) enum Transform {
    Project(Projection),
    ReplaceRoot(Expression),
}

impl Transform {
    /// `None` if `name` is another stage.
    pub(crate) fn parse(
        name: &str,
        argument: &Bson,
        variables: &Variables,
    ) -> Result<Option<Self>> {
        Ok(Some(match name {
            "$project" => Self::Project(project(argument, variables)?),
            "$addFields" | "$set" => Self::Project(add_fields(name, argument, variables)?),
            "$unset" => Self::Project(unset(argument)?),
            "$replaceWith" => Self::ReplaceRoot(Expression::parse_bson(argument, variables)?),
            "$replaceRoot" => Self::ReplaceRoot(new_root(argument, variables)?),
            _ => return Ok(None),
        }))
    }

    pub(crate) fn apply(
        &self,
        document: &RawDocument,
        variables: &Variables,
    ) -> Result<RawDocumentBuf> {
        match self {
            Self::Project(projection) => check(projection.apply_stage(document, variables)?),
            Self::ReplaceRoot(expression) => encode(&replaced(
                expression.evaluate(document, variables)?,
                document,
            )?),
        }
    }
}

fn project(argument: &Bson, variables: &Variables) -> Result<Projection> {
    let Bson::Document(fields) = argument else {
        return Err(Code::Location(15969).error("$project specification must be an object"));
    };
    if fields.is_empty() {
        return Err(Code::Location(51272)
            .error("Invalid $project :: caused by :: projection specification must have at least one field"));
    }
    Projection::project(&encode(fields)?, variables).map_err(|error| within("$project", error))
}

fn add_fields(stage: &str, argument: &Bson, variables: &Variables) -> Result<Projection> {
    let Bson::Document(fields) = argument else {
        return Err(Code::Location(40272).error(format!(
            "{stage} specification stage must be an object, got {}",
            display::type_name(argument)
        )));
    };
    Projection::add_fields(&encode(fields)?, variables).map_err(|error| within(stage, error))
}

fn within(stage: &str, mut error: CommandError) -> CommandError {
    error.message = format!("Invalid {stage} :: caused by :: {}", error.message);
    error
}

/// A path or several.
fn unset(argument: &Bson) -> Result<Projection> {
    let refusal = match argument {
        Bson::String(path) => return Projection::unset(&[path]),
        Bson::Array(paths) if !paths.is_empty() => {
            if let Some(paths) = paths.iter().map(Bson::as_str).collect::<Option<Vec<_>>>() {
                return Projection::unset(&paths);
            }
            Code::Location(31120).error(
                "$unset specification must be a string or an array containing only string values",
            )
        }
        Bson::Array(_) => Code::Location(31119)
            .error("$unset specification must be a string or an array with at least one field"),
        _ => Code::Location(31002).error("$unset specification must be a string or an array"),
    };
    Err(refusal)
}

fn new_root(argument: &Bson, variables: &Variables) -> Result<Expression> {
    let Bson::Document(options) = argument else {
        return Err(Code::Location(40229).error(format!(
            "expected an object as specification for $replaceRoot stage, got {}",
            display::type_name(argument)
        )));
    };
    if let Some(other) = options.keys().find(|key| *key != "newRoot") {
        return Err(Code::Location(40415).error(format!(
            "BSON field '$replaceRoot.{other}' is an unknown field."
        )));
    }
    match options.get("newRoot") {
        Some(root) => Expression::parse_bson(root, variables),
        None => Err(Code::Location(40414)
            .error("BSON field '$replaceRoot.newRoot' is missing but a required field")),
    }
}

fn replaced(value: Option<Bson>, document: &RawDocument) -> Result<Document> {
    match value {
        Some(Bson::Document(root)) => Ok(root),
        other => {
            let kind = other.as_ref().map_or("missing", display::type_name);
            let text = other.as_ref().map_or("MISSING".to_owned(), display::value);
            Err(Code::Location(40228).error(format!(
                "'newRoot' expression must evaluate to an object, but resulting value was: {text}. Type of resulting value: '{kind}'. Input document: {}",
                display::value(&Bson::Document(decode(document)?))
            )))
        }
    }
}
