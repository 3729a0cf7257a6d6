//! `$lookup`: what another collection has for each document, by equal fields or by a pipeline.

use bson::raw::RawDocumentBuf;
use bson::{Bson, Document};

use super::expression::{Expression, Variables, at_path, field_path};
use super::options::Options;
use super::stage::documents;
use super::unwind::set;
use super::{Foreign, MEMORY_BYTES_MAX, Pipeline, decode, encode};
use crate::error::{Code, CommandError};
use crate::update::display;

#[derive(Debug, Clone)]
pub(super) struct Lookup {
    from: String,
    into: Vec<String>,
    /// The local path and the foreign one.
    equal: Option<(Vec<String>, String)>,
    /// Variables of the pipeline, and the pipeline.
    pipeline: Option<(Vec<(String, Expression)>, Pipeline)>,
}

impl Lookup {
    pub(super) fn parse(
        argument: &Bson,
        variables: &Variables,
        depth: usize,
    ) -> Result<Self, CommandError> {
        let names = [
            "from",
            "as",
            "localField",
            "foreignField",
            "let",
            "pipeline",
        ];
        let options = Options::of("$lookup", argument, &names)?;
        let required = |name: &str| {
            options.text(name)?.ok_or_else(|| {
                Code::FailedToParse.error(format!("must specify '{name}' field for a $lookup"))
            })
        };
        let (from, into) = (required("from")?, required("as")?);
        let equal = match (options.text("localField")?, options.text("foreignField")?) {
            (Some(local), Some(foreign)) => {
                field_path(&foreign)?;
                Some((field_path(&local)?, foreign))
            }
            (None, None) => None,
            _ => {
                return Err(Code::FailedToParse.error(
                    "$lookup requires both or neither of 'localField' and 'foreignField' to be specified",
                ));
            }
        };
        let pipeline = match options.get("pipeline") {
            None => None,
            Some(Bson::Array(stages)) => {
                let bound = bindings(options.get("let"), variables)?;
                let mut inner = variables.clone();
                for (name, _) in &bound {
                    inner.set(name.clone(), Bson::Null);
                }
                let stages = documents(stages)?;
                Some((bound, Pipeline::of_documents(&stages, &inner, depth + 1)?))
            }
            Some(_) => {
                return Err(
                    Code::TypeMismatch.error("'pipeline' option must be specified as an array")
                );
            }
        };
        if equal.is_none() && pipeline.is_none() {
            return Err(Code::FailedToParse.error(
                "$lookup requires either 'pipeline' or both 'localField' and 'foreignField' to be specified",
            ));
        }
        Ok(Self {
            from,
            into: field_path(&into)?,
            equal,
            pipeline,
        })
    }

    pub(super) fn collection(&self) -> &str {
        &self.from
    }

    pub(super) fn pipeline(&self) -> Option<&Pipeline> {
        self.pipeline.as_ref().map(|(_, pipeline)| pipeline)
    }

    /// `document` with the matches in the field `as`.
    pub(super) fn join(
        &self,
        document: &RawDocumentBuf,
        variables: &Variables,
        foreign: &mut dyn Foreign,
    ) -> Result<RawDocumentBuf, CommandError> {
        let mut owned = decode(document)?;
        let mut found = match &self.equal {
            Some((local, field)) => {
                foreign.find(&self.from, field, &local_values(&owned, local))?
            }
            None => foreign.all(&self.from)?,
        };
        if let Some((bound, pipeline)) = &self.pipeline {
            let mut inner = variables.clone();
            for (name, expression) in bound {
                let value = expression.evaluate(document, variables)?;
                inner.set(name.clone(), value.unwrap_or(Bson::Null));
            }
            found = run(pipeline, inner, found, foreign)?;
        }
        let mut matches = Vec::with_capacity(found.len());
        for one in found {
            matches.push(Bson::Document(decode(&one)?));
        }
        set(&mut owned, &self.into, Bson::Array(matches));
        encode(&owned)
    }
}

fn bindings(
    argument: Option<&Bson>,
    variables: &Variables,
) -> Result<Vec<(String, Expression)>, CommandError> {
    let document = match argument {
        None => return Ok(Vec::new()),
        Some(Bson::Document(document)) => document,
        Some(other) => {
            return Err(Code::FailedToParse.error(format!(
                "$lookup argument 'let: {}' must be an object, is type {}",
                display::value(other),
                display::type_name(other)
            )));
        }
    };
    document
        .iter()
        .map(|(name, value)| Ok((name.clone(), Expression::of_bson(value, variables)?)))
        .collect()
}

/// What a local field is matched by: an array by its elements, a missing field as null.
fn local_values(document: &Document, path: &[String]) -> Vec<Bson> {
    match at_path(&Bson::Document(document.clone()), path) {
        None => vec![Bson::Null],
        Some(Bson::Array(elements)) => elements,
        Some(value) => vec![value],
    }
}

/// Runs a pipeline over documents that are all there.
pub(super) fn run(
    pipeline: &Pipeline,
    variables: Variables,
    input: Vec<RawDocumentBuf>,
    foreign: &mut dyn Foreign,
) -> Result<Vec<RawDocumentBuf>, CommandError> {
    let mut execution = pipeline.clone().execute(variables);
    for document in input {
        execution.push(document);
    }
    execution.end_input();
    let mut results = Vec::new();
    let mut bytes = 0;
    while let super::Progress::Document(document) = execution.next(foreign)? {
        bytes += document.as_bytes().len();
        if bytes > MEMORY_BYTES_MAX {
            return Err(Code::QueryExceededMemoryLimitNoDiskUseAllowed.error(format!(
                "the results of a sub-pipeline exceed the memory limit of {MEMORY_BYTES_MAX} bytes"
            )));
        }
        results.push(document);
    }
    Ok(results)
}
