//! The work of `$lookup`: what another collection has for one document.

use bson::raw::{RawDocument, RawDocumentBuf};
use bson::{Bson, Document, doc};

use super::{Reading, over_limit};
use crate::aggregate::documents::{encode, set};
use crate::aggregate::lookup::Lookup;
use crate::aggregate::output::Output;
use crate::aggregate::{Foreign, Pipeline};
use crate::error::Result;
use crate::expression::{Variables, at_path};
use crate::memory::Room;
use crate::query::Filter;
use crate::value::decode;

/// A document whose matches are being gathered.
#[derive(Debug)]
pub(super) struct Join {
    document: Document,
    reading: Reading,
    found: Vec<Bson>,
    bytes: usize,
}

impl Join {
    pub(super) fn pause(&mut self) {
        self.reading.pause();
    }
}

/// Goes on with the join under way; the document with its matches once they are all there.
pub(super) fn advance(
    lookup: &Lookup,
    joining: &mut Option<Box<Join>>,
    foreign: &mut dyn Foreign,
) -> Result<Output> {
    while let Some(join) = joining {
        match join.reading.next(foreign)? {
            Output::Later => return Ok(Output::Later),
            Output::Document(found) => {
                join.bytes += found.as_bytes().len();
                over_limit(join.bytes, "the results of a sub-pipeline")?;
                join.found.push(Bson::Document(decode(&found)?));
                if !foreign.take() {
                    return Ok(Output::Later);
                }
            }
            Output::Nothing => {
                let mut document = std::mem::take(&mut join.document);
                let found = std::mem::take(&mut join.found);
                *joining = None;
                set(&mut document, &lookup.into, Bson::Array(found));
                return encode(&document).map(Output::Document);
            }
        }
    }
    Ok(Output::Nothing)
}

impl Lookup {
    /// Begins to gather the matches of `document`.
    pub(super) fn join(
        &self,
        document: &RawDocumentBuf,
        variables: &Variables,
        foreign: &mut dyn Foreign,
        room: &Room,
    ) -> Result<Join> {
        let owned = decode(document)?;
        let mut inner = variables.clone();
        let mut conditions = Vec::new();
        if let Some((local, field)) = &self.equal {
            conditions.push(equality(field, local_values(&owned, local)));
        }
        let pipeline = match &self.pipeline {
            None => Pipeline { stages: Vec::new() },
            Some((bound, pipeline)) => {
                for (name, expression) in bound {
                    let value = expression.evaluate(document, variables)?;
                    inner.set(name.clone(), value.unwrap_or(Bson::Null));
                }
                conditions.extend(self.narrowed(&inner)?);
                pipeline.clone()
            }
        };
        let walk = foreign.open(&self.from, all_of(conditions)?)?;
        Ok(Join {
            document: owned,
            reading: Reading::new(walk, pipeline.execute(inner, room.clone())),
            found: Vec::new(),
            bytes: 0,
        })
    }

    /// Conditions that every document meets which the pipeline's leading `$match` lets through, and which an index may serve.
    /// The pipeline tests them again: in an array, a filter finds what an expression does not.
    fn narrowed(&self, variables: &Variables) -> Result<Vec<Document>> {
        let nothing: &RawDocument = &RawDocumentBuf::new();
        let mut conditions: Vec<Document> = self.narrow.filter.iter().cloned().collect();
        for (field, expression) in &self.narrow.equal {
            match expression.evaluate(nothing, variables)? {
                // Null is equal to less in an expression than in a filter, an array to its whole only; a pattern matches.
                None
                | Some(
                    Bson::Null | Bson::Undefined | Bson::Array(_) | Bson::RegularExpression(_),
                ) => {}
                Some(value) => conditions.push(doc! { field: { "$eq": value } }),
            }
        }
        Ok(conditions)
    }
}

/// The documents whose `field` equals any of `values`, or holds an array that does; null also stands for a missing field.
fn equality(field: &str, mut values: Vec<Bson>) -> Document {
    let is_pattern = |value: &Bson| matches!(value, Bson::RegularExpression(_));
    if values.iter().any(is_pattern) {
        // In `$in` a pattern would be matched; here it is a value like any other.
        let equal = |value: Bson| Bson::from(doc! { field: { "$eq": value } });
        return doc! { "$or": values.into_iter().map(equal).collect::<Vec<_>>() };
    }
    if values.len() == 1
        && let Some(value) = values.pop()
    {
        return doc! { field: { "$eq": value } };
    }
    doc! { field: { "$in": values } }
}

/// A filter for documents that meet all conditions; `None` if there are none.
fn all_of(mut conditions: Vec<Document>) -> Result<Option<Filter>> {
    let document = match conditions.len() {
        0 => return Ok(None),
        1 => conditions.remove(0),
        _ => doc! { "$and": conditions },
    };
    let raw = RawDocumentBuf::try_from(&document)?;
    Filter::parse(&raw).map(Some)
}

/// What a local field is matched by: an array by its elements, a missing field as null.
fn local_values(document: &Document, path: &[String]) -> Vec<Bson> {
    match at_path(&Bson::Document(document.clone()), path) {
        None => vec![Bson::Null],
        Some(Bson::Array(elements)) => elements,
        Some(value) => vec![value],
    }
}
