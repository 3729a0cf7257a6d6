//! One command as it arrived, with the documents that a driver sent beside its body.

use std::ops::Range;
use std::sync::Arc;

use bson::raw::{RawBsonRef, RawDocument};

use super::header::{DOCUMENTS_MAX, WireError};
use crate::error::{Code, CommandError, Result};

/// A length of five and the end mark.
const EMPTY_DOCUMENT: &[u8] = &[5, 0, 0, 0, 0];

/// A document sequence of `OP_MSG` (a section of kind 1): the driver's way to send many documents
/// without packing them into an array.
#[derive(Debug, Clone)]
pub(crate) struct Sequence {
    /// The field that the documents stand for, as `documents` of an insert.
    pub field: String,
    /// Where each document lies in the request's bytes.
    pub documents: Vec<Range<usize>>,
}

/// What a message holds, and where.
#[derive(Debug)]
pub(super) struct Parts {
    pub(super) body: Range<usize>,
    pub(super) sequences: Vec<Sequence>,
    pub(super) wants_reply: bool,
}

/// A command: its bytes were checked to be well-formed BSON, nested no deeper than 180 levels, when it was read.
#[derive(Debug, Clone)]
pub struct Request {
    /// Shared, for a long command that is carried out in slices keeps its request.
    bytes: Arc<Vec<u8>>,
    body: Range<usize>,
    sequences: Arc<[Sequence]>,
    /// False for `w: 0` sent with `moreToCome`: even an error gets no answer.
    pub(crate) wants_reply: bool,
}

impl Request {
    /// A request without sequences, for tests and for `OP_QUERY`.
    pub fn from_document(body: &RawDocument) -> Self {
        let bytes = body.as_bytes().to_vec();
        Self {
            body: 0..bytes.len(),
            bytes: Arc::new(bytes),
            sequences: Arc::default(),
            wants_reply: true,
        }
    }

    /// The `parts` must each enclose one valid document of what follows the first `start` of the `bytes`.
    pub(super) fn from_parts(bytes: Vec<u8>, start: usize, parts: Parts) -> Self {
        let moved = |range: &mut Range<usize>| *range = range.start + start..range.end + start;
        let Parts {
            mut body,
            mut sequences,
            wants_reply,
        } = parts;
        moved(&mut body);
        for sequence in &mut sequences {
            sequence.documents.iter_mut().for_each(moved);
        }
        Self {
            bytes: Arc::new(bytes),
            body,
            sequences: sequences.into(),
            wants_reply,
        }
    }

    /// The command document.
    pub fn body(&self) -> &RawDocument {
        self.document(&self.body)
    }

    /// The whole message.
    pub(crate) fn bytes(&self) -> &Arc<Vec<u8>> {
        &self.bytes
    }

    /// Where the body and the documents of the sequences lie in it.
    pub(crate) fn parts(&self) -> impl Iterator<Item = &Range<usize>> {
        let all = self.sequences.iter().flat_map(|one| &one.documents);
        all.chain([&self.body])
    }

    /// Where the documents of `field` lie that came beside the body.
    pub(crate) fn beside(&self, field: &str) -> &[Range<usize>] {
        let found = self.sequences.iter().find(|one| one.field == field);
        found.map_or(&[], |one| &one.documents)
    }

    /// Where the body lies.
    pub(crate) fn body_place(&self) -> &Range<usize> {
        &self.body
    }

    /// Bytes of the longest document: the body, or one of the sequences.
    pub(crate) fn longest(&self) -> usize {
        let all = self.parts().map(ExactSizeIterator::len);
        all.max().unwrap_or(0)
    }

    /// The command's name: the key of the first field, as `find`.
    pub fn name(&self) -> &str {
        match self.body().iter_elements().next() {
            Some(Ok(element)) => element.key().as_str(),
            _ => "",
        }
    }

    /// The database that the command is for (`$db`), `admin` where none is named.
    pub fn database(&self) -> &str {
        self.body().get_str("$db").unwrap_or("admin")
    }

    /// The documents of `field`, whether they came as a sequence or as an array in the body; `None` if neither.
    pub fn documents(&self, field: &str) -> Result<Option<Vec<&RawDocument>>> {
        let places = self.places(field)?;
        Ok(places.map(|places| places.iter().map(|place| self.document(place)).collect()))
    }

    /// Where the documents of `field` lie, for who comes back to them: [`Self::document`] reads one.
    pub(crate) fn places(&self, field: &str) -> Result<Option<Vec<Range<usize>>>> {
        if let Some(sequence) = self.sequences.iter().find(|one| one.field == field) {
            return Ok(Some(sequence.documents.clone()));
        }
        let value = self.body().get(field);
        match value? {
            None => Ok(None),
            Some(RawBsonRef::Array(array)) if array.into_iter().count() > DOCUMENTS_MAX => {
                let count = array.into_iter().count();
                Err(Code::InvalidLength.error(WireError::TooMany(count).to_string()))
            }
            Some(RawBsonRef::Array(array)) => array
                .into_iter()
                .enumerate()
                .map(|(index, value)| match value {
                    Ok(RawBsonRef::Document(document)) => Ok(self.place_of(document)),
                    _ => Err(self.wrong_type(&format!("{field}.{index}"), "object")),
                })
                .collect::<Result<_, _>>()
                .map(Some),
            Some(_) => Err(self.wrong_type(field, "array")),
        }
    }

    /// The place of a document that was read from these bytes.
    fn place_of(&self, document: &RawDocument) -> Range<usize> {
        let inner = document.as_bytes();
        let start = inner.as_ptr().addr() - self.bytes.as_ptr().addr();
        start..start + inner.len()
    }

    fn wrong_type(&self, field: &str, expected: &str) -> CommandError {
        Code::TypeMismatch.error(format!(
            "BSON field '{}.{field}' is the wrong type, expected type '{expected}'",
            self.name()
        ))
    }

    /// The document at one of [`Self::places`].
    pub(crate) fn document(&self, range: &Range<usize>) -> &RawDocument {
        let bytes = self.bytes.get(range.clone()).unwrap_or(EMPTY_DOCUMENT);
        RawDocument::from_bytes(bytes)
            .expect("the ranges of a request were checked when it was read")
    }
}
