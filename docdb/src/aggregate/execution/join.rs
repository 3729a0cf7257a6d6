//! The work of `$lookup`: what another collection has for one document.

use bson::raw::RawDocumentBuf;
use bson::{Bson, Document};

use super::run;
use crate::aggregate::Foreign;
use crate::aggregate::documents::{encode, set};
use crate::aggregate::lookup::Lookup;
use crate::error::Result;
use crate::expression::{Variables, at_path};
use crate::value::decode;

impl Lookup {
    /// `document` with the matches in the field `as`.
    pub(super) fn join(
        &self,
        document: &RawDocumentBuf,
        variables: &Variables,
        foreign: &mut dyn Foreign,
    ) -> Result<RawDocumentBuf> {
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

/// What a local field is matched by: an array by its elements, a missing field as null.
fn local_values(document: &Document, path: &[String]) -> Vec<Bson> {
    match at_path(&Bson::Document(document.clone()), path) {
        None => vec![Bson::Null],
        Some(Bson::Array(elements)) => elements,
        Some(value) => vec![value],
    }
}
