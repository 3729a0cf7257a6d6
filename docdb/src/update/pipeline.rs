//! Updates that are pipelines: each document goes through the stages and keeps its `_id`.

use bson::raw::{RawArray, RawBsonRef, RawDocument, RawDocumentBuf};
use bson::{Bson, Document};

use super::{id_of, limits, replace};
use crate::aggregate::{Transform, check_length};
use crate::error::{Code, Result};
use crate::expression::Variables;
use crate::value::decode;

/// The stages in order, and the variables that they were read with.
#[derive(Debug)]
pub(super) struct Pipeline {
    stages: Vec<Transform>,
    variables: Variables,
}

impl Pipeline {
    pub(super) fn parse(stages: &RawArray, variables: &Variables) -> Result<Self> {
        check_length(stages.into_iter().count())?;
        let mut parsed = Vec::new();
        for stage in stages {
            let stage = stage?;
            let RawBsonRef::Document(stage) = stage else {
                return Err(Code::TypeMismatch
                    .error("Each element of the 'pipeline' array must be an object"));
            };
            parsed.push(Self::stage(&decode(stage)?, variables)?);
        }
        Ok(Self {
            stages: parsed,
            variables: variables.clone(),
        })
    }

    fn stage(stage: &Document, variables: &Variables) -> Result<Transform> {
        let mut fields = stage.iter();
        let (Some((name, argument)), None) = (fields.next(), fields.next()) else {
            return Err(Code::Location(40323)
                .error("A pipeline stage specification object must contain exactly one field."));
        };
        if let Some(transform) = Transform::parse(name, argument, variables)? {
            return Ok(transform);
        }
        if crate::aggregate::STAGES.contains(&name.as_str()) {
            return Err(Code::InvalidOptions
                .error(format!("{name} is not allowed to be used within an update")));
        }
        Err(crate::aggregate::unknown_stage(name))
    }

    pub(super) fn apply(&self, document: &RawDocument, now: bson::DateTime) -> Result<Document> {
        let mut variables = self.variables.clone();
        variables.now = now;
        let id = id_of(document)?;
        let mut current: RawDocumentBuf = document.to_owned();
        for stage in &self.stages {
            current = stage.apply(&current, &variables)?;
        }
        with_id(decode(&current)?, id)
    }

    /// The changed document; `None` if nothing changes.
    pub(super) fn change(
        &self,
        document: &RawDocument,
        now: bson::DateTime,
    ) -> Result<Option<RawDocumentBuf>> {
        let new = limits::encode(&self.apply(document, now)?)?;
        Ok((new.as_bytes() != document.as_bytes()).then_some(new))
    }
}

/// Puts an `_id` back that the stages dropped, refuses one that they changed.
fn with_id(document: Document, id: Option<Bson>) -> Result<Document> {
    let Some(id) = id else {
        return Ok(replace::id_first(document));
    };
    if let Some(new) = document.get("_id") {
        replace::keep_id(Some(&id), new)?;
        return Ok(replace::id_first(document));
    }
    let mut whole = Document::new();
    whole.insert("_id", id);
    whole.extend(document);
    Ok(whole)
}
