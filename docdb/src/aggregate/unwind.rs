//! `$unwind`: one document per element of an array.

use bson::{Bson, Document, RawDocumentBuf};

use super::documents::{encode, set};
use super::options::dollar_path;
use crate::error::{Code, Result};
use crate::memory::{Claim, Room};
use crate::value::decode;
use crate::value::display;

#[derive(Debug, Clone)]
pub(super) struct Unwind {
    path: Vec<String>,
    index: Option<Vec<String>>,
    preserve: bool,
}

impl Unwind {
    pub(super) fn parse(argument: &Bson) -> Result<Self> {
        let mut unwind = Self {
            path: Vec::new(),
            index: None,
            preserve: false,
        };
        match argument {
            Bson::String(path) => unwind.path = path_of(path)?,
            Bson::Document(options) => {
                for (name, value) in options {
                    unwind.option(name, value)?;
                }
            }
            other => {
                return Err(Code::Location(15981).error(format!(
                    "expected either a string or an object as specification for $unwind stage, got {}",
                    display::type_name(other)
                )));
            }
        }
        if unwind.path.is_empty() {
            return Err(Code::Location(28812).error("no path specified to $unwind stage"));
        }
        Ok(unwind)
    }

    fn option(&mut self, name: &str, value: &Bson) -> Result<()> {
        let kind = display::type_name(value);
        match (name, value) {
            ("path", Bson::String(path)) => self.path = path_of(path)?,
            ("path", _) => {
                return Err(Code::Location(28808).error(format!(
                    "expected a string as the path for $unwind stage, got {kind}"
                )));
            }
            ("preserveNullAndEmptyArrays", Bson::Boolean(preserve)) => self.preserve = *preserve,
            ("preserveNullAndEmptyArrays", _) => {
                return Err(Code::Location(28809).error(format!(
                    "expected a boolean for the preserveNullAndEmptyArrays option to $unwind stage, got {kind}"
                )));
            }
            ("includeArrayIndex", Bson::String(index)) if !index.is_empty() => {
                if index.starts_with('$') {
                    return Err(Code::Location(28822).error(format!(
                        "includeArrayIndex option to $unwind stage should not be prefixed with a '$': {index}"
                    )));
                }
                self.index = Some(crate::expression::field_path(index)?);
            }
            ("includeArrayIndex", _) => {
                return Err(Code::Location(28810).error(format!(
                    "expected a non-empty string for the includeArrayIndex  option to $unwind stage, got {kind}"
                )));
            }
            (other, _) => {
                return Err(Code::Location(28811)
                    .error(format!("unrecognized option to $unwind stage: {other}")));
            }
        }
        Ok(())
    }
}

fn path_of(path: &str) -> Result<Vec<String>> {
    let message = format!("path option to $unwind stage should be prefixed with a '$': {path}");
    dollar_path(path, Code::Location(28818), message)
}

/// How many times its bytes a document about takes that was read.
const DECODED: usize = 4;
/// So much may be read however little memory others left.
const LEAST: usize = 1 << 20;

/// The document that is being taken apart, and its elements still to come.
///
/// Its copies are made one at a time: a document with a long array and a long text would else become gigabytes.
#[derive(Debug)]
pub(super) struct Unwinding {
    unwind: Unwind,
    document: Document,
    elements: std::vec::IntoIter<Bson>,
    place: i64,
    /// A document that goes on as one, with null for an index.
    whole: Option<Document>,
    claim: Claim,
}

impl Unwinding {
    pub(super) fn new(unwind: Unwind, room: &Room) -> Self {
        Self {
            unwind,
            document: Document::new(),
            elements: Vec::new().into_iter(),
            place: 0,
            whole: None,
            claim: room.memory.claim(),
        }
    }

    pub(super) fn add(&mut self, document: &RawDocumentBuf) -> Result<()> {
        self.document = decode(document)?;
        // Read, a document is several times its bytes, and it stays until its last element went on.
        let bytes = DECODED * document.as_bytes().len();
        if !self.claim.hold(bytes) && bytes > LEAST {
            return Err(self.claim.exceeded("$unwind"));
        }
        self.place = 0;
        match find(&mut self.document, &self.unwind.path) {
            Some(Bson::Array(array)) if !array.is_empty() => {
                self.elements = std::mem::take(array).into_iter();
            }
            // MongoDB leaves the field out where its array was empty.
            Some(Bson::Array(_)) => {
                if self.unwind.preserve {
                    let mut document = std::mem::take(&mut self.document);
                    remove(&mut document, &self.unwind.path);
                    self.whole = Some(document);
                }
            }
            None | Some(Bson::Null | Bson::Undefined) => {
                if self.unwind.preserve {
                    self.whole = Some(std::mem::take(&mut self.document));
                }
            }
            Some(_) => self.whole = Some(std::mem::take(&mut self.document)),
        }
        Ok(())
    }

    pub(super) fn next(&mut self) -> Result<Option<RawDocumentBuf>> {
        if let Some(mut document) = self.whole.take() {
            if let Some(index) = &self.unwind.index {
                set(&mut document, index, Bson::Null);
            }
            return encode(&document).map(Some);
        }
        let Some(element) = self.elements.next() else {
            return Ok(None);
        };
        if let Some(place) = find(&mut self.document, &self.unwind.path) {
            *place = element;
        }
        if let Some(index) = &self.unwind.index {
            set(&mut self.document, index, Bson::Int64(self.place));
        }
        self.place += 1;
        encode(&self.document).map(Some)
    }
}

/// The value at a path through documents.
fn find<'a>(document: &'a mut Document, path: &[String]) -> Option<&'a mut Bson> {
    let (last, above) = path.split_last()?;
    let mut document = document;
    for name in above {
        document = document.get_mut(name)?.as_document_mut()?;
    }
    document.get_mut(last)
}

fn remove(document: &mut Document, path: &[String]) -> Option<Bson> {
    let (last, above) = path.split_last()?;
    let mut document = document;
    for name in above {
        document = document.get_mut(name)?.as_document_mut()?;
    }
    document.remove(last)
}
