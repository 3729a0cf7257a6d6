//! Stages that make one document of one document: these a pipeline update may use too.

use bson::raw::{RawDocument, RawDocumentBuf};
use bson::{Bson, Document};

use super::documents::{decode, encode};
use super::projection::Projection;
use crate::error::{Code, Result};
use crate::expression::{Expression, Variables};
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
            "$project" => Self::Project(Projection::project(argument, variables)?),
            "$addFields" | "$set" => {
                Self::Project(Projection::add_fields(name, argument, variables)?)
            }
            "$unset" => Self::Project(Projection::unset(argument)?),
            "$replaceWith" => Self::ReplaceRoot(Expression::of_bson(argument, variables)?),
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
            Self::Project(projection) => {
                let owned = decode(document)?;
                encode(&projection.apply(owned, document, variables)?)
            }
            Self::ReplaceRoot(expression) => encode(&replaced(
                expression.evaluate(document, variables)?,
                document,
            )?),
        }
    }
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
        Some(root) => Expression::of_bson(root, variables),
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
