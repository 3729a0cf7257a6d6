//! The work of `$lookup`: what another collection has for one document.

use bson::raw::{RawDocument, RawDocumentBuf};
use bson::{Bson, Document, doc};

use super::{Gathered, Reading};
use crate::aggregate::documents::with_array;
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
    document: RawDocumentBuf,
    reading: Reading,
    found: Gathered,
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
                join.found.push(&found)?;
                if !foreign.take() {
                    return Ok(Output::Later);
                }
            }
            Output::Nothing => {
                let found = join.found.take();
                let document = with_array(&join.document, &lookup.into, &found)?;
                *joining = None;
                return Ok(Output::Document(document));
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
        let walk = foreign.open(&self.from, all_of(conditions, &inner)?)?;
        Ok(Join {
            document: document.clone(),
            reading: Reading::new(walk, pipeline.execute(inner, room.clone())),
            found: Gathered::new(room, "the matches of a $lookup"),
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
fn all_of(mut conditions: Vec<Document>, variables: &Variables) -> Result<Option<Filter>> {
    let document = match conditions.len() {
        0 => return Ok(None),
        1 => conditions.remove(0),
        _ => doc! { "$and": conditions },
    };
    let raw = RawDocumentBuf::try_from(&document)?;
    Filter::parse_with(&raw, variables).map(Some)
}

/// What a local field is matched by: an array by its elements, a missing field as null.
fn local_values(document: &Document, path: &[String]) -> Vec<Bson> {
    match at_path(&Bson::Document(document.clone()), path) {
        None => vec![Bson::Null],
        Some(Bson::Array(elements)) => elements,
        Some(value) => vec![value],
    }
}
